"""The labeling page in a real browser: every key, the outbox, no JavaScript, small screens, accessibility."""

import io
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from urllib.parse import unquote
from uuid import uuid4

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import APIResponse, Page, Route, expect
from sqlalchemy import delete, select, update

from tercet.labeling import presentation
from tercet.models import Answer, Flag, Item, Lease, Project, Role, Skip, Triplet, User, now
from tercet.sounds.picture_settings import PictureSettings
from tercet.sounds.spectrograms import picture_and_thumbnail
from tests.browser.conftest import LiveServer, OpenPage, assert_accessible, make_songs, take_shot
from tests.dashboard.results import add_answers
from tests.factories import add_member

pytestmark = pytest.mark.browser


def stored(live: LiveServer, project: Project) -> list[Answer]:
    with live.database.reading() as session:
        rows = session.scalars(select(Answer).where(Answer.project_id == project.id).order_by(Answer.number))
        return list(rows)


def standing_answers(live: LiveServer, project: Project) -> list[str]:
    """The answers that were not withdrawn, in the words of the question on screen."""
    statement = select(Answer, Triplet).join(Triplet).where(Answer.project_id == project.id)
    with live.database.reading() as session:
        rows = session.execute(statement.where(Answer.withdrawn_at.is_(None)).order_by(Answer.number)).all()
    return [
        presentation.answer(
            project.question_kind,
            answer.labeler_id,
            asked.id,
            (asked.anchor_id, asked.left_id, asked.right_id),
            answer.value,
        )
        for answer, asked in rows
    ]


def open_songs(live: LiveServer, open_page: OpenPage, **values: object) -> tuple[Project, Page]:
    """Make the project of songs and open its labeling page as its labeler."""
    project, lea = make_songs(live, **values)
    return project, open_page(lea, f"/projects/{project.key}/label")


def shown(page: Page) -> list[str]:
    """The addresses of the three pictures, which name the items, once the page is there."""
    expect(page.locator(".media img")).to_have_count(3)
    return [image.get_attribute("src") or "" for image in page.locator(".media img").all()]


def settle(page: Page) -> None:
    """Wait until everything is on the server."""
    expect(page.locator("#saved")).to_have_text("saved", timeout=15_000)


def wait_for_paint(page: Page) -> None:
    """Wait until the question on screen can be answered."""
    expect(page.locator("#label")).to_have_attribute("data-paint", "painted")


def press_and_see(page: Page, key: str) -> None:
    """Press a key and wait for another question."""
    before = shown(page)
    wait_for_paint(page)
    page.keyboard.press(key)
    wait_until(lambda: shown(page) not in ([], before))


def assert_answered(live: LiveServer, project: Project, page: Page, key: str, answer: str) -> None:
    """Press a key and wait until the server has its answer, the only one of the project."""
    press_and_see(page, key)
    settle(page)
    assert standing_answers(live, project) == [answer]


