"""A run's page in a real browser: its lasso and its slider of resolutions are the dashboard's, on two linked maps."""

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import select

from tercet.models import Project, Purpose, Run, User
from tests.browser.conftest import LiveServer, OpenPage, assert_accessible, make_board
from tests.browser.test_resolution import store_resolutions
from tests.dashboard.results import add_result

pytestmark = pytest.mark.browser

VIEW = [1] * 15 + [2] * 15


@pytest.fixture
def beside(live_server: LiveServer) -> tuple[Project, User]:
    """A run of SKLR with three clusters of 10, 12 and 8 songs, and a view of two that is to be unlike it."""
    project, analyst = make_board(live_server)
    store_resolutions(live_server, project)
    with live_server.database.transaction() as session:
        view = add_result(session, live_server.storage, session.get_one(Project, project.id), 2, VIEW)
        view.purpose, view.algorithm = Purpose.ALTERNATIVE, "cmbc"
        view.parameters = {"n_clusters": 3, "method": "regress-out", "known_runs": [1], "known_columns": []}
    return project, analyst


def open_run(open_page: OpenPage, beside: tuple[Project, User], number: str, **options: object) -> Page:
    project, analyst = beside
    size = {"viewport": {"width": 1280, "height": 900}, **options}
    page = open_page(analyst, f"/projects/{project.key}/runs/{number}", **size)
    for canvas in page.locator("#maps canvas").all():
        expect(canvas).to_have_attribute("data-points", "30")
    return page


def circle_left_half(page: Page, canvas: Locator) -> None:
    """Draw a lasso around the left half of a map."""
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    left, middle, top, low = box["x"] + 4, box["x"] + box["width"] / 2, box["y"] + 4, box["y"] + box["height"] - 4
    page.mouse.move(left, low)
    page.mouse.down()
    for x, y in ((middle, low), (middle, top), (left, top), (left, low - 4)):
        page.mouse.move(x, y, steps=3)
    page.mouse.up()


@pytest.mark.heavy
def test_what_is_circled_on_either_map_is_listed_with_its_clusters(
    open_page: OpenPage, beside: tuple[Project, User]
) -> None:
    page = open_run(open_page, beside, "2")
    maps, item_list = page.locator("#maps canvas"), page.locator("#item-list")
    lasso = page.get_by_role("button", name="Lasso")
    for place, run, counts in ((1, 2, ["1 15"]), (0, 1, ["1 10", "2 5"])):
        lasso.click()
        expect(lasso).to_have_attribute("aria-pressed", "true")
        circle_left_half(page, maps.nth(place))
        expect(item_list.get_by_role("heading")).to_have_text(f"Circled, clusters of run {run}: 15 items")
        assert item_list.locator(".counts > span").all_inner_texts() == counts
        expect(lasso).to_have_attribute("aria-pressed", "false")
        expect(item_list.locator("tbody tr")).to_have_count(15)
    item_list.get_by_role("button", name="Close").click()
    expect(maps.nth(0)).to_be_focused()


def test_a_cluster_is_listed_and_the_way_back_leads_to_its_card(
    open_page: OpenPage, beside: tuple[Project, User]
) -> None:
    page = open_run(open_page, beside, "2")
    link = page.locator('#cluster-2 [data-list="2"]')
    link.focus()
    page.keyboard.press("Enter")
    heading = page.locator("#item-list").get_by_role("heading")
    expect(heading).to_have_text("Cluster 2: 15 items")
    expect(heading).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(link).to_be_focused()


@pytest.mark.heavy
def test_the_slider_of_an_older_run(live_server: LiveServer, open_page: OpenPage, beside: tuple[Project, User]) -> None:
    page = open_run(open_page, beside, "1?with=2")
    slider = page.get_by_role("slider", name="Number of clusters to look at")
    expect(slider).to_have_value("3")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    listed = page.locator("#resolution-clusters")
    expect(listed.locator("[data-list]")).to_have_text(["6 items"] * 5)
    maps = page.locator("#maps canvas")
    expect(maps.nth(1)).to_have_attribute("data-clusters", "5")
    expect(page.locator("#clusters")).to_be_hidden()
    listed.get_by_role("button", name="6 items").nth(1).click()
    expect(page.locator("#item-list").get_by_role("heading")).to_have_text("Cluster 2: 6 items")
    page.get_by_role("button", name="Use from now on").click()
    page.wait_for_url(f"**/projects/{beside[0].key}#resolution")
    with live_server.database.reading() as session:
        assert session.get_one(Project, beside[0].id).n_clusters == 5
        queued = session.scalars(select(Run).where(Run.project_id == beside[0].id, Run.status == "queued")).all()
    assert len(queued) == 1


@pytest.mark.heavy
@pytest.mark.parametrize("width", [1280, 390])
def test_accessible_and_never_wider_than_the_window(
    open_page: OpenPage, beside: tuple[Project, User], width: int
) -> None:
    page = open_run(open_page, beside, "1?with=2", viewport={"width": width, "height": 844})
    page.locator('#cluster-1 [data-list="1"]').click()
    expect(page.locator("#item-list tbody tr")).to_have_count(10)
    page.get_by_role("button", name="5 suggested").click()
    expect(page.locator("#resolution-clusters .cluster")).to_have_count(5)
    page.locator("#maps").scroll_into_view_if_needed()
    assert_accessible(page, "run")
