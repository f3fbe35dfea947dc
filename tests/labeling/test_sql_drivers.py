"""What the drivers are asked past SQLAlchemy they answer as SQLAlchemy does, both the same."""

import uuid
from datetime import UTC, datetime

import pytest
from psycopg.errors import DivisionByZero
from sqlalchemy import bindparam, literal_column, select, text, update
from sqlalchemy.exc import OperationalError

from tercet.accounts.access import CallerRow, hash_token
from tercet.database import Database
from tercet.items.queries import ids_by_key
from tercet.labeling import queries
from tercet.labeling.service import ConstraintRow, store_constraints
from tercet.labeling.sql.answers import Content
from tercet.labeling.sql.drivers import run, run_last
from tercet.models import Item, Project, ProjectView, Role
from tests.factories import add_member, make_project, make_session, make_user
from tests.labeling.support import lease

GIVEN = select(bindparam("value", type_=Project.answer_number.type))
RENAMED = update(Project).values(name=bindparam("name_given"))


def test_each_statement_has_its_own_rows_and_one_that_gives_none_has_none(database: Database) -> None:
    with database.transaction() as session:
        make_project(session, n_items=3)
        rows = run(
            session.connection(),
            first=(GIVEN, {"value": 1}),
            renamed=(RENAMED, {"name_given": "Wrens"}),
            second=(GIVEN, {"value": 2}),
        )
        assert {name: [tuple(row) for row in rows[name]] for name in rows} == {
            "first": [(1,)],
            "renamed": [],
            "second": [(2,)],
        }
    with database.reading() as session:
        assert session.scalar(select(Project.name)) == "Wrens"


def test_what_was_asked_is_undone_with_the_transaction(database: Database) -> None:
    with database.transaction() as session:
        before = make_project(session, n_items=3).name
    with database.transaction() as session:
        run(session.connection(), renamed=(RENAMED, {"name_given": "Wrens"}))
        session.rollback()
    with database.reading() as session:
        assert session.scalar(select(Project.name)) == before


@pytest.mark.only_on("postgres")
def test_the_last_queries_are_committed_along_with_them_and_only_they_without_the_disk(database: Database) -> None:
    with database.transaction() as session:
        make_project(session, n_items=3)
    with database.transaction() as session:
        session.execute(text("SET synchronous_commit TO local"))
        rows = run_last(session.connection(), renamed=(RENAMED, {"name_given": "Wrens"}), given=(GIVEN, {"value": 1}))
        assert list(rows["given"]) == [(1,)]
        with database.reading() as another:
            assert another.scalar(select(Project.name)) == "Wrens"
        assert session.scalar(text("SHOW synchronous_commit")) == "local"


@pytest.mark.only_on("postgres")
def test_when_one_of_the_last_queries_fails_nothing_is_committed(database: Database) -> None:
    with database.transaction() as session:
        before = make_project(session, n_items=3).name
    impossible = select(GIVEN.selected_columns.value / literal_column("0"))
    with pytest.raises(DivisionByZero), database.transaction() as session:
        run_last(session.connection(), renamed=(RENAMED, {"name_given": "Wrens"}), failing=(impossible, {"value": 1}))
    with database.reading() as session:
        assert session.scalar(select(Project.name)) == before


@pytest.mark.only_on("postgres")
def test_leases_end_in_utc_whatever_the_servers_zone(database: Database) -> None:
    with database.transaction() as session:
        project = make_project(session, n_items=9)
        labeler = add_member(session, project, Role.LABELER).id
    for _ in ("leased", "held"):
        with database.transaction() as session:
            session.connection().exec_driver_sql("SET LOCAL timezone TO 'Asia/Kathmandu'")
            [held] = lease(session, project, labeler, 1, 60)
        assert held.expires_at.tzinfo is UTC
        assert 0 < (held.expires_at - datetime.now(UTC)).total_seconds() < 61


def test_who_sends_and_what_is_meant_are_found_as_sqlalchemy_finds_them(database: Database) -> None:
    with database.transaction() as session:
        project = make_project(session, n_items=9, redundancy=3, rerun_idle_seconds=2.5)
        labelers = [add_member(session, project, Role.LABELER, f"L{i}").id for i in range(2)]
        administrator = make_user(session, is_admin=True).id
        sessions = [hash_token(make_session(session, user)) for user in (*labelers, administrator)]
        items = session.scalars(select(Item.id).order_by(Item.id)).all()
        row = ConstraintRow(1, uuid.uuid4(), (items[0], items[2], items[1]), "yes", labelers[0], None)
        store_constraints(session, ProjectView.of(project), [row])
    keys = ["item-1", "item-4", "no such item", "no \0 key"]
    with database.reading() as session:
        looked_up = queries.look_up(session, project.key, [*sessions, "unknown"], keys, [row.id, uuid.uuid4()])
        elsewhere = queries.look_up(session, "other", sessions[:1], keys, [])
        assert looked_up.item_ids == ids_by_key(session, project.id, keys)
        view = ProjectView.of(session.get_one(Project, project.id))
    assert len(looked_up.item_ids) == 2
    assert looked_up.callers == {
        sessions[0]: CallerRow(labelers[0], False, Role.LABELER, view),
        sessions[1]: CallerRow(labelers[1], False, Role.LABELER, view),
        sessions[2]: CallerRow(administrator, True, None, view),
    }
    assert looked_up.contents == {row.id: Content(project.id, items[0], items[1], items[2], labelers[0], "no")}
    assert elsewhere.callers == {sessions[0]: CallerRow(labelers[0], False, None, None)}
    assert (elsewhere.item_ids, elsewhere.contents) == ({}, {})


def test_a_locked_database_is_told_as_sqlalchemy_tells_it(sqlite_database_url: str) -> None:
    first, second = Database(sqlite_database_url), Database(sqlite_database_url)
    with first.transaction() as session:
        make_project(session)
    with first.transaction() as holding, second.reading() as session:
        holding.execute(RENAMED, {"name_given": "Wrens"})
        connection = session.connection()
        connection.exec_driver_sql("PRAGMA busy_timeout=0")
        with pytest.raises(OperationalError, match="database is locked"):
            run(connection, renamed=(RENAMED, {"name_given": "Owls"}))
    first.close()
    second.close()
