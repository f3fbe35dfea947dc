"""The clusters of the features alone are shown until the fit has earned it: when it has, and what people see then."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sqlalchemy import update

from tercet.database import Database
from tercet.models import Item, Project, Run, now
from tercet.runs import results
from tercet.runs.schedule import request_run
from tercet.runs.schemas import RunOut
from tercet.runs.sentences import describe
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker.fits.outcome import FitOutcome
from tercet.worker.hand_edits import Edits
from tercet.worker.inputs import Calibration, JobInputs, Withheld
from tercet.worker.outputs import first_clusters, prequential
from tercet_algorithms.answers.patterns import answer_table, pattern_probabilities
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tercet_algorithms.answers.temperature import TEMPERATURES, tempered
from tests.factories import add_features
from tests.runs.support import NAMES, add_answers, compute, get_run, make_songs
from tests.worker.two_fits import EPSILON, FIRST, FITTED, N, a_run, an_outcome, inputs_after, previous, result


def withheld_after(
    inputs: JobInputs, run: Run | None = None, outcome: FitOutcome | None = None, fitted: np.ndarray = FITTED
) -> Withheld | None:
    run, outcome = run or a_run(2, 0), outcome or an_outcome()
    return first_clusters.withhold(run, inputs, outcome, result(fitted))


def probability(posterior: np.ndarray, triplet: list[int], column: int) -> float:
    """P of an answer by a posterior, from the definition of the question."""
    total = 0.0
    for labels in product(range(2), repeat=3):
        anchor, left, right = labels
        right_column = 2 if (anchor == left) == (anchor == right) else 0 if anchor == left else 1
        chance = 1 - EPSILON if column == right_column else EPSILON / 2
        total += chance * float(np.prod(posterior[triplet, labels]))
    return total


def test_a_run_without_answers_is_what_later_fits_have_to_beat() -> None:
    withheld = withheld_after(inputs_after(None, [], []), a_run(1, 0))
    assert withheld is not None
    np.testing.assert_array_equal(withheld.first, FITTED)
    assert withheld.log_ratio == 0
    np.testing.assert_array_equal(
        first_clusters.shown(inputs_after(None, [], []), result(FITTED), withheld).labels, result(FITTED).labels
    )
    assert first_clusters.measure(inputs_after(None, [], []), withheld) == {}, "nothing to compare yet"


@pytest.mark.parametrize("weights", [None, np.array([0.5, 1.0, 0.25])])
def test_the_factor_is_the_product_of_how_much_more_probable_the_fit_found_the_new_answers(
    weights: np.ndarray | None,
) -> None:
    """Answers that the run before had used do not count again, and doubtful ones count less."""
    triplets = [[0, 1, 2], [0, 2, 5], [3, 1, 6]]
    inputs = replace(
        inputs_after(previous(Withheld(FIRST, FITTED, 0.5)), triplets, ["yes", "yes", "dnk"]), weights=weights
    )
    gained = [
        np.log(probability(FITTED, triplet, column) / probability(FIRST, triplet, column))
        for triplet, column in zip(triplets[1:], (0, 2), strict=True)
    ]
    withheld = withheld_after(inputs, a_run(2, 1))
    assert withheld is not None
    counted = np.ones(2) if weights is None else weights[1:]
    assert withheld.log_ratio == pytest.approx(0.5 + counted @ gained, rel=1e-5)


def test_answers_about_items_that_are_seen_where_the_fit_has_them_count_for_neither() -> None:
    """Both are as sure as is right: the posteriors of the fit are stored as the fit has them."""
    surer = Calibration(2.0, np.zeros(len(TEMPERATURES)))
    shows = tempered(FIRST, 2.0)
    shows[:4] = tempered(FITTED[:4], 2.0)
    before = previous(Withheld(FIRST, FITTED, 0.5), shows, surer)
    withheld = withheld_after(inputs_after(before, [[0, 1, 2]] * 3, ["yes", "no", "dnk"]))
    assert withheld is not None
    assert withheld.log_ratio == pytest.approx(0.5)
    withheld = withheld_after(inputs_after(before, [[0, 1, 6]], ["yes"]))
    assert withheld is not None
    seen, fitted = (probability(rows, [0, 1, 6], 0) for rows in (shows, tempered(FITTED, 2.0)))
    assert withheld.log_ratio == pytest.approx(0.5 + np.log(fitted / seen), rel=1e-4)


def test_the_fit_is_shown_from_ten_thousand_times_on() -> None:
    """Each right answer makes the fit more probable by the same factor: so many of them are needed, not one less."""
    triplet = [0, 1, 2]
    factor = probability(FITTED, triplet, 1) / probability(FIRST, triplet, 1)
    needed = int(np.ceil(np.log(first_clusters.EARNED) / np.log(factor)))
    assert needed > 3, "two lucky answers do not decide"
    for count in (needed - 1, needed):
        inputs = inputs_after(previous(Withheld(FIRST, FITTED, 0.0)), [triplet] * count, ["no"] * count)
        withheld = withheld_after(inputs)
        assert withheld is not None
        figures = first_clusters.measure(inputs, withheld)["first_clusters"]
        assert first_clusters.is_earned(withheld) == (count == needed)
        assert figures["shown"] == (count < needed)
        assert figures["factor"] == pytest.approx(factor**count, rel=1e-2)
        unasked = first_clusters.shown(inputs, result(FITTED), withheld).posterior[3:]
        np.testing.assert_array_equal(unasked, (FITTED if count == needed else FIRST)[3:])


def test_what_early_fits_got_wrong_does_not_count_against_later_ones() -> None:
    """The factor falls with answers that speak against the fit, but not below 1."""
    against = [0, 1, 2]
    factor = probability(FITTED, against, 2) / probability(FIRST, against, 2)
    assert factor < 1
    for before, expected in ((3.0, 3.0 + np.log(factor)), (0.5, 0.0)):
        inputs = inputs_after(previous(Withheld(FIRST, FITTED, before)), [against], ["dnk"])
        withheld = withheld_after(inputs)
        assert withheld is not None
        assert withheld.log_ratio == pytest.approx(expected)


def test_what_is_earned_stays_earned() -> None:
    """Later answers may all be against the fit: there is nothing to go back to."""
    earned = Withheld(FIRST, FITTED, float(np.log(first_clusters.EARNED)))
    inputs = inputs_after(previous(earned, FITTED), [[0, 2, 5]] * 50, ["no"] * 50)
    assert withheld_after(inputs) is None
    assert first_clusters.shown(inputs, result(FITTED), None) is not FIRST
    np.testing.assert_array_equal(first_clusters.shown(inputs, result(FITTED), None).posterior, FITTED)
    after = inputs_after(previous(None, FITTED), [[0, 2, 5]] * 50, ["no"] * 50)
    assert withheld_after(after) is None


def test_items_that_answers_are_about_are_where_the_fit_has_them() -> None:
    """A don't know says of no item where it is."""
    asked = [[0, 2, 5], [4, 6, 7]]
    inputs = inputs_after(previous(Withheld(FIRST, FITTED, 0.0)), asked, ["yes", "dnk"])
    shown = first_clusters.shown(inputs, result(FITTED), Withheld(FIRST, FITTED, 0.0))
    expected = FIRST.copy()
    expected[[0, 2, 5]] = FITTED[[0, 2, 5]]
    np.testing.assert_array_equal(shown.posterior, expected)
    np.testing.assert_array_equal(shown.labels, result(expected).labels)
    np.testing.assert_array_equal(shown.confidence, expected.max(axis=1))
    figures = first_clusters.measure(inputs, Withheld(FIRST, FITTED, 0.0))["first_clusters"]
    assert figures["items_as_fitted"] == 3


