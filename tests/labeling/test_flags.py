"""Flagged items and notes on answers: who stores them, what they do to a labeler's questions, who reads and decides."""

import uuid

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

from tercet.labeling.refill import Queued, refill
from tercet.models import Answer, Flag, Item, Lease, Source, Triplet
from tests.factories import row_counts
from tests.labeling.conftest import SONGS, World, ask, give
from tests.runs.support import wait_for

FLAGGED = f"{SONGS}/flagged-items"


@pytest.fixture
def flagged(ada: TestClient, ben: TestClient) -> str:
    """An item of Ada's first question, which she flags."""
    item = ask(ada)[0][1]
    sent = ada.post(f"{SONGS}/flags", json={"item": item, "reason": "cut", "note": " begins late "})
    assert sent.status_code == 201, sent.text
    assert sent.json() | {"created_at": ""} == {"item": item, "reason": "cut", "note": "begins late", "created_at": ""}
    return item


def items_asked(client: TestClient, n: int = 60) -> set[str]:
    return {key for triplet in ask(client, n) for key in triplet}


def listed(client: TestClient, state: str = "open") -> list[tuple[str, list[tuple[str, str, str]]]]:
    response = client.get(FLAGGED, params={"state": state})
    assert response.status_code == 200, response.text
    return [
        (item["key"], [(flag["labeler_name"], flag["reason"], flag["note"]) for flag in item["flags"]])
        for item in response.json()["items"]
    ]


def test_who_flags_an_item_is_asked_nothing_about_it_until_they_take_it_back(
    app: FastAPI, ada: TestClient, ben: TestClient, flagged: str, world: World
) -> None:
    assert len(items_asked(ada)) == 11, "all but the flagged one"
    assert flagged not in items_asked(ada)
    with app.state.database.reading() as session:
        held = select(Triplet).join(Lease).where(Lease.labeler_id == world.ada.id)
        flagged_id = session.scalars(select(Item.id).where(Item.key == flagged)).one()
        held_items = {item for row in session.scalars(held) for item in (row.anchor_id, row.left_id, row.right_id)}
        assert flagged_id not in held_items, "no lease keeps the question from others"
    ahead = ada.post(f"{SONGS}/triplets/ahead", params={"n": 60}).json()["triplets"]
    assert len(ahead) > 20
    assert flagged not in {key for question in ahead for key in question["triplet"]}
    assert flagged in items_asked(ben), "others are asked about it"
    assert ada.delete(f"{SONGS}/flags/{flagged}").json()["note"] == "begins late"
    assert ada.delete(f"{SONGS}/flags/{flagged}").status_code == 404
    wait_for(lambda: flagged in items_asked(ada, 100))


def test_no_question_about_it_is_reserved_for_who_flagged_it(app: FastAPI, flagged: str, world: World) -> None:
    database = app.state.database
    with database.reading() as session:
        ids = dict(session.execute(select(Item.key, Item.id)).all())
    others = sorted(number for key, number in ids.items() if key != flagged)
    about, beside = (ids[flagged], others[0], others[1]), (others[2], others[0], others[3])
    rows = [Queued(triplet, Source.INFORMATION, 0, world.ada.id) for triplet in (about, beside)]
    for _ in range(2):  # the first time they are new
        refill(database, world.project.id, [row._replace(n_answers=None) for row in rows])
        refill(database, world.project.id, rows)
    with database.reading() as session:
        asked = {(row.anchor_id, row.left_id, row.right_id): row.asked_of for row in session.scalars(select(Triplet))}
    assert (asked[about], asked[beside]) == (None, world.ada.id)


def test_analysts_read_flags_and_decide_about_them(
    app: FastAPI, ada: TestClient, ben: TestClient, analyst: TestClient, flagged: str
) -> None:
    ben.post(f"{SONGS}/flags", json={"item": flagged})
    flags = [("Ada", "cut", "begins late"), ("Ben", "other", "")]
    assert listed(analyst) == [(flagged, flags)]
    for state in ("dismissed", "set-aside", "open", "set-aside"):
        done = analyst.put(f"{FLAGGED}/{flagged}", json={"state": state})
        assert done.status_code == 204, done.text
        assert {other: len(listed(analyst, other)) for other in ("open", "dismissed", "set-aside")} == {
            "open": 0, "dismissed": 0, "set-aside": 0, state: 1
        }  # fmt: skip
        aside = analyst.get(f"{SONGS}/items", params={"set_aside": True}).json()["items"]
        assert [item["key"] for item in aside] == ([flagged] if state == "set-aside" else [])
    assert flagged not in items_asked(ben)
    analyst.put(f"{FLAGGED}/{flagged}", json={"state": "dismissed"})
    assert flagged not in items_asked(ada), "whatever is decided"
    ada.post(f"{SONGS}/flags", json={"item": flagged, "reason": "wrong"})
    assert listed(analyst) == [(flagged, [("Ada", "wrong", ""), flags[1]])], "flagged again, it is open again"


