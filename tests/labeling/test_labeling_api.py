"""The loop of one labeler over HTTP: questions, answers, undo, skip, and every way to get it wrong."""

import asyncio
import uuid
from collections.abc import Callable

import httpx2 as httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from tercet.labeling import leasing
from tercet.labeling.schemas import NextOut
from tercet.models import Answer, Lease, Project, Triplet, now
from tests.labeling.conftest import SONGS, World, ask, give
from tests.loops import run


def stored(app: FastAPI) -> list[Answer]:
    with app.state.database.reading() as session:
        return list(session.scalars(select(Answer).order_by(Answer.number)))


def test_a_reload_shows_the_same_questions_in_the_same_order(ada: TestClient) -> None:
    first = ask(ada)
    assert len(first) == 5
    assert ask(ada) == first
    give(ada, first[0])
    assert ask(ada)[:4] == first[1:]


def test_two_labelers_get_different_questions_while_leases_live(ada: TestClient, ben: TestClient) -> None:
    of_ada, others = ask(ada, 20), ask(ben, 20)
    assert len(of_ada) == len(others) == 20
    assert not {canonical(t) for t in of_ada} & {canonical(t) for t in others}


def canonical(triplet: list[str]) -> tuple[str, ...]:
    return (triplet[0], *sorted(triplet[1:]))


