"""The dashboard in a real browser: its map by hand and by key, its cards, and new results without a reload."""

import uuid

import numpy as np
import pytest
from playwright.sync_api import Page, Request, expect

from tercet.models import Project, Role, Run, now
from tercet.runs import lifecycle
from tests.browser.conftest import BEFORE, LiveServer, OpenPage, assert_accessible, make_board, make_songs, take_shot
from tests.dashboard.results import add_result
from tests.factories import add_features, add_member

pytestmark = pytest.mark.browser

AFTER = [1] * 10 + [2] * 9 + [3] * 11
COLORS = (
    "canvas => new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)"
    ".data.buffer)).size"
)


def open_board(live: LiveServer, open_page: OpenPage, **options: object) -> tuple[Project, Page]:
    project, analyst = make_board(live)
    page = open_page(analyst, f"/projects/{project.key}", **{"viewport": {"width": 1280, "height": 900}, **options})
    expect(page.locator("#map")).to_have_attribute("data-points", "30")
    return project, page


def finish_run(live: LiveServer, project: Project, number: int, labels: list[int]) -> None:
    with live.database.transaction() as session:
        moved = sum(a != b for a, b in zip(BEFORE, labels, strict=True))
        add_result(session, live.storage, session.get_one(Project, project.id), number, labels, items_moved=moved)


def place_of_item(page: Page, position: int) -> tuple[float, float]:
    """Where an item is on the screen: the tests lay items out by cluster (x, 1 to 3) and position (y, 0 to 1)."""
    box = page.locator("#map").bounding_box()
    assert box
    scale = min((box["width"] - 56) / 2, box["height"] - 56)
    x, y = BEFORE[position], position / 29
    return box["x"] + box["width"] / 2 + (x - 2) * scale, box["y"] + box["height"] / 2 - (y - 0.5) * scale


