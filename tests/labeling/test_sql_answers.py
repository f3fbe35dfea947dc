"""New answers are numbered, end leases and close triplets; if another transaction was faster, nothing is stored."""

import uuid

import pytest
from sqlalchemy import func, select, update

from tercet.database import Database
from tercet.labeling import queries
from tercet.labeling.queue import LeasedTriplet
from tercet.labeling.sql import answers
from tercet.labeling.sql.answers import NewAnswer, Overtaken
from tercet.labeling.sql.drivers import Rows
from tercet.models import Answer, Item, Lease, Project, ProjectView, Role, Source, Triplet
from tercet.runs.schedule import STANDING
from tests.factories import add_member, make_project
from tests.labeling.support import lease


@pytest.fixture
def project(database: Database) -> Project:
    with database.transaction() as session:
        return make_project(session, n_items=9, redundancy=2)


@pytest.fixture
def labelers(database: Database, project: Project) -> list[int]:
    with database.transaction() as session:
        return [add_member(session, project, Role.LABELER, f"L{i}").id for i in range(2)]


def hold(database: Database, project: Project, labeler: int, wanted: int = 2) -> list[LeasedTriplet]:
    with database.transaction() as session:
        return lease(session, project, labeler, wanted, 60)


def row(held: LeasedTriplet, labeler: int) -> NewAnswer:
    return NewAnswer(uuid.uuid4(), *held.triplet, labeler, "yes", 900)


def store(database: Database, project: Project, *rows: NewAnswer) -> dict[str, Rows]:
    with database.transaction() as session:
        connection = session.connection()
        return answers.add(
            connection,
            ProjectView.of(project),
            rows,
            standing=(STANDING, {"of_project": project.id}),
            progress=queries.progress_query(connection, project.id, {row.labeler_id for row in rows}),
        )


def test_answers_are_numbered_their_leases_end_and_the_project_stands_with_them(
    database: Database, project: Project, labelers: list[int]
) -> None:
    held = hold(database, project, labelers[0], 3)
    rows = [row(question, labelers[0]) for question in held[:2]]
    results = store(database, project, *rows)
    assert results["standing"][0][0] == 2
    assert [tuple(progress) for progress in results["progress"]] == [(labelers[0], 2, 2, 2)]
    with database.reading() as session:
        answers = session.scalars(select(Answer).order_by(Answer.number)).all()
        assert [(answer.id, answer.number, answer.triplet_id) for answer in answers] == [
            (new.id, number, question.id) for number, (new, question) in enumerate(zip(rows, held, strict=False), 1)
        ]
        assert [(answer.value, answer.response_ms, answer.labeler_id) for answer in answers] == [
            ("yes", 900, labelers[0])
        ] * 2
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
        store(database, project, *batch)
    with database.reading() as session:
        assert session.scalar(priority) is None


def test_withdrawn_answers_are_not_counted(database: Database, project: Project, labelers: list[int]) -> None:
    [held] = hold(database, project, labelers[0], 1)
    store(database, project, row(held, labelers[0]))
    with database.transaction() as session:
        session.execute(update(Answer).values(withdrawn_at=func.now()))
    store(database, project, row(held, labelers[1]))
    with database.reading() as session:
        assert session.scalar(select(Triplet.priority).where(Triplet.id == held.id)) is not None


def test_a_lease_of_another_labeler_stays(database: Database, project: Project, labelers: list[int]) -> None:
    [held] = hold(database, project, labelers[0], 1)
    [also_held] = hold(database, project, labelers[1], 1)
    assert also_held.id == held.id, "the project wants two answers to each question"
    store(database, project, row(held, labelers[0]))
    with database.reading() as session:
        assert session.scalars(select(Lease.labeler_id)).all() == [labelers[1]]


def test_triplets_that_nobody_named_before_are_made_outside_of_the_queue(
    database: Database, project: Project, labelers: list[int]
) -> None:
    with database.reading() as session:
        ids = session.scalars(select(Item.id).order_by(Item.id)).all()
    rows = [NewAnswer(uuid.uuid4(), ids[0], ids[1], ids[2], labeler, "no", None) for labeler in labelers]
    store(database, project, *rows)
    with database.reading() as session:
        [triplet] = session.scalars(select(Triplet)).all()
        assert (triplet.anchor_id, triplet.left_id, triplet.right_id) == (ids[0], ids[1], ids[2])
        assert (triplet.source, triplet.priority) == (Source.CLIENT, None)
        assert session.scalars(select(Answer.triplet_id)).all() == [triplet.id] * 2


@pytest.mark.parametrize("sent_twice", [True, False])
def test_nothing_is_stored_and_no_lease_ends_unless_all_answers_are_new(
    database: Database, project: Project, labelers: list[int], sent_twice: bool
) -> None:
    held = hold(database, project, labelers[0])
    first, second = row(held[0], labelers[0]), row(held[1], labelers[0])
    store(database, project, first)
    with pytest.raises(Overtaken):
        store(database, project, second, second if sent_twice else first)
    with database.reading() as session:
        assert session.scalars(select(Answer.id)).all() == [first.id]
        assert session.scalar(select(Project.answer_number)) == 1
        assert session.scalars(select(Lease.triplet_id)).all() == [held[1].id]
