"""What a run says about answers and people: against probabilities worked out by hand, and through a whole run."""

from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import select, update

from tercet.database import Database
from tercet.labeling import holds
from tercet.models import Answer, Project, Role, Run, now
from tercet.runs import results
from tercet.runs.results import Report
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker.fits.outcome import FitOutcome
from tercet.worker.inputs import JobInputs
from tercet.worker.outputs import answering
from tercet.worker.outputs.prequential import Foreseen
from tercet.worker.outputs.reports import beliefs
from tercet.worker.outputs.reports import report as report_of
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tests.factories import add_member
from tests.runs.support import NAMES, add_answers, blobs, compute, get_run, make_songs, project_labeler, request

# What is computed does not depend on the kind of database; how runs are stored is tested on both elsewhere.
pytestmark = pytest.mark.only_on("sqlite")

# Items 0 and 1 are surely of cluster 1, 2 and 3 of cluster 2, 4 may be of either.
POSTERIOR = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0.5, 0.5]])
# No run came before.
UNFORESEEN = np.full((9, 3), np.nan)


def inputs(triplets: list[list[int]], answers: list[str], labelers: list[int], kind: str = "relative") -> JobInputs:
    return JobInputs(
        kind=kind,
        features=np.zeros((5, 1)),
        item_ids=np.arange(5),
        triplets=np.array(triplets, dtype=np.int64).reshape(-1, 3),
        answers=np.array(answers, dtype=str),
        labelers=np.array(labelers, dtype=np.int64),
        numbers=np.arange(len(answers)) + 1,
        previous=None,
    )


def fitted(**values: object) -> FitOutcome:
    plain = {
        "lower_bound": 0.0,
        "n_iter": 1,
        "converged": True,
        "warm_start": False,
        "searched_answers": 0,
        "epsilon": 0.1,
    }
    return FitOutcome(labels=POSTERIOR.argmax(axis=1), posterior=POSTERIOR, state={}, **{**plain, **values})


def report(answered: JobInputs, outcome: FitOutcome, foreseen: np.ndarray) -> Report:
    before = Foreseen(foreseen, np.full(foreseen.shape, np.nan))
    return report_of(answered, outcome, POSTERIOR, before, answering.learn(answered, before))


def test_what_the_other_answers_say_leaves_the_answer_itself_out() -> None:
    answered = inputs([[0, 4, 2]] * 2, ["yes", "dnk"], [1, 1])
    answered = replace(answered, weights=np.array([1.0, 0.0]))
    believed = beliefs(answered, fitted(), POSTERIOR)
    # Item 4 may be beside item 0 (yes) or item 2 (don't know), evenly; without the yes it is not.
    without_yes = 0.05 / 0.95 * 0.9 + 0.9 / 0.95 * 0.05
    np.testing.assert_allclose(believed.probabilities_left_out[:, 0], [without_yes, (0.9 + 0.05) / 2], rtol=1e-6)


def test_who_answers_by_chance_is_doubted() -> None:
    rng = np.random.default_rng(0)
    triplets = np.array([[0, 1, 2], [0, 2, 1], [2, 3, 0], [1, 0, 3], [2, 0, 1]])[rng.integers(5, size=200)]
    right = true_answers(np.array([0, 0, 1, 1, 1]), triplets)
    labelers = np.tile([1, 2, 3, 4], 50)
    words = {1: "yes", -1: "no", 0: "dnk"}
    values = [
        words[int(rng.choice([1, -1, 0]) if who == 4 else answer)] for who, answer in zip(labelers, right, strict=True)
    ]
    answered = inputs(triplets.tolist(), values, labelers.tolist())
    reported = report(answered, fitted(), np.full((200, 3), np.nan))
    doubts = [labeler.doubt or 0 for labeler in reported.labelers]
    assert doubts[3] > holds.HELD_FROM
    assert max(doubts[:3]) < 0.01
    assert list(holds.uninformed(reported.labelers)) == [4]
    measured = answering.measure(answered, None)
    assert set(measured) == {"agreement", "krippendorff_alpha"}
    assert measured["agreement"]["questions"] == 4
    assert answering.measure(inputs([], [], []), None) == {}