def test_items_that_analysts_moved_are_where_they_put_them_among_the_clusters_that_are_shown() -> None:
    """Wherever the fit has them, and what stands for the cluster; that stays where it is shown."""
    inputs = inputs_after(previous(Withheld(FIRST, FITTED, 0.0)), [[0, 2, 5]], ["yes"])
    moved, targets = 7, np.flatnonzero(result(FIRST).labels != result(FIRST).labels[7])[-2:]
    to = np.array([[moved, other] for other in targets])
    edits = Edits(to, np.empty((0, 2), np.int64), np.full(2, 2.0), np.empty(0))
    shown, unedited = (
        first_clusters.shown(replace(inputs, edits=some), result(FITTED), Withheld(FIRST, FITTED, 0.0))
        for some in (edits, inputs.edits)
    )
    assert shown.labels[moved] == shown.labels[targets[0]] != unedited.labels[moved]
    others = np.arange(N) != moved
    np.testing.assert_array_equal(shown.posterior[others], unedited.posterior[others])
    figures = first_clusters.measure(replace(inputs, edits=edits), Withheld(FIRST, FITTED, 0.0))["first_clusters"]
    assert figures["items_as_fitted"] == 4


def test_an_item_that_the_first_run_did_not_have_is_where_the_fit_has_it() -> None:
    first = FIRST.copy()
    first[7] = 0
    inputs = inputs_after(previous(Withheld(first, FITTED, 0.0)), [[0, 2, 5]], ["yes"])
    shown = first_clusters.shown(inputs, result(FITTED), Withheld(first, FITTED, 0.0))
    assert shown.labels[7] == result(FITTED).labels[7]
    assert shown.confidence[7] == FITTED[7].max()