def test_map_and_cards_show_the_clusters(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_board(live_server, open_page)
    assert page.locator("#map").evaluate(COLORS) > 10, "the map is blank"
    assert page.locator(".cluster-figures a").all_inner_texts() == ["10 items", "12 items", "8 items"]
    expect(page.locator("#connection")).to_have_text("live")
    take_shot(page, "dashboard")


@pytest.mark.heavy
def test_a_run_that_starves_says_so_until_it_does_no_longer(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_board(live_server, open_page)
    slow = page.get_by_text("it mostly waits for a processor that other programs use")
    expect(slow).to_have_count(0)
    run = Run(project_id=project.id, number=2, algorithm="dcrc", status="running", due_at=now(), token=1)
    with live_server.database.transaction() as session:
        session.add(run)
        session.flush()
        lifecycle.announce(session, run)
    expect(page.locator("#next-run")).to_have_text("run 2 is being computed")
    for is_starved in (False, True, False, True):
        with live_server.database.transaction() as session:
            lifecycle.write(session, run, starved=is_starved)
        expect(slow).to_be_visible(visible=is_starved)
    page.reload()
    expect(slow).to_be_visible()
    assert_accessible(page, "starved")


@pytest.mark.heavy
def test_hover_shows_the_item_and_a_click_pins_it(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_board(live_server, open_page)
    x, y = place_of_item(page, 12)
    page.mouse.move(x + 4, y)
    tooltip = page.locator("#tooltip")
    expect(tooltip).to_contain_text("song 13/30")
    expect(tooltip).to_contain_text(f"confidence {np.linspace(0.4, 0.9, 30)[12]:.2f}")
    assert tooltip.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    page.mouse.move(x + 150, y)
    expect(tooltip).to_be_hidden()
    page.mouse.click(x, y)
    page.mouse.move(x + 150, y)
    expect(tooltip.get_by_role("link", name="Play")).to_be_visible()


@pytest.mark.heavy
def test_zoom_and_pan_with_mouse_buttons_and_keys(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_board(live_server, open_page)
    canvas = page.locator("#map")
    x, y = place_of_item(page, 12)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -500)
    expect(canvas).to_have_attribute("data-zoom", "2.718")
    page.mouse.move(x + 40, y)
    page.mouse.move(x, y)  # the point under the pointer stayed there
    expect(page.locator("#tooltip")).to_contain_text("song 13/30")
    page.mouse.down()
    page.mouse.move(x + 90, y + 60, steps=5)
    page.mouse.up()
    page.mouse.move(x + 92, y + 60)
    expect(page.locator("#tooltip")).to_contain_text("song 13/30")
    page.get_by_role("button", name="All").click()
    expect(canvas).to_have_attribute("data-zoom", "1.000")
    canvas.focus()
    page.keyboard.press("+")
    expect(canvas).to_have_attribute("data-zoom", "1.400")
    page.keyboard.press("0")
    page.keyboard.press("ArrowLeft")  # 60 pixels: the items move to the right
    page.mouse.move(x + 60, y)
    expect(page.locator("#tooltip")).to_contain_text("song 13/30")


@pytest.mark.heavy
@pytest.mark.parametrize("how", ["shift", "button"])
def test_lasso_lists_what_it_circles(live_server: LiveServer, open_page: OpenPage, how: str) -> None:
    _, page = open_board(live_server, open_page)
    (left, low), (_, high) = place_of_item(page, 0), place_of_item(page, 29)
    if how == "shift":
        page.keyboard.down("Shift")
    else:
        page.get_by_role("button", name="Lasso").click()
    page.mouse.move(left - 20, low + 10)
    page.mouse.down()
    for x, y in ((left + 20, low + 10), (left + 20, high - 10), (left - 20, high - 10), (left - 20, low)):
        page.mouse.move(x, y, steps=4)
    page.mouse.up()
    item_list = page.locator("#item-list")
    expect(item_list.get_by_role("heading")).to_have_text("Circled: 10 items")
    expect(item_list.locator("tbody tr")).to_have_count(10)
    assert sorted(item_list.locator("tbody th").all_inner_texts()) == sorted(f"song {k}/30" for k in range(1, 11))
    item_list.get_by_role("button", name="Close").click()
    expect(item_list).to_be_hidden()


@pytest.mark.heavy
def test_a_card_lists_its_items_and_shows_its_cluster_alone(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_board(live_server, open_page)
    pictures = page.get_by_role("button", name="Pictures")
    pictures.click()  # they have many colours
    expect(pictures).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#map")).to_have_attribute("data-pictures", "0")
    many = page.locator("#map").evaluate(COLORS)
    page.get_by_role("button", name="2", exact=True).click()
    expect(page.locator("#cluster-2")).to_have_class("cluster chosen")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.locator("#map").evaluate(COLORS) < many
    page.get_by_role("link", name="8 items").click()
    expect(page.locator("#item-list").get_by_role("heading")).to_have_text("Cluster 3: 8 items")
    expect(page.locator("#item-list tbody tr")).to_have_count(8)


def test_a_second_run_appears_without_a_reload(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_board(live_server, open_page)
    expect(page.locator("#connection")).to_have_text("live")
    page.evaluate("window.sameWindow = true")
    finish_run(live_server, project, 2, AFTER)
    expect(page.locator("#map")).to_have_attribute("data-run", "2")
    expect(page.locator("#figures")).to_contain_text("run 2")
    expect(page.locator("#figures")).to_contain_text("3 of 30 items moved")
    assert page.locator(".cluster-figures a").all_inner_texts() == ["10 items", "9 items", "11 items"]
    expect(page.locator("#news")).to_have_text("Run 2 finished.")
    assert page.evaluate("window.sameWindow")


@pytest.mark.heavy
def test_answers_are_counted_as_they_come(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_board(live_server, open_page)
    expect(page.locator("#connection")).to_have_text("live")
    expect(page.locator("#todo")).to_contain_text("Nobody has answered yet")
    answers = [
        {"id": str(uuid.uuid4()), "triplet": [f"song {k}/30" for k in (1, 2, third)], "answer": "dnk"}
        for third in range(3, 13)
    ]
    address = f"{live_server.url}/api/v1/projects/{project.key}/answers"
    stored = page.request.post(address, data={"answers": answers}, headers={"Sec-Fetch-Site": "same-origin"})
    assert stored.status == 201, stored.text()
    expect(page.locator("[data-answers=total]")).to_have_text("10")
    expect(page.locator("#next-run")).to_contain_text("run 2 starts now")
    expect(page.locator("#labelers tbody tr")).to_contain_text("100 %")
    expect(page.locator("#todo")).to_be_empty()


@pytest.mark.heavy
def test_the_first_run_brings_the_map(live_server: LiveServer, open_page: OpenPage) -> None:
    project, _ = make_songs(live_server)
    with live_server.database.transaction() as session:
        project = session.get_one(Project, project.id)
        add_features(session, live_server.storage, project, np.eye(30))
        analyst = add_member(session, project, Role.ANALYST)
    page = open_page(analyst, f"/projects/{project.key}")
    expect(page.get_by_role("heading", name="No run yet")).to_be_visible()
    expect(page.locator("#connection")).to_have_text("live")
    finish_run(live_server, project, 1, BEFORE)
    expect(page.locator("#map")).to_have_attribute("data-points", "30")
    assert page.locator("#map").evaluate(COLORS) > 10


@pytest.mark.heavy
def test_a_name_being_typed_survives_a_new_run(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_board(live_server, open_page)
    expect(page.locator("#connection")).to_have_text("live")
    name = page.get_by_label("Name of cluster 2")
    name.press_sequentially("Hermit")
    finish_run(live_server, project, 2, AFTER)
    expect(page.locator("#figures")).to_contain_text("run 2")
    expect(page.locator("#newer-runs")).to_have_text("1 newer run: shown once you leave the field.")
    finish_run(live_server, project, 3, AFTER)
    expect(page.locator("#newer-runs")).to_have_text("2 newer runs: shown once you leave the field.")
    name.press_sequentially(" thrush")
    name.press("Enter")
    expect(page.locator("#map")).to_have_attribute("data-run", "3")
    expect(page.locator("#newer-runs")).to_be_empty()
    page.reload()
    expect(page.get_by_label("Name of cluster 2")).to_have_value("Hermit thrush")


def test_start_and_cancel_a_run_in_place(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_board(live_server, open_page)
    page.evaluate("window.sameWindow = true")
    page.get_by_text("or other parameters").click()
    page.get_by_label("Clusters", exact=True).fill("31")
    page.get_by_role("button", name="Start a run now").click()
    expect(page.locator(".start .problem")).to_contain_text("only 30 items")
    page.get_by_label("Clusters", exact=True).fill("4")
    page.get_by_role("button", name="Start a run now").click()
    page.get_by_role("button", name="Cancel run 2").click()
    expect(page.locator("#runs tbody tr").first).to_contain_text("cancelled")
    assert page.evaluate("window.sameWindow")


def test_without_javascript_everything_but_the_map_is_there(live_server: LiveServer, open_page: OpenPage) -> None:
    project, analyst = make_board(live_server)
    page = open_page(analyst, f"/projects/{project.key}", java_script_enabled=False)
    assert page.locator(".cluster-figures a").all_inner_texts() == ["10 items", "12 items", "8 items"]
    page.get_by_label("Name of cluster 1").fill("Wren")
    page.locator("#cluster-1").get_by_role("button", name="Save").click()
    expect(page.get_by_label("Name of cluster 1")).to_have_value("Wren")
    page.get_by_role("button", name="Start a run now").click()
    page.get_by_role("button", name="Cancel run 2").click()
    expect(page.locator("#runs")).to_contain_text("cancelled")


@pytest.mark.heavy
def test_two_runs_in_motion_end_at_the_second(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_board(live_server, open_page, reduced_motion="no-preference")
    expect(page.locator("#connection")).to_have_text("live")
    finish_run(live_server, project, 2, AFTER)
    finish_run(live_server, project, 3, BEFORE)
    expect(page.locator("#map")).to_have_attribute("data-run", "3")
    expect(page.locator(".cluster-figures a").nth(2)).to_have_text("8 items")


@pytest.mark.heavy
@pytest.mark.parametrize("width", [1280, 390])
def test_accessible_and_never_wider_than_the_window(live_server: LiveServer, open_page: OpenPage, width: int) -> None:
    _, page = open_board(live_server, open_page, viewport={"width": width, "height": 844})
    page.get_by_role("link", name="8 items").click()
    expect(page.locator("#item-list tbody tr")).to_have_count(8)
    assert_accessible(page, "dashboard")


@pytest.mark.heavy
def test_a_dashboard_loads_the_modules_it_names_and_asks_for_none_again(
    live_server: LiveServer, open_page: OpenPage
) -> None:
    project, analyst = make_board(live_server)
    page = open_page(analyst, "/help")
    loaded: list[Request] = []
    page.on("requestfinished", lambda request: loaded.append(request))
    page.goto(f"/projects/{project.key}")
    expect(page.locator("#map")).to_have_attribute("data-points", "30")
    named = page.evaluate("""[...document.querySelectorAll("link[rel=modulepreload], script[src]")].map(
        (element) => element.href || element.src)""")
    modules = {request.url for request in loaded if request.url.endswith(".js")}
    assert len(modules) > 20
    assert modules <= set(named), "every other module would be found one round trip later"
    page.reload()
    expect(page.locator("#map")).to_have_attribute("data-points", "30")
    loads = page.evaluate("performance.getEntriesByType('resource').map((load) => [load.name, load.transferSize])")
    sizes = {name: size for name, size in loads if "/static/" in name}
    assert set(sizes) >= modules
    assert set(sizes.values()) == {0}, "the browser has them"
