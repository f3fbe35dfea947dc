"""Alternatives, comparisons and runs by key: all is reached, the focus is seen, and stays when parts are swapped."""

import pytest
from playwright.sync_api import Page, Route, expect
from sqlalchemy import select

from tercet.live import events
from tercet.models import Item, Project, Purpose, Run, User, now
from tests.browser.conftest import LiveServer, OpenPage, make_board
from tests.browser.test_resolution import store_resolutions
from tests.dashboard.results import add_result

pytestmark = pytest.mark.browser

# What can be worked with now, numbered; of radio buttons that belong together one has the focus for all.
WORKABLE = """() => [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
  .filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility() && e.getBoundingClientRect().width > 0)
  .filter((e) => e.type !== "radio" || e.checked)
  .map((e, k) => { e.dataset.place = k; return e.outerHTML.slice(0, 90); })"""
FOCUSED = """() => {
  const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
  return [e.dataset.place ?? null, style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
          box.bottom > 0 && box.top < innerHeight];
}"""


@pytest.fixture
def board(live_server: LiveServer) -> tuple[Project, User]:
    """A run of SKLR, a view, a metadata column, and a comparison under way."""
    project, analyst = make_board(live_server)
    store_resolutions(live_server, project)
    with live_server.database.transaction() as session:
        project = session.get_one(Project, project.id)
        for item in session.scalars(select(Item).where(Item.project_id == project.id)):
            item.details = {"site": f"site {item.position % 2}"}
        add_view(live_server, session, project, 2)
        comparison = {"purpose": Purpose.COMPARISON, "algorithm": "dcrc", "status": "running", "due_at": now()}
        session.add(Run(project_id=project.id, number=3, lease_expires_at=now(), **comparison))
    return project, analyst


def add_view(live: LiveServer, session: object, project: Project, number: int) -> None:
    view = add_result(session, live.storage, project, number, [1] * 15 + [2] * 15)
    view.purpose, view.algorithm = Purpose.ALTERNATIVE, "cmbc"
    view.parameters = {"n_clusters": 3, "method": "regress-out", "known_runs": [1], "known_columns": []}


def open_at(open_page: OpenPage, board: tuple[Project, User], path: str) -> Page:
    project, analyst = board
    page = open_page(analyst, f"/projects/{project.key}/{path}", viewport={"width": 1280, "height": 900})
    for canvas in page.locator("#maps canvas").all():
        expect(canvas).to_have_attribute("data-points", "30")
    return page


@pytest.mark.heavy(but="runs/1?with=2")
@pytest.mark.parametrize("path", ["alternatives", "compare", "runs/2", "runs/1?with=2"])
def test_tab_reaches_all_and_the_focus_is_seen(open_page: OpenPage, board: tuple[Project, User], path: str) -> None:
    page = open_at(open_page, board, path)
    workable = page.evaluate(WORKABLE)
    reached = set()
    for _ in range(2 * len(workable)):
        page.keyboard.press("Tab")
        place, outlined, in_window = page.evaluate(FOCUSED)
        markup = page.evaluate("document.activeElement.outerHTML.slice(0, 90)")
        assert (outlined, in_window) == (True, True), markup
        if place is None:
            continue  # what is seen only with the focus, such as the button beside a cluster's name
        reached.add(int(place))
        if len(reached) == len(workable):
            break
    assert [markup for place, markup in enumerate(workable) if place not in reached] == []


@pytest.mark.heavy
def test_another_clustering_is_asked_for_by_key(open_page: OpenPage, board: tuple[Project, User]) -> None:
    page = open_at(open_page, board, "runs/1")
    page.get_by_role("link", name="Find another clustering").press("Enter")
    page.get_by_role("checkbox", name="groups by site").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="CMBC")).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.type("4")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Run 4")
    expect(page.locator("#parameters")).to_contain_text("site")


@pytest.mark.heavy
def test_the_focus_stays_where_views_are_swapped(
    live_server: LiveServer, open_page: OpenPage, board: tuple[Project, User]
) -> None:
    page = open_at(open_page, board, "alternatives")
    make_current = page.locator("#run-2").get_by_role("button", name="Make current")
    make_current.focus()
    with live_server.database.transaction() as session:
        add_view(live_server, session, session.get_one(Project, board[0].id), 5)
        run = session.scalars(select(Run).where(Run.project_id == board[0].id, Run.number == 5)).one()
        run.name = "newer"
    expect(page.locator(".alternative")).to_have_count(3)
    expect(make_current).to_be_focused()
    name = page.get_by_label("Name of run 2")
    name.fill("by site")
    name.press("Enter")
    page.wait_for_url("**/alternatives#run-2")
    page.keyboard.press("Tab")
    expect(page.locator("#run-2 a")).to_be_focused()


@pytest.mark.heavy
def test_the_focus_goes_to_the_heading_when_what_had_it_is_gone(
    live_server: LiveServer, open_page: OpenPage, board: tuple[Project, User]
) -> None:
    page = open_at(open_page, board, "compare")
    page.get_by_role("button", name="Cancel").focus()
    with live_server.database.transaction() as session:
        run = session.scalars(select(Run).where(Run.project_id == board[0].id, Run.number == 3)).one()
        run.status, run.error = "failed", "Out of luck."
        payload = {"number": 3, "purpose": run.purpose, "status": "failed", "progress": 0.5, "reason": "request"}
        events.record(session, board[0].id, ("run", payload))
    expect(page.get_by_text("Out of luck.")).to_be_visible()
    expect(page.locator("#start-title")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("checkbox", name="DCRC", exact=True)).to_be_focused()


@pytest.mark.heavy
def test_what_happened_before_a_comparison_s_page_listened_is_shown(
    live_server: LiveServer, open_page: OpenPage, board: tuple[Project, User]
) -> None:
    page = open_at(open_page, board, "compare")
    held: list[Route] = []
    page.route("**/events", lambda route: held.append(route))
    page.reload()
    for _ in range(500):
        page.wait_for_timeout(20)  # not a mere sleep: the route is only served meanwhile
        if held:
            break
    with live_server.database.transaction() as session:
        run = session.scalars(select(Run).where(Run.project_id == board[0].id, Run.number == 3)).one()
        run.status, run.error = "failed", "Out of luck."
    held[0].continue_()
    expect(page.get_by_text("Out of luck.")).to_be_visible()
