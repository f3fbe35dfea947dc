"""The page of exports, the report that it hands out, and the way of a project through a file and back, in a browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from tercet.models import ClusterNote, Project, Role, Run
from tests.browser.conftest import LiveServer, OpenPage, assert_accessible, make_board
from tests.factories import add_member

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
        sizes[path.name.replace(project.key, "songs")] = path.stat().st_size
    assert len(sizes) == buttons.count()
    assert [name for name, size in sizes.items() if not size] == ["songs-answers.ndjson"], "nobody has answered"


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


@pytest.mark.parametrize("size", SIZES, ids=["desk", "phone"])
def test_the_page_is_accessible(live_server: LiveServer, open_page: OpenPage, size: tuple[int, int]) -> None:
    project, analyst = make_board(live_server)
    page = open_page(analyst, f"/projects/{project.key}/export", viewport={"width": size[0], "height": size[1]})
    expect(page.get_by_role("heading", level=1)).to_have_text("Export")
    assert_accessible(page, "export")
    page.goto("/restore")
    assert_accessible(page, "restore")


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
