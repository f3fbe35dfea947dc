"""Lists of answers over REST: order, filters, pages, what the run and others say of each."""

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from tercet.answers.listing import by_suspicion
from tercet.database import Database
from tercet.models import Item, Project, Run, RunStatus
from tercet.runs.results import AnswerReport
from tercet.storage import Storage
from tests.answers.conftest import GIVEN, SONGS, World, add_run, answer, stored


def listed(client: TestClient, **asked: Any) -> dict[str, Any]:
    response = client.get(f"{SONGS}/answers", params=asked)
    assert response.status_code == 200, response.text
    return dict(response.json())


def numbers(client: TestClient, **asked: Any) -> list[int]:
    return [answer["number"] for answer in listed(client, **asked)["answers"]]


def test_an_answer_says_what_was_asked_and_what_others_and_the_run_say(analyst: TestClient, world: World) -> None:
    page = listed(analyst)
    assert page["run"] == 1
    assert page["next"] is None
    fifth = next(answer for answer in page["answers"] if answer["number"] == 5)
    assert fifth["created_at"]
    del fifth["created_at"]
    assert fifth == {
        "id": str(world.ids[4]),
        "number": 5,
        "triplet": ["item-0", "item-1", "item-2"],
        "answer": "no",
        "labeler": world.cem.id,
        "labeler_name": "Cem",
        "response_ms": 1500,
        "comment": "",
        "withdrawn_at": None,
        "set_aside": None,
        "known_at": None,
        "probability": 0.1,
        "foreseen": None,
        "suspect": 2,
        "others": 2,
        "others_agree": 0,
    }
    first = page["answers"][-1]
    assert (first["others"], first["others_agree"], first["suspect"]) == (2, 1, None)


def test_answers_about_some_items(analyst: TestClient, world: World, database: Database) -> None:
    assert numbers(analyst, text="item-3") == [4, 3]
    assert numbers(analyst, text="item-3", order="suspect") == [4, 3]
    analyst.post(f"{SONGS}/tags", json={"tag": "check", "add": ["item-6", "item-2"]})
    assert numbers(analyst, tag="check", answer="no") == [6, 5, 4]
    with database.transaction() as session:
        session.get_one(Item, world.items[4]).details = {"site": "A"}
    assert numbers(analyst, by="column:site", value="A") == [3]
    page = analyst.get("/projects/songs/answers?by=column:site&value=A&labeler=").text
    assert "Take away: " in page
    assert "/projects/songs?by=column%3Asite&amp;value=A" in page


def test_newest_and_most_suspect_first(analyst: TestClient) -> None:
    assert numbers(analyst) == [6, 5, 4, 3, 2, 1]
    assert numbers(analyst, order="suspect") == [4, 5, 3, 6, 2, 1], "ranks first, then the least probable"


