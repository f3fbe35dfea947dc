"""What a run asks again, of whom, and where in the queue."""

from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import select, update

from tercet.database import Database
from tercet.labeling.refill import Demand, Queued
from tercet.models import Answer, Lease, Project, Role, Source, Triplet, now
from tercet.runs.results import LabelerReport
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker.inputs import JobInputs
from tercet.worker.outputs.repeats import Repeat, among, choose, reliability
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tests.factories import add_member
from tests.labeling.support import lease
from tests.runs.support import NAMES, add_answers, blobs, compute, make_songs, request
from tests.worker.test_questions import EVERYTHING, fit, inputs_of

ADA, BEN, CEM = 1, 2, 3
# Three sure clusters of ten items: 0 to 9, 10 to 19, 20 to 29.
POSTERIOR = np.full((30, 3), 0.005)
POSTERIOR[np.arange(30), np.arange(30) // 10] = 0.99
# "Like 10" of items that are like 1, and one right answer.
WRONG = [[0, 1, 10], [2, 3, 11], [4, 5, 12]]


def answered(*labelers: int) -> JobInputs:
    """Each wrong answer, of these labelers in turn, and a right one."""
    triplets = np.array([*WRONG, [20, 21, 0]])
    by = np.array([*labelers, labelers[0]])
    return replace(inputs_of(30), triplets=triplets, answers=np.array(["no", "no", "no", "yes"]), labelers=by)


def demand(n: int, *labelers: int, pending: object = None, most: int = 3) -> Demand:
    items = np.empty((0, 3), dtype=np.int64) if pending is None else np.asarray(pending)
    return Demand(n, 0, 0.0, items, labelers=labelers, most_answers=most)


def report(labeler: int, accuracy: float, doubt: float = 0.0) -> LabelerReport:
    return LabelerReport(labeler, 100, 100, accuracy, None, accuracy, doubt=doubt)


REPORTS = [report(ADA, 0.9), report(BEN, 0.6), report(CEM, 0.8)]


def asked_again(inputs: JobInputs, needed: Demand, about: np.ndarray = EVERYTHING) -> list[Repeat]:
    return choose(POSTERIOR, inputs, fit({}, POSTERIOR), REPORTS, needed, about)


def test_wrong_answers_are_asked_again_of_the_most_reliable_of_the_others() -> None:
    again = asked_again(answered(ADA, BEN, BEN), demand(30, ADA, BEN, CEM))
    assert {repeat.triplet: (repeat.n_answers, repeat.asked_of) for repeat in again} == {
        (0, 1, 10): (1, CEM),  # Ada's own
        (2, 3, 11): (1, ADA),
        (4, 5, 12): (1, ADA),
    }


def test_nobody_gets_much_more_than_an_even_part() -> None:
    many = np.column_stack([np.arange(8), np.arange(8) + 1, np.arange(8) + 11])
    inputs = replace(answered(BEN, BEN, BEN), triplets=many, answers=np.full(8, "no"), labelers=np.full(8, BEN))
    again = asked_again(inputs, demand(80, ADA, BEN, CEM, 4, 5, 6, 7, 8))
    assert [repeat.asked_of for repeat in again].count(ADA) == 2, "twice the even part of eight questions for eight"
    assert len(again) == 8


@pytest.mark.parametrize(
    ("needed", "expected"),
    [
        (demand(30, ADA), 0),  # nobody else is there
        (demand(30), 3),  # nobody is there: whoever comes
        (demand(30, ADA, BEN, most=1), 0),  # the project does not ask again
        (demand(10, ADA, BEN), 1),  # one to ten new ones
    ],
)
def test_it_is_asked_only_where_somebody_can_answer(needed: Demand, expected: int) -> None:
    again = asked_again(answered(ADA, ADA, ADA), needed)
    assert len(again) == expected
    if not needed.labelers:
        assert {repeat.asked_of for repeat in again} == {None}


def test_what_is_on_screens_or_about_other_items_is_left() -> None:
    inputs = answered(ADA, ADA, ADA)
    on_screens = inputs.item_ids[[[0, 10, 1]]]
    again = asked_again(inputs, demand(30, BEN, pending=on_screens), np.array([0, 2]))
    assert [repeat.triplet for repeat in again] == [(2, 3, 11)]


def test_a_doubtful_labeler_is_less_reliable_and_one_unknown_stands_in_the_middle() -> None:
    reports = [report(ADA, 0.9), report(BEN, 0.95, doubt=0.5), LabelerReport(CEM, 1, 0, None, None, None)]
    assert reliability(reports) == pytest.approx({ADA: 0.9, BEN: 0.475})
    inputs = answered(4, 4, 4)
    again = choose(POSTERIOR, inputs, fit({}, POSTERIOR), reports, demand(10, ADA, BEN, CEM), EVERYTHING)
    assert [repeat.asked_of for repeat in again] == [ADA]
    again = choose(POSTERIOR, inputs, fit({}, POSTERIOR), reports, demand(10, BEN, CEM), EVERYTHING)
    assert [repeat.asked_of for repeat in again] == [CEM]


def test_one_stands_before_ten_new_ones() -> None:
    ids = np.arange(30) + 100
    new = [Queued((place, 1, 2), Source.INFORMATION) for place in range(15)]
    mixed = among(new, [Repeat((0, 1, 10), 1, ADA), Repeat((2, 3, 11), 2, None), Repeat((4, 5, 12), 1, BEN)], ids)
    assert [place for place, question in enumerate(mixed) if question.n_answers is not None] == [0, 11]
    assert mixed[0] == Queued((100, 101, 110), Source.INFORMATION, 1, ADA)
    assert [question for question in mixed if question.n_answers is None] == new


@pytest.mark.heavy(but="sqlite")
def test_a_run_has_wrong_answers_checked_by_the_other_labeler(
    database: Database, storage: Storage, settings: Settings
) -> None:
    """Ten of 300 answers are wrong, and Ada gave them all; Ben has a page open."""
    key = make_songs(database, storage, parameters={})
    triplets = random_triplets(60, 300, np.random.default_rng(3))
    right = true_answers(blobs(60)[1], triplets)
    decided = np.flatnonzero(right != 0)[:10]
    right[decided] *= -1
    with database.transaction() as session:
        add_answers(session, key, triplets, NAMES[right].tolist())
        project = session.get_one(Project, key)
        ben = add_member(session, project, Role.LABELER, "Ben").id
        wrong = set(session.scalars(select(Answer.triplet_id).where(Answer.number.in_((decided + 1).tolist()))))
        [held] = lease(session, project, ben, 1, seconds=600)
    request(database, key)
    assert compute(database, settings) == "done"
    with database.transaction() as session:
        extra = session.execute(select(Triplet.id, Triplet.asked_of).where(Triplet.extra_answers > 0)).all()
        assert {asked_of for _, asked_of in extra} == {ben}
        assert len({row.id for row in extra} & wrong) >= len(extra) - 1 >= 1
        session.execute(update(Lease).where(Lease.triplet_id == held.id).values(expires_at=now()))
        leased = lease(session, session.get_one(Project, key), ben, 1, seconds=600)
    assert leased[0].id in {row.id for row in extra}, "the first that Ben is asked"
