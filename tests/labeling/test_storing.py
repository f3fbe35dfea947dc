"""New answers to known questions are stored, counted and their leases ended; if some are others, none is."""

import uuid

import pytest
from sqlalchemy import func, select, update

from app.database import Database
from app.labeling import queries, queue, storing
from app.labeling.queue import Held
from app.models import Answer, Lease, Project, Role, Triplet
from tests.factories import add_member, make_project


@pytest.fixture
def project(database: Database) -> Project:
    with database.transaction() as session:
        return make_project(session, n_items=9, redundancy=2)


@pytest.fixture
def labelers(database: Database, project: Project) -> list[int]:
    with database.transaction() as session:
        return [add_member(session, project, Role.LABELER, f"L{i}").id for i in range(2)]


def hold(database: Database, project: Project, labeler: int, wanted: int = 2) -> list[Held]:
    with database.transaction() as session:
        return queue.lease_next(session, project, labeler, wanted, 60)


def row(held: Held, labeler: int, answer_id: uuid.UUID | None = None) -> storing.Row:
    return storing.Row(answer_id or uuid.uuid4(), *held.triplet, labeler, "yes", 900)


def store(database: Database, project: Project, *rows: storing.Row) -> storing.Stored | None:
    labelers = {row.labeler_id for row in rows}
    with database.transaction() as session:
        return storing.store(session.connection(), project.id, 2, rows, labelers)


def test_answers_are_numbered_their_leases_end_and_the_project_stands_with_them(
    database: Database, project: Project, labelers: list[int]
) -> None:
    held = hold(database, project, labelers[0], 3)
    rows = [row(one, labelers[0]) for one in held[:2]]
    stored = store(database, project, *rows)
    assert stored is not None
    assert stored.ids == {one.id for one in rows}
    assert stored.standing.answers == 2
    assert stored.progress == [queries.Progress(labelers[0], mine=2, today=2, everybody=2)]
    with database.reading() as session:
        answers = session.scalars(select(Answer).order_by(Answer.number)).all()
        assert [(one.id, one.number, one.triplet_id) for one in answers] == [
            (one.id, number, leased.id) for number, (one, leased) in enumerate(zip(rows, held, strict=False), 1)
        ]
        assert [(one.value, one.response_ms, one.labeler_id) for one in answers] == [("yes", 900, labelers[0])] * 2
        assert session.scalars(select(Lease.triplet_id)).all() == [held[2].id], "what is not answered stays leased"


@pytest.mark.parametrize("at_once", [True, False])
def test_a_triplet_leaves_the_queue_with_the_last_answer_that_it_needs(
    database: Database, project: Project, labelers: list[int], at_once: bool
) -> None:
    [held] = hold(database, project, labelers[0], 1)
    rows = [row(held, labeler) for labeler in labelers]
    priority = select(Triplet.priority).where(Triplet.id == held.id)
    for batch in [rows] if at_once else [rows[:1], rows[1:]]:
        with database.reading() as session:
            assert session.scalar(priority) is not None
        assert store(database, project, *batch) is not None
    with database.reading() as session:
        assert session.scalar(priority) is None


def test_withdrawn_answers_are_not_counted(database: Database, project: Project, labelers: list[int]) -> None:
    [held] = hold(database, project, labelers[0], 1)
    assert store(database, project, row(held, labelers[0])) is not None
    with database.transaction() as session:
        session.execute(update(Answer).values(withdrawn_at=func.now()))
    assert store(database, project, row(held, labelers[1])) is not None
    with database.reading() as session:
        assert session.scalar(select(Triplet.priority).where(Triplet.id == held.id)) is not None


@pytest.mark.parametrize("fault", ["repeated", "sent twice", "unknown triplet"])
def test_no_answer_is_stored_unless_all_are_new_ones_to_known_triplets(
    database: Database, project: Project, labelers: list[int], fault: str
) -> None:
    held = hold(database, project, labelers[0])
    first, second = row(held[0], labelers[0]), row(held[1], labelers[0])
    assert store(database, project, first) is not None
    odd = {
        "repeated": first,
        "sent twice": second,
        "unknown triplet": second._replace(id=uuid.uuid4(), left_id=second.anchor_id),
    }
    assert store(database, project, second, odd[fault]) is None
    with database.reading() as session:
        assert session.scalars(select(Answer.id)).all() == [first.id]
        assert session.scalar(select(Project.answer_number)) == 1


def test_a_question_that_was_handed_back_stays_leased_when_its_old_answer_comes_again(
    database: Database, project: Project, labelers: list[int]
) -> None:
    [held] = hold(database, project, labelers[0], 1)
    first = row(held, labelers[0])
    assert store(database, project, first) is not None
    with database.transaction() as session:
        queue.hand_back(session, held.id, labelers[0], 60)
    assert store(database, project, first) is None
    with database.reading() as session:
        assert session.scalars(select(Lease.triplet_id)).all() == [held.id]
