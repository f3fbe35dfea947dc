"""The labeling page without a network: questions ahead, a killed tab, two tabs, signing out, a new version."""

from collections import Counter

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from sqlalchemy import func, select

from tercet.models import Project, Triplet
from tests.browser.conftest import LiveServer, OpenPage, assert_accessible, make_songs
from tests.browser.test_label import (
    press_and_see,
    settle,
    shown,
    standing_answers,
    stored,
    wait_for_paint,
    wait_until,
)

pytestmark = pytest.mark.browser
READY = 200
KEPT = """caches.keys().then((names) => [names.length,
  Object.keys(localStorage).filter((key) => !key.startsWith('tercet-outbox')).length])"""
REGISTRATIONS = "navigator.serviceWorker.getRegistrations().then((all) => all.length)"


@pytest.fixture
def prepared(live_server: LiveServer, open_page: OpenPage) -> tuple[Project, Page]:
    """A page with two hundred questions and their media at hand."""
    project, lea = make_songs(live_server)
    page = open_page(lea, f"/projects/{project.key}/label")
    wait_for_paint(page)
    page.keyboard.press("?")
    page.get_by_label("keep 200 questions here").check()
    expect(page.locator("#ahead-state")).to_have_text(
        "200 questions are here with pictures and sounds.", timeout=60_000
    )
    page.keyboard.press("Escape")
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    return project, page


def answer_many(page: Page, count: int) -> None:
    for number in range(count):
        press_and_see(page, "ynd"[number % 3])


