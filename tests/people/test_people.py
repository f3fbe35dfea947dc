"""What is stored about a labeler is taken out and erased; exports have pseudonyms; names go by themselves in time."""

import io
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from tercet.accounts import service as accounts
from tercet.database import Database
from tercet.models import (
    Answer,
    AuditEntry,
    BrowserSession,
    Decision,
    Flag,
    Membership,
    Project,
    Role,
    Run,
    RunStatus,
    ShareLink,
    Skip,
    Triplet,
    User,
    now,
)
from tercet.people import service
from tercet.storage import Storage
from tests.factories import add_features, add_member, make_project, signed_in

SONGS = "/api/v1/projects/songs"
SETTINGS = "/projects/songs/settings"


@pytest.fixture
def owner(app: FastAPI, database: Database, storage: Storage) -> Iterator[TestClient]:
    with database.transaction() as session:
        project = make_project(session, n_items=9)
        add_features(session, storage, project, np.eye(9))
        ruth = add_member(session, project, Role.OWNER, "Ruth")
    with signed_in(app, ruth) as client:
        yield client


def come(database: Database, name: str) -> User:
    """Somebody comes by a personal labeling link."""
    with database.transaction() as session:
        token = accounts.make_share_link(session, session.scalars(select(Project)).one(), labeler=name)
        return accounts.join(session, token, accounts.Visitor(None, "a secret")).user


def label(app: FastAPI, user: User, number: int) -> list[str]:
    """Answer so many questions, note something on the first, skip one more, flag an item."""
    with signed_in(app, user) as client:
        asked = client.get(f"{SONGS}/triplets/next?n={number + 1}").json()["triplets"]
        ids = [f"0d5f5c0e-6a53-4e57-9b1e-{user.id:06}{place:06}" for place in range(number)]
        for place, question in enumerate(asked[:number]):
            form = {"id": ids[place], "triplet": question["triplet"], "answer": "yes", "response_ms": 900}
            assert client.post(f"{SONGS}/answers", json=form).status_code == 201
        client.put(f"{SONGS}/answers/{ids[0]}/comment", json={"comment": "my garden"})
        assert client.post(f"{SONGS}/skips", json={"triplet": asked[number]["triplet"]}).status_code == 201
        assert client.post(f"{SONGS}/flags", json={"item": "item-0", "note": "my voice"}).status_code == 201
    return ids


def everything_stored(database: Database) -> str:
    """All texts of the tables that say who labelers are, but for the audit log."""
    with database.reading() as session:
        rows: list[Any] = []
        for table in (User, Membership, BrowserSession, ShareLink, Answer, Flag, Skip, Decision):
            rows += [[str(value) for value in row] for row in session.execute(select(*table.__table__.columns))]
    return json.dumps(rows)


def test_everything_about_a_labeler_comes_out(app: FastAPI, database: Database, owner: TestClient) -> None:
    ada, bo = come(database, "Ada"), come(database, "Bo")
    ids = label(app, ada, 2)
    label(app, bo, 1)
    assert owner.post(f"{SONGS}/labelers/{ada.id}/set-aside", json={"reason": "a robot"}).status_code == 201
    reply = owner.get(f"{SONGS}/labelers/{ada.id}/data")
    assert reply.status_code == 200, reply.text
    assert reply.headers["Content-Disposition"] == f'attachment; filename="songs-labeler-{ada.id}.json"'
    data = reply.json()
    assert (data["name"], data["email"], data["role"], data["link"]) == ("Ada", None, "labeler", 1)
    assert [sign_in["address"] for sign_in in data["sign_ins"]] == ["127.0.0.1"]
    assert [answer["id"] for answer in data["answers"]] == ids
    assert {answer["comment"] for answer in data["answers"]} == {"my garden", ""}
    assert all(len(answer["triplet"]) == 3 for answer in data["answers"])
    assert len(data["skips"]) == 1
    assert [(flag["item"], flag["note"]) for flag in data["flags"]] == [("item-0", "my voice")]
    assert [(row["verdict"], row["reason"]) for row in data["decisions"]] == [("set aside", "a robot")]
    with database.reading() as session:
        assert session.scalar(select(func.count()).where(AuditEntry.what == "data of a labeler taken out")) == 1
    assert owner.get(f"{SONGS}/labelers/999/data").status_code == 404


