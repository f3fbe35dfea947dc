"""The dashboard says in words what the server lacks, and takes it back by itself."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import LiveServer, OpenPage, assert_accessible, make_board, take_shot

pytestmark = pytest.mark.browser


@contextmanager
def blobs_away(live: LiveServer) -> Iterator[None]:
    """Put a file where the folder of blobs is."""
    folder = Path(live.storage.root)
    away = folder.rename(folder.with_name("away"))
    while not put_file(folder):
        shutil.rmtree(folder, ignore_errors=True)
    try:
        yield
    finally:
        folder.unlink()
        away.rename(folder)


def put_file(path: Path) -> bool:
    """Return False where there is a folder again: the server made it for a picture that it was about to store."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


@pytest.mark.heavy
def test_an_outage_is_named_and_goes_without_a_reload(live_server: LiveServer, open_page: OpenPage) -> None:
    project, analyst = make_board(live_server)
    page = open_page(analyst, f"/projects/{project.key}", viewport={"width": 390, "height": 844}, color_scheme="dark")
    expect(page.locator("#connection")).to_have_text("live")
    notice = page.locator("#outage")
    expect(notice).to_be_hidden()
    with blobs_away(live_server):
        expect(notice).to_be_visible(timeout=20_000)
        expect(notice).to_have_text(
            re.compile(r"Items and results cannot be stored: .*\. Since \d\d:\d\d:\d\d\. Answers wait in the browsers")
        )
        assert_accessible(page, "outage")
        page.set_viewport_size({"width": 1440, "height": 900})
        page.emulate_media(color_scheme="light")
        take_shot(page, "outage-1440")
    expect(notice).to_be_hidden(timeout=20_000)


@pytest.mark.heavy
def test_a_page_that_is_refused_its_events_says_why_and_comes_back(
    live_server: LiveServer, open_page: OpenPage
) -> None:
    """A server whose database is away answers 503, upon which browsers give a stream up for good."""
    project, analyst = make_board(live_server)
    page = open_page(analyst, "/help")
    away = {"detail": "The database does not answer.", "since": "2026-05-01T09:30:00Z", "then": "It tries again."}

    def refuse(route: Route) -> None:
        route.fulfill(status=503, body=json.dumps(away), content_type="application/problem+json")

    page.route("**/events", refuse)
    page.route("**/readyz", refuse)
    page.goto(f"/projects/{project.key}")
    expect(page.locator("#connection")).to_have_text("reconnecting…")
    expect(page.locator("#outage")).to_contain_text("The database does not answer. Since ")
    page.unroute("**/readyz")
    page.unroute("**/events")
    expect(page.locator("#connection")).to_have_text("live", timeout=20_000)
    expect(page.locator("#outage")).to_be_hidden()


@pytest.mark.heavy
def test_a_page_that_may_not_follow_any_more_says_so(live_server: LiveServer, open_page: OpenPage) -> None:
    project, analyst = make_board(live_server)
    page = open_page(analyst, "/help")
    page.route("**/events", lambda route: route.fulfill(status=401))
    page.goto(f"/projects/{project.key}")
    expect(page.locator("#connection")).to_have_text("not live: reload the page", timeout=20_000)