def test_bad_flags_are_refused_and_change_nothing(
    app: FastAPI, ada: TestClient, analyst: TestClient, flagged: str
) -> None:
    before = row_counts(app.state.database)
    wrong = [
        ({"item": "nobody"}, "item"),
        ({"item": flagged, "reason": "ugly"}, "reason"),
        ({"item": flagged, "note": "x" * 501}, "note"),
        ({"item": flagged, "note": "\0"}, "note"),
    ]
    for body, field in wrong:
        refused = ada.post(f"{SONGS}/flags", json=body)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field)
    assert ada.get(FLAGGED).status_code == 403
    assert ada.put(f"{FLAGGED}/{flagged}", json={"state": "dismissed"}).status_code == 403
    assert analyst.put(f"{FLAGGED}/item-99", json={"state": "dismissed"}).status_code == 422
    unflagged = next(f"item-{i}" for i in range(12) if f"item-{i}" != flagged)
    assert analyst.put(f"{FLAGGED}/{unflagged}", json={"state": "set-aside"}).status_code == 404
    assert row_counts(app.state.database) == before
    with app.state.database.reading() as session:
        [row] = session.scalars(select(Flag)).all()
        assert (row.reason, row.note) == ("cut", "begins late")


def test_notes_are_the_labelers_own_and_go_wherever_answers_go(
    app: FastAPI, ada: TestClient, ben: TestClient, analyst: TestClient
) -> None:
    key = str(uuid.uuid4())
    for triplet, answer_id in zip(ask(ada, 2), (key, None), strict=True):
        give(ada, triplet, key=answer_id)
    place = f"{SONGS}/answers/{key}/comment"
    note = "=two birds"
    assert ada.put(place, json={"comment": f" {note} "}).json() == {"id": key, "comment": note}
    assert ben.put(place, json={"comment": "mine"}).status_code == 404
    assert ada.put(place, json={"comment": "x" * 501}).status_code == 422
    assert note in ada.get("/projects/songs/label").text, "it can be changed after a reload"
    answers = analyst.get(f"{SONGS}/answers", params={"commented": True}).json()["answers"]
    assert [(answer["id"], answer["comment"]) for answer in answers] == [(key, note)]
    assert len(analyst.get(f"{SONGS}/answers", params={"commented": ""}).json()["answers"]) == 2
    page = analyst.get("/projects/songs/answers?commented=true").text
    assert "two birds" in page
    assert page.count('class="answer"') == 1
    rows = analyst.get(f"{SONGS}/constraints", params={"format": "csv"}).text.splitlines()
    assert rows[0].endswith(",set_aside_at,comment")
    assert rows[1].endswith(",'=two birds")
    ada.put(place, json={"comment": ""})
    with app.state.database.reading() as session:
        assert [answer.comment for answer in session.scalars(select(Answer))] == ["", ""]


@pytest.mark.only_on("sqlite")
def test_the_pages_show_flags_and_decide_by_a_form(analyst: TestClient, flagged: str) -> None:
    html = {"Accept": "text/html"}
    assert "Labelers flagged an item as broken." in analyst.get("/projects/songs", headers=html).text
    page = "/projects/songs/answers"
    assert f"<b>{flagged}</b>" in analyst.get(page, headers=html).text
    form = {"item": flagged, "state": "set-aside", "back": "state=used"}
    done = analyst.post("/projects/songs/flagged-items", data=form, follow_redirects=False)
    assert (done.status_code, done.headers["location"]) == (303, f"{page}?state=used#flagged")
    assert "Nothing is left to decide about." in analyst.get(page, headers=html).text
    assert "Labelers flagged" not in analyst.get("/projects/songs", headers=html).text
