"""From the empty home page to a project with a labeling link, in a real browser; its jobs are done by the test."""

import re
from pathlib import Path

import numpy as np
import pytest
import soundfile
import sqlalchemy as sa
from PIL import Image
from playwright.sync_api import Page, expect

from tercet.jobs import lifecycle
from tercet.models import Import, User
from tercet.sounds.spectrograms import PICTURE_SIZE
from tercet.worker.jobs import run_background_job
from tercet.worker.place import JobPlace
from tests.browser.conftest import LiveServer, OpenPage, assert_accessible, take_shot
from tests.factories import make_user

PAGES = [
    "Dashboard",
    "Label",
    "Answers",
    "Runs",
    "Alternatives",
    "Compare",
    "Export",
    "Add items",
    "Settings",
    "Help",
    "Account",
]
pytestmark = [pytest.mark.browser, pytest.mark.only_on("sqlite")]
SITES = ("north", "south")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six pictures in two subfolders, a table about them, a file of another program, and a hidden one."""
    folder = tmp_path / "My eggs"
    rows = ["key,media,species"]
    for site in SITES:
        (folder / site).mkdir(parents=True)
        for number in range(3):
            noise = np.random.default_rng(number).integers(0, 256, (24, 24, 3), dtype=np.uint8)
            Image.fromarray(noise).save(folder / site / f"{site}-{number}.png")
            rows.append(f"{site}-{number},{site}/{site}-{number}.png,kind {number}")
    (folder / "eggs.csv").write_text("\n".join(rows))
    (folder / "model.blend").write_bytes(b"BLENDER-v300" + bytes(100))
    (folder / ".hidden").write_text("nobody means to send this")
    return folder


@pytest.fixture
def owner(live_server: LiveServer) -> User:
    """Somebody who has an account and no project."""
    with live_server.database.transaction() as session:
        return make_user(session)


@pytest.fixture
def home(open_page: OpenPage, owner: User) -> Page:
    """The home page of somebody without projects."""
    return open_page(owner, "/", viewport={"width": 1280, "height": 900})


def do_jobs(live: LiveServer) -> list[str]:
    """Do the background jobs that wait, as workers would."""
    url = live.database.engine.url.render_as_string(hide_password=False)
    place = JobPlace(url, live.storage.root, 15.0, 12.0)
    ended = []
    while claim := lifecycle.claim_next(live.database, 15):
        ended.append(run_background_job(place, claim.job_id))
    return ended


def choose(page: Page, folder: Path) -> None:
    """Choose a folder, as the picker does; waiting for the picker itself is in vain where the machine is busy."""
    expect(page.locator("html.js")).to_be_attached()  # the page's script listens
    page.locator("#pick-folder").set_input_files(folder)


def stage(page: Page, status: str) -> None:
    """Wait until the page shows a stage of its import."""
    expect(page.locator("#stage")).to_have_attribute("data-status", status)


def test_from_the_empty_home_page_to_a_labeling_link(
    home: Page, live_server: LiveServer, open_page: OpenPage, owner: User, folder: Path
) -> None:
    home.get_by_label("Number of clusters").fill("3")
    assert_accessible(home, "first-project")
    choose(home, folder)
    stage(home, "checking")
    expect(home).to_have_url(re.compile(r"/projects/my-eggs(-\d+)?/imports/1$"))
    expect(home).to_have_title("New project · My eggs · Tercet")
    expect(home.get_by_role("navigation").get_by_role("link")).to_have_text(["Help", "Account"])
    assert do_jobs(live_server) == ["done"]
    stage(home, "ready")
    expect(home.locator("#page-title")).to_be_focused()
    expect(home.locator(".lead.summary")).to_contain_text("6 pictures in 2 folders; eggs.csv has a row for each")
    expect(home.get_by_role("row", name="species")).to_contain_text("metadata of the item")
    expect(home.locator(".preview-items img")).to_have_count(6)
    expect(home.locator("#files-skipped")).to_contain_text("model.blend")
    expect(home.get_by_text(".hidden")).to_have_count(0)
    assert_accessible(home, "preview")

    home.get_by_label("Name").fill("Eggs of two sites")
    home.get_by_role("button", name="Make the project").click()
    stage(home, "importing")
    assert do_jobs(live_server) == ["done", "done"]  # the items, then their features
    stage(home, "done")
    expect(home.get_by_text("6 items were added.")).to_be_visible()
    expect(home.locator("#page-title")).to_be_focused()
    expect(home.get_by_role("navigation").get_by_role("link")).to_have_text(PAGES)
    expect(home).to_have_title("Import 1 · Eggs of two sites · Tercet")
    link = home.locator("#labeling-link").inner_text()
    assert_accessible(home, "imported")

    visitor = open_page(None, link)
    expect(visitor.get_by_role("heading", level=1)).to_have_text("Eggs of two sites")
    home.get_by_role("link", name="Open the dashboard").click()
    expect(home.get_by_role("heading", level=1)).to_have_text("Dashboard of Eggs of two sites")


@pytest.mark.heavy
def test_nobody_sees_a_project_that_is_being_imported(
    home: Page, live_server: LiveServer, open_page: OpenPage, folder: Path
) -> None:
    choose(home, folder)
    stage(home, "checking")
    do_jobs(live_server)
    with live_server.database.transaction() as session:
        admin = make_user(session, is_admin=True)
    others = open_page(admin, "/")
    expect(others.get_by_role("heading", name="My eggs")).to_have_count(0)
    home.goto("/")
    expect(home.get_by_text("being imported")).to_be_visible()
    home.get_by_role("link", name="Continue").click()
    stage(home, "ready")
    home.get_by_role("button", name="Discard this project").click()
    expect(home.get_by_role("heading", level=1)).to_have_text("Your first project")


@pytest.mark.heavy
def test_after_a_reload_only_what_is_missing_is_sent(home: Page, live_server: LiveServer, folder: Path) -> None:
    home.route("**/north-1.png?*", lambda route: route.abort())
    choose(home, folder)
    expect(home.locator("#upload-figures")).to_contain_text("7 of 8 files")
    expect(home.locator("#upload-trouble")).to_contain_text("No connection")
    expect(home.get_by_role("heading", name="Drop a folder")).to_be_hidden()
    expect(home.get_by_role("button", name="Read the files")).to_be_hidden()
    expect(home.get_by_role("button", name="Discard this project")).to_be_visible()
    take_shot(home, "upload-trouble")
    home.unroute("**/north-1.png?*")
    home.on("dialog", lambda dialog: dialog.accept())  # the browser asks whether to leave
    home.reload()
    expect(home.get_by_role("heading", name="Drop the same folder again")).to_be_visible()
    sent: list[str] = []
    home.on("request", lambda request: sent.append(request.url) if request.method == "PUT" else None)
    choose(home, folder)
    stage(home, "checking")
    assert [url.partition("?")[0].rpartition("/")[2] for url in sent] == ["north-1.png"]
    assert do_jobs(live_server) == ["done"]
    stage(home, "ready")


@pytest.mark.heavy
def test_what_is_wrong_is_named_and_can_be_left_out(home: Page, live_server: LiveServer, folder: Path) -> None:
    picture = folder / "north" / "north-0.png"
    picture.write_bytes(picture.read_bytes()[:80])
    (folder / "eggs.csv").write_text("key,media\na,north/north-0.png\nb,north/north-9.png\nc,south/south-0.png\n")
    choose(home, folder)
    stage(home, "checking")
    assert do_jobs(live_server) == ["done"]
    stage(home, "ready")
    expect(home.get_by_role("button", name="Make the project")).to_be_disabled()
    expect(home.get_by_role("region", name="What is wrong")).to_contain_text("north-9.png")
    assert_accessible(home, "faults")
    home.get_by_label("Leave out bad items and files").click()  # `check` would look again at what is replaced
    stage(home, "checking")
    assert do_jobs(live_server) == ["done"]
    stage(home, "ready")
    expect(home.get_by_role("button", name="Make the project")).to_be_enabled()


@pytest.mark.heavy
def test_files_can_be_dropped(home: Page, live_server: LiveServer) -> None:
    home.evaluate(
        """() => {
          const dataTransfer = new DataTransfer();
          for (const name of ["a", "b", "c"]) {
            dataTransfer.items.add(new File([`A text about ${name}.`], `${name}.txt`));
          }
          document.body.dispatchEvent(new DragEvent("dragenter", { dataTransfer, bubbles: true }));
          document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
        }"""
    )
    stage(home, "checking")
    expect(home.get_by_role("heading", name="Reading your files")).to_be_visible()


@pytest.mark.heavy
def test_a_folder_can_be_dropped_with_its_subfolders(home: Page, live_server: LiveServer, folder: Path) -> None:
    """As the system's file manager drops it: the browser walks the folder, which no script can make up."""
    expect(home.locator("html.js")).to_be_attached()
    session = home.context.new_cdp_session(home)
    dragged = {"items": [], "files": [str(folder)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, "x": 500, "y": 400, "data": dragged})
    stage(home, "checking")
    assert set(do_jobs(live_server)) == {"done"}
    stage(home, "ready")
    expect(home.get_by_label("Name", exact=True)).to_have_value("My eggs")
    with live_server.database.reading() as database:
        newest = database.scalars(sa.select(Import).order_by(Import.id.desc()).limit(1)).one()
    lying = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    assert {file["path"] for file in newest.report["files"]} == {path for path in lying if path != ".hidden"}


