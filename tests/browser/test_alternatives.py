"""Another clustering with a real browser and worker: asked for, watched, seen beside, named, adopted, undone."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tercet.database import Database
from tercet.demo.server import running_server
from tercet.models import Project, Role
from tercet.storage import Storage
from tests.alternatives.support import make_two_ways
from tests.browser.conftest import cookie_of, take_shot
from tests.factories import add_member

pytestmark = pytest.mark.browser

DASHBOARD = "/projects/songs"
LONG = 60_000  # milliseconds until a worker is up and a run done, on a busy machine


@pytest.fixture
def page(tmp_path: Path, sqlite_template: Path, browser: Browser) -> Iterator[Page]:
    """An analyst of sixty songs at their dashboard, once the first run is done."""
    shutil.copy(sqlite_template, tmp_path / "tercet.db")
    database = Database(f"sqlite:///{tmp_path / 'tercet.db'}")
    project = make_two_ways(database, Storage(str(tmp_path / "blobs")))
    with database.transaction() as session:
        analyst = add_member(session, session.get_one(Project, project), Role.ANALYST)
    settings = {"data": str(tmp_path), "workers": "1", "log_level": "warning"}
    with running_server(settings) as server:
        context = browser.new_context(base_url=server.url, viewport={"width": 1280, "height": 900})
        context.add_cookies([cookie_of(database, analyst, server.url)])
        page = context.new_page()
        page.goto(DASHBOARD)
        page.get_by_role("button", name="Start a run now").click()
        expect(page.locator("#board")).to_be_visible(timeout=LONG)
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
        context.close()
        assert errors == []
    database.close()


@pytest.mark.heavy
def test_find_another_clustering_name_it_make_it_current_and_go_back(page: Page) -> None:
    page.get_by_role("link", name="Find another clustering").click()
    page.get_by_role("checkbox", name="groups by site").check()
    page.get_by_role("button", name="Find another clustering").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Run 2")
    maps = page.locator("#maps canvas")
    expect(maps).to_have_count(2, timeout=LONG)
    expect(maps.nth(0)).to_have_attribute("data-points", "60")
    expect(maps.nth(1)).to_have_attribute("data-points", "60")
    expect(page.locator("#beside .lead")).to_contain_text("They share")
    page.get_by_role("button", name="zoom in").click()
    expect(maps.nth(0)).to_have_attribute("data-zoom", "1.400")
    maps.nth(0).press("+")
    expect(maps.nth(1)).to_have_attribute("data-zoom", "1.960")
    take_shot(page, "alternative")

    page.get_by_label("Name", exact=True).fill("not by pattern")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Run 2: not by pattern")
    page.get_by_role("button", name="Make this the current clustering").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("current")
    page.get_by_role("link", name="Dashboard").click()
    expect(page.locator("#clusters")).to_have_attribute("data-run", "3")

    page.get_by_role("link", name="Alternatives").click()
    expect(page.locator(".alternative")).to_have_count(2)
    page.get_by_role("button", name=re.compile("Make current.*run 1")).click()
    expect(page.get_by_role("button", name="Go back to run 3")).to_be_visible()
    page.get_by_role("link", name="Dashboard").click()
    expect(page.locator("#clusters")).to_have_attribute("data-run", "4")
