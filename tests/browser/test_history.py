"""The timeline and two runs side by side in a real browser: by keyboard from the runs to the items that moved."""

import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from tercet.models import Project, Run, User
from tests.browser.conftest import BEFORE, LiveServer, OpenPage, assert_accessible, make_board
from tests.dashboard.results import add_result

pytestmark = pytest.mark.browser

NOW = [1] * 8 + [2] * 14 + [3] * 8


@pytest.fixture
def history(live_server: LiveServer) -> tuple[Project, User]:
    """Three runs; with the second, two songs went from cluster 1 to 2, with the third nothing moved."""
    curve = {"points": [[50, 0.6, 0.4, 0.7], [100, 0.7, 0.5, 0.8]], "chance": 0.5, "ceiling": None}
    project, analyst = make_board(live_server, accuracy_curve=curve)
    with live_server.database.transaction() as session:
        row = session.get_one(Project, project.id)
        add_result(session, live_server.storage, row, 2, NOW, items_moved=2, accuracy_curve=curve)
        add_result(session, live_server.storage, row, 3, NOW, items_moved=0, accuracy_curve=curve)
    return project, analyst


def test_from_the_timeline_to_what_moved_by_keyboard(
    live_server: LiveServer, open_page: OpenPage, history: tuple[Project, User]
) -> None:
    project, analyst = history
    page = open_page(analyst, f"/projects/{project.key}/runs")
    first = page.get_by_role("link", name="Run 1, new answers")
    first.focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Run 2, new answers, 70 % of the newest answers foreseen")).to_be_focused()
    earlier = page.get_by_role("radio", name="Run 2 as the earlier one")
    expect(earlier).to_be_checked()
    earlier.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#moved-line")).to_contain_text("2 of 30 items moved")
    expect(page.locator(".band")).to_have_count(4)
    button = page.get_by_role("button", name="Gallery of the items that moved from 1 to 2")
    expect(page.locator("html.js")).to_have_count(1)  # before its script runs the button does nothing
    button.focus()
    page.keyboard.press("Enter")
    gallery = page.get_by_role("dialog")
    expect(gallery.get_by_role("heading")).to_have_text("Moved from 1 to 2: 2 items")
    expect(gallery.locator(".tile")).to_have_count(2)
    expect(gallery.get_by_role("button", name="Keep")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Restore these clusters").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Run 4")
    with live_server.database.reading() as session:
        restored = session.scalars(select(Run).where(Run.project_id == project.id, Run.number == 4)).one()
    assert (restored.reason, restored.metrics["adopted_from"]) == ("adopted", 1)
    page.get_by_role("button", name="Go back to run 3").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Run 5")


def test_clusters_that_are_not_the_current_ones_cannot_be_edited(
    live_server: LiveServer, open_page: OpenPage, history: tuple[Project, User]
) -> None:
    project, analyst = history
    with live_server.database.transaction() as session:
        add_result(session, live_server.storage, session.get_one(Project, project.id), 4, BEFORE)
    page = open_page(analyst, f"/projects/{project.key}/changes?since=1&run=2")
    page.get_by_role("button", name="Gallery of the items").click()
    gallery = page.get_by_role("dialog")
    expect(gallery.locator(".tile")).to_have_count(2)
    expect(gallery.get_by_role("button", name="Keep")).to_have_count(0)


@pytest.mark.heavy
@pytest.mark.parametrize("width", [1440, 390])
def test_accessible_and_never_wider_than_the_window(
    open_page: OpenPage, history: tuple[Project, User], width: int
) -> None:
    project, analyst = history
    page = open_page(analyst, f"/projects/{project.key}/runs", viewport={"width": width, "height": 844})
    assert_accessible(page, "runs")
    page.goto(f"/projects/{project.key}/changes?since=1&run=3")
    assert_accessible(page, "changes")
