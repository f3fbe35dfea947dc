"""The map coloured by something other than clusters, searched, boxed and saved, in a real browser."""

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from tercet.models import Item, Project, User
from tests.browser.conftest import LiveServer, OpenPage, assert_accessible, make_board
from tests.browser.test_dashboard import place_of_item

pytestmark = pytest.mark.browser


@pytest.fixture
def board(live_server: LiveServer) -> tuple[Project, User]:
    """Thirty songs in three clusters, the first twenty from site A and ten from site B."""
    project, analyst = make_board(live_server)
    with live_server.database.transaction() as session:
        for item in session.scalars(select(Item).where(Item.project_id == project.id)):
            item.details = {"site": "A" if item.position < 20 else "B"}
    return project, analyst


def open_board(open_page: OpenPage, board: tuple[Project, User], **options: object) -> Page:
    project, analyst = board
    page = open_page(analyst, f"/projects/{project.key}", **options)
    expect(page.locator("#map")).to_have_attribute("data-points", "30")
    return page


def colours(page: Page) -> int:
    """How many colours the canvas shows, those at the edges of points among them."""
    script = "c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
    return page.locator("#map").evaluate(script)


def test_a_legend_selects_the_items_of_a_group(open_page: OpenPage, board: tuple[Project, User]) -> None:
    page = open_board(open_page, board)
    before = colours(page)
    choice = page.get_by_label("Colour by")
    choice.focus()
    expect(choice.locator("option", has_text="site")).to_have_count(1)
    choice.select_option("site")
    expect(page.locator("#map")).to_have_attribute("data-tint", "column:site")
    chip = page.get_by_role("button", name="B 10")
    chip.focus()
    page.keyboard.press("Enter")
    panel = page.locator("#item-list")
    expect(panel.get_by_role("heading")).to_have_text("B: 10 items")
    page.reload()
    expect(page.locator("#map")).to_have_attribute("data-passing", "10")
    page.locator('[data-list="2"]').click()
    expect(panel.get_by_role("heading")).to_have_text("Cluster 2: 2 items")
    page.go_back()
    expect(page.locator("#map")).to_have_attribute("data-passing", "")
    choice.focus()
    expect(choice.locator("option", has_text="site")).to_have_count(1)
    choice.select_option("site")
    page.locator('[data-list="2"]').click()
    expect(panel.get_by_role("heading")).to_have_text("Cluster 2: 12 items")
    expect(panel.get_by_role("button", name="Gallery")).to_be_visible()
    choice.select_option("doubt")
    expect(page.locator("#legend .ramp")).to_be_visible()
    assert colours(page) != before
    choice.select_option("feature 2")
    expect(page.locator("#legend")).to_contain_text("1")
    choice.select_option("cluster")
    expect(page.locator("#legend")).to_be_empty()


@pytest.mark.heavy
def test_colours_that_come_too_late_or_not_at_all(open_page: OpenPage, board: tuple[Project, User]) -> None:
    page = open_board(open_page, board)
    choice, legend = page.get_by_label("Colour by"), page.locator("#legend")
    choice.focus()
    expect(choice.locator("option", has_text="site")).to_have_count(1)
    # What has arrived is read half a second later.
    page.evaluate(
        "() => { const read = Response.prototype.json;"
        " Response.prototype.json = async function () {"
        " await new Promise(done => setTimeout(done, 500)); const body = await read.call(this);"
        " setTimeout(() => (document.body.dataset.read = 'yes')); return body; }; }"
    )
    with page.expect_response("**/columns/values*"):
        choice.select_option("site")
    choice.select_option("cluster")
    expect(page.locator("body")).to_have_attribute("data-read", "yes")
    expect(legend).to_be_empty()
    expect(page.locator("#map")).to_have_attribute("data-tint", "")
    page.route("**/columns/values*", lambda route: route.abort())
    choice.select_option("site")
    expect(legend).to_have_text("The server was not reached. Try again.")
    expect(choice).to_have_value("")


@pytest.mark.heavy
def test_search_and_box_select_and_the_map_is_saved(open_page: OpenPage, board: tuple[Project, User]) -> None:
    page = open_board(open_page, board)
    page.get_by_label("Search items").fill("SONG 2/")
    page.keyboard.press("Enter")
    panel = page.locator("#item-list")
    expect(panel.get_by_role("heading")).to_have_text("“SONG 2/”: 1 items")
    assert page.url.endswith("?text=SONG+2%2F"), "the address has the filter"
    expect(page.locator("#filter")).to_contain_text("1 of 30 items")
    expect(page.locator("#map")).to_have_attribute("data-passing", "1")
    expect(page.locator("#clusters")).to_contain_text("no items")
    page.get_by_role("link", name="Take away: “SONG 2/”").click()
    expect(page.locator("#map")).to_have_attribute("data-passing", "")
    # The map moves up once the line above it has gone: a box drawn before would end below it.
    expect(page.locator("#filter")).not_to_contain_text("of 30 items")
    page.get_by_role("button", name="Box").click()
    expect(page.get_by_role("button", name="Box")).to_have_attribute("aria-pressed", "true")
    canvas = page.locator("#map")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    page.mouse.move(box["x"] + 3, box["y"] + 3)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 3, box["y"] + box["height"] - 3, steps=4)
    page.mouse.up()
    expect(panel.get_by_role("heading")).to_have_text("Circled: 30 items")
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG").click()
    assert download.value.suggested_filename == "map.png"


@pytest.mark.heavy
def test_a_click_on_an_item_offers_its_look_alikes(open_page: OpenPage, board: tuple[Project, User]) -> None:
    page = open_board(open_page, board)
    page.locator("#map").scroll_into_view_if_needed()
    page.mouse.click(*place_of_item(page, 0))
    page.get_by_role("button", name="Items like this one").click()
    panel = page.locator("#item-list")
    expect(panel.get_by_role("heading")).to_have_text("Like song 1/30: 30 items")


@pytest.mark.heavy
@pytest.mark.parametrize("width", [1440, 390])
def test_accessible_with_a_legend(open_page: OpenPage, board: tuple[Project, User], width: int) -> None:
    page = open_board(open_page, board, viewport={"width": width, "height": 844})
    choice = page.get_by_label("Colour by")
    choice.focus()
    expect(choice.locator("option", has_text="site")).to_have_count(1)
    choice.select_option("site")
    expect(page.get_by_role("button", name="A 20")).to_be_visible()
    assert_accessible(page, "coloured")