def test_an_empty_folder_is_said_to_be_empty(home: Page, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    (tmp_path / "nothing" / ".hidden").write_text("")
    choose(home, tmp_path / "nothing")
    expect(home.locator("#drop-problem")).to_contain_text("nothing to send")


@pytest.mark.heavy
def test_a_recording_is_cut_by_keyboard_with_the_segments_in_sight(
    home: Page, live_server: LiveServer, tmp_path: Path
) -> None:
    rate, folder = 16_000, tmp_path / "Morning"
    folder.mkdir()
    samples = 1e-3 * np.random.default_rng(0).standard_normal(12 * rate)
    for begin in (2, 5, 6):
        samples[begin * rate : begin * rate + rate // 2] += np.sin(2 * np.pi * 3_000 * np.arange(rate // 2) / rate) / 2
    soundfile.write(folder / "long.wav", samples, rate)
    choose(home, folder)
    stage(home, "checking")
    assert set(do_jobs(live_server)) == {"done"}  # those of other tests, too
    stage(home, "ready")
    expect(home.locator("#segments")).to_be_hidden()
    home.get_by_label("Cut those with a selection table").focus()
    home.keyboard.press("ArrowDown")
    words, boxes = home.locator("#segments-words"), home.locator("#segments-picture rect.proposed")
    expect(words).to_contain_text("3 sounds in 12 s")
    expect(boxes).to_have_count(3)
    expect(home.get_by_role("button", name="Make the project")).to_be_disabled()
    home.get_by_label("Smallest pause").focus()
    home.keyboard.press("End")  # two seconds
    expect(words).to_contain_text("2 sounds in 12 s")
    expect(boxes).to_have_count(2)
    expect(home.locator("#segments-picture img")).to_have_js_property("naturalWidth", 3 * PICTURE_SIZE[0])
    for width in (1280, 390):
        home.set_viewport_size({"width": width, "height": 900})
        assert_accessible(home, "segments")
    home.get_by_role("button", name="Cut like this").focus()
    home.keyboard.press("Enter")
    stage(home, "checking")
    assert set(do_jobs(live_server)) == {"done"}  # those of other tests, too
    stage(home, "ready")
    expect(home.locator(".lead.summary")).to_contain_text("2 segments of 1 recording")
    expect(home.locator(".preview-items img")).to_have_count(2)
    expect(home.get_by_role("button", name="Make the project")).to_be_enabled()


@pytest.mark.heavy
def test_a_file_that_cannot_be_sent_is_removed(home: Page, live_server: LiveServer, folder: Path) -> None:
    home.route("**/north-1.png?*", lambda route: route.abort())
    choose(home, folder)
    expect(home.locator("#upload-figures")).to_contain_text("7 of 8 files")
    page_of_import = home.url
    number = page_of_import.rpartition("/")[2]
    api = page_of_import.replace("/projects/", "/api/v1/projects/")
    half = home.request.put(f"{api}/files/half.png?size=900", data=b"12345", headers={"Origin": live_server.url})
    assert (half.status, number) == (200, "1")
    home.on("dialog", lambda dialog: dialog.accept())  # the browser asks whether to leave
    home.reload()
    home.get_by_text("Remove files").click()
    expect(home.get_by_text("half.png")).to_be_visible()
    home.get_by_role("button", name="Remove half.png").click()
    expect(home.get_by_text("half.png")).to_have_count(0)
    home.get_by_role("button", name="Read the files").click()
    stage(home, "checking")
    assert set(do_jobs(live_server)) == {"done"}  # those of other tests, too