@pytest.mark.heavy
def test_a_hundred_answers_without_a_network_and_a_killed_tab(
    live_server: LiveServer, prepared: tuple[Project, Page]
) -> None:
    project, page = prepared
    context = page.context
    context.set_offline(True)
    answer_many(page, 60)
    expect(page.locator("#saved")).to_have_text("offline, keep going: 60 kept here")
    page.close()

    page = context.new_page()
    page.goto(f"/projects/{project.key}/label")
    expect(page.locator("#saved")).to_have_text("offline, keep going: 60 kept here")
    expect(page.locator("#today")).to_have_text("60")
    answer_many(page, 40)
    expect(page.locator("#saved")).to_have_text("offline, keep going: 100 kept here")
    page.get_by_role("link", name="Account").click()
    expect(page.get_by_text("That needs the network. You can go on labeling.")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    assert page.url.endswith("/label")
    page.evaluate("window.stayed = true")
    # A tab that is closed sends its first answer once more, which gets past the browser's imitation of no network.
    assert len(stored(live_server, project)) <= 1

    context.set_offline(False)
    settle(page)
    answers = stored(live_server, project)
    assert len(answers) == 100
    assert len({answer.triplet_id for answer in answers}) == 100
    assert Counter(standing_answers(live_server, project)) == {"yes": 34, "no": 33, "dnk": 33}
    expect(page.locator("#mine")).to_have_text("100")
    press_and_see(page, "y")
    settle(page)
    assert page.evaluate("window.stayed"), "back without a reload"
    assert len(stored(live_server, project)) == 101


@pytest.mark.heavy
def test_the_page_says_when_nothing_is_left(live_server: LiveServer, open_page: OpenPage) -> None:
    project, lea = make_songs(live_server)
    page = open_page(lea, f"/projects/{project.key}/label")
    page.context.set_offline(True)
    while page.locator("#nothing").is_hidden():
        wait_for_paint(page)
        page.keyboard.press("d")
    expect(page.locator("#reason")).to_contain_text("Your answers are kept here and sent when it is back.")
    page.get_by_role("button", name="Look again").click()
    expect(page.locator("#reason")).to_contain_text("nothing more to ask")
    page.context.set_offline(False)
    wait_for_paint(page)
    settle(page)
    assert len(stored(live_server, project)) >= 6


@pytest.mark.heavy
def test_two_tabs_agree_within_a_second(live_server: LiveServer, prepared: tuple[Project, Page]) -> None:
    project, first = prepared
    second = first.context.new_page()
    second.goto(f"/projects/{project.key}/label")
    wait_for_paint(second)
    same = shown(first)
    assert shown(second) == same
    press_and_see(first, "y")
    wait_until(lambda: shown(second) == shown(first), 1)
    expect(second.locator("#mine")).to_have_text("1")
    first.context.set_offline(True)
    answer_many(second, 3)
    expect(first.locator("#saved")).to_have_text("offline, keep going: 3 kept here", timeout=1_000)
    expect(second.locator("#saved")).to_have_text("offline, keep going: 3 kept here", timeout=1_000)
    assert shown(first) == shown(second)
    second.close()
    first.context.set_offline(False)
    settle(first)
    assert len(stored(live_server, project)) == 4


@pytest.mark.heavy
def test_tabs_that_were_opened_without_a_network_count_all_answers_once_it_is_back(
    prepared: tuple[Project, Page],
) -> None:
    project, first = prepared
    answer_many(first, 3)
    settle(first)
    first.context.set_offline(True)
    first.reload()
    second = first.context.new_page()
    second.goto(f"/projects/{project.key}/label")
    for page in (first, second):
        wait_for_paint(page)
        expect(page.locator("#mine")).to_have_text("0")  # as the browser has kept the page
    press_and_see(first, "s")
    first.context.set_offline(False)
    for page in (first, second):
        settle(page)
        expect(page.locator("#mine")).to_have_text("3")


def kept(context: BrowserContext) -> list[int]:
    """How many caches a browser has, and of other entries but unsent answers, on a page that keeps none itself."""
    page = context.new_page()
    page.goto("/help/systems")
    numbers: list[int] = page.evaluate(KEPT)
    page.close()
    return numbers


def test_signing_out_leaves_nothing_behind(prepared: tuple[Project, Page]) -> None:
    _, page = prepared
    assert kept(page.context) == [2, 1]
    answer_many(page, 3)
    settle(page)
    assert kept(page.context) == [2, 1 + 3 + 1]
    page.get_by_role("link", name="Account").click()
    page.get_by_role("button", name="Sign out").first.click()
    page.wait_for_url("**/")
    wait_until(lambda: kept(page.context) == [0, 0])
    wait_until(lambda: not page.evaluate(REGISTRATIONS))


@pytest.mark.heavy
def test_signing_out_before_the_scripts_have_come_leaves_nothing_behind(prepared: tuple[Project, Page]) -> None:
    _, page = prepared
    page.locator("form[action$='/sign-out']").first.evaluate("(form) => form.submit()")
    page.wait_for_url("**/")
    wait_until(lambda: kept(page.context) == [0, 0])
    wait_until(lambda: not page.evaluate(REGISTRATIONS))


@pytest.mark.heavy
def test_a_session_that_ended_elsewhere_leaves_nothing_behind(prepared: tuple[Project, Page]) -> None:
    _, page = prepared
    page.context.clear_cookies()
    answer_many(page, 8)
    wait_until(lambda: kept(page.context) == [0, 0])
    expect(page.locator("#saved")).to_contain_text("you are signed out")


@pytest.mark.heavy
def test_a_new_version_replaces_the_old_one(prepared: tuple[Project, Page]) -> None:
    """What an older worker has kept of the page is dropped once the new one is stored whole; questions stay."""
    project, page = prepared
    names = page.evaluate("caches.keys()")
    page.evaluate(
        """async ([current]) => {
          const old = await caches.open(current.replace(/ [^ ]+$/, " older"));
          const address = document.querySelector("script[src$='/labeling/label.js']").src;
          await old.put(address, new Response("throw new Error('an old page')"));
          await (await navigator.serviceWorker.ready).unregister();
          await caches.delete(current);
        }""",
        [name for name in names if name.startswith("tercet page")],
    )
    page.goto(f"/projects/{project.key}/label")
    wait_for_paint(page)
    wait_until(lambda: sorted(page.evaluate("caches.keys()")) == sorted(names))
    page.context.set_offline(True)
    page.goto(f"/projects/{project.key}/label")
    wait_for_paint(page)


@pytest.mark.heavy
def test_questions_ahead_are_nobody_elses(live_server: LiveServer, prepared: tuple[Project, Page]) -> None:
    project, page = prepared
    with live_server.database.reading() as session:
        of_project = select(func.count()).where(Triplet.project_id == project.id)
        assert session.scalar(of_project.where(Triplet.priority.is_(None), Triplet.source == "random")) == READY
    page.keyboard.press("?")
    assert_accessible(page, "label-ahead")
    manifest = page.request.get(page.locator("link[rel=manifest]").get_attribute("href") or "").json()
    assert manifest["start_url"] == f"/projects/{project.key}/label"
    for icon in manifest["icons"]:
        response = page.request.get(icon["src"])
        assert response.headers["content-type"] == "image/png"