@pytest.mark.parametrize(
    "values",
    [
        {"parameters": {"n_clusters": 2, "lam": 1}},
        {"algorithm": "sklr"},
        {"feature_set_id": 2},
        {"metrics": {"n_labelled_bags": 3}},
    ],
)
def test_a_run_on_other_terms_shows_its_fit(values: dict[str, Any]) -> None:
    inputs = inputs_after(previous(Withheld(FIRST, FITTED, 0.0), **values), [[0, 2, 5]], ["yes"])
    assert withheld_after(inputs) is None


def test_nothing_is_withheld_without_features_or_a_fit_without_answers() -> None:
    answered = inputs_after(previous(Withheld(FIRST, FITTED, 0.0)), [[0, 2, 5]], ["yes"])
    assert withheld_after(answered) is not None
    assert withheld_after(replace(answered, points=np.zeros((N, 2)))) is None
    assert withheld_after(replace(answered, previous=previous(None))) is None
    assert withheld_after(replace(answered, previous=None)) is None
    assert withheld_after(answered, outcome=an_outcome(state={})) is None, "a system that reads no answers"
    assert withheld_after(answered, fitted=np.eye(3, dtype=np.float32)[np.arange(N) % 3]) is None, "other clusters"


def test_what_is_foreseen_goes_by_the_fit_that_is_not_shown() -> None:
    inputs = inputs_after(previous(Withheld(FIRST, FITTED, 0.0)), [[0, 2, 5]], ["yes"])
    foreseen = prequential.foresee(a_run(2, 0), inputs, EPSILON)
    expected = pattern_probabilities(FITTED, np.array([[0, 2, 5]])) @ answer_table("relative", EPSILON)
    np.testing.assert_allclose(foreseen.answers, expected, rtol=1e-6)


STRETCHED = 120


def misleading(n: int = STRETCHED) -> tuple[np.ndarray, np.ndarray]:
    """Features whose widest gap is across the classes that people see: two by two clouds, told apart by the other."""
    rng = np.random.default_rng(3)
    wide, narrow = np.arange(n) % 2, np.arange(n) // 2 % 2
    return np.column_stack([12 * wide, 5 * narrow, 12 * wide]) + rng.standard_normal((n, 3)), narrow


@pytest.fixture
def songs(database: Database, storage: Storage, settings: Settings) -> tuple[int, np.ndarray]:
    """A project after its run without answers, and what that shows."""
    project_id = make_songs(database, storage, STRETCHED, 2, parameters={})
    with database.transaction() as session:
        add_features(session, storage, session.get_one(Project, project_id), misleading()[0], version=2)
    return project_id, clusters_of(storage, next_run(database, settings, project_id))


