"""What the drivers are asked past SQLAlchemy they answer as SQLAlchemy does, both the same."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import bindparam, inspect, select, update
from sqlalchemy.exc import OperationalError

from app.accounts.access import USERS_IN_PROJECT
from app.database import Database
from app.items.queries import ids_by_key
from app.labeling import queries, queue
from app.labeling.drivers import ask
from app.models import Project, Role
from tests.factories import add_member, make_project

GIVEN = select(bindparam("value", type_=Project.answer_number.type))
RENAMED = update(Project).values(name=bindparam("name_given"))


def test_each_statement_has_its_own_rows_and_one_that_gives_none_has_none(database: Database) -> None:
    with database.transaction() as session:
        make_project(session, n_items=3)
        first, nothing, second = ask(
            session.connection(), (GIVEN, {"value": 1}), (RENAMED, {"name_given": "Wrens"}), (GIVEN, {"value": 2})
        )
        assert [tuple(row) for row in (*first, *nothing, *second)] == [(1,), (2,)]
    with database.reading() as session:
        assert session.scalar(select(Project.name)) == "Wrens"


def test_what_was_asked_is_undone_with_the_transaction(database: Database) -> None:
    with database.transaction() as session:
        before = make_project(session, n_items=3).name
    with database.transaction() as session:
        ask(session.connection(), (RENAMED, {"name_given": "Wrens"}))
        session.rollback()
    with database.reading() as session:
        assert session.scalar(select(Project.name)) == before


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_leases_end_in_utc_whatever_the_servers_zone(database: Database) -> None:
    with database.transaction() as session:
        project = make_project(session, n_items=9)
        labeler = add_member(session, project, Role.LABELER).id
    for _ in ("leased", "held"):
        with database.transaction() as session:
            session.connection().exec_driver_sql("SET LOCAL timezone TO 'Asia/Kathmandu'")
            [held] = queue.lease_next(session, project, labeler, 1, 60)
        assert held.expires_at.tzinfo is UTC
        assert 0 < (held.expires_at - datetime.now(UTC)).total_seconds() < 61


def test_who_sends_and_what_is_meant_are_found_as_sqlalchemy_finds_them(
    database: Database,
) -> None:
    with database.transaction() as session:
        project = make_project(session, n_items=9)
        labelers = [add_member(session, project, Role.LABELER, f"L{i}").id for i in range(2)]
    keys = ["item-1", "item-4", "no such item", "no \0 key"]
    with database.reading() as session:
        people, ids = queries.people_and_items(session, project.key, [*labelers, 999], keys)
        elsewhere, none = queries.people_and_items(session, "other", labelers[:1], keys)
        expected = session.execute(USERS_IN_PROJECT, {"key": project.key, "users": labelers}).all()
        assert ids == ids_by_key(session, project.id, keys)
    assert len(ids) == 2
    assert sorted(people) == sorted(labelers)
    for user, its_project, role in expected:
        found = people[user.id]
        assert found.role == role == Role.LABELER
        assert found.project is not None
        for told, true in ((found.user, user), (found.project, its_project)):
            names = inspect(type(true)).columns.keys()
            assert {name: getattr(told, name) for name in names} == {name: getattr(true, name) for name in names}
    assert elsewhere[labelers[0]].project is None
    assert none == {}


def test_a_locked_database_is_told_as_sqlalchemy_tells_it(sqlite_database_url: str) -> None:
    first, second = Database(sqlite_database_url), Database(sqlite_database_url)
    with first.transaction() as session:
        make_project(session)
    with first.transaction() as holding, second.reading() as session:
        holding.execute(RENAMED, {"name_given": "Wrens"})
        connection = session.connection()
        connection.exec_driver_sql("PRAGMA busy_timeout=0")
        with pytest.raises(OperationalError, match="database is locked"):
            ask(connection, (RENAMED, {"name_given": "Owls"}))
    first.close()
    second.close()
