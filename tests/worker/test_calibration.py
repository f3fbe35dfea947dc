"""Posteriors are stored as sure as earlier ones foresaw the answers."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tercet.database import Database
from tercet.runs import results
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker.inputs import Calibration, Withheld
from tercet.worker.outputs import calibration, prequential
from tercet_algorithms.answers.patterns import answer_table, pattern_probabilities
from tercet_algorithms.answers.temperature import TEMPERATURES, log_likelihoods, temperature_of, tempered
from tests.runs.support import add_answers, compute, get_run, make_songs, request
from tests.worker.two_fits import EPSILON, FITTED, N, a_run, an_outcome, inputs_after, previous, result

BEFORE = Calibration(2.0, -np.linspace(3, 1, len(TEMPERATURES)))
TRIPLETS = [[0, 1, 2], [0, 2, 5], [3, 1, 6]]
VALUES = ["yes", "yes", "dnk"]


@pytest.mark.parametrize("weights", [None, np.array([1.0, 0.5, 0.25])])
def test_new_answers_are_judged_under_the_fit_before_and_older_ones_fade(weights: np.ndarray | None) -> None:
    """What was stored is less sure than the fit: temperatures are those of the fit."""
    stored = tempered(FITTED, BEFORE.temperature)
    inputs = replace(inputs_after(previous(None, stored, BEFORE), TRIPLETS, VALUES), weights=weights)
    learned = calibration.calibrate(a_run(2, 1), inputs, an_outcome())
    counted = None if weights is None else weights[1:]
    table = answer_table("relative", EPSILON)
    of_new = log_likelihoods(FITTED, np.array(TRIPLETS[1:]), np.array([0, 2]), table, counted)
    assert learned is not None
    expected = of_new + BEFORE.log_likelihoods * 0.5 ** (2 / calibration.HALF_LIFE)
    np.testing.assert_allclose(learned.log_likelihoods, expected, rtol=1e-4)
    assert learned.temperature == temperature_of(learned.log_likelihoods)


def test_without_a_run_before_nothing_was_foreseen() -> None:
    usual = temperature_of(np.zeros(len(TEMPERATURES)))
    for before in (None, previous(None)):
        learned = calibration.calibrate(a_run(2, 0), inputs_after(before, TRIPLETS, VALUES), an_outcome())
        assert learned is not None
        assert learned.temperature == usual


@pytest.mark.parametrize("values", [{"state": {}}, {"embedding": np.zeros((N, 2))}])
def test_posteriors_of_systems_that_are_no_model_of_answers_stay(values: dict[str, Any]) -> None:
    inputs = inputs_after(previous(None, FITTED, BEFORE), TRIPLETS, VALUES)
    assert calibration.calibrate(a_run(2, 0), inputs, an_outcome(**values)) is None
    assert calibration.calibrated(result(FITTED), None).posterior is FITTED


def test_clusters_stay_and_confidence_is_the_largest_posterior() -> None:
    shown = calibration.calibrated(result(FITTED), BEFORE)
    np.testing.assert_array_equal(shown.labels, result(FITTED).labels)
    np.testing.assert_allclose(shown.posterior, tempered(FITTED, 2.0))
    np.testing.assert_array_equal(shown.confidence, shown.posterior.max(axis=1))


@pytest.mark.parametrize("withheld", [None, Withheld(FITTED, FITTED, 0.0)])
def test_answers_are_foreseen_as_surely_as_the_run_before_was(withheld: Withheld | None) -> None:
    stored = tempered(FITTED, BEFORE.temperature)
    inputs = inputs_after(previous(withheld, stored, BEFORE), TRIPLETS, VALUES)
    foreseen = prequential.foresee(a_run(2, 0), inputs, EPSILON).answers
    expected = pattern_probabilities(stored, np.array(TRIPLETS)) @ answer_table("relative", EPSILON)
    np.testing.assert_allclose(foreseen, expected, rtol=1e-5)


@pytest.mark.heavy(but="sqlite")
def test_what_a_run_has_learned_goes_on_in_the_next(database: Database, storage: Storage, settings: Settings) -> None:
    """Answers against the features make the second run less sure of its clusters than its fit."""
    project = make_songs(database, storage, 12, 3, parameters={})
    run = get_run(database, request(database, project))
    assert compute(database, settings) == "done"
    triplets = np.array([[11 - i, i, i + further] for i in range(5) for further in (1, 2)])
    with database.transaction() as session:
        add_answers(session, project, triplets, ["yes", "no"] * 5)
    second = request(database, project)
    assert compute(database, settings) == "done"
    run = get_run(database, second)
    assert run.result is not None
    result, state = results.load(storage, run.result), results.load_state(storage, run.result)
    temperature = float(state["calibration_temperature"])
    assert temperature > temperature_of(np.zeros(len(TEMPERATURES)))
    assert np.any(state["calibration_log_likelihoods"] != 0)
    fit = np.sort(state["posterior_"], axis=1)
    np.testing.assert_allclose(np.sort(result.posterior, axis=1), tempered(fit, temperature), atol=1e-5)