@pytest.mark.heavy(but="sqlite")
@pytest.mark.parametrize("order", ["newest", "suspect"])
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_pages_join_without_gaps(analyst: TestClient, order: str, limit: int) -> None:
    seen: list[int] = []
    after = ""
    while True:
        page = listed(analyst, order=order, limit=limit, after=after)
        seen += [answer["number"] for answer in page["answers"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert seen == numbers(analyst, order=order)


def test_pages_by_suspicion_stay_with_their_run(
    analyst: TestClient, world: World, database: Database, storage: Storage
) -> None:
    first = listed(analyst, order="suspect", limit=2)
    with database.transaction() as session:
        add_run(session, storage, session.get_one(Project, world.project.id), 2, [])
    second = listed(analyst, order="suspect", after=first["next"])
    assert second["run"] == 1
    assert [answer["number"] for answer in first["answers"] + second["answers"]] == [4, 5, 3, 6, 2, 1]


@pytest.mark.parametrize("order", ["newest", "suspect"])
def test_filters(analyst: TestClient, world: World, database: Database, order: str) -> None:
    analyst.post(f"{SONGS}/answers/{world.ids[3]}/set-aside", json={})
    analyst.delete(f"{SONGS}/answers/{world.ids[5]}")
    by_ada = {k for k, (name, _, _) in enumerate(GIVEN, 1) if name == "ada"}
    assert set(numbers(analyst, order=order)) == {1, 2, 3, 4, 5}
    assert set(numbers(analyst, order=order, labeler=world.ada.id)) == by_ada - {6}
    assert set(numbers(analyst, order=order, answer="yes")) == {1, 2}
    assert set(numbers(analyst, order=order, state="used")) == {1, 2, 3, 5}
    assert numbers(analyst, order=order, state="set-aside") == [4]
    assert numbers(analyst, order=order, state="withdrawn") == [6]
    assert numbers(analyst, order=order, state="used", labeler=world.ben.id, answer="no") == []
    assert set(numbers(analyst, order=order, labeler="", answer="", state="", after="")) == {1, 2, 3, 4, 5}
    assert stored(database, 6).withdrawn_at is not None


def test_the_run_says_nothing_of_answers_that_came_after_it(
    analyst: TestClient, world: World, database: Database
) -> None:
    with database.transaction() as session:
        project = session.get_one(Project, world.project.id)
        answer(session, project, world.ben, (world.items[6], world.items[7], world.items[8]), "yes")
    newest = listed(analyst)["answers"][0]
    assert (newest["number"], newest["probability"], newest["others"]) == (7, None, 1)
    assert 7 not in numbers(analyst, order="suspect"), "no run knows it yet"


def test_suspicion_orders_by_rank_then_by_probability() -> None:
    rng = np.random.default_rng(4)
    probabilities = rng.random(40).astype(np.float32)
    suspicion = np.zeros(40, np.int32)
    suspicion[rng.permutation(40)[:15]] = np.arange(1, 16)
    report = AnswerReport(np.arange(100, 140), probabilities, suspicion)
    plain = sorted(range(40), key=lambda k: (suspicion[k] or 99, probabilities[k]))
    assert by_suspicion(report).tolist() == [100 + k for k in plain]


@pytest.mark.heavy(but="sqlite")
@pytest.mark.parametrize(
    ("asked", "field", "says"),
    [
        ({"answer": "1"}, "answer", "expected one of yes, no, dnk"),
        ({"answer": "maybe"}, "answer", "at most 3 characters"),
        ({"state": "lost"}, "state", "'used', 'set-aside', 'unseen' or 'withdrawn'"),
        ({"order": "random"}, "order", "'newest' or 'suspect'"),
        ({"labeler": "ada"}, "labeler", "valid integer"),
        ({"labeler": 2**31}, "labeler", "less than or equal"),
        ({"limit": 0}, "limit", "greater than or equal to 1"),
        ({"after": "x"}, "after", "'x' is not the `next`"),
        ({"after": "1.2"}, "after", "'1.2' is not the `next`"),
        ({"after": "3", "order": "suspect"}, "after", "'3' is not the `next`"),
        ({"after": "99.2", "order": "suspect"}, "after", "'99.2' is not the `next`"),
        ({"after": "-1"}, "after", "'-1' is not the `next`"),
    ],
)
def test_bad_filters_are_named(analyst: TestClient, asked: dict[str, Any], field: str, says: str) -> None:
    refused = analyst.get(f"{SONGS}/answers", params=asked)
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    [error] = refused.json()["errors"]
    assert error["field"].endswith(field)
    assert says in error["detail"]


def test_without_a_run_the_newest_stand_for_the_most_suspect(analyst: TestClient, database: Database) -> None:
    with database.transaction() as session:
        session.scalars(select(Run)).one().status = RunStatus.FAILED
    page = listed(analyst, order="suspect")
    assert page["run"] is None
    assert [answer["number"] for answer in page["answers"]] == [6, 5, 4, 3, 2, 1]