def test_an_erased_labeler_is_nobody_and_the_answers_stay(app: FastAPI, database: Database, owner: TestClient) -> None:
    ada = come(database, "Ada")
    label(app, ada, 2)
    with signed_in(app, ada) as client:
        reply = owner.delete(f"{SONGS}/labelers/{ada.id}")
        assert reply.status_code == 200, reply.text
        pseudonym = reply.json()["pseudonym"]
        assert reply.json() == {"labeler": ada.id, "answers": 2, "pseudonym": pseudonym}
        assert client.get(f"{SONGS}/triplets/next").status_code == 401, "they are signed out at once"
    stored = everything_stored(database)
    assert not [word for word in ("Ada", "my garden", "my voice") if word in stored.replace("Ruth", "")]
    [person] = owner.get(f"{SONGS}/labelers").json()["labelers"]
    assert (person["name"], person["answers"]) == (pseudonym, 2)
    with database.reading() as session:
        assert session.get(User, ada.id) is None
        assert session.scalar(select(func.count()).where(Answer.withdrawn_at.is_(None))) == 2
    assert owner.get(f"{SONGS}/labelers/{ada.id}/data").status_code == 404
    again = owner.delete(f"{SONGS}/labelers/{person['labeler']}")
    detail = f"{pseudonym} stands for somebody who was erased already."
    assert (again.status_code, again.json()["detail"]) == (409, detail)
    assert owner.delete(f"{SONGS}/labelers/{person['labeler']}?answers=remove").json()["answers"] == 2


def test_answers_go_too_if_asked_and_a_run_does_without_them(
    app: FastAPI, database: Database, owner: TestClient
) -> None:
    ada, bo = come(database, "Ada"), come(database, "Bo")
    label(app, ada, 2)
    label(app, bo, 1)
    assert owner.post(f"{SONGS}/labelers/{ada.id}/set-aside", json={}).status_code == 201
    with database.transaction() as session:
        session.execute(update(Run).values(status=RunStatus.DONE, answers_to=3))
    done = owner.post(f"{SETTINGS}/labelers/{ada.id}/erase", data={"answers": "remove"}, follow_redirects=False)
    assert (done.status_code, done.headers["location"]) == (303, f"{SETTINGS}#labelers")
    assert [row["name"] for row in owner.get(f"{SONGS}/labelers").json()["labelers"]] == ["Bo"]
    with database.reading() as session:
        assert session.scalars(select(Answer.labeler_id).where(Answer.counts)).all() == [bo.id]
        rows = session.execute(select(Answer.value, Answer.response_ms, Answer.comment).where(Answer.erased)).all()
        assert rows == [("dnk", None, "")] * 2, "numbers stay, and nothing of what was said"
        assert session.scalars(select(Decision.id)).all() == []
        answered = select(Answer.triplet_id).where(Answer.counts)
        waiting = session.scalars(select(Triplet.id).where(Triplet.priority.is_not(None), Triplet.id.not_in(answered)))
        assert len(waiting.all()) >= 2, "their questions are asked again"
        assert session.scalar(select(func.count()).where(Run.status == RunStatus.QUEUED)) == 1
        [removed, *_] = session.scalars(select(Answer).where(Answer.erased))
    assert len(owner.get(f"{SONGS}/constraints").text.splitlines()) == 1
    assert owner.get(f"{SONGS}/answers?state=withdrawn").json()["answers"] == []
    refused = owner.delete(f"{SONGS}/answers/{removed.id}/set-aside")
    assert refused.json()["detail"].endswith("was removed with its labeler: there is nothing to put back.")
    assert owner.delete(f"{SONGS}/labelers/{removed.labeler_id}/withdrawn").status_code == 409
    assert owner.get(f"{SONGS}/summary").json()["answers"]["total"] == 1


