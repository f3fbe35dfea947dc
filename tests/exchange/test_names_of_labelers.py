"""Imported answers belong to labelers whom nobody comes in as; those of a share link own what they gave."""

import json
import uuid
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.accounts import service
from tercet.database import Database
from tercet.models import Answer, Membership, Project, Role, User
from tests.factories import add_member, make_project, make_token, row_counts, signed_in

URL = "/api/v1/projects/songs"
NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture
def analyst(app: FastAPI, database: Database) -> dict[str, str]:
    """The headers of an analyst's program in a project of six items."""
    with database.transaction() as session:
        token = make_token(session, add_member(session, make_project(session, n_items=6), Role.ANALYST))
    return {"Authorization": f"Bearer {token}"}


def row(*places: int, **fields: Any) -> dict[str, Any]:
    return {"triplet": [f"item-{place}" for place in places], "answer": "yes", **fields}


def send(client: TestClient, analyst: dict[str, str], *rows: dict[str, Any]) -> dict[str, int]:
    answer = client.post(f"{URL}/constraints", content="\n".join(map(json.dumps, rows)), headers={**analyst, **NDJSON})
    assert answer.status_code == 201, answer.text
    stored: dict[str, int] = answer.json()
    return stored


def exported(client: TestClient, analyst: dict[str, str]) -> list[dict[str, Any]]:
    lines = client.get(f"{URL}/constraints", params={"names": True}, headers=analyst).text.splitlines()
    return [json.loads(line) for line in lines]


def join(database: Database, participant: str) -> User:
    with database.transaction() as session:
        token = service.make_share_link(session, session.scalars(sa.select(Project)).one())
        return service.join(session, token, service.Visitor(None, "a secret"), participant=participant).user


@pytest.mark.parametrize("joins_first", [True, False])
def test_nobody_withdraws_answers_imported_in_their_name(
    app: FastAPI, database: Database, anonymous: TestClient, analyst: dict[str, str], joins_first: bool
) -> None:
    if joins_first:
        ada = join(database, "Ada")
    send(anonymous, analyst, row(0, 1, 2, labeler="Ada"), row(3, 4, 5, labeler="Ada"))
    if not joins_first:
        ada = join(database, "Ada")
    imported = [answer["id"] for answer in exported(anonymous, analyst)]
    with signed_in(app, ada) as client:
        assert not any(answer_id in client.get("/projects/songs/label").text for answer_id in imported)
        for answer_id in imported:
            assert client.delete(f"{URL}/answers/{answer_id}").status_code in (403, 404)
    with database.reading() as session:
        assert session.scalars(sa.select(Answer.labeler_id).distinct()).one() != ada.id
        names = session.scalars(sa.select(Membership.participant).order_by(Membership.id)).all()
    assert names == [None, "Ada", "Ada (2)"]


def test_more_answers_of_a_name_belong_to_the_same_imported_labeler(
    database: Database, anonymous: TestClient, analyst: dict[str, str]
) -> None:
    join(database, "Ada")
    for rows in ([row(0, 1, 2, labeler="Ada")], [row(3, 4, 5, labeler="Ada")], [row(1, 2, 3, labeler="Ada (2)")]):
        assert send(anonymous, analyst, *rows)["stored"] == 1
    assert {answer["labeler"] for answer in exported(anonymous, analyst)} == {"Ada (2)"}


def test_answers_of_a_link_can_be_sent_in_again(
    app: FastAPI, database: Database, anonymous: TestClient, analyst: dict[str, str]
) -> None:
    with signed_in(app, join(database, "Ada")) as client:
        answer = {"id": str(uuid.uuid4()), "triplet": ["item-0", "item-1", "item-2"], "answer": "no"}
        assert client.post(f"{URL}/answers", json=answer).status_code == 201
    [line] = exported(anonymous, analyst)
    before = row_counts(database)
    assert line["labeler"] == "Ada"
    assert send(anonymous, analyst, line) == {"rows": 1, "stored": 0, "repeated": 1}
    assert row_counts(database) == before
    assert send(anonymous, analyst, line, row(3, 4, 5, labeler="Ada")) == {"rows": 2, "stored": 1, "repeated": 1}
    assert [answer["labeler"] for answer in exported(anonymous, analyst)] == ["Ada", "Ada (2)"]
    changed = json.dumps({**line, "labeler": "Bo"})
    refused = anonymous.post(f"{URL}/constraints", content=changed, headers={**analyst, **NDJSON})
    assert refused.status_code == 409
