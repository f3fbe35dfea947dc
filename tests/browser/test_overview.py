"""Three questions at one look: a suggestion opens a gallery, becomes the focus, merges, is dismissed and comes back."""

import pytest
from playwright.sync_api import Page, expect

from tercet.models import Project
from tests.browser.conftest import LiveServer, OpenPage, assert_accessible
from tests.browser.test_dashboard import BEFORE, open_board
from tests.browser.test_workbench import edits_of
from tests.dashboard.results import add_result

pytestmark = pytest.mark.browser

PAIR = {"first": 1, "second": 2, "items": 21}
METRICS = {
    "items_moved": 2,
    "confused_pairs": [PAIR, {"first": 1, "second": 3, "items": 1}],
    "levels_off": {"low": 80, "median": 120, "high": 210},
    "cluster_words": {"1": ["0.5 s", "3.1–5 kHz", "rising"]},
    "accuracy_curve": {
        "points": [[50, 0.5, 0.35, 0.65], [120, 0.7, 0.55, 0.82], [200, 0.8, 0.66, 0.9]],
        "chance": 0.5,
        "ceiling": 0.9,
    },
}


def open_overview(live: LiveServer, open_page: OpenPage, **options: object) -> tuple[Project, Page]:
    """Open a dashboard whose newest run has all that the three questions go by."""
    project, page = open_board(live, open_page, **options)
    with live.database.transaction() as session:
        add_result(session, live.storage, session.get_one(Project, project.id), 2, BEFORE, **METRICS)
    page.reload()
    expect(page.locator("#map")).to_have_attribute("data-run", "2")
    return project, page


@pytest.mark.heavy
@pytest.mark.parametrize("width", [390, 1440])
def test_the_three_questions_fit_every_window(live_server: LiveServer, open_page: OpenPage, width: int) -> None:
    _, page = open_overview(live_server, open_page, viewport={"width": width, "height": 900})
    overview = page.locator("#overview")
    expect(overview).to_contain_text("0.5 s, 3.1–5 kHz, rising")
    expect(overview.get_by_role("img").first).to_have_accessible_name(
        "Share of answers that name an item foreseen, by number of answers: 50% up to 50, 70% up to 120, "
        "80% up to 200. By chance 50%, at best 90%."
    )
    assert_accessible(page, "overview")


@pytest.mark.heavy
def test_what_lies_between_two_clusters_opens_in_the_gallery(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_overview(live_server, open_page)
    page.get_by_role("link", name="1 and 2", exact=True).click()
    gallery = page.get_by_role("dialog")
    expect(gallery.get_by_role("heading")).to_contain_text("Between 1 and 2: ")
    expect(gallery.locator(".tile").first).to_be_visible()
    assert {tile.split()[0] for tile in gallery.locator(".tile p").all_inner_texts()} <= {"1", "2"}
    gallery.get_by_role("button", name="Close").click()
    page.get_by_role("link", name="Look at the items between 1, 2").press("Enter")
    expect(gallery).to_be_visible()


@pytest.mark.heavy
def test_a_suggestion_is_dismissed_and_comes_back(live_server: LiveServer, open_page: OpenPage) -> None:
    _, page = open_overview(live_server, open_page)
    open_ones, dismissed = page.locator(".suggestions > li"), page.locator("#dismissed")
    expect(open_ones).to_have_count(2)
    page.get_by_role("button", name="Dismiss “Merge 1 and 2?").click()
    expect(open_ones).to_have_count(1)
    page.reload()
    expect(open_ones).to_have_count(1)
    dismissed.locator("summary").click()
    page.get_by_role("button", name="Bring back “Merge 1 and 2?").click()
    expect(open_ones).to_have_count(2)
    expect(dismissed).to_have_count(0)


def test_a_suggestion_becomes_the_focus_of_questions_and_a_merge(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_overview(live_server, open_page)
    page.get_by_role("button", name="Ask labelers about 1, 2").click()
    expect(page.locator("#focus")).to_contain_text("Questions are about clusters 1, 2.")
    page.get_by_role("button", name="Merge 1, 2", exact=True).click()
    expect(page.locator("#suggestion-news")).to_have_text(
        "Cluster 2 becomes part of 1 with the next run. The answers page takes it back."
    )
    assert edits_of(live_server, project.id) == [("merge", 0, 1, True)]