def test_who_does_more_than_label_is_not_erased(app: FastAPI, database: Database, owner: TestClient) -> None:
    with database.transaction() as session:
        project = session.scalars(select(Project)).one()
        ann, eve = add_member(session, project, Role.ANALYST, "Ann"), add_member(session, project, Role.LABELER, "Eve")
    label(app, eve, 1)
    refused = owner.delete(f"{SONGS}/labelers/{ann.id}")
    assert refused.json()["detail"] == "Ann is analyst of this project: remove them from it first."
    assert owner.get(f"{SONGS}/labelers/{eve.id}/data").json()["sign_ins"] == [], "an account is its owner's affair"
    assert owner.delete(f"{SONGS}/labelers/{eve.id}").json()["answers"] == 1
    with database.reading() as session:
        assert session.get_one(User, eve.id).name == "Eve", "the account stays, with nothing that leads to it"
        assert session.scalar(select(func.count()).where(Answer.labeler_id == eve.id)) == 0


def test_names_go_by_themselves(app: FastAPI, database: Database, owner: TestClient) -> None:
    ada, bo, cy = come(database, "Ada"), come(database, "Bo"), come(database, "Cy")
    for user in (ada, bo, cy):
        label(app, user, 1)
    long_ago = now() - timedelta(days=40)
    with database.transaction() as session:
        session.execute(update(Answer).where(Answer.labeler_id.in_([ada.id, cy.id])).values(created_at=long_ago))
        session.execute(update(Membership).values(created_at=long_ago))
    assert owner.delete(f"{SONGS}/members/{cy.id}").status_code == 200
    service.erase_silent(database)
    assert {row["name"] for row in owner.get(f"{SONGS}/labelers").json()["labelers"]} == {"Ada", "Bo", "Cy"}
    saved = owner.post(SETTINGS, data={"retention_days": "30"}, follow_redirects=False)
    assert saved.status_code == 303
    for _ in range(2):  # who stands for somebody is not erased once more
        service.erase_silent(database)
        names = sorted(row["name"] for row in owner.get(f"{SONGS}/labelers").json()["labelers"])
        assert names[0] == "Bo"
        assert all(name.startswith("Erased labeler ") for name in names[1:])
    assert owner.patch(SONGS, json={"retention_days": -1}).status_code == 422
    assert "forgotten 30 days after" in owner.get(f"/join/{new_link(database)}").text


def new_link(database: Database) -> str:
    with database.transaction() as session:
        return accounts.make_share_link(session, session.scalars(select(Project)).one())


@pytest.mark.heavy(but="sqlite")
@pytest.mark.parametrize("form", ["ndjson", "csv", "json", "npz", "salmon", "cblearn"])
def test_exports_have_pseudonyms_unless_names_are_asked_for(
    app: FastAPI, database: Database, owner: TestClient, form: str
) -> None:
    ada = come(database, "Ada")
    label(app, ada, 1)
    url = f"{SONGS}/constraints?format={form}"
    content = {names: owner.get(f"{url}&names={names}").content for names in (False, True)}
    if form in ("npz", "cblearn"):
        content = {names: b" ".join(texts_of(packed)) for names, packed in content.items()}
    assert b"Ada" in content[True]
    assert b"Ada" not in content[False]
    assert f"labeler-{ada.id}".encode() in content[False]


def texts_of(packed: bytes) -> list[bytes]:
    with np.load(io.BytesIO(packed)) as arrays:
        return [str(text).encode() for array in arrays.values() if array.dtype.kind == "U" for text in array.ravel()]


def test_what_came_out_with_pseudonyms_goes_in_again(app: FastAPI, database: Database, owner: TestClient) -> None:
    label(app, come(database, "Ada"), 1)
    out = owner.get(f"{SONGS}/constraints").text
    headers = {"Content-Type": "application/x-ndjson"}
    again = owner.post(f"{SONGS}/constraints", content=out, headers=headers)
    assert again.json() == {"rows": 1, "stored": 0, "repeated": 1}
