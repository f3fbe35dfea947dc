"""The labeling page as the server renders it, and its plain forms."""

import re
import uuid

from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import delete, select, update

from tercet.models import Answer, Item, Project, Skip
from tests.labeling.conftest import World, ask, give

PAGE = "/projects/songs/label"
HTML = {"accept": "text/html"}
HOSTILE = "<script>alert('x')</script>\"'&"


def fields(html: str, name: str) -> list[str]:
    return re.findall(rf'name="{name}" value="([^"]*)"', html)


def test_hostile_texts_stay_texts(app: FastAPI, ada: TestClient) -> None:
    with app.state.database.transaction() as session:
        session.execute(update(Project).values(name=HOSTILE, question_text=HOSTILE, guidelines=HOSTILE))
        session.execute(update(Item).values(text=HOSTILE))
    page = ada.get(PAGE, headers=HTML)
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;" in page.text
    # One heading of the two is shown: the question, or that there is nothing to ask.
    assert '<h1 id="question">' in page.text
    assert re.search(r'<div id="nothing"[^>]* hidden>', page.text)


def test_guidelines_are_markdown_with_pictures_of_items(app: FastAPI, ada: TestClient) -> None:
    with app.state.database.transaction() as session:
        session.execute(update(Project).values(guidelines="## Buzzes\n\n![a buzz](item-3) is a **buzz**."))
    page = ada.get(PAGE, headers=HTML).text
    assert "<h4>Buzzes</h4>" in page
    assert '<img src="/api/v1/projects/songs/media/picture/item-3" alt="a buzz" loading="lazy">' in page
    assert "<strong>buzz</strong>" in page


def test_a_form_without_javascript_answers_undoes_and_skips(app: FastAPI, ada: TestClient) -> None:
    first = ada.get(PAGE, headers=HTML).text
    form = {"id": fields(first, "id")[0], "triplet": fields(first, "triplet")[:3], "answer": "yes"}
    for _ in range(2):
        sent = ada.post(PAGE, data=form, headers=HTML, follow_redirects=False)
        assert (sent.status_code, sent.headers["location"]) == (303, PAGE)
    second = ada.get(PAGE, headers=HTML).text
    assert fields(second, "triplet")[:3] != form["triplet"]
    assert fields(second, "id")[-1] == form["id"], "the undo form names the last answer"
    ada.post(f"{PAGE}/undo", data={"id": form["id"]}, headers=HTML)
    again = ada.get(PAGE, headers=HTML).text
    assert fields(again, "triplet")[:3] == form["triplet"]
    ada.post(f"{PAGE}/skip", data={"triplet": form["triplet"]}, headers=HTML)
    with app.state.database.reading() as session:
        [answer] = session.scalars(select(Answer)).all()
        assert answer.withdrawn_at is not None, "a double click stored one answer"
        assert session.scalars(select(Skip)).one().triplet_id == answer.triplet_id


def test_a_wrong_form_gets_a_page_that_says_why(ada: TestClient) -> None:
    form = {"id": str(uuid.uuid4()), "triplet": ["item-0", "item-1", "item-1"], "answer": "yes"}
    refused = ada.post(PAGE, data=form, headers=HTML)
    assert refused.status_code == 422
    assert "named twice" in refused.text
    assert refused.headers["content-type"].startswith("text/html")


def test_a_project_without_items_says_what_is_missing(app: FastAPI, ada: TestClient) -> None:
    with app.state.database.transaction() as session:
        session.execute(delete(Item))
    page = ada.get(PAGE, headers=HTML)
    assert page.status_code == 200
    assert "This project has 0 items: a question needs three." in page.text


def test_only_members_come_in_and_only_analysts_see_the_dashboard_link(
    ada: TestClient, analyst: TestClient, anonymous: TestClient, world: World
) -> None:
    assert anonymous.get(PAGE, headers=HTML).status_code == 401
    link = 'href="/projects/songs"'
    assert link not in ada.get(PAGE, headers=HTML).text
    assert link in analyst.get(PAGE, headers=HTML).text


def test_goals_are_the_owners_and_are_shown_with_how_far_they_are(ada: TestClient, analyst: TestClient) -> None:
    assert "<progress" not in ada.get(PAGE, headers=HTML).text
    analyst.post("/projects/songs/settings", data={"labeler_goal": "2", "project_goal": "1500"}, headers=HTML)
    for triplet in ask(ada, 3):
        give(ada, triplet)
    page = ada.get(PAGE, headers=HTML).text
    assert '<progress id="my-goal" max="2" value="2"' in page
    assert "3 of 2, yours." in page
    assert "3 of 1,500, everybody's." in page
    refused = analyst.patch("/api/v1/projects/songs", json={"labeler_goal": -1})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "labeler_goal")
