"""The figures of a comparison, from the arrays of its fits: one row per system, and which one to recommend."""

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from tercet.catalogue.compared_systems import KMEANS, READ_NO_ANSWERS
from tercet.runs.results import Array
from tercet.worker.comparison.fits import ComparisonPlan
from tercet.worker.inputs import answer_columns
from tercet_algorithms.answers.metrics import answers_satisfied
from tercet_algorithms.answers.patterns import ANSWERS


def figures(plan: ComparisonPlan, done: dict[str, Array]) -> dict[str, Any]:
    """Return the metrics of a comparison run."""
    metrics: dict[str, Any] = {
        "systems": [_row(plan, done, name) for name in plan.systems],
        "n_items": len(plan.inputs.features),
        "n_answers": len(plan.answers),
        "n_folds": len(plan.folds),
        "n_seeds": plan.n_seeds,
    }
    if plan.folds:
        metrics["guess_log_score"] = _guess_log_score(plan)
        metrics |= _recommend({name: _held_out(plan, done, name, "logs") for name in plan.systems})
    return metrics


def _row(plan: ComparisonPlan, done: dict[str, Array], name: str) -> dict[str, Any]:
    labels = [done[f"{name}/seed/{seed}/labels"] for seed in range(plan.n_seeds)]
    row: dict[str, Any] = {
        "name": name,
        "seconds": float(np.median([done[f"{name}/seed/{seed}/seconds"] for seed in range(plan.n_seeds)])),
        "stability": float(np.mean([adjusted_rand_score(*pair) for pair in combinations(labels, 2)])),
    }
    if len(plan.answers):
        answers = plan.inputs.triplets, plan.inputs.answers, plan.inputs.kind
        row["answers_satisfied"] = float(np.mean([answers_satisfied(of_seed, *answers) for of_seed in labels]))
    if plan.folds:
        row["held_out_log_score"] = float(_held_out(plan, done, name, "logs").mean())
        row["held_out_accuracy"] = float(_held_out(plan, done, name, "hits").mean())
    return row


def _held_out(plan: ComparisonPlan, done: dict[str, Array], name: str, figure: str) -> Array:
    """Return a figure ("logs" or "hits") of every answer, (M,), each from the one fit that had not seen it."""
    if name in READ_NO_ANSWERS:
        return done[f"{name}/seed/0/{figure}"]
    values = np.empty(len(plan.answers))
    for fold in range(len(plan.folds)):
        values[plan.held_out(fold)] = done[f"{name}/fold/{fold}/{figure}"]
    return values


def _guess_log_score(plan: ComparisonPlan) -> float:
    """Return the mean log probability of held-out answers when guessed by how often each answer is given."""
    logs = []
    kind = plan.inputs.kind
    for fold in range(len(plan.folds)):
        is_held_out = plan.held_out(fold)
        seen, held_out = (answer_columns(plan.with_answers(rows).answers, kind) for rows in (~is_held_out, is_held_out))
        counts = 1 + np.bincount(seen, minlength=len(ANSWERS[kind]))
        logs.append(np.log(counts / counts.sum())[held_out])
    return float(np.concatenate(logs).mean())


def _recommend(scores: dict[str, Array]) -> dict[str, Any]:
    """Return the system with the best held-out log score, and its lead over the next one and the plain baseline."""
    ranked = sorted((name for name in scores if name != KMEANS), key=lambda name: -scores[name].mean())
    rivals = ranked[1:2] + [KMEANS] * (KMEANS in scores)
    return {"recommended": ranked[0], "rivals": [_lead(scores, ranked[0], rival) for rival in rivals]}


def _lead(scores: dict[str, Array], best: str, rival: str) -> dict[str, Any]:
    gains = scores[best] - scores[rival]
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    return {"name": rival, "lead": float(gains.mean()), "standard_error": float(error)}
