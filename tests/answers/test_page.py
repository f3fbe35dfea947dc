"""The answers page over HTTP: what it says, its forms without JavaScript, and that no text becomes markup."""

import re
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import event, select

from tercet.answers import overview
from tercet.database import Database
from tercet.labeling import decisions
from tercet.models import Item, Project, User, Verdict
from tercet.runs.queries import lock_project
from tercet.storage import Storage
from tests.answers.conftest import PAGE, SONGS, World, add_run, answer, stored
from tests.dashboard.test_pages import HOSTILE
from tests.factories import add_member, make_project, signed_in

# Pages and what is refused do not depend on the kind of database.
pytestmark = pytest.mark.only_on("sqlite")


def read(client: TestClient, **asked: Any) -> str:
    page = client.get(PAGE, params=asked, headers={"Accept": "text/html"})
    assert page.status_code == 200, page.text
    return page.text


def words(html: str) -> str:
    """The text of a page, blanks joined."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html)).replace("&nbsp;", " ").replace("\xa0", " ")


def shown(html: str) -> list[int]:
    return [int(number) for number in re.findall(r'id="answer-(\d+)"', html)]


def test_each_answer_is_a_sentence_with_what_is_thought_of_it(analyst: TestClient) -> None:
    page = read(analyst)
    assert shown(page) == [6, 5, 4, 3, 2, 1]
    text = words(page)
    assert "item-0 is more like item-2 than item-1" in text
    assert "item-0 is more like item-1 than item-2" in text
    assert "Run 1 finds it 2 % probable by all else that it knows." in text
    assert "2 others said otherwise." in text
    assert text.count("1 of 2 others said the same.") == 2
    assert "Krippendorff's alpha is 0.25" in text
    assert page.count('class="item picked') == 5, "don't know picks none"


def test_a_suspect_comes_first_when_asked(analyst: TestClient) -> None:
    page = read(analyst, order="suspect")
    assert shown(page)[:2] == [4, 5]
    assert "suspect 1" in page


def test_set_aside_and_put_back_by_form_keep_the_list_as_it_was(
    analyst: TestClient, world: World, database: Database
) -> None:
    page = read(analyst, labeler=world.ben.id, order="suspect")
    form = re.search(rf'action="({PAGE}/{world.ids[3]}/set-aside)".*?name="back" value="([^"]*)"', page, re.S)
    assert form
    back = form[2].replace("&amp;", "&")
    done = analyst.post(form[1], data={"reason": "a slip", "back": back}, follow_redirects=False)
    assert done.status_code == 303
    assert done.headers["location"] == f"{PAGE}?labeler={world.ben.id}&order=suspect#answer-4"
    assert stored(database, 4).set_aside_id is not None
    text = words(read(analyst))
    assert "set aside by Ann" in text
    assert "“a slip”" in text
    assert "Ann set answer 4 of Ben aside" in text
    assert "1 answer set aside since run 1 began. The clusters are from before; the next run starts" in text
    done = analyst.post(f"{PAGE}/{world.ids[3]}/put-back", follow_redirects=False)
    assert done.headers["location"] == f"{PAGE}#answer-4"
    assert stored(database, 4).set_aside_id is None
    text = words(read(analyst))
    assert "Ann put answer 4 of Ben back" in text
    assert "since run 1 began" not in text, "all is as that run had it"


def test_all_of_a_labeler_by_form(analyst: TestClient, world: World, database: Database) -> None:
    assert "Set 3 answers aside" in words(read(analyst))
    place = f"/projects/songs/labelers/{world.ada.id}"
    done = analyst.post(f"{place}/set-aside", data={"reason": "a robot"}, follow_redirects=False)
    assert (done.status_code, done.headers["location"]) == (303, f"{PAGE}#labelers")
    text = words(read(analyst))
    assert "Put 3 back of Ada" in text
    assert "Ann set 3 answers of Ada aside" in text
    assert analyst.post(f"{place}/put-back", follow_redirects=False).status_code == 303
    assert [stored(database, number).set_aside_id for number in range(1, 7)] == [None] * 6


def test_a_forged_place_to_go_back_to_stays_on_the_page(analyst: TestClient, world: World) -> None:
    done = analyst.post(
        f"{PAGE}/{world.ids[0]}/set-aside",
        data={"back": "//evil.example/?state=used&next=https://evil.example\r\nX: 1"},
        follow_redirects=False,
    )
    assert done.headers["location"] == f"{PAGE}#answer-1"


@pytest.mark.parametrize(("given", "kind"), [("2", "outlier"), ("dnk", "outlier")])
def test_outlier_questions(app: FastAPI, database: Database, given: str, kind: str) -> None:
    with database.transaction() as session:
        project = make_project(session, n_items=3, question_kind=kind)
        analyst = add_member(session, project, "analyst", "Ann")
        items = list(session.scalars(select(Item.id).order_by(Item.position)))
        answer(session, project, analyst, (items[0], items[1], items[2]), given)
    with signed_in(app, analyst) as client:
        page = read(client)
    assert ("item-1 is least like the other two" if given == "2" else "Don't know") in words(page)
    assert page.count('class="item picked') == (given == "2")


def test_an_empty_project_says_so(app: FastAPI, database: Database) -> None:
    with database.transaction() as session:
        analyst = add_member(session, make_project(session), "analyst")
    with signed_in(app, analyst) as client:
        assert "Nobody has answered yet." in words(read(client))
        assert "There are no such answers." in words(read(client, state="withdrawn"))


def test_hostile_names_and_reasons_stay_text(
    app: FastAPI, analyst: TestClient, world: World, database: Database, storage: Storage
) -> None:
    with database.transaction() as session:
        session.get_one(Project, world.project.id).name = HOSTILE
        for user in session.scalars(select(User)):
            user.name = HOSTILE
        for item in session.scalars(select(Item)):
            item.key = f"{HOSTILE} {item.position}"
            item.text = HOSTILE
    for number in (0, 1):
        done = analyst.post(f"{PAGE}/{world.ids[number]}/set-aside", data={"reason": HOSTILE})
        assert done.status_code == 200
    page = read(analyst)
    assert "&lt;script&gt;" in page
    for markup in ("<script>", "<img src=x", "\"'><img"):
        assert markup not in page


def test_few_statements_however_many_answers(app: FastAPI, analyst: TestClient, world: World) -> None:
    statements: list[str] = []
    event.listen(app.state.database.engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    read(analyst, order="suspect")
    assert len([statement for statement in statements if statement.startswith("SELECT")]) <= 24


def test_the_hint_counts_what_the_last_run_did_not_know(
    analyst: TestClient, world: World, database: Database, storage: Storage
) -> None:
    for number in (1, 4):
        analyst.post(f"{PAGE}/{world.ids[number - 1]}/set-aside")
    with database.transaction() as session:
        add_run(session, storage, session.get_one(Project, world.project.id), 9, [])
    assert "since run 9 began" not in words(read(analyst))
    analyst.post(f"{PAGE}/{world.ids[0]}/put-back")
    assert "1 answer put back since run 9 began" in words(read(analyst))
    analyst.post(f"{PAGE}/{world.ids[1]}/set-aside")
    assert "1 answer set aside and 1 answer put back since run 9 began" in words(read(analyst))


def test_the_log_leads_to_each_answer(analyst: TestClient, world: World) -> None:
    analyst.post(f"{PAGE}/{world.ids[1]}/set-aside")
    link = re.search(r'href="([^"]*)">answer 2<', read(analyst))
    assert link
    led = analyst.get(PAGE + link[1].replace("&amp;", "&"))
    assert shown(led.text)[0] == 2


def test_somebody_who_is_not_among_the_busiest_can_be_chosen(
    analyst: TestClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "PEOPLE", 1)
    page = read(analyst, labeler=world.cem.id)
    assert f'<option value="{world.cem.id}" selected>Cem</option>' in page
    assert "labelers?after=1" in page
    page = read(analyst, labeler=world.labeler.id)
    assert f'<option value="{world.labeler.id}" selected>number {world.labeler.id}</option>' in page


def test_who_is_held_is_named_with_the_reason_and_two_ways_on(
    analyst: TestClient, world: World, database: Database
) -> None:
    reason = "40 of the newest 40 answers took less than half a second."
    with database.transaction() as session:
        project = lock_project(session, world.project.id)
        held = decisions.log(session, project, Verdict.HELD, world.ada.id, None, reason)
        decisions.apply_to_some(session, project, held)
    text = words(read(analyst))
    assert f"Ada is on hold: runs do not use what Ada answered until somebody looks. {reason}" in text
    assert "Tercet put 3 answers of Ada on hold" in text
    assert "3 answers set aside since run 1 began" in text
    assert "set aside by Tercet" in text
    [row] = [row for row in analyst.get(f"{SONGS}/labelers").json()["labelers"] if row["held"]]
    assert (row["name"], row["held"], row["set_aside_at_once"]) == ("Ada", reason, 3)
    labelers = f"{PAGE.removesuffix('/answers')}/labelers/{world.ada.id}"
    assert analyst.post(f"{labelers}/set-aside", follow_redirects=False).status_code == 303
    text = words(read(analyst))
    assert "is on hold" not in text
    assert "3 answers set aside since run 1 began" in text
    assert analyst.post(f"{labelers}/put-back", follow_redirects=False).status_code == 303
    text = words(read(analyst))
    assert "since run 1 began" not in text
    assert "Ann put 3 answers of Ada back" in text