def wait_until(true: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def test_thirty_answers_with_undo_skip_lost_network_and_reload(live_server: LiveServer, open_page: OpenPage) -> None:
    project, lea = make_songs(live_server)
    page = open_page(lea, f"/projects/{project.key}/label")
    expect(page.locator("#question")).to_have_text("Is 1 more similar to 2 than to 3?")
    for key in ["y", "n", "d", "ArrowLeft", "ArrowRight", "ArrowDown", "Y", "N", "y", "D"]:
        press_and_see(page, key)
    expect(page.locator("#spoken")).to_contain_text("Answered don't know.")
    expect(page.locator("#last li")).to_have_text(["don't know", "yes", "no", "yes", "don't know"])
    press_and_see(page, "Backspace")
    press_and_see(page, "Backspace")
    press_and_see(page, "s")
    settle(page)
    assert len(standing_answers(live_server, project)) == 8

    page.context.set_offline(True)
    for _ in range(5):
        press_and_see(page, "n")
    expect(page.locator("#saved")).to_have_text("offline, keep going: 5 kept here")
    assert len(standing_answers(live_server, project)) == 8
    page.context.set_offline(False)
    settle(page)
    assert len(standing_answers(live_server, project)) == 13

    page.context.route("**/answers*", lambda route: route.abort())
    for _ in range(3):
        press_and_see(page, "d")
    expect(page.locator("#saved")).to_contain_text("3 kept here")
    page.context.unroute("**/answers*")
    page.reload()
    settle(page)
    while (done := len(standing_answers(live_server, project))) < 30:
        for _ in range(30 - done):
            press_and_see(page, "y")
        settle(page)

    rows = stored(live_server, project)
    assert len(rows) == 32, "30 that count and 2 withdrawn"
    assert len({row.triplet_id for row in rows}) == 31, "the skipped question took the place of one undone"
    assert Counter(standing_answers(live_server, project))["dnk"] == 5, "two by key, three while the network was away"
    assert sum(row.response_ms is not None for row in rows) >= 28
    expect(page.locator("#mine")).to_have_text("30")
    with live_server.database.reading() as session:
        assert len(session.scalars(select(Skip).where(Skip.labeler_id == lea.id)).all()) == 1


@pytest.mark.heavy
def test_undo_shows_the_question_again_and_the_new_answer_counts(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_songs(live_server, open_page)
    seen = []
    for _ in range(10):
        seen.append(shown(page))
        press_and_see(page, "y")
    settle(page)
    page.reload()
    for question in reversed(seen):
        press_and_see(page, "Backspace")
        assert shown(page) == question
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    for question in seen:
        assert shown(page) == question
        press_and_see(page, "n")
    settle(page)
    rows = stored(live_server, project)
    assert len(rows) == 20
    assert len({row.triplet_id for row in rows}) == 10
    assert all((row.withdrawn_at is not None) == (row.number <= 10) for row in rows)


@pytest.mark.heavy
def test_keys_print_on_buttons_play_sounds_and_stay_out_of_the_way(
    live_server: LiveServer, open_page: OpenPage
) -> None:
    project, page = open_songs(live_server, open_page, guidelines="Listen twice.\nThen answer.")
    answers = page.locator("#answer button")
    assert [re.sub(r"\s+", " ", text).strip() for text in answers.all_inner_texts()] == [
        "Y Yes, like 2",
        "D Don't know",
        "N No, like 3",
    ]
    page.keyboard.press("2")
    expect(page.locator(".play").nth(1)).to_have_class(re.compile("playing"))
    page.keyboard.press("3")
    expect(page.locator(".play").nth(1)).not_to_have_class(re.compile("playing"))
    question = shown(page)
    page.keyboard.press("Control+y")
    page.keyboard.press("x")
    page.keyboard.press("?")
    expect(page.get_by_text("Listen twice.")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    expect(page.get_by_text("Listen twice.")).to_be_hidden()
    assert shown(page) == question
    wait_for_paint(page)
    answers.nth(1).click()
    expect(page.locator("#spoken")).to_contain_text("Answered don't know.")  # a plain form would have left the page
    settle(page)
    assert standing_answers(live_server, project) == ["dnk"]


@pytest.mark.heavy
def test_an_item_is_flagged_and_an_answer_noted_by_keys(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_songs(live_server, open_page)
    flags = select(Item.key, Flag.reason, Flag.note).join(Flag).where(Flag.project_id == project.id)

    def flagged() -> list[tuple[str, str, str]]:
        with live_server.database.reading() as session:
            return [(key, reason, note) for key, reason, note in session.execute(flags)]

    question = shown(page)
    item = unquote(question[1].rpartition("/picture/")[2])
    wait_for_paint(page)
    page.keyboard.press("f")
    page.keyboard.press("2")
    expect(page.get_by_role("radio", name="2", exact=True)).to_be_focused()
    page.get_by_label("cut off").check()
    page.get_by_label("In words, if you like").fill("begins late, 1 of 3")
    assert_accessible(page, "label-flag", ["light"])
    page.keyboard.press("Enter")
    expect(page.locator("#last li")).to_have_text(["flagged"])
    settle(page)
    assert flagged() == [(item, "cut", "begins late, 1 of 3")]
    for _ in range(8):
        press_and_see(page, "y")
        assert question[1] not in shown(page), "nothing about it is asked"
    page.keyboard.press("m")
    page.get_by_label("Note", exact=True).fill("two birds at once")
    page.get_by_role("button", name="Save").click()
    settle(page)
    assert [answer.comment for answer in stored(live_server, project)] == [""] * 7 + ["two birds at once"]
    for _ in range(9):
        page.keyboard.press("Backspace")
    settle(page)
    assert shown(page) == question, "undone, its question is shown again"
    wait_until(lambda: flagged() == [])


@pytest.mark.heavy
def test_in_german_and_from_right_to_left_everything_has_room(live_server: LiveServer, open_page: OpenPage) -> None:
    project, lea = make_songs(live_server, labeler_goal=200, project_goal=2000)
    page = open_page(lea, f"/projects/{project.key}/label", locale="de-DE")
    expect(page.locator("#question")).to_have_text("Ähnelt 1 eher 2 als 3?")
    press_and_see(page, "y")
    expect(page.locator("#spoken")).to_have_text("Beantwortet: ja. Nächste Frage.")
    expect(page.locator("#saved")).to_have_text("gespeichert", timeout=15_000)
    expect(page.locator("#my-goal-words")).to_have_text("1 von 200, von Ihnen.")
    words = re.compile(r"^Spektrogramm von Objekt 1: \d,\d+ Sekunden lang")
    expect(page.locator(".media img").first).to_have_attribute("alt", words)
    assert_accessible(page, "label-german", ["light"])
    page.evaluate("document.documentElement.dir = 'rtl'")
    for width, height in ((390, 844), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        take_shot(page, f"label-right-to-left-{width}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        cut = page.evaluate(
            """[...document.querySelectorAll(".desk button, .desk p, h1, .item button")]
              .filter((element) => element.checkVisibility() && element.scrollWidth > element.clientWidth + 1)
              .map((element) => element.outerHTML)"""
        )
        assert cut == []
        outside = page.evaluate(
            """[...document.querySelectorAll("button")].filter((element) => {
              const { left, right } = element.getBoundingClientRect();
              return element.checkVisibility() && (left < 0 || right > innerWidth);
            }).map((element) => element.outerHTML)"""
        )
        assert outside == []
    page.evaluate("document.documentElement.dir = 'ltr'")
    kept = """caches.match(`${location.pathname}?without_questions=true`, { ignoreVary: true })
      .then((page) => page?.headers.get("content-language") ?? "")"""
    wait_until(lambda: page.evaluate(kept) == "de")
    page.keyboard.press("?")
    page.get_by_role("button", name="English").click()
    expect(page.locator("#question")).to_have_text("Is 1 more similar to 2 than to 3?")
    wait_until(lambda: page.evaluate(kept) == "en")


@pytest.mark.heavy
def test_practice_teaches_and_stores_nothing(live_server: LiveServer, open_page: OpenPage) -> None:
    project, lea = make_songs(live_server)
    with live_server.database.transaction() as session:
        analyst = add_member(session, project, Role.ANALYST)
        add_answers(session, session.get_one(Project, project.id), analyst, [("yes", 900, 1, False)])
        session.execute(update(Answer).where(Answer.project_id == project.id).values(known_at=Answer.created_at))
        [[asked]] = session.execute(select(Triplet.id).where(Triplet.project_id == project.id))
        [[second]] = session.execute(
            select(Item.key).join(Triplet, Triplet.left_id == Item.id).where(Triplet.id == asked)
        )
    page = open_page(lea, f"/projects/{project.key}/label")
    assert_accessible(page, "label-practise", ["light"])
    page.keyboard.press("y")
    page.get_by_role("button", name="Practise").click()
    expect(page.locator("#practice-place")).to_have_text("1 of 1")
    wait_for_paint(page)
    right = "y" if unquote(shown(page)[1]).endswith(f"/{second}") else "n"
    page.keyboard.press("d")
    words = {"y": "Yes, like 2", "n": "No, like 3"}[right]
    expect(page.locator("#verdict")).to_have_text(f"The right answer is “{words}”.")
    assert_accessible(page, "label-lesson", ["light"])
    page.keyboard.press(right)
    page.keyboard.press("Enter")
    expect(page.locator("#practice")).to_be_hidden()
    assert [answer.labeler_id for answer in stored(live_server, project)] == [analyst.id]
    press_and_see(page, "y")
    settle(page)
    assert [answer.labeler_id for answer in stored(live_server, project)] == [analyst.id, lea.id]
    page.reload()
    wait_for_paint(page)
    expect(page.locator("#practice-dialog")).to_be_hidden()


@pytest.mark.heavy
def test_time_in_another_window_is_no_response_time(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_songs(live_server, open_page)
    page.clock.install()
    page.reload()
    wait_for_paint(page)
    turn = """hidden => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.clock.fast_forward(1_000)
    page.evaluate(turn, True)
    page.clock.fast_forward(60_000)
    page.evaluate(turn, False)
    page.clock.fast_forward(500)
    page.keyboard.press("y")
    settle(page)
    [row] = stored(live_server, project)
    assert row.response_ms is not None
    assert 1_500 <= row.response_ms < 30_000


@pytest.mark.heavy
def test_after_half_an_hour_a_pause_is_suggested(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_songs(live_server, open_page)
    page.clock.install()
    page.reload()
    pause = page.locator("#pause")
    for _ in range(8):
        press_and_see(page, "y")
        expect(pause).to_be_hidden()
        page.clock.fast_forward(4 * 60_000)
    press_and_see(page, "y")
    expect(pause).to_contain_text("9 answers in half an hour. A short pause keeps them good.")
    assert_accessible(page, "label-pause")
    page.get_by_role("button", name="Go on").click()
    expect(pause).to_be_hidden()
    press_and_see(page, "n")
    page.clock.fast_forward(6 * 60_000)
    for _ in range(8):
        press_and_see(page, "y")
        page.clock.fast_forward(3 * 60_000)
    expect(pause).to_be_hidden()


@pytest.mark.heavy
def test_who_is_done_is_thanked(live_server: LiveServer, open_page: OpenPage) -> None:
    project, lea = make_songs(live_server)
    with live_server.database.transaction() as session:
        beyond = Item.project_id == project.id, Item.position >= 3
        session.execute(update(Item).where(*beyond).values(set_aside_at=now()))
    page = open_page(lea, f"/projects/{project.key}/label")
    for _ in range(2):
        press_and_see(page, "y")
    wait_for_paint(page)
    page.keyboard.press("d")
    expect(page.locator("#thanks")).to_have_text("Thank you for your 3 answers.")
    assert_accessible(page, "label-done")


def test_the_outlier_question_is_answered_by_number(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_songs(live_server, open_page, question_kind="outlier")
    expect(page.locator("#question")).to_have_text("Which one is least like the other two?")
    for key in ["1", "2", "3", "d"]:
        press_and_see(page, key)
    page.keyboard.press("w")
    expect(page.locator(".play").nth(1)).to_have_class(re.compile("playing"))
    expect(page.locator("#last li")).to_have_text(["don't know", "3", "2", "1"])
    settle(page)
    page.reload()
    expect(page.locator("#last li")).to_have_text(["don't know", "3", "2", "1"])
    assert standing_answers(live_server, project) == ["1", "2", "3", "dnk"]


@pytest.mark.heavy
def test_the_end_of_a_small_project_is_explained(live_server: LiveServer, open_page: OpenPage) -> None:
    project, lea = make_songs(live_server, redundancy=1)
    with live_server.database.transaction() as session:
        session.execute(delete(Item).where(Item.project_id == project.id, Item.position >= 3))
    page = open_page(lea, f"/projects/{project.key}/label")
    for _ in range(3):
        wait_for_paint(page)
        page.keyboard.press("y")
    settle(page)
    expect(page.locator("#reason")).to_contain_text("Every question about these 3 items has been answered")
    page.keyboard.press("Backspace")
    expect(page.locator("#question")).to_be_visible()
    wait_for_paint(page)
    page.keyboard.press("n")
    settle(page)
    assert (
        standing_answers(live_server, project) == ["yes", "yes", "no"]
        or len(standing_answers(live_server, project)) == 3
    )


@pytest.mark.heavy
def test_an_answer_costs_one_request_with_which_the_next_questions_come(
    live_server: LiveServer, open_page: OpenPage
) -> None:
    project, page = open_songs(live_server, open_page)
    page.wait_for_load_state("networkidle")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url.partition(f"/api/v1/projects/{project.key}/")[2]))
    for key in "ynd" * 5:
        press_and_see(page, key)
    settle(page)
    assert len(standing_answers(live_server, project)) == 15
    about_questions = Counter(url for url in sent if url.startswith(("answers", "triplets")))
    assert about_questions == {"answers": 12, "answers?ask=12": 3}, "it has six at least, and asks for six more"


@pytest.mark.heavy
def test_of_two_tabs_the_one_whose_answer_the_other_sent_has_questions(
    live_server: LiveServer, open_page: OpenPage
) -> None:
    project, lea = make_songs(live_server)
    page = open_page(lea, f"/projects/{project.key}/label")
    other = page.context.new_page()
    other.goto(page.url)
    other.route("**/answers*", lambda route: None)  # it holds the lock, and never gets a response
    press_and_see(other, "y")
    for _ in range(8):
        press_and_see(page, "n")
    other.close()
    settle(page)
    assert standing_answers(live_server, project).count("no") == 8
    press_and_see(page, "n")


@pytest.mark.heavy
def test_questions_that_come_late_do_not_hide_the_end(live_server: LiveServer, open_page: OpenPage) -> None:
    project, lea = make_songs(live_server, redundancy=1)
    with live_server.database.transaction() as session:
        session.execute(delete(Item).where(Item.project_id == project.id, Item.position >= 3))
    page = open_page(lea, f"/projects/{project.key}/label")
    page.wait_for_load_state("networkidle")
    held: list[tuple[Route, APIResponse]] = []
    page.route("**/triplets/next*", lambda route: route.continue_() if held else held.append((route, route.fetch())))
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    for _ in range(500):
        page.wait_for_timeout(20)  # not a mere sleep: the route is only served meanwhile
        if held:
            break
    for _ in range(3):
        wait_for_paint(page)
        page.keyboard.press("y")
    settle(page)
    late, response = held[0]
    assert len(response.json()["triplets"]) == 3  # decided before the answers came in
    expect(page.locator("#reason")).to_contain_text("Every question about these 3 items has been answered")
    late.fulfill(response=response)
    page.wait_for_load_state("networkidle")
    expect(page.locator("#reason")).to_contain_text("Every question about these 3 items has been answered")


def select_items(project: Project):
    from tercet.models import Item

    return select(Item).where(Item.project_id == project.id).order_by(Item.position)


def test_plain_forms_do_the_same_without_javascript(live_server: LiveServer, open_page: OpenPage) -> None:
    project, lea = make_songs(live_server)
    page = open_page(lea, f"/projects/{project.key}/label", java_script_enabled=False)
    first = shown(page)
    page.get_by_role("button", name="Yes, like 2").click()
    second = shown(page)
    assert second != first
    expect(page.locator("#last li")).to_have_text(["yes"])
    page.get_by_role("button", name="Backspace Undo").click()  # not the toast's, which shows for a moment only
    expect(page.locator("#last li")).to_have_count(0)
    assert shown(page) == first
    page.get_by_role("button", name="Don't know").click()
    expect(page.locator("#last li")).to_have_text(["don't know"])
    assert shown(page) == second
    page.get_by_role("button", name="Skip").click()
    assert shown(page) not in (first, second)
    expect(page.locator("audio")).to_have_count(3)
    assert standing_answers(live_server, project) == ["dnk"]


@pytest.mark.heavy
def test_axe_finds_nothing(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_songs(live_server, open_page, guidelines="Listen twice.")
    press_and_see(page, "y")
    press_and_see(page, "d")
    settle(page)
    assert_accessible(page, "label")
    page.keyboard.press("?")
    assert_accessible(page, "label-help")


@pytest.mark.heavy
def test_a_phone_shows_everything_without_scrolling(live_server: LiveServer, open_page: OpenPage) -> None:
    project, lea = make_songs(live_server)
    window = {"width": 390, "height": 780}
    page = open_page(lea, f"/projects/{project.key}/label", viewport=window, has_touch=True, is_mobile=True)
    before = shown(page)
    wait_for_paint(page)
    page.get_by_role("button", name="Yes, like 2").tap()
    wait_until(lambda: shown(page) not in ([], before))
    settle(page)
    height = page.evaluate("document.documentElement.scrollHeight")
    assert height <= 780
    assert_accessible(page, "label")


def covered(page: Page) -> float:
    """The share of the window that the three pictures cover, each as far as it lies in its box."""
    areas = """boxes => boxes.map((box) => {
      const [outer, inner] = [box, box.querySelector("img")].map((element) => element.getBoundingClientRect());
      const width = Math.min(outer.right, inner.right) - Math.max(outer.left, inner.left);
      return width * (Math.min(outer.bottom, inner.bottom) - Math.max(outer.top, inner.top));
    })"""
    window = page.viewport_size
    assert window is not None
    return sum(page.locator(".media").evaluate_all(areas)) / (window["width"] * window["height"])


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("width", "height", "least"), [(1440, 900, 0.6), (1280, 720, 0.55), (820, 1180, 0.45), (3840, 2160, 0.6)]
)
def test_spectrograms_fill_the_window_and_have_one_scale(
    live_server: LiveServer, open_page: OpenPage, width: int, height: int, least: float
) -> None:
    project, lea = make_songs(live_server)
    page = open_page(lea, f"/projects/{project.key}/label", viewport={"width": width, "height": height})
    wait_for_paint(page)
    assert covered(page) >= least
    boxes = page.locator(".media").evaluate_all("boxes => boxes.map((box) => [box.clientWidth, box.clientHeight])")
    assert np.ptp(boxes, axis=0).max() <= 1
    assert page.evaluate("document.documentElement.scrollHeight") <= height


@pytest.mark.heavy
def test_at_two_hundred_percent_the_pictures_keep_their_share(live_server: LiveServer, open_page: OpenPage) -> None:
    project, lea = make_songs(live_server)
    page = open_page(lea, f"/projects/{project.key}/label", viewport={"width": 720, "height": 450})
    wait_for_paint(page)
    assert covered(page) >= 0.35


def ranges(page: Page) -> list[list[str]]:
    """The marks of time and frequency over each spectrogram."""
    return [marks.locator("span").all_inner_texts() for marks in page.locator(".marks").all()]


@pytest.mark.heavy
def test_looking_closer_looks_closer_at_all_three(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_songs(live_server, open_page)
    wait_for_paint(page)
    usual = ranges(page)
    assert usual[0] == usual[1] == usual[2]
    page.keyboard.press("+")
    closer = ranges(page)
    assert closer[0] == closer[1] == closer[2] != usual[0]
    page.keyboard.press("0")
    assert ranges(page) == usual
    question = shown(page)
    page.locator(".media").nth(1).hover()
    page.mouse.wheel(0, -300)
    wait_until(lambda: ranges(page) != usual)
    first = page.locator(".media img").first
    before = first.evaluate("image => image.style.left")
    page.mouse.down()
    page.mouse.move(200, 400, steps=4)
    page.mouse.up()
    assert first.evaluate("image => image.style.left") != before
    assert shown(page) == question, "a drag is no answer"
    expect(page.locator(".cursor span")).to_contain_text("kHz")
    assert_accessible(page, "label_closer")


@pytest.mark.heavy
def test_long_recordings_begin_at_their_start_and_can_be_moved_through(
    live_server: LiveServer, open_page: OpenPage
) -> None:
    samples = np.sin(np.arange(8 * 22_050) * np.linspace(0.5, 1.5, 8 * 22_050))
    settings = PictureSettings(seconds=1.0)
    wide = picture_and_thumbnail(samples, 22_050, settings)[0]
    project, lea = make_songs(live_server, picture_settings=asdict(settings))
    key = live_server.storage.put_content("picture", wide, ".png")
    with live_server.database.transaction() as session:
        items = update(Item).where(Item.project_id == project.id)
        session.execute(items.values(picture=key, media_seconds=8.0))
    page = open_page(lea, f"/projects/{project.key}/label")
    wait_for_paint(page)
    sizes = "box => [box.querySelector('img').clientWidth / box.clientWidth, box.querySelector('img').offsetLeft]"
    for media in page.locator(".media").all():
        assert media.evaluate(sizes) == pytest.approx([8, 0], abs=0.05)
    page.keyboard.press(".")
    for media in page.locator(".media").all():
        assert media.evaluate(sizes)[1] < 0
    take_shot(page, "label_long_recordings")


@pytest.mark.heavy(but="1-yes")
@pytest.mark.parametrize(("place", "answer"), [(1, "yes"), (2, "no")])
def test_the_more_similar_picture_is_the_answer(
    live_server: LiveServer, open_page: OpenPage, place: int, answer: str
) -> None:
    project, page = open_songs(live_server, open_page)
    before = shown(page)
    wait_for_paint(page)
    page.locator(".media").first.click()
    assert shown(page) == before, "the first picture is what the others are compared with"
    page.locator(".media").nth(place).click()
    wait_until(lambda: shown(page) not in ([], before))
    settle(page)
    assert standing_answers(live_server, project) == [answer]


def test_what_is_pressed_before_the_pictures_can_have_been_seen_is_no_answer(
    live_server: LiveServer, open_page: OpenPage
) -> None:
    project, page = open_songs(live_server, open_page)
    before = shown(page)
    wait_for_paint(page)
    # The second key comes in the same task as the first, long before anybody can have seen the next question.
    page.evaluate("for (const key of ['y', 'n']) document.dispatchEvent(new KeyboardEvent('keydown', { key }))")
    wait_until(lambda: shown(page) not in ([], before))
    expect(page.get_by_role("status").filter(has_text="Too early")).to_be_visible()
    wait_for_paint(page)
    settle(page)
    assert standing_answers(live_server, project) == ["yes"]


@pytest.mark.heavy
def test_sounds_play_in_turn_from_where_one_clicks_and_slower(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_songs(live_server, open_page)
    wait_for_paint(page)
    page.evaluate(
        """() => {
          window.played = [];
          const play = HTMLMediaElement.prototype.play;
          HTMLMediaElement.prototype.play = function () {
            played.push([this.currentTime, this.playbackRate]);
            setTimeout(() => this.onended?.(), 50);
            return play.call(this).catch(() => {});
          };
        }"""
    )
    page.keyboard.press("Space")
    wait_until(lambda: len(page.evaluate("played")) == 3)
    page.keyboard.press("h")
    expect(page.locator("#speed")).to_have_text("½ speed")
    box = page.locator(".media").nth(2).bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 5)
    wait_until(lambda: len(page.evaluate("played")) == 4)
    time_from, rate = page.evaluate("played[3]")
    assert time_from > 0
    assert rate == 0.5
    assert shown(page), "a click on the marks of time is no answer"


RECORD_SOUNDS = """() => {
  window.played = [];
  HTMLMediaElement.prototype.play = function () {
    played.push(this.src);
    setTimeout(() => this.onended?.(), 50);
    return Promise.resolve();
  };
}"""


@pytest.mark.heavy
def test_a_key_that_is_held_plays_two_sounds_by_turns(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_songs(live_server, open_page)
    wait_for_paint(page)
    page.evaluate(RECORD_SOUNDS)
    page.keyboard.down("3")
    page.keyboard.down("3")  # as a key that is held repeats
    wait_until(lambda: len(page.evaluate("played")) >= 4)
    page.keyboard.up("3")
    third, first, *others = page.evaluate("played")
    assert third != first
    assert others[:2] == [third, first]
    expect(page.locator(".playing")).to_have_count(0)
    page.evaluate("played.length = 0")
    page.keyboard.down("3")
    wait_until(lambda: page.evaluate("played") == [third])
    expect(page.locator(".playing")).to_have_count(0)
    page.keyboard.down("3")
    wait_until(lambda: len(page.evaluate("played")) >= 2)
    page.evaluate("window.dispatchEvent(new Event('blur'))")
    expect(page.locator(".playing")).to_have_count(0)
    assert page.evaluate("played")[:2] == [third, first]
    n_played = len(page.evaluate("played"))
    page.wait_for_timeout(500)
    assert len(page.evaluate("played")) == n_played
    assert shown(page), "no key was an answer"


@pytest.mark.heavy
def test_sounds_set_in_at_one_place_whatever_their_length(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_songs(live_server, open_page)
    with live_server.database.reading() as session:
        items = session.scalars(select(Item).where(Item.project_id == project.id)).all()
        lengths = {item.key: item.media_seconds or 0 for item in items}
    wait_for_paint(page)
    usual = page.evaluate("JSON.parse(document.getElementById('label').dataset.page).pictures.seconds")
    before, different = shown(page), 0
    for _ in range(3):
        keys = [unquote(address.rpartition("/")[2]) for address in shown(page)]
        different += len({round(lengths[key], 2) for key in keys}) > 1
        styles = page.locator(".media img").evaluate_all(
            "images => images.map(({ style, parentElement }) => [parseFloat(style.left), parseFloat(style.width),"
            " parseFloat(parentElement.dataset.onset)])"
        )
        # In a picture as long as usual a shorter sound stands in the middle.
        starts = [
            left + width * (max(usual - lengths[key], 0) / 2 + onset) / max(lengths[key], usual)
            for key, (left, width, onset) in zip(keys, styles, strict=True)
        ]
        assert starts == pytest.approx([starts[0]] * 3, abs=0.1)
        press_and_see(page, "y")
    assert shown(page) != before
    assert different > 0, "questions are random, and one in four thousand is about songs of one length"


@pytest.mark.heavy
def test_the_part_on_the_screen_is_played_again_and_again(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_songs(live_server, open_page)
    wait_for_paint(page)
    page.evaluate(RECORD_STARTS)
    for key in "++l2":
        page.keyboard.press(key)
    expect(page.locator("#loop")).to_be_visible()
    wait_until(lambda: len(page.evaluate("sought")) >= 3)
    starts = page.evaluate("sought")
    assert len(set(starts[1:])) == 1, "each time from where the screen begins"
    page.keyboard.press("l")
    expect(page.locator("#loop")).to_be_hidden()
    expect(page.locator(".playing")).to_have_count(0)


RECORD_STARTS = """() => {
  window.sought = [];
  const { set, get } = Object.getOwnPropertyDescriptor(HTMLMediaElement.prototype, "currentTime");
  Object.defineProperty(HTMLMediaElement.prototype, "currentTime", {
    get,
    set(time) { sought.push(time); set.call(this, time); },
  });
}"""


@pytest.mark.heavy
def test_levelled_sounds_are_loaded_before_they_are_played(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_songs(live_server, open_page)
    wait_for_paint(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.keyboard.press("v")
    page.wait_for_timeout(1_000)
    assert len({url for url in asked if url.endswith("level=true")}) >= 9
    page.reload()
    wait_for_paint(page)
    page.wait_for_load_state("networkidle")
    asked.clear()
    page.keyboard.press("2")
    expect(page.locator(".playing")).to_have_count(1)
    assert not [url for url in asked if "media/media" in url], "it is here already"


@pytest.mark.heavy
def test_colours_and_loudness_are_the_labelers_own(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_songs(live_server, open_page)
    wait_for_paint(page)
    spectrogram = page.locator(".media.spectrogram").first
    expect(spectrogram).to_have_css("filter", "none")
    page.keyboard.press("c")
    expect(page.locator("#spoken")).to_have_text("Colours: more contrast")
    expect(spectrogram).to_have_css("filter", "contrast(1.6)")
    with page.expect_response(lambda response: "level=true" in response.url) as levelled:
        page.keyboard.press("v")
    assert levelled.value.ok
    page.reload()
    wait_for_paint(page)
    expect(spectrogram).to_have_css("filter", "contrast(1.6)")
    page.keyboard.press("?")
    expect(page.get_by_label("all equally loud")).to_be_checked()
    page.get_by_label("Colours of spectrograms").select_option("dark on white")
    expect(spectrogram).to_have_css("filter", re.compile("invert"))


def test_items_without_media_show_their_text_or_key(live_server: LiveServer, open_page: OpenPage) -> None:
    project, lea = make_songs(live_server, question_text="Is <b>1</b> nearer to 2?")
    with live_server.database.transaction() as session:
        bare = {"media": None, "picture": None, "thumbnail": None, "media_type": None}
        session.execute(update(Item).where(Item.project_id == project.id).values(bare))
        texts = update(Item).where(Item.project_id == project.id, Item.position % 2 == 0)
        session.execute(texts.values(text="A thrush <i>sings</i> from the old fir beside the creek."))
    page = open_page(lea, f"/projects/{project.key}/label")
    expect(page.locator("#question")).to_have_text("Is <b>1</b> nearer to 2?")
    for text in page.locator(".item-text").all_inner_texts():
        assert text.startswith(("song ", "A thrush <i>"))
    page.set_viewport_size({"width": 360, "height": 740})
    lefts = page.locator(".item").evaluate_all("items => items.map((item) => item.getBoundingClientRect().left)")
    assert len(set(lefts)) == 1, "texts stand one below the other where the window is narrow"
    expect(page.locator(".play:visible")).to_have_count(0)
    take_shot(page, "label-text")
    wait_for_paint(page)
    page.keyboard.press("y")
    settle(page)
    assert standing_answers(live_server, project) == ["yes"]


@pytest.mark.heavy
def test_a_second_window_catches_up_when_it_comes_to_the_front(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_songs(live_server, open_page)
    second_page = page.context.new_page()
    second_page.goto(f"/projects/{project.key}/label")
    question = shown(page)
    assert shown(second_page) == question, "both hold the same leases"
    press_and_see(page, "y")
    settle(page)
    second_page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    wait_until(lambda: shown(second_page) == shown(page))
    expect(second_page.locator("#mine")).to_have_text("1")


@pytest.mark.heavy
def test_a_page_asks_nothing_again_that_was_sent_while_it_was_loading(
    live_server: LiveServer, open_page: OpenPage
) -> None:
    project, lea = make_songs(live_server)
    page = open_page(lea, f"/projects/{project.key}/label", service_workers="block")
    first = shown(page)
    press_and_see(page, "n")
    settle(page)
    second_page = page.context.new_page()
    held: list[Route] = []  # without a service worker: there is no route for what it requests
    second_page.route("**/label.js", lambda route: held.append(route))
    second_page.goto(page.url, wait_until="commit")
    for key in ["y", "s", "d", "Backspace", "n"]:
        press_and_see(page, key)
    settle(page)
    held[0].continue_()
    wait_for_paint(second_page)
    assert shown(second_page) == shown(page)
    expect(second_page.locator("#mine")).to_have_text("3")
    expect(second_page.locator("#last li")).to_have_text(["no", "yes", "no"])
    for _ in range(3):
        press_and_see(second_page, "Backspace")
    assert shown(second_page) == first
    settle(second_page)
    assert standing_answers(live_server, project) == []


@pytest.mark.heavy
def test_answers_wait_in_a_browser_that_forbids_storage(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_songs(live_server, open_page)
    forbid = (
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError') } })"
    )
    page.add_init_script(forbid)
    page.reload()
    assert_answered(live_server, project, page, "n", "no")


@pytest.mark.heavy
def test_a_page_without_a_mouse(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_songs(live_server, open_page)
    answer = page.get_by_role("button", name="No, like 3")
    for _ in range(30):
        if answer.evaluate("button => button === document.activeElement"):
            break
        page.keyboard.press("Tab")
    press_and_see(page, "Enter")
    settle(page)
    assert len(standing_answers(live_server, project)) == 1


class HeldPictures:
    """Pictures that are on their way until they are let through, as on a slow line."""

    def __init__(self, page: Page) -> None:
        self._routes: list[Route] = []
        self._are_held = True
        self._failed = 0
        page.route("**/media/picture/*", self._take)

    def _take(self, route: Route) -> None:
        if self._are_held:
            self._routes.append(route)
        else:
            route.continue_()

    def release(self, body: bytes | None = None) -> None:
        """Let them through, or another picture for each."""
        self._are_held = False
        for route in self._routes:
            if body is None:
                route.continue_()
            else:
                route.fulfill(body=body, content_type="image/png")

    def fail(self) -> None:
        """Break off all that were asked for; what is asked for from now on comes."""
        self._are_held = False
        for route in self._routes:
            route.abort()

    def all_failed(self) -> bool:
        """Whether the page knows of all of them; to be asked each time that it hears of one."""
        self._failed += 1
        return self._failed == len(self._routes)


def answer_in_every_way(page: Page) -> None:
    """Press every key that answers or skips, and click every button, also one that looks disabled."""
    for key in ["y", "n", "d", "ArrowLeft", "ArrowRight", "ArrowDown", "s"]:
        page.keyboard.press(key)
    for button in [*page.locator("#answer button").all(), page.locator("#skip button")]:
        button.dispatch_event("click")
    page.locator("#answer button").first.focus()
    page.keyboard.press("Enter")


def open_with_held_pictures(open_page: OpenPage, user: User, project: Project) -> tuple[Page, HeldPictures]:
    page = open_page(user, "/account")
    pictures = HeldPictures(page)
    page.goto(f"/projects/{project.key}/label", wait_until="commit")
    expect(page.locator("#label")).to_have_attribute("data-paint", "loading")
    return page, pictures


def test_nothing_is_answered_before_its_pictures_are_painted(live_server: LiveServer, open_page: OpenPage) -> None:
    project, lea = make_songs(live_server)
    page, pictures = open_with_held_pictures(open_page, lea, project)
    expect(page.get_by_role("status").filter(has_text="Pictures are loading…")).to_be_visible()
    for button in [*page.locator("#answer button").all(), page.locator("#skip button")]:
        expect(button).to_have_attribute("aria-disabled", "true")
    expect(page.locator("#asking")).to_have_attribute("aria-busy", "true")
    question = shown(page)
    answer_in_every_way(page)
    page.wait_for_timeout(200)
    settle(page)
    assert stored(live_server, project) == []
    assert shown(page) == question

    released_at = time.monotonic()
    pictures.release()
    wait_for_paint(page)
    expect(page.get_by_text("Pictures are loading…")).to_be_hidden()
    expect(page.locator("#answer button").first).to_have_attribute("aria-disabled", "false")
    press_and_see(page, "y")
    settle(page)
    [row] = stored(live_server, project)
    assert row.response_ms is not None
    assert row.response_ms <= 1000 * (time.monotonic() - released_at), "counted from the paint on"


@pytest.mark.heavy
def test_sounds_set_in_at_one_place_though_their_pictures_come_late(
    live_server: LiveServer, open_page: OpenPage
) -> None:
    project, lea = make_songs(live_server)
    page, pictures = open_with_held_pictures(open_page, lea, project)
    ground = page.evaluate("JSON.parse(document.getElementById('label').dataset.page).pictures.ground")
    picture = Image.new("RGB", (400, 100), ground)
    picture.paste((255, 255, 255), (190, 40, 300, 60))  # silence until shortly before the middle
    pictures.release(png_bytes(picture))
    wait_for_paint(page)
    onsets = page.locator(".media").evaluate_all("boxes => boxes.map(({ dataset }) => Number(dataset.onset))")
    assert len(onsets) == 3
    assert min(onsets) > 0.02


def png_bytes(picture: Image.Image) -> bytes:
    with io.BytesIO() as file:
        picture.save(file, "PNG")
        return file.getvalue()


@pytest.mark.heavy
def test_the_plain_form_is_not_there_before_the_script(live_server: LiveServer, open_page: OpenPage) -> None:
    project, lea = make_songs(live_server)
    page = open_page(lea, "/account")
    held: list[Route] = []
    page.route("**/label.js", lambda route: held.append(route))
    page.goto(f"/projects/{project.key}/label", wait_until="commit")
    expect(page.locator("#question")).to_be_visible()
    for button in [*page.locator("#answer button").all(), page.locator("#skip button")]:
        expect(button).to_be_hidden()
    expect(page.get_by_text("Pictures are loading…")).to_be_visible()
    held[0].continue_()
    wait_for_paint(page)
    expect(page.locator("#answer button").first).to_be_visible()
    assert_answered(live_server, project, page, "n", "no")


@pytest.mark.heavy
def test_a_picture_that_fails_is_said_and_can_be_loaded_again(live_server: LiveServer, open_page: OpenPage) -> None:
    project, lea = make_songs(live_server)
    page, pictures = open_with_held_pictures(open_page, lea, project)
    question = page.locator(".media img").evaluate_all("images => images.map((image) => image.src)")
    pictures.fail()
    expect(page.locator("#label")).to_have_attribute("data-paint", "failed")
    expect(page.get_by_text("A picture cannot be loaded. Load it again, or skip this question.")).to_be_visible()
    expect(page.locator(".media").first).to_have_text(
        re.compile(r"^Spectrogram of item 1: \d\.\d+ seconds long: not loaded$")
    )
    page.keyboard.press("y")
    assert stored(live_server, project) == []
    assert_accessible(page, "label-failed")
    page.get_by_role("button", name="Load again").click()
    wait_for_paint(page)
    assert page.locator(".media img").evaluate_all("images => images.map((image) => image.src)") == question
    assert_answered(live_server, project, page, "y", "yes")


@pytest.mark.heavy
def test_a_picture_that_fails_can_be_skipped(live_server: LiveServer, open_page: OpenPage) -> None:
    project, lea = make_songs(live_server)
    page, pictures = open_with_held_pictures(open_page, lea, project)
    with page.expect_event("requestfailed", lambda _: pictures.all_failed()):
        pictures.fail()
    expect(page.locator("#label")).to_have_attribute("data-paint", "failed")
    page.keyboard.press("s")
    wait_for_paint(page)
    settle(page)
    with live_server.database.reading() as session:
        assert len(session.scalars(select(Skip).where(Skip.labeler_id == lea.id)).all()) == 1


@pytest.mark.heavy
def test_pictures_that_take_long_can_be_skipped_or_asked_for_again(
    live_server: LiveServer, open_page: OpenPage
) -> None:
    project, lea = make_songs(live_server)
    page = open_page(lea, "/account")
    page.clock.install()
    pictures = HeldPictures(page)
    page.goto(f"/projects/{project.key}/label", wait_until="commit")
    expect(page.locator("#label")).to_have_attribute("data-paint", "loading")
    page.clock.run_for(10_000)
    expect(page.get_by_text("You may also skip this question.")).to_be_visible()
    expect(page.locator("#skip button")).to_have_attribute("aria-disabled", "false")
    page.keyboard.press("y")
    assert stored(live_server, project) == []
    pictures.fail()  # what was asked for before has no say any more
    page.get_by_role("button", name="Load again").click()
    page.clock.resume()
    wait_for_paint(page)
    assert_answered(live_server, project, page, "y", "yes")


@pytest.mark.heavy
def test_a_preloaded_question_is_on_screen_in_the_next_frame(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_songs(live_server, open_page)
    wait_for_paint(page)
    page.wait_for_load_state("networkidle")
    result = page.evaluate(
        """async () => {
          const sources = () => [...document.querySelectorAll(".media img")].map((image) => image.src).join();
          const before = sources();
          const states = [];
          const label = document.getElementById("label");
          new MutationObserver(() => states.push(label.dataset.paint)).observe(label, { attributes: true });
          document.dispatchEvent(new KeyboardEvent("keydown", { key: "y", bubbles: true }));
          await new Promise(requestAnimationFrame);
          const images = [...document.querySelectorAll(".media img")];
          const isNext = sources() !== before && images.every((image) => image.complete && image.naturalWidth > 0);
          for (let waits = 0; waits < 100 && !states.includes("painted"); waits += 1) {
            await new Promise((resolve) => setTimeout(resolve, 20));
          }
          return [isNext, [...new Set(states)]];
        }"""
    )
    assert result == [True, ["painting", "painted"]], "no skeleton, no message, no buttons that look disabled"


@pytest.mark.heavy
def test_keys_are_the_labelers_own(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_songs(live_server, open_page)
    wait_for_paint(page)
    page.keyboard.press("?")
    page.get_by_role("button", name="Change").click()
    message, keys = page.locator("#keys-message"), page.locator("#keys")
    keys.get_by_role("button", name="Y").click()
    expect(message).to_have_text("Press the new key for “yes, 1 is more like 2”, or Escape.")
    assert_accessible(page, "waiting for a key")
    page.keyboard.press("Backspace")
    expect(message).to_contain_text("This key cannot be chosen")
    page.keyboard.press("n")
    expect(message).to_have_text("N is the key for “yes, 1 is more like 2” now.")
    expect(page.locator("#answer kbd")).to_have_text(["N", "D", "Y"])
    keys.get_by_role("button", name="D").click()
    page.keyboard.press("j")
    page.keyboard.press("?")
    expect(keys).to_be_hidden()
    page.keyboard.press("d")  # does nothing any more
    for key in ("n", "y", "j", "ArrowLeft"):
        press_and_see(page, key)
    settle(page)
    assert standing_answers(live_server, project) == ["yes", "no", "dnk", "yes"]

    page.reload()
    expect(page.locator("#answer kbd")).to_have_text(["N", "J", "Y"])
    page.keyboard.press("?")
    page.get_by_role("button", name="Change").click()
    page.get_by_role("button", name="As at first").click()
    expect(page.locator("#answer kbd")).to_have_text(["Y", "D", "N"])


@pytest.mark.heavy
def test_each_sound_is_to_be_heard_first_where_the_project_says_so(
    live_server: LiveServer, open_page: OpenPage
) -> None:
    project, page = open_songs(live_server, open_page, hear_first=True)
    label, before = page.locator("#label"), shown(page)
    expect(label).to_have_attribute("data-paint", "unheard")
    assert_accessible(page, "sounds to be heard first")
    page.evaluate(RECORD_SOUNDS)
    page.keyboard.press("y")
    page.keyboard.press("1")
    wait_until(lambda: len(page.evaluate("played")) == 1)
    page.keyboard.press("y")
    assert shown(page) == before
    expect(page.get_by_role("status").filter(has_text="Listen to each sound to its end first")).to_have_count(2)
    expect(page.locator(".play.playing")).to_have_count(0)
    page.keyboard.press("Space")
    wait_for_paint(page)
    press_and_see(page, "y")
    expect(label).to_have_attribute("data-paint", "unheard")
    page.keyboard.press("Backspace")
    wait_for_paint(page)  # they were heard before
    press_and_see(page, "n")
    settle(page)
    assert standing_answers(live_server, project) == ["no"]


@pytest.mark.heavy
def test_sounds_play_by_themselves_for_those_who_turn_it_on(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_songs(live_server, open_page)
    wait_for_paint(page)
    page.evaluate(RECORD_SOUNDS)
    press_and_see(page, "y")
    wait_for_paint(page)
    assert page.evaluate("played") == []
    page.keyboard.press("?")
    page.get_by_label("play the sounds of each question by themselves").check()
    page.keyboard.press("?")
    press_and_see(page, "y")
    wait_until(lambda: len(page.evaluate("played")) == 3)


@pytest.mark.heavy
def test_a_click_can_be_undone_for_a_moment(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_songs(live_server, open_page)
    before, toast = shown(page), page.locator("#toast")
    press_and_see(page, "y")
    expect(toast).to_be_hidden()
    press_and_see(page, "Backspace")
    wait_for_paint(page)
    page.locator(".media").nth(1).click()
    expect(toast).to_have_text("Answered yes. Undo")
    assert_accessible(page, "a click can be undone")
    toast.get_by_role("button", name="Undo").click()
    wait_until(lambda: shown(page) == before)
    expect(toast).to_be_hidden()
    settle(page)
    assert standing_answers(live_server, project) == []


@pytest.mark.heavy
def test_labelers_are_told_what_is_right(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_songs(live_server, open_page, feedback=True)
    wait_for_paint(page)
    with live_server.database.transaction() as session:
        ben = add_member(session, session.get_one(Project, project.id), Role.LABELER)
        for number, triplet in enumerate(session.scalars(select(Lease.triplet_id)).all(), 1):
            known = {"value": "dnk", "known_at": now(), "number": number, "project_id": project.id}
            session.add(Answer(id=uuid4(), triplet_id=triplet, labeler_id=ben.id, **known))
        session.execute(update(Project).values(answer_number=number))
    sentence = page.locator("#effect")
    press_and_see(page, "y")
    expect(sentence).to_contain_text("You said yes; the people who run this project say don't know.")
    assert_accessible(page, "what is right")
    press_and_see(page, "d")
    expect(sentence).to_contain_text("You said don't know, and so do the people who run this project.")
    sentence.get_by_role("button", name="OK").click()
    expect(sentence).to_be_hidden()