def test_few_requests_lease_at_a_time_and_all_get_questions(
    app: FastAPI, ada: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way, most, real = 0, 0, leasing.run_in_threadpool

    async def watched(lease: Callable[[], NextOut]) -> NextOut:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        try:
            return await real(lease)
        finally:
            under_way -= 1

    async def ask_at_once() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver", cookies=ada.cookies) as client:
            return await asyncio.gather(*(client.get(f"{SONGS}/triplets/next") for _ in range(12)))

    monkeypatch.setattr(leasing, "run_in_threadpool", watched)
    on_screens = [response.json()["triplets"] for response in run(ask_at_once())]
    assert [len(questions) for questions in on_screens] == [5] * 12
    assert most == leasing.AT_ONCE


def test_the_next_questions_come_with_the_answer(app: FastAPI, ada: TestClient) -> None:
    first, second, *_ = ask(ada, 2)
    form = {"id": str(uuid.uuid4()), "triplet": first, "answer": "yes"}
    reply = ada.post(f"{SONGS}/answers?ask=3", json=form)
    assert reply.status_code == 201, reply.text
    following = [question["triplet"] for question in reply.json()["next"]["triplets"]]
    assert (len(following), following[0], first in following) == (3, second, False)
    assert following == ask(ada, 3), "what is leased already comes again"
    assert ada.post(f"{SONGS}/answers?ask=101", json=form).status_code == 422
    assert ada.post(f"{SONGS}/answers", json=form).json()["next"] is None


def test_an_answer_is_stored_once_however_often_it_is_sent(app: FastAPI, ada: TestClient) -> None:
    [triplet] = ask(ada, 1)
    key = str(uuid.uuid4())
    first = give(ada, triplet, "yes", key)
    assert first.status_code == 201
    assert first.json() == {
        "stored": 1,
        "repeated": 0,
        "next": None,
        "progress": {"mine": 1, "mine_today": 1, "project_answers": 1},
    }
    again = give(ada, triplet, "yes", key)
    assert (again.status_code, again.json()["stored"], again.json()["repeated"]) == (201, 0, 1)
    turned = give(ada, [triplet[0], triplet[2], triplet[1]], "no", key)
    assert turned.json()["repeated"] == 1, "the same question asked the other way round is the same answer"
    [row] = stored(app)
    assert (row.number, row.response_ms) == (1, 900)


def test_an_id_reused_with_another_answer_is_a_conflict(app: FastAPI, ada: TestClient, ben: TestClient) -> None:
    [triplet] = ask(ada, 1)
    key = str(uuid.uuid4())
    give(ada, triplet, "yes", key)
    for client, value in ((ada, "no"), (ben, "yes")):
        refused = give(client, triplet, value, key)
        assert refused.status_code == 409
        assert key in refused.json()["detail"]
    assert len(stored(app)) == 1


def test_one_wrong_answer_of_several_stores_nothing(app: FastAPI, ada: TestClient) -> None:
    triplets = ask(ada, 2)
    good = {"id": str(uuid.uuid4()), "triplet": triplets[0], "answer": "yes"}
    bad = {"id": str(uuid.uuid4()), "triplet": triplets[1], "answer": "perhaps"}
    refused = ada.post(f"{SONGS}/answers", json={"answers": [good, bad]})
    assert refused.status_code == 422
    [error] = refused.json()["errors"]
    assert (error["row"], error["field"]) == (2, "answer")
    assert "perhaps" in error["detail"]
    assert "yes, no, dnk" in error["detail"]
    assert stored(app) == []


@pytest.mark.parametrize(
    ("triplet", "word"),
    [
        (["item-0", "item-1", "nothing"], "no item 'nothing'"),
        (["item-0", "item-1", "item-1"], "named twice"),
        (["item-0", "item-1"], "3 items"),
    ],
)
def test_wrong_triplets_say_what_is_wrong(ada: TestClient, triplet: list[str], word: str) -> None:
    for refused in (give(ada, triplet), ada.post(f"{SONGS}/skips", json={"triplet": triplet})):
        assert refused.status_code == 422
        assert refused.headers["content-type"] == "application/problem+json"
        assert any(word in error["detail"] for error in refused.json()["errors"])


@pytest.mark.parametrize("several", [False, True])
def test_only_the_faults_of_the_form_that_was_meant_are_told(ada: TestClient, several: bool) -> None:
    body = {"id": "17", "triplet": ["item-0", "item-1", "item-2"], "answer": "yes"}
    refused = ada.post(f"{SONGS}/answers", json={"answers": [body]} if several else body)
    assert refused.status_code == 422
    assert [error["field"] for error in refused.json()["errors"]] == ["answers.0.id" if several else "id"]


def test_late_answers_and_answers_without_a_lease_are_kept(app: FastAPI, ada: TestClient, ben: TestClient) -> None:
    [triplet] = ask(ada, 1)
    with app.state.database.transaction() as session:
        session.execute(update(Lease).values(expires_at=now()))
    assert triplet in [canonical_as(triplet, t) for t in ask(ben, 100)], "an expired lease blocks nobody"
    assert give(ada, triplet).status_code == 201
    assert give(ben, triplet, "no").status_code == 201
    assert len(stored(app)) == 2


def canonical_as(model: list[str], triplet: list[str]) -> list[str]:
    return model if canonical(model) == canonical(triplet) else triplet


def test_undo_withdraws_and_hands_the_question_back_first(app: FastAPI, ada: TestClient, ben: TestClient) -> None:
    first, second, *_ = ask(ada)
    key = str(uuid.uuid4())
    give(ada, first, "yes", key)
    give(ada, second, "no")
    assert ben.delete(f"{SONGS}/answers/{key}").status_code == 403, "another labeler's answer"
    undone = ada.delete(f"{SONGS}/answers/{key}")
    assert undone.status_code == 200
    assert undone.json()["id"] == key
    assert ask(ada)[0] == first
    assert canonical(first) not in {canonical(t) for t in ask(ben, 100)}, "it is leased to Ada again"
    again = ada.delete(f"{SONGS}/answers/{key}")
    assert again.status_code == 409
    assert "withdrawn already" in again.json()["detail"]
    response = give(ada, first, "dnk").json()
    assert response["progress"] == {"mine": 2, "mine_today": 2, "project_answers": 2}
    assert [row.withdrawn_at is not None for row in stored(app)] == [True, False, False]


def test_an_analyst_may_withdraw_what_a_labeler_said(ada: TestClient, analyst: TestClient) -> None:
    [triplet] = ask(ada, 1)
    key = str(uuid.uuid4())
    give(ada, triplet, "yes", key)
    assert analyst.delete(f"{SONGS}/answers/{key}").status_code == 200
    assert analyst.delete(f"{SONGS}/answers/{uuid.uuid4()}").status_code == 404


def test_a_skipped_question_never_comes_back_but_others_get_it(ada: TestClient, ben: TestClient) -> None:
    [triplet] = ask(ada, 1)
    for _ in range(2):
        assert ada.post(f"{SONGS}/skips", json={"triplet": triplet}).status_code == 201
    assert canonical(triplet) not in {canonical(t) for t in ask(ada, 100)}
    assert canonical(triplet) in {canonical(t) for t in ask(ben, 100)}


def test_answers_have_numbers_without_gaps_and_leave_the_queue(app: FastAPI, ada: TestClient) -> None:
    for _ in range(7):
        give(ada, ask(ada, 1)[0])
    assert [row.number for row in stored(app)] == list(range(1, 8))
    with app.state.database.reading() as session:
        answered = select(func.count()).select_from(Triplet).where(Triplet.priority.is_(None))
        assert session.scalar(answered) == 7
        assert session.scalar(select(Project.answer_number)) == 7


def test_outlier_questions_turn_their_answers_to_the_stored_order(app: FastAPI, ada: TestClient, world: World) -> None:
    with app.state.database.transaction() as session:
        session.execute(update(Project).values(question_kind="outlier"))
    refused = give(ada, ["item-5", "item-2", "item-7"], "yes")
    assert "1, 2, 3, dnk" in refused.json()["errors"][0]["detail"]
    assert give(ada, ["item-5", "item-7", "item-2"], "2").status_code == 201
    [row] = stored(app)
    assert row.value == "3", "item-7 is the last of the three in stored order"


def test_a_new_labeler_has_no_answers_today(ben: TestClient, ada: TestClient) -> None:
    give(ada, ask(ada, 1)[0])
    progress = ben.get(f"{SONGS}/triplets/next").json()["progress"]
    assert progress == {"mine": 0, "mine_today": 0, "project_answers": 1}


def test_items_come_with_what_there_is_to_show(ada: TestClient) -> None:
    [question] = ada.get(f"{SONGS}/triplets/next", params={"n": 1}).json()["triplets"]
    assert list(question["items"]) == question["triplet"]
    assert set(question["items"][question["triplet"][0]]) == {
        "text", "media_type", "media_url", "picture_url", "thumbnail_url", "seconds", "measures",
    }  # fmt: skip
