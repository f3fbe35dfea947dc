"""The figures of a comparison, from what its fits found: one row a system, and which one to recommend."""

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from algorithms.metrics import answers_satisfied
from algorithms.patterns import ANSWERS
from app.clustering.comparison import Plan
from app.clustering.reporting import answer_columns
from app.clustering.results import Array
from app.clustering.systems import KMEANS, READ_NO_ANSWERS


def figures(plan: Plan, done: dict[str, Array]) -> dict[str, Any]:
    """Give the metrics of a comparison run."""
    scores = {name: _held_out(plan, done, name, "logs") for name in plan.systems} if plan.folds else {}
    rows = [_row(plan, done, name) for name in plan.systems]
    found: dict[str, Any] = {
        "systems": rows,
        "n_items": len(plan.material.features),
        "n_answers": len(plan.answers),
        "n_folds": len(plan.folds),
        "n_seeds": plan.n_seeds,
    }
    if scores:
        found["guess_log_score"] = _guess(plan)
        found |= _recommend(scores)
    return found


def _row(plan: Plan, done: dict[str, Array], name: str) -> dict[str, Any]:
    labels = [done[f"{name}/seed/{seed}/labels"] for seed in range(plan.n_seeds)]
    pairs = [adjusted_rand_score(one, other) for one, other in combinations(labels, 2)]
    row: dict[str, Any] = {
        "name": name,
        "seconds": float(np.median([done[f"{name}/seed/{seed}/seconds"] for seed in range(plan.n_seeds)])),
        "stability": float(np.mean(pairs)),
    }
    if len(plan.answers):
        given = plan.material.triplets, plan.material.answers, plan.material.kind
        row["answers_satisfied"] = float(np.mean([answers_satisfied(one, *given) for one in labels]))
    if plan.folds:
        row["held_out_log_score"] = float(_held_out(plan, done, name, "logs").mean())
        row["held_out_accuracy"] = float(_held_out(plan, done, name, "hits").mean())
    return row


def _held_out(plan: Plan, done: dict[str, Array], name: str, what: str) -> Array:
    """What was found about every held-out answer, (M,), each by the one fit that had not seen it."""
    if name in READ_NO_ANSWERS:
        return done[f"{name}/seed/0/{what}"]
    found = np.empty(len(plan.answers))
    for fold in range(len(plan.folds)):
        found[plan.held_out(fold)] = done[f"{name}/fold/{fold}/{what}"]
    return found


def _guess(plan: Plan) -> float:
    """Mean log probability of held-out answers for who knows nothing but how often each answer is given."""
    logs = []
    for fold in range(len(plan.folds)):
        out = plan.held_out(fold)
        seen, held_out = (answer_columns(plan.only(chosen).answers, plan.kind) for chosen in (~out, out))
        counts = 1 + np.bincount(seen, minlength=len(ANSWERS[plan.kind]))
        logs.append(np.log(counts / counts.sum())[held_out])
    return float(np.concatenate(logs).mean())


def _recommend(scores: dict[str, Array]) -> dict[str, Any]:
    """The system with the best held-out log score, and by how much it leads the next one and the plain baseline."""
    ranked = sorted((name for name in scores if name != KMEANS), key=lambda name: -scores[name].mean())
    rivals = ranked[1:2] + [KMEANS] * (KMEANS in scores)
    return {"recommended": ranked[0], "rivals": [_lead(scores, ranked[0], rival) for rival in rivals]}


def _lead(scores: dict[str, Array], best: str, rival: str) -> dict[str, Any]:
    gains = scores[best] - scores[rival]
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    return {"name": rival, "lead": float(gains.mean()), "standard_error": float(error)}
