"""A real server in its own process and a real Chromium: what the browser tests share.

`live_server` serves one SQLite database for all tests of a worker, each with projects of its own; `open_page`
opens pages that a user is signed in to. Without a Chromium the tests are skipped, but never in CI.
"""

import os
import shutil
import uuid
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.base import AxeResults
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page
from sqlalchemy import update

from tercet import migrate
from tercet.database import Database
from tercet.demo.birdsong import make_syllables, to_wav
from tercet.demo.server import running_server
from tercet.intake.media import Media, prepare, seconds_of
from tercet.models import BackgroundJob, Item, Project, Role, Run, User
from tercet.sounds.picture_settings import PictureSettings
from tercet.storage import Storage
from tests.dashboard.results import add_result
from tests.factories import add_features, add_member, make_project, session_cookie

# The first of these that is there is used; what has no windows to draw takes three quarters of the time.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# Cluster numbers of the thirty songs after the first run.
BEFORE = [1] * 10 + [2] * 12 + [3] * 8
SHOTS = os.environ.get("TERCET_SCREENSHOTS")
# Of a page like that of the REST documentation the first sections are enough: they repeat themselves.
CONTEXT = {"exclude": ["section:nth-of-type(n + 20)"]}
# Light and dark differ in nothing but colours.
RULES: dict[str, dict[str, Any]] = {"light": {}, "dark": {"runOnly": ["color-contrast", "link-in-text-block"]}}


@dataclass(frozen=True)
class LiveServer:
    """Where the server listens, and its database and blobs."""

    url: str
    database: Database
    storage: Storage


OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's Chromium, without its own errands on the network; its windows share one process, for less work."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        reason = f"no Chromium on the PATH (on Debian: apt install {BROWSERS[0]})"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    switches = ["no-sandbox", "disable-quic", "no-first-run", "disable-background-networking"]
    switches += ["disable-component-update", "disable-sync", "process-per-site"]
    return {**browser_type_launch_args, "executable_path": executable, "args": [f"--{switch}" for switch in switches]}


@pytest.fixture(scope="session")
def live_server(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[LiveServer]:
    """A server that fits nothing; tests write runs and results themselves."""
    data = tmp_path_factory.mktemp("live")
    shutil.copy(sqlite_template, data / "tercet.db")
    database = Database(f"sqlite:///{data / 'tercet.db'}")
    migrate.upgrade(database)
    settings = {"data": str(data), "workers": "0", "log_level": "warning", "frame_origins": "http://localhost:*"}
    with running_server(settings) as server:
        yield LiveServer(server.url, database, Storage(str(data / "blobs")))
    database.close()


@pytest.fixture
def open_page(live_server: LiveServer, browser: Browser) -> Iterator[OpenPage]:
    """Open a window that a user, or nobody, is signed in to; any error in its scripts fails the test."""
    contexts = []
    errors: list[str] = []

    def open_for(user: User | None, path: str, **options: Any) -> Page:
        context = browser.new_context(base_url=live_server.url, **options)
        contexts.append(context)
        if user is not None:
            context.add_cookies([cookie_of(live_server.database, user, live_server.url)])
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path)
        return page

    yield open_for
    for context in contexts:
        context.close()
    _cancel_what_is_due(live_server.database)
    assert errors == []


def _cancel_what_is_due(database: Database) -> None:
    """Cancel what a test left to be done: nobody does it, and pages of the next tests would say so after a while."""
    with database.transaction() as session:
        for work in (Run, BackgroundJob):
            session.execute(update(work).where(work.status.in_(("queued", "running"))).values(status="cancelled"))


def cookie_of(database: Database, user: User, url: str) -> dict[str, str]:
    """The cookie of a signed-in user of the server at that address."""
    return {"name": "tercet", "value": session_cookie(database, user), "url": url}


@cache
def songs(count: int = 30) -> list[Media]:
    """Real sounds with their spectrograms."""
    return [
        prepare(to_wav(syllable.samples, syllable.sample_rate), PictureSettings(seconds=1.0))
        for syllable in make_syllables(count, seed=3)
    ]


def make_songs(live: LiveServer, **values: Any) -> tuple[Project, User]:
    """A project of 30 bird songs and a labeler of it."""
    with live.database.transaction() as session:
        project = make_project(session, f"songs-{uuid.uuid4().hex[:8]}", **values)
        project.name = "Songs of the H. J. Andrews forest"
        for position, media in enumerate(songs()):
            stored = {
                kind: live.storage.put_content(kind, blob.content, blob.suffix)
                for kind, blob in (("media", media.media), ("picture", media.picture), ("thumbnail", media.thumbnail))
            }
            key = f"song {position + 1}/30"
            seconds = seconds_of(media.media.content)
            about = {"media_type": media.media_type, "media_seconds": seconds, **stored}
            session.add(Item(project_id=project.id, key=key, position=position, **about))
        return project, add_member(session, project, Role.LABELER, "Lea")


def make_board(live: LiveServer, **metrics: object) -> tuple[Project, User]:
    """A project of thirty songs with a finished run, and its analyst."""
    project, _ = make_songs(live)
    with live.database.transaction() as session:
        project = session.get_one(Project, project.id)
        add_features(session, live.storage, project, np.eye(30))
        add_result(session, live.storage, project, 1, BEFORE, **metrics)
        return project, add_member(session, project, Role.ANALYST, "Ada")


def take_shot(page: Page, name: str) -> None:
    """Keep a picture of the page in the folder that TERCET_SCREENSHOTS names, if it names one."""
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png")


def assert_accessible(page: Page, name: str, schemes: Collection[str] = tuple(RULES)) -> None:
    """Hold what is on screen to axe's rules, light and dark, and to the window's width; keep pictures of both."""
    window = page.viewport_size
    assert window is not None
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)  # half a megabyte
    for scheme in schemes:
        rules = RULES[scheme]
        page.emulate_media(color_scheme=scheme)
        take_shot(page, f"{name}-{window['width']}-{scheme}")
        options = {"resultTypes": ["violations"], **rules}
        report = AxeResults(page.evaluate("options => axe.run(...options)", [CONTEXT, options]))
        assert report.violations_count == 0, f"{name}, {scheme}: {report.generate_report()}"
        assert_no_wider_than_the_window(page, f"{name}, {scheme}")
    page.emulate_media(color_scheme="light")


def assert_no_wider_than_the_window(page: Page, name: str) -> None:
    """Hold that nothing sticks out, so that nobody has to scroll to the side."""
    assert page.viewport_size is not None
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], name
