"""The slider of resolutions in a real browser: colours, sizes and list at once, by key, and without JavaScript."""

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from tercet.models import Project, Run, User
from tercet.runs import results
from tests.browser.conftest import LiveServer, OpenPage, assert_accessible, make_board
from tests.browser.test_dashboard import finish_run

pytestmark = pytest.mark.browser

ROWS = np.stack([np.arange(30) * k // 30 + 1 for k in range(2, 9)]).astype(np.uint8)


def store_resolutions(live: LiveServer, project: Project) -> None:
    """Give the newest run clusters of 2 to 8, five suggested."""
    with live.database.transaction() as session:
        statement = select(Run).where(Run.project_id == project.id, Run.result.is_not(None)).order_by(Run.number.desc())
        run = session.scalars(statement).first()
        assert run is not None
        assert run.result is not None
        results.save_resolutions(live.storage, run.result, ROWS)
        run.algorithm = "sklr"
        run.metrics = {**run.metrics, "most_clusters": 8, "suggested_clusters": 5}


@pytest.fixture
def board(live_server: LiveServer) -> tuple[Project, User]:
    project, analyst = make_board(live_server)
    store_resolutions(live_server, project)
    return project, analyst


def open_it(open_page: OpenPage, board: tuple[Project, User], **options: object) -> Page:
    project, analyst = board
    page = open_page(analyst, f"/projects/{project.key}", **{"viewport": {"width": 1280, "height": 900}, **options})
    expect(page.locator("#map")).to_have_attribute("data-points", "30")
    return page


def test_the_slider_shows_other_numbers_at_once(open_page: OpenPage, board: tuple[Project, User]) -> None:
    page = open_it(open_page, board)
    slider = page.get_by_role("slider", name="Number of clusters to look at")
    expect(slider).to_have_value("3")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "5 clusters")
    listed = page.locator("#resolution-clusters")
    expect(listed.get_by_role("heading", name="5 clusters")).to_be_visible()
    expect(listed.locator(".cluster")).to_have_count(5)
    assert listed.locator("[data-list]").all_inner_texts() == ["6 items"] * 5
    expect(page.locator("#map")).to_have_attribute("data-clusters", "5")
    expect(page.locator("#clusters")).to_be_hidden()
    listed.get_by_role("button", name="6 items").first.click()
    expect(page.locator("#item-list").get_by_role("heading")).to_have_text("Cluster 1: 6 items")
    listed.get_by_role("button", name="2", exact=True).click()
    expect(listed.locator(".cluster").nth(1)).to_have_class("cluster chosen")
    page.get_by_role("button", name="Back to the run's 3").click()
    expect(page.locator("#clusters")).to_be_visible()
    expect(listed).to_be_hidden()
    expect(page.locator("#map")).to_have_attribute("data-clusters", "3")


@pytest.mark.heavy
def test_what_is_suggested_is_used_from_now_on(open_page: OpenPage, board: tuple[Project, User]) -> None:
    page = open_it(open_page, board)
    page.get_by_role("button", name="5 suggested").click()
    expect(page.get_by_role("slider")).to_have_value("5")
    expect(page.get_by_label("Number of clusters", exact=True)).to_have_value("5")
    page.get_by_role("button", name="Use from now on").click()
    expect(page.locator("#resolution")).to_contain_text("Runs make 5 clusters")
    expect(page.locator("#runs tbody tr").first).to_contain_text("queued")


@pytest.mark.heavy
def test_a_new_run_keeps_the_number_looked_at(
    live_server: LiveServer, open_page: OpenPage, board: tuple[Project, User]
) -> None:
    page = open_it(open_page, board)
    expect(page.locator("#connection")).to_have_text("live")
    page.get_by_label("Number of clusters", exact=True).select_option("4")
    expect(page.locator("#resolution-clusters .cluster")).to_have_count(4)
    page.locator("#map").focus()
    finish_run(live_server, board[0], 2, [1] * 10 + [2] * 9 + [3] * 11)
    expect(page.locator("#map")).to_have_attribute("data-run", "2")
    # That run has one number of clusters only.
    expect(page.locator("#resolution-clusters")).to_be_hidden()
    expect(page.locator("#resolution")).to_be_hidden()
    expect(page.locator("#clusters")).to_be_visible()


@pytest.mark.heavy
def test_without_javascript_a_number_is_chosen_from_a_list(open_page: OpenPage, board: tuple[Project, User]) -> None:
    project, analyst = board
    page = open_page(analyst, f"/projects/{project.key}", java_script_enabled=False)
    expect(page.get_by_role("slider")).to_have_count(0)
    page.get_by_text("Sizes of clusters at every resolution").click()
    expect(page.locator("#resolution-sizes tbody tr").nth(2)).to_contain_text("8, 7, 8, 7")
    page.get_by_label("Number of clusters", exact=True).select_option("4")
    page.get_by_role("button", name="Use from now on").click()
    expect(page.locator("#resolution")).to_contain_text("Runs make 4 clusters")


@pytest.mark.heavy
@pytest.mark.parametrize("width", [1280, 390])
def test_accessible_and_never_wider_than_the_window(
    open_page: OpenPage, board: tuple[Project, User], width: int
) -> None:
    page = open_it(open_page, board, viewport={"width": width, "height": 844})
    page.locator("#run-parameters > summary").click()
    page.get_by_role("radio", name="SKLR").check()
    page.get_by_role("button", name="5 suggested").click()
    expect(page.locator("#resolution-clusters .cluster")).to_have_count(5)
    assert_accessible(page, "resolution")
