"""What a comparison judges by: the posterior that a run would show, with bag labels, without the answers held out."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tercet.catalogue.algorithms import ALGORITHMS
from tercet.catalogue.compared_systems import light_parameters
from tercet.models import Run
from tercet.runs.bag_labels import BagLabels
from tercet.worker.comparison import fits
from tercet.worker.comparison.figures import figures
from tercet.worker.comparison.fits import ComparisonPlan, PlannedFit
from tercet.worker.inputs import JobInputs, answer_columns
from tercet.worker.outputs.reports import answer_probabilities_of
from tercet_algorithms import DCRC
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tests.runs.support import NAMES

SYSTEMS = ("dcrc", "sklr", "bags", "kmeans")
LABELS = ("ant", "bee", "cat", "dog")


def half_seen(seed: int, n: int = 120) -> tuple[JobInputs, np.ndarray]:
    """Four classes in bags of three items of one class; features tell only the first two from the last two."""
    rng = np.random.default_rng(seed)
    of_item = np.arange(n) // 3
    y = of_item % 4
    features = rng.standard_normal((n, 3)) + 5 * (y // 2)[:, None]
    triplets = random_triplets(n, 80, rng)
    labels = {int(bag): [LABELS[bag % 4]] for bag in np.unique(of_item)}
    inputs = JobInputs(
        kind="relative",
        features=features,
        item_ids=np.arange(n),
        triplets=triplets,
        answers=NAMES[true_answers(y, triplets)],
        labelers=np.ones(80, dtype=np.int64),
        numbers=np.arange(80),
        previous=None,
        bags=BagLabels(of_item, labels),
    )
    return inputs, y


def plan_of(inputs: JobInputs, *systems: str) -> ComparisonPlan:
    run = Run(parameters={"systems": list(systems), "parameters": {}, "folds": 3, "seeds": 2})
    run.parameters["parameters"] = {name: parameters_of(name) for name in systems}
    return fits.make_plan(run, inputs)


def parameters_of(system: str) -> dict[str, Any]:
    if system == "kmeans":
        return {"n_clusters": 4}
    return light_parameters(system, ALGORITHMS[system].parameters(n_clusters=4).model_dump())


def silent(state: object) -> None:
    """Tell nobody."""


def rows_of(plan: ComparisonPlan) -> dict[str, dict[str, Any]]:
    done = {
        f"{fit.name}/{name}": array for fit in plan.fits() for name, array in fits._compute(plan, fit, silent).items()
    }
    return {row["name"]: row for row in figures(plan, done)["systems"]}


@pytest.mark.heavy
def test_bag_labels_are_credited_to_who_reads_them() -> None:
    """Features alone cannot tell half of the classes; labels can, and no answer says more than they do."""
    tables = [rows_of(plan_of(half_seen(seed)[0], *SYSTEMS)) for seed in range(3)]
    mean = {
        system: (
            np.mean([rows[system]["held_out_accuracy"] for rows in tables]),
            np.mean([rows[system]["held_out_log_score"] for rows in tables]),
        )
        for system in SYSTEMS
    }
    assert mean["dcrc"][0] > 0.95
    for system in ("sklr", "kmeans"):
        assert mean[system][0] < mean["dcrc"][0] - 0.1, mean
        assert mean[system][1] < mean["dcrc"][1] - 0.2, mean
    without = [rows_of(plan_of(replace(half_seen(seed)[0], bags=None), "dcrc"))["dcrc"] for seed in range(3)]
    assert np.mean([row["held_out_accuracy"] for row in without]) < mean["dcrc"][0] - 0.1


@pytest.mark.heavy(but="0")
@pytest.mark.parametrize("seed", range(3))
def test_it_is_judged_by_what_a_run_shows_and_not_by_the_model_of_features_alone(seed: int) -> None:
    inputs, _ = half_seen(seed)
    plan = plan_of(inputs, "dcrc", "kmeans")
    out = plan.held_out(0)
    logs = fits._compute(plan, PlannedFit("dcrc", "fold", 0), silent)["logs"]
    parameters = {name: value for name, value in plan.systems["dcrc"].items() if name != "cluster_by"}
    model = DCRC(**{**parameters, "random_state": 0})
    model.fit(inputs.features, **plan.with_answers(~out).answer_arguments(), **inputs.bag_arguments())
    outcome = fits._fit(plan, "dcrc", plan.with_answers(~out), 0, silent)
    np.testing.assert_allclose(outcome.posterior, model.posterior_)

    def scored(posterior: np.ndarray) -> np.ndarray:
        asked = plan.with_answers(out)
        chances = answer_probabilities_of(asked, outcome, posterior)
        scores: np.ndarray = np.log(chances[np.arange(len(chances)), answer_columns(asked.answers, "relative")])
        return scores

    np.testing.assert_allclose(logs, scored(model.posterior_))
    assert logs.mean() > scored(model.predict_proba(inputs.features)).mean() + 0.1


def test_answers_held_out_do_not_enter() -> None:
    """Turned round, all of a fold leave the fit that judges them as it was."""
    inputs, _ = half_seen(0)
    plan = plan_of(inputs, "dcrc", "sklr")
    out = plan.held_out(1)
    turned = {"yes": "no", "no": "yes", "dnk": "yes"}
    answers = np.where(out, [turned[str(answer)] for answer in inputs.answers], inputs.answers)
    turned_plan = plan_of(replace(inputs, answers=answers), "dcrc", "sklr")
    turned_plan = replace(turned_plan, folds=plan.folds)
    for system in ("dcrc", "sklr"):
        straight, two = (fits._fit(each, system, each.with_answers(~out), 0, silent) for each in (plan, turned_plan))
        np.testing.assert_array_equal(straight.posterior, two.posterior)
        logs = [fits._judge(each, straight, out)["logs"] for each in (plan, turned_plan)]
        assert (logs[0] != logs[1]).all()