def test_how_people_answer_is_learned_from_what_was_foreseen_and_from_repeats_alone() -> None:
    """Clear cases, yes right: Ada says yes; Ben says don't know as often. Nothing was foreseen of Cem's, who agrees."""
    answered = inputs(
        [[0, 1, 2]] * 80 + [[0, 3, 2]] * 2 + [[1, 3, 2]], ["yes", "dnk"] * 40 + ["yes"] * 3, [1, 2] * 40 + [3, 4, 5]
    )
    rights = np.full((83, 3), np.nan)
    rights[:80] = [1, 0, 0]
    rates = answering.learn(answered, Foreseen(rights, rights))
    assert rates is not None
    assert set(rates.labelers) == {1, 2, 3, 4}, "a single answer that was not foreseen says nothing"
    assert rates.labelers[1].unsure < 0.1 < 0.5 < rates.labelers[2].unsure
    assert rates.labelers[3].mixed_up < rates.everybody.mixed_up, "they agree"
    assert answering.measure(answered, rates)["error_rates"]["n_clear"] == pytest.approx(82, abs=1)
    unknown = np.full((1, 3), np.nan)
    assert answering.learn(inputs([[0, 1, 2]], ["yes"], [1]), Foreseen(unknown, unknown)) is None


def test_probabilities_are_those_of_table_one() -> None:
    # 0 and 1 together, 2 apart: yes. 0 with 4 or not, 2 apart: yes or don't know, evenly.
    answered = inputs([[0, 1, 2]] * 3 + [[0, 4, 2]], ["yes", "no", "dnk", "yes"], [1, 1, 2, 2])
    reported = report(answered, fitted(), UNFORESEEN[: len(answered.answers)])
    # Item 4 may be beside item 0, where yes is right, or beside item 2: evenly after the yes, seldom without it.
    either = 0.05 / 0.95 * 0.9 + 0.9 / 0.95 * 0.05
    np.testing.assert_allclose(reported.answers.probabilities, [0.9, 0.05, 0.05, either], rtol=1e-6)
    assert reported.answers.suspicion.tolist() == [0, 1, 2, 3]
    assert [(labeler.labeler, labeler.answers, labeler.foreseen) for labeler in reported.labelers] == [
        (1, 2, 0),
        (2, 2, 0),
    ]


def test_what_was_expected_of_a_labeler_is_counted_where_something_was() -> None:
    answered = inputs([[0, 1, 2]] * 4, ["yes", "no", "dnk", "yes"], [1, 1, 2, 2])
    foreseen = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8], [np.nan] * 3])
    reported = report(answered, fitted(), foreseen)
    assert [(labeler.foreseen, labeler.expected) for labeler in reported.labelers] == [(2, 0.5), (1, 1.0)]
    np.testing.assert_allclose(reported.answers.foreseen, foreseen, atol=1e-3)


def test_the_odd_one_out() -> None:
    answered = inputs([[0, 1, 2]] * 2, ["3", "1"], [1, 1], kind="outlier")
    reported = report(answered, fitted(epsilon=0.3), np.full((2, 4), np.nan))
    np.testing.assert_allclose(reported.answers.probabilities, [0.7, 0.1], rtol=1e-6)


def test_a_learned_table_counts_for_its_labeler_alone() -> None:
    lazy = np.tile([0.1, 0.1, 0.8], (5, 1))
    answered = inputs([[0, 1, 2]] * 2, ["dnk", "dnk"], [1, 2])
    reported = report(answered, fitted(labelers={2: lazy}), UNFORESEEN[:2])
    np.testing.assert_allclose(reported.answers.probabilities, [0.05, 0.8], rtol=1e-6)


def test_suspects_of_the_estimator_come_first_in_its_order() -> None:
    answered = inputs([[0, 1, 2]] * 3, ["yes", "no", "dnk"], [1, 1, 1])
    reported = report(answered, fitted(suspects=np.array([2, 0])), UNFORESEEN[:3])
    assert reported.answers.suspicion.tolist() == [2, 0, 1]


