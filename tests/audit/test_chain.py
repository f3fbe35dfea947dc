"""The audit log has who, when, from where, before and after; nothing of it can be changed or left out unseen."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import delete, select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from tercet.accounts import service
from tercet.audit import chain
from tercet.database import Database
from tercet.models import AuditEntry, Role, Scope, User
from tests.factories import add_member, make_project, make_user, signed_in

HTML = {"Sec-Fetch-Site": "same-origin", "Accept": "text/html"}


def deeds(database: Database) -> list[str]:
    with database.reading() as session:
        return list(session.scalars(select(AuditEntry.what).order_by(AuditEntry.number)))


def add(database: Database, count: int) -> None:
    for number in range(count):
        with database.transaction() as session:
            chain.record(session, "tried", after={"number": number, "text": "Hört ♪"})


def test_what_owners_do_is_in_it(database: Database, app: FastAPI) -> None:
    with database.transaction() as session:
        owner = add_member(session, make_project(session), Role.OWNER, "Ada")
        link = service.make_sign_in_link(session, owner)
    with TestClient(app, client=("10.0.0.7", 5000), headers=HTML) as client:
        client.post(f"/sign-in/{link}", follow_redirects=False)
        client.patch("/api/v1/projects/songs", json={"guidelines": "Listen.", "n_clusters": 3})
        client.post("/projects/songs/settings/share-links", data={"days": "3"})
        client.post("/projects/songs/settings/share-links/1/revoke", follow_redirects=False)
        client.post("/projects/songs/settings/invitations", data={"email": "bo@example.org", "role": "analyst"})
        client.post("/account/tokens", data={"name": "script", "scope": "read"})
        page = client.get("/projects/songs/audit").text
        lines = [json.loads(line) for line in client.get("/api/v1/projects/songs/audit").text.splitlines()]
        client.request("DELETE", "/api/v1/projects/songs")
    assert deeds(database) == [
        *("signed in", "settings changed", "labeling link made", "labeling link revoked", "invited"),
        *("API token made", "project deleted"),
    ]
    changed = next(line for line in lines if line["what"] == "settings changed")
    assert (changed["before"], changed["after"]) == ({"guidelines": ""}, {"guidelines": "Listen."})
    assert {(line["by"], line["address"], line["project"]) for line in lines} == {("Ada", "10.0.0.7", "songs")}
    assert "settings changed" in page
    assert "is broken" not in page
    secrets = str([vars(entry) for entry in entries(database)])
    assert link not in secrets
    with database.reading() as session:
        assert chain.first_break(session) is None


def entries(database: Database) -> list[AuditEntry]:
    with database.reading() as session:
        return list(chain.entries(session))


def test_entries_of_threads_have_numbers_without_a_gap(database: Database) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: add(database, 5), range(6)))
    assert [entry.number for entry in entries(database)] == list(range(1, 31))
    with database.reading() as session:
        assert chain.first_break(session) is None


@pytest.mark.parametrize("change", [update(AuditEntry).values(by_name="Eve"), delete(AuditEntry)])
def test_the_database_refuses_changes(database: Database, change: object) -> None:
    add(database, 3)
    with pytest.raises(DBAPIError, match="can only be added to"), database.transaction() as session:
        session.execute(change)  # type: ignore[call-overload]
    assert len(entries(database)) == 3


@pytest.mark.parametrize(
    ("change", "number"),
    [
        (update(AuditEntry).where(AuditEntry.number == 3).values(by_name="Eve"), 3),
        (update(AuditEntry).where(AuditEntry.number == 2).values(after={"number": 7}), 2),
        (delete(AuditEntry).where(AuditEntry.number == 4), 4),
        (delete(AuditEntry).where(AuditEntry.number == 1), 1),
    ],
)
@pytest.mark.only_on("sqlite")
def test_whoever_goes_round_the_triggers_breaks_the_chain(database: Database, change: object, number: int) -> None:
    add(database, 5)
    with database.transaction() as session:
        session.execute(text("DROP TRIGGER audit_refuses_update"))
        session.execute(text("DROP TRIGGER audit_refuses_delete"))
        session.execute(change)  # type: ignore[call-overload]
    with database.reading() as session:
        assert chain.first_break(session) == number


def test_a_deed_that_fails_is_not_in_it(database: Database) -> None:
    with database.engine.connect() as connection, Session(connection) as session:
        chain.record(session, "tried")
    assert entries(database) == []


def test_commands_are_in_it(database: Database) -> None:
    chain.acting.set(None)  # a test before may have looked somebody up here, as a request does in a context of its own
    with database.transaction() as session:
        user = service.make_user(session, "Ada", email="ada@example.org")
        service.make_api_token(session, user, "script", Scope.READ)
        service.disable_user(session, user)
    assert {entry.by_name for entry in entries(database)} == {chain.COMMAND_LINE}
    assert deeds(database) == ["account made", "API token made", "signed out everywhere", "account disabled"]


def test_the_whole_log_is_for_administrators(database: Database, app: FastAPI) -> None:
    with database.transaction() as session:
        users: list[User] = [make_user(session, is_admin=admin) for admin in (True, False)]
    add(database, 3)
    for user, status in zip(users, (200, 403), strict=True):
        with signed_in(app, user) as client:
            answer = client.get("/api/v1/audit", params={"after": 1})
            assert answer.status_code == status
            if status == 200:
                assert [json.loads(line)["number"] for line in answer.text.splitlines()] == [2, 3]
