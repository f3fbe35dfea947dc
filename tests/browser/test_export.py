"""The page of exports, the report that it hands out, and the way of a project through a file and back, in a browser."""

import uuid
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from tercet.intake.local import import_here
from tercet.intake.reading.folders import gather
from tercet.intake.reading.plan import ReadOptions
from tercet.intake.work import NoProgress
from tercet.models import ClusterNote, Project, Role, Run, User
from tercet.runs import lifecycle
from tercet.worker.job import run_job
from tercet.worker.place import JobPlace
from tests.browser.conftest import LiveServer, OpenPage, assert_accessible, make_board
from tests.browser.test_new_project import do_jobs
from tests.factories import add_member, make_project

pytestmark = [pytest.mark.browser, pytest.mark.only_on("sqlite")]
SIZES = [(1440, 900), (390, 844)]


def download(page: Page, name: str, folder: Path) -> Path:
    """Press a button of the page and keep the file."""
    with page.expect_download() as waiting:
        page.get_by_role("link", name=name).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_every_button_gives_a_file(live_server: LiveServer, open_page: OpenPage, tmp_path: Path) -> None:
    project, analyst = make_board(live_server)
    page = open_page(analyst, f"/projects/{project.key}")
    page.get_by_role("link", name="Export").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Export")
    buttons = page.locator("a[download]")
    assert buttons.count() >= 14
    sizes = {}
    for button in buttons.all():
        with page.expect_download() as waiting:
            button.click()
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        page.wait_for_timeout(110)  # Chromium drops the eleventh download within a second
        sizes[path.name.replace(project.key, "songs")] = path.stat().st_size
    assert len(sizes) == buttons.count()
    empty = [name for name, size in sizes.items() if not size]
    assert empty == ["songs-answers.ndjson", "songs-answers-with-names.ndjson"], "nobody has answered"


@pytest.mark.heavy
def test_through_a_file_and_back(live_server: LiveServer, open_page: OpenPage, tmp_path: Path) -> None:
    project, _ = make_board(live_server)
    with live_server.database.transaction() as session:
        owner = add_member(session, session.get_one(Project, project.id), Role.OWNER, "Olga")
    page = open_page(owner, f"/projects/{project.key}/export")
    archive = download(page, "Archive as ZIP", tmp_path)
    page.get_by_role("link", name="Restore a project from an archive").click()
    page.get_by_label("Archive, a ZIP file").set_input_files(archive)
    page.get_by_label("Key of the new project").fill(f"again-{project.key}")
    page.get_by_role("button", name="Restore").click()
    page.wait_for_url(f"**/projects/again-{project.key}")
    expect(page.locator("#cluster-2 .cluster-figures")).to_contain_text("12 items")
    broken = tmp_path / "broken.zip"
    broken.write_bytes(archive.read_bytes()[:2000])
    page.goto("/restore")
    page.get_by_label("Archive, a ZIP file").set_input_files(broken)
    page.get_by_label("Key of the new project").fill("never")
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_role("main")).to_contain_text("It is not a complete ZIP file")


def make_texts(live: LiveServer, folder: Path) -> tuple[str, User]:
    """Make a project of texts with a run that new ones can be assigned by."""
    ends = {"bird": "sings at dawn in the wood", "rock": "lies heavy below", "ship": "sails over the sea"}
    for number, (noun, end) in enumerate(list(ends.items()) * 8):
        (folder / f"{number:02d}.txt").write_text(f"the {noun} number {number} {end}")
    with live.database.transaction() as session:
        project = make_project(session, f"texts-{uuid.uuid4().hex[:8]}", n_items=0, n_clusters=3)
        owner, key, project_id = add_member(session, project, Role.OWNER, "Olga"), project.key, project.id
    import_here(live.database, live.storage, key, gather([folder]), ReadOptions(), NoProgress())
    place = JobPlace(live.database.engine.url.render_as_string(hide_password=False), live.storage.root, 15.0, 12.0)
    # Other tests of this server leave runs behind that look silent by now.
    while claim := lifecycle.claim_next(live.database, 15, of_project=project_id):
        assert run_job(place, claim.run_id) == "done"
    return key, owner


@pytest.mark.heavy
@pytest.mark.parametrize("size", SIZES, ids=["desk", "phone"])
def test_clusters_of_new_files(
    live_server: LiveServer, open_page: OpenPage, tmp_path: Path, size: tuple[int, int]
) -> None:
    (tmp_path / "texts").mkdir()
    key, owner = make_texts(live_server, tmp_path / "texts")
    new = {"another bird.txt": "a bird in the wood", "ships.txt": "two ships over the sea", "odd.pdf": "%PDF-1.4"}
    for name, content in new.items():
        (tmp_path / name).write_text(content)
    page = open_page(owner, f"/projects/{key}/export", viewport={"width": size[0], "height": size[1]})
    page.locator("#pick-files").set_input_files([tmp_path / name for name in new])
    expect(page.locator("#new-note")).to_contain_text("A worker will look at them")
    assert do_jobs(live_server) == ["done"]
    rows = page.locator("#new-rows tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("another bird")
    expect(page.locator("#new-faults")).to_contain_text("odd.pdf: it is a PDF")
    assert_accessible(page, "new-items")
    table = download(page, "Clusters of new items as CSV", tmp_path).read_text().splitlines()
    assert [line.split(",")[0] for line in table] == ["item", "another bird", "ships"]
    clusters = [line.split(",")[1] for line in table[1:]]
    assert clusters[0] != clusters[1]
    assert clusters == [rows.nth(place).locator(".chip").inner_text() for place in (0, 1)]


@pytest.mark.heavy
@pytest.mark.parametrize("size", SIZES, ids=["desk", "phone"])
def test_the_page_is_accessible(live_server: LiveServer, open_page: OpenPage, size: tuple[int, int]) -> None:
    project, analyst = make_board(live_server)
    page = open_page(analyst, f"/projects/{project.key}/export", viewport={"width": size[0], "height": size[1]})
    expect(page.get_by_role("heading", level=1)).to_have_text("Export")
    assert_accessible(page, "export")
    page.goto("/restore")
    assert_accessible(page, "restore")


@pytest.mark.heavy(but="desk")
@pytest.mark.parametrize("size", SIZES, ids=["desk", "phone"])
def test_the_report_opens_from_disk_and_asks_for_nothing(
    live_server: LiveServer, open_page: OpenPage, tmp_path: Path, size: tuple[int, int]
) -> None:
    project, analyst = make_board(live_server, n_answers=120, prequential_answers=8, prequential_accuracy=0.875)
    with live_server.database.transaction() as session:
        run = session.scalars(select(Run).where(Run.project_id == project.id)).one()
        note = ClusterNote(project_id=project.id, run_id=run.id, cluster=2, name="<b>thrush</b>", note="loud\nand long")
        session.add(note)
    page = open_page(analyst, f"/projects/{project.key}/export", viewport={"width": size[0], "height": size[1]})
    path = download(page, "Report as HTML", tmp_path)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    expect(page.get_by_role("heading", level=1)).to_have_text("Songs of the H. J. Andrews forest")
    expect(page.get_by_role("heading", name="<b>thrush</b>")).to_be_visible()
    expect(page.locator("main")).to_contain_text("87.5")
    assert page.locator("svg.points circle").count() == 30
    pictures = page.locator(".pictures img")
    assert pictures.count() >= 18
    assert pictures.evaluate_all("all => all.every(one => one.complete && one.naturalWidth > 0)")
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert "<script" not in path.read_text()
    assert_accessible(page, "report")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