def test_no_answers(storage: Storage) -> None:
    reported = report(inputs([], [], []), fitted(), UNFORESEEN[:0])
    results.save_report(storage, "runs/1/1", reported)
    run = Run(result="runs/1/1")
    assert results.labeler_report(storage, run) == []
    assert len(results.answer_report(storage, run).numbers) == 0
    assert results.answer_report(storage, Run(result=None)) is None
    assert results.answer_report(storage, Run(result="runs/2/1")) is None


@pytest.mark.heavy
def test_who_guesses_is_known_by_what_the_run_before_foresaw(
    database: Database, storage: Storage, settings: Settings
) -> None:
    project = make_songs(database, storage, parameters={})
    request(database, project)
    compute(database, settings)
    triplets = random_triplets(60, 240, np.random.default_rng(3))
    values = NAMES[true_answers(blobs(60)[1], triplets)]
    values[160:] = np.random.default_rng(4).choice(NAMES, 80)
    with database.transaction() as session:
        add_answers(session, project, triplets, values.tolist())
        guesser = add_member(session, session.get_one(Project, project), Role.LABELER)
        session.execute(update(Answer).where(Answer.number > 160).values(labeler_id=guesser.id))
    run_id = request(database, project)
    assert compute(database, settings) == "done"
    good, bad = results.labeler_report(storage, get_run(database, run_id))
    assert (bad.labeler, bad.answers) == (guesser.id, 80)
    assert good.quality > 0.6 > 0.3 > bad.quality
    assert good.accuracy > 0.8 > 0.6 > bad.accuracy
    assert good.invented < 0.2 < 0.4 < bad.invented
    assert get_run(database, run_id).metrics["error_rates"]["n_clear"] > 20


def test_wrong_answers_are_the_suspects_of_a_run(database: Database, storage: Storage, settings: Settings) -> None:
    project = make_songs(database, storage, parameters={})
    y = blobs(60)[1]
    triplets = random_triplets(60, 120, np.random.default_rng(3))
    values = NAMES[true_answers(y, triplets)]
    wrong = np.flatnonzero(values != "dnk")[:6]
    values[wrong] = np.where(values[wrong] == "yes", "no", "yes")
    with database.transaction() as session:
        add_answers(session, project, triplets, values.tolist())
        session.scalars(select(Answer).where(Answer.number == 120)).one().withdrawn_at = now()
    run_id = request(database, project)
    assert compute(database, settings) == "done"
    run = get_run(database, run_id)
    answers = results.answer_report(storage, run)
    assert answers.numbers.tolist() == list(range(1, 120)), "the withdrawn one was not used"
    suspects = answers.numbers[(answers.suspicion > 0) & (answers.suspicion <= 6)] - 1
    assert len(set(suspects) & set(wrong)) >= 5
    [labeler] = results.labeler_report(storage, run)
    assert (labeler.answers, labeler.foreseen, labeler.expected) == (119, 0, None), "no run came before"
    assert (labeler.quality, labeler.accuracy) == (None, None)
    with database.reading() as session:
        assert labeler.labeler == project_labeler(session, project)


@pytest.mark.heavy
def test_who_answers_by_chance_among_others_is_held_by_the_next_run(
    database: Database, storage: Storage, settings: Settings
) -> None:
    project = make_songs(database, storage, parameters={})
    y = blobs(60)[1]
    request(database, project)
    compute(database, settings)
    triplets = random_triplets(60, 300, np.random.default_rng(3))
    values = NAMES[true_answers(y, triplets)]
    values[200:] = np.random.default_rng(4).choice(NAMES, 100)
    with database.transaction() as session:
        add_answers(session, project, triplets, values.tolist())
        guesser = add_member(session, session.get_one(Project, project), Role.LABELER)
        session.execute(update(Answer).values(response_ms=2000))
        session.execute(update(Answer).where(Answer.number > 200).values(labeler_id=guesser.id))
    request(database, project)
    assert compute(database, settings) == "done"
    with database.reading() as session:
        assert list(holds.reasons_by_labeler(session, project)) == [guesser.id]
        aside = session.scalars(select(Answer.labeler_id).where(~Answer.counts)).all()
    assert aside == [guesser.id] * 100
    run_id = request(database, project)
    assert compute(database, settings) == "done"
    assert get_run(database, run_id).metrics["n_answers"] == 200
