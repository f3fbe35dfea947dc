"""The answers page in a real browser: decisions in place, by mouse, key and plain forms, and what axe says."""

import uuid

import numpy as np
import pytest
from playwright.sync_api import expect
from sqlalchemy import select, update

from tercet.labeling.service import ConstraintRow, store_constraints
from tercet.models import Answer, Item, Project, Role, Triplet, User
from tercet.runs.results import AnswerReport, LabelerReport, Report, save_report
from tests.browser.conftest import BEFORE, LiveServer, OpenPage, assert_accessible, make_songs
from tests.dashboard.results import add_result
from tests.factories import add_features, add_member

pytestmark = pytest.mark.browser

ANSWERS = 40


def make_answers(live: LiveServer) -> tuple[Project, User]:
    """Thirty songs, forty answers of three people, and a run that doubts every seventh of them."""
    project, lea = make_songs(live)
    rng = np.random.default_rng(5)
    with live.database.transaction() as session:
        project = session.get_one(Project, project.id)
        project.redundancy = 2
        add_features(session, live.storage, project, np.eye(30))
        people = [lea, *(add_member(session, project, Role.LABELER, name) for name in ("Ben", "Cem"))]
        items = session.scalars(select(Item.id).where(Item.project_id == project.id).order_by(Item.position)).all()
        questions = [tuple(items[int(k)] for k in rng.permutation(30)[:3]) for _ in range(ANSWERS // 2)]
        rows = [
            ConstraintRow(k, uuid.uuid4(), questions[k // 2], str(value), people[k % 3].id, 900 + 50 * k)
            for k, value in enumerate(rng.choice(["yes", "no", "dnk"], ANSWERS))
        ]
        store_constraints(session, project, rows)
        session.refresh(project)
        run = add_result(session, live.storage, project, 1, BEFORE, krippendorff_alpha=0.61)
        suspicion = np.zeros(ANSWERS, np.int32)
        suspicion[::7] = np.arange(1, len(suspicion[::7]) + 1)
        answer_report = AnswerReport(
            np.arange(1, ANSWERS + 1), np.where(suspicion, 0.07, 0.8).astype(np.float32), suspicion
        )
        quality = [LabelerReport(person.id, 13, 10, 0.7, 0.6 - k / 4, 0.9 - k / 10) for k, person in enumerate(people)]
        save_report(live.storage, str(run.result), Report(answer_report, quality))
        return project, add_member(session, project, Role.ANALYST, "Ann")


def aside(live: LiveServer, project: Project) -> list[int]:
    of_project = select(Answer.number).where(Answer.project_id == project.id, Answer.set_aside_id.is_not(None))
    with live.database.reading() as session:
        return sorted(session.scalars(of_project))


@pytest.mark.heavy
def test_what_may_be_unseen_is_left_out_by_one_click(live_server: LiveServer, open_page: OpenPage) -> None:
    project, ann = make_answers(live_server)
    with live_server.database.transaction() as session:
        of_project = Answer.project_id == project.id
        session.execute(update(Answer).where(of_project, Answer.number <= 9).values(response_ms=None))
        session.execute(update(Triplet).where(Triplet.project_id == project.id).values(source="random"))
    page = open_page(ann, f"/projects/{project.key}/answers")
    page.evaluate("window.stayed = true")
    page.get_by_role("button", name="Leave all 9 out").click()
    expect(page.locator("#news")).to_have_text("9 answers set aside.")
    assert aside(live_server, project) == list(range(1, 10))
    expect(page.get_by_role("button", name="Put all 9 back")).to_be_focused()
    assert_accessible(page, "answers-unseen")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Leave all 9 out")).to_be_focused()
    assert aside(live_server, project) == []
    assert page.evaluate("window.stayed")
    page.get_by_role("link", name="Look at them").click()
    expect(page.locator(".answer")).to_have_count(9)


def test_set_aside_and_put_back_without_leaving_the_page(live_server: LiveServer, open_page: OpenPage) -> None:
    project, ann = make_answers(live_server)
    page = open_page(ann, f"/projects/{project.key}")
    page.get_by_role("link", name="Answers", exact=True).click()
    page.get_by_label("First").select_option("the most suspect")
    page.get_by_role("button", name="Show", exact=True).click()
    first = page.locator(".answer").first
    expect(first).to_contain_text("suspect 1")
    page.wait_for_load_state()  # before its script runs, a form is sent by leaving the page
    expect(first).to_contain_text("Run 1 finds it 7 % probable by all else that it knows.")
    assert first.locator("img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    page.evaluate("window.stayed = true")
    first.get_by_label("Why answer 1 is set aside").fill("a slip")
    first.get_by_role("button", name="Set aside answer 1").click()
    expect(first).to_contain_text("set aside by Ann")
    expect(first).to_contain_text("“a slip”")
    expect(page.locator("#news")).to_have_text("Answer 1 set aside.")
    expect(page.locator("#changes")).to_contain_text("1 answer set aside since run 1 began")
    expect(page.locator("#log")).to_contain_text("Ann set answer 1 of Lea aside")
    back = first.get_by_role("button", name="Put back answer 1")
    expect(back).to_be_focused()
    assert aside(live_server, project) == [1]
    page.keyboard.press("Enter")
    expect(first.get_by_role("button", name="Set aside answer 1")).to_be_focused()
    expect(page.locator("#changes")).not_to_contain_text("since run 1")
    assert aside(live_server, project) == []
    assert page.evaluate("window.stayed"), "the page was never left"


@pytest.mark.heavy
def test_a_row_that_leaves_the_list_hands_the_focus_on(live_server: LiveServer, open_page: OpenPage) -> None:
    project, ann = make_answers(live_server)
    page = open_page(ann, f"/projects/{project.key}/answers?state=used")
    page.get_by_role("button", name="Set aside answer 40").click()
    expect(page.locator("#answer-40")).to_have_count(0)
    expect(page.locator("#list-title")).to_be_focused()


@pytest.mark.heavy
def test_all_of_a_labeler_and_back(live_server: LiveServer, open_page: OpenPage) -> None:
    project, ann = make_answers(live_server)
    page = open_page(ann, f"/projects/{project.key}/answers")
    row = page.locator("#labelers tbody tr").filter(has_text="Ben")
    row.get_by_role("button", name="Set all aside").click()
    expect(row.get_by_role("dialog", name="Set all answers of Ben aside?")).to_be_visible()
    expect(row).to_contain_text("Runs will leave out 13 answers.")
    row.get_by_label("Why").fill("answered without looking")
    row.get_by_role("button", name="Set 13 answers aside").click()
    expect(row).to_contain_text("13, all aside")
    assert aside(live_server, project) == list(range(2, 41, 3))
    row.get_by_role("button", name="Put 13 back").click()
    expect(row.get_by_role("button", name="Set all aside")).to_be_visible()
    assert aside(live_server, project) == []
    expect(page.locator("#log li")).to_have_count(2)


def test_what_is_wrong_is_said_beside_the_form(live_server: LiveServer, open_page: OpenPage) -> None:
    project, ann = make_answers(live_server)
    page = open_page(ann, f"/projects/{project.key}/answers")
    second_page = page.context.new_page()
    second_page.goto(page.url)
    second_page.get_by_role("button", name="Set aside answer 40").click()
    expect(second_page.locator("#answer-40")).to_contain_text("set aside by Ann")
    page.get_by_role("button", name="Set aside answer 40").click()
    expect(page.locator("#answer-40 .problem:not(:empty)")).to_contain_text("Answer 40 is set aside already, by Ann")


@pytest.mark.heavy
def test_a_new_run_is_offered_not_imposed(live_server: LiveServer, open_page: OpenPage) -> None:
    project, ann = make_answers(live_server)
    page = open_page(ann, "/")
    with page.expect_response("**/events"):
        page.goto(f"/projects/{project.key}/answers?order=suspect")
    with live_server.database.transaction() as session:
        add_result(session, live_server.storage, session.get_one(Project, project.id), 2, BEFORE)
    expect(page.locator("#new-run")).to_contain_text("Run 2 is done.")
    expect(page.locator(".answer").first).to_contain_text("Run 1 finds it")
    page.get_by_role("link", name="Show what it says").click()
    expect(page).to_have_url(f"{live_server.url}/projects/{project.key}/answers?order=suspect")


@pytest.mark.heavy
def test_plain_forms_and_pages_do_the_same_without_javascript(live_server: LiveServer, open_page: OpenPage) -> None:
    project, ann = make_answers(live_server)
    page = open_page(ann, f"/projects/{project.key}/answers", java_script_enabled=False)
    page.get_by_role("link", name="Older answers").click()
    expect(page.locator(".answer").first).to_contain_text("Run 1 finds it")
    page.locator("#answer-15").get_by_role("button", name="Set aside answer 15").click()
    expect(page.locator("#answer-15")).to_contain_text("set aside by Ann")
    expect(page.get_by_role("link", name="From the start")).to_be_visible()
    page.locator("#answer-15").get_by_role("button", name="Put back").click()
    row = page.locator("#labelers tbody tr").filter(has_text="Cem")
    row.get_by_role("button", name="Set all aside").click()
    row.get_by_role("button", name="Set 13 answers aside").click()
    row.get_by_role("button", name="Put 13 back").click()
    assert aside(live_server, project) == []
    expect(page.locator("#log li")).to_have_count(4)


@pytest.mark.heavy
def test_everything_is_within_reach_of_the_keyboard(live_server: LiveServer, open_page: OpenPage) -> None:
    project, ann = make_answers(live_server)
    page = open_page(ann, f"/projects/{project.key}/answers?state=used")
    page.locator("#answer-39").get_by_label("Why").focus()
    page.keyboard.type("a slip")
    page.keyboard.press("Enter")
    expect(page.locator("#answer-39")).to_have_count(0)
    opener = page.get_by_role("button", name="Set all aside of Lea")
    opener.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(dialog.get_by_label("Why")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()
    assert aside(live_server, project) == [39]


@pytest.mark.heavy
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(live_server: LiveServer, open_page: OpenPage, width: int) -> None:
    project, ann = make_answers(live_server)
    window = {"viewport": {"width": width, "height": 900}}
    page = open_page(ann, f"/projects/{project.key}/answers?order=suspect", **window)
    page.get_by_role("button", name="Set aside answer 8").click()
    expect(page.locator("#answer-8")).to_contain_text("set aside by Ann")
    for view in ("", "-confirm"):
        assert_accessible(page, f"answers{view}")
        page.locator("#labelers button.link").first.click()