def next_run(database: Database, settings: Settings, project_id: int, reason: str = "answers") -> Run:
    with database.transaction() as session:
        run_id = request_run(session, session.get_one(Project, project_id), reason=reason).id
    assert compute(database, settings) == "done"
    return get_run(database, run_id)


def clusters_of(storage: Storage, run: Run) -> np.ndarray:
    assert run.result is not None
    return results.load(storage, run.result).labels


def answer_some(database: Database, project_id: int, count: int, seed: int) -> np.ndarray:
    """Store right answers, and return which items they place."""
    y = misleading()[1]
    triplets = random_triplets(STRETCHED, count, np.random.default_rng(seed))
    values = NAMES[true_answers(y, triplets)]
    with database.transaction() as session:
        add_answers(session, project_id, triplets, values.tolist())
    return np.unique(triplets[values != "dnk"])


@pytest.mark.heavy(but="sqlite")
def test_a_project_shows_its_first_clusters_until_answers_go_by_the_fit(
    database: Database, storage: Storage, settings: Settings, songs: tuple[int, np.ndarray]
) -> None:
    project_id, first = songs
    placed = answer_some(database, project_id, 12, seed=1)
    run = next_run(database, settings, project_id)
    unplaced = np.setdiff1d(np.arange(STRETCHED), placed)
    np.testing.assert_array_equal(clusters_of(storage, run)[unplaced], first[unplaced])
    assert run.metrics["first_clusters"] == {
        "shown": True,
        "factor": 1.0,
        "needed": first_clusters.EARNED,
        "items_as_fitted": len(placed),
    }, "no refit was there before the first answers"
    assert "still those from before any answer" in describe(RunOut.of(run))

    for seed in (2, 3, 4):
        answer_some(database, project_id, 60, seed)
        run = next_run(database, settings, project_id)
        figures = run.metrics["first_clusters"]
        if not figures["shown"]:
            break
    assert not figures["shown"]
    assert figures["factor"] >= first_clusters.EARNED
    y = misleading()[1]
    assert adjusted_rand_score(y, clusters_of(storage, run)) > 0.9 > adjusted_rand_score(y, first)
    assert "clusters shown are those of the fit" in describe(RunOut.of(run))

    later = next_run(database, settings, project_id)
    assert "first_clusters" not in later.metrics
    assert "before any answer" not in describe(RunOut.of(later))
    assert adjusted_rand_score(y, clusters_of(storage, later)) > 0.9


@pytest.mark.heavy(but="sqlite")
def test_items_that_are_set_aside_and_come_back_leave_the_first_clusters_in_place(
    database: Database, storage: Storage, settings: Settings, songs: tuple[int, np.ndarray]
) -> None:
    project_id, first = songs
    placed = answer_some(database, project_id, 12, seed=1)
    unplaced = np.setdiff1d(np.arange(STRETCHED), placed)
    aside, others = unplaced[0], unplaced[1:]
    for when in (now(), None):
        with database.transaction() as session:
            chosen = (Item.project_id == project_id) & (Item.position == int(aside))
            session.execute(update(Item).where(chosen).values(set_aside_at=when))
        run = next_run(database, settings, project_id)
        assert run.metrics["first_clusters"]["shown"]
        labels = clusters_of(storage, run)
        np.testing.assert_array_equal(labels[others], first[others])
        assert (labels[aside] == -1) == (when is not None)


@pytest.mark.heavy(but="sqlite")
def test_a_run_with_other_settings_shows_its_fit(
    database: Database, storage: Storage, settings: Settings, songs: tuple[int, np.ndarray]
) -> None:
    project_id, _ = songs
    answer_some(database, project_id, 12, seed=1)
    with database.transaction() as session:
        session.get_one(Project, project_id).n_clusters = 4
    run = next_run(database, settings, project_id)
    assert "first_clusters" not in run.metrics
    assert len(np.unique(clusters_of(storage, run))) == 4
