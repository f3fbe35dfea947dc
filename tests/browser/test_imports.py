"""More files for a project that exists, the list of its imports; projects copied, deleted and restored."""

import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image
from playwright.sync_api import expect

from tercet.models import Membership, Project, Role, User
from tercet.sounds.picture_settings import PictureSettings
from tercet.sounds.spectrograms import PICTURE_SIZE
from tests.browser.conftest import LiveServer, OpenPage, assert_accessible, make_board
from tests.browser.test_new_project import choose, do_jobs, stage
from tests.factories import add_member, make_project

pytestmark = [pytest.mark.browser, pytest.mark.only_on("sqlite")]


def make_owned(live: LiveServer, key: str) -> tuple[Project, User]:
    """A project with nothing in it, and its owner."""
    with live.database.transaction() as session:
        project = make_project(session, key)
        return project, add_member(session, project, Role.OWNER)


def test_an_import_adds_is_listed_and_is_undone(open_page: OpenPage, live_server: LiveServer, tmp_path: Path) -> None:
    project, owner = make_owned(live_server, "more-eggs")
    folder = tmp_path / "eggs"
    folder.mkdir()
    for number in range(4):
        noise = np.random.default_rng(number).integers(0, 256, (16, 16, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / f"{number}.png")
    page = open_page(owner, f"/projects/{project.key}")
    page.get_by_role("link", name="Add items").first.click()
    expect(page.get_by_text("No files have been imported yet.")).to_be_visible()
    choose(page, folder)
    stage(page, "checking")
    do_jobs(live_server)
    stage(page, "ready")
    page.get_by_role("button", name="Make the project").click()
    stage(page, "importing")
    do_jobs(live_server)
    stage(page, "done")

    page.goto(f"/projects/{project.key}/imports")
    row = page.get_by_role("region", name="Table of imports").get_by_role("row").nth(1)
    expect(row).to_contain_text("done")
    expect(row.get_by_role("cell").nth(3)).to_have_text("4")
    assert_accessible(page, "imports")
    row.get_by_role("link", name="1").click()
    page.get_by_role("button", name="Undo this import").click()
    expect(page.get_by_text("its items removed")).to_be_visible()


@pytest.mark.heavy
def test_who_adds_two_items_to_thirty_is_not_told_that_two_are_few(
    open_page: OpenPage, live_server: LiveServer, tmp_path: Path
) -> None:
    project, _ = make_board(live_server)
    with live_server.database.transaction() as session:
        owner = add_member(session, session.get_one(Project, project.id), Role.OWNER)
    folder = tmp_path / "two more"
    folder.mkdir()
    for name, hz in (("a", 300), ("b", 500)):
        samples = np.sin(2 * np.pi * hz * np.arange(8_000) / 16_000) / 2
        soundfile.write(folder / f"{name}.wav", samples, 16_000)
    np.savetxt(
        folder / "features.csv",
        np.ones((2, 30)),
        delimiter=",",
        header=",".join(f"f{n}" for n in range(30)),
        comments="",
    )
    page = open_page(owner, f"/projects/{project.key}/imports")
    choose(page, folder)
    stage(page, "checking")
    do_jobs(live_server)
    stage(page, "ready")
    expect(page.locator(".lead.summary")).to_contain_text("2 recordings")
    expect(page.get_by_text("a question needs")).to_have_count(0)
    page.get_by_role("button", name="Add 2 items").click()
    stage(page, "importing")
    do_jobs(live_server)
    stage(page, "done")
    expect(page.get_by_role("button", name="Make a labeling link")).to_be_visible()
    expect(page.locator("#labeling-link")).to_have_count(0)


@pytest.mark.heavy
def test_what_features_are_made_from_is_said_and_made_again(open_page: OpenPage, live_server: LiveServer) -> None:
    project, _ = make_board(live_server)
    with live_server.database.transaction() as session:
        owner = add_member(session, session.get_one(Project, project.id), Role.OWNER)
    page = open_page(owner, f"/projects/{project.key}/settings#features")
    expect(page.get_by_text("Clusters are made from an array of your own")).to_be_visible()
    page.get_by_role("button", name="Have them computed").click()
    expect(page.get_by_text("They are being computed")).to_be_visible()
    assert do_jobs(live_server) == ["done"]
    page.reload()
    expect(page.get_by_text("Clusters are made from 33 measurements of each sound")).to_be_visible()


def test_settings_are_copied_into_another_project(open_page: OpenPage, live_server: LiveServer) -> None:
    project, owner = make_owned(live_server, "first-of-two")
    page = open_page(owner, f"/projects/{project.key}/settings#project")
    page.get_by_label("Name of the new project").fill("Second of two")
    page.get_by_role("button", name="Make it").click()
    expect(page).to_have_url(f"{live_server.url}/projects/second-of-two/imports")
    with live_server.database.reading() as session:
        memberships = session.query(Membership).filter_by(user_id=owner.id).count()
    assert memberships == 2


@pytest.mark.heavy
def test_a_deleted_project_is_had_back(open_page: OpenPage, live_server: LiveServer) -> None:
    project, owner = make_owned(live_server, "gone-and-back")
    page = open_page(owner, f"/projects/{project.key}/settings#project")
    page.get_by_label("to confirm").fill(project.key)
    page.get_by_role("button", name="Delete the project").click()
    expect(page.get_by_text("gone for good after")).to_be_visible()
    assert_accessible(page, "deleted")
    assert page.request.get(f"/projects/{project.key}").status == 404
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("link", name="Dashboard").click()
    expect(page).to_have_url(f"{live_server.url}/projects/{project.key}")


@pytest.mark.heavy
def test_pictures_of_sounds_are_drawn_by_a_preset(open_page: OpenPage, live_server: LiveServer) -> None:
    project, _ = make_board(live_server)
    with live_server.database.transaction() as session:
        stored = session.get_one(Project, project.id)
        stored.picture_settings = asdict(PictureSettings()) | {"reason": "fits the recordings"}
        owner = add_member(session, session.get_one(Project, project.id), Role.OWNER)
    page = open_page(owner, f"/projects/{project.key}/settings#items")
    expect(page.get_by_text("From 300 to 11,000 Hz")).to_be_visible()
    trials = page.locator("img[data-key]")
    expect(trials).to_have_count(3)
    page.locator("#pictures").scroll_into_view_if_needed()  # pictures are fetched when they are near
    page.get_by_label("Draw them for").select_option("frog")
    for trial in trials.all():
        expect(trial).to_have_attribute("src", re.compile("high_hz=6000"))
        expect(trial).to_have_js_property("naturalWidth", PICTURE_SIZE[0])
    page.get_by_text("Every setting").click()
    page.get_by_label("Lowest frequency").fill("7000")
    expect(page.locator("#trial-words")).to_contain_text("low_hz has to lie 10 Hz or more below high_hz")
    page.get_by_label("Draw them for").select_option("frog")
    expect(page.get_by_label("Highest frequency")).to_have_value("6000")
    page.get_by_role("button", name="Draw them anew").click()
    expect(page.get_by_text("From 100 to 6,000 Hz")).to_be_visible()
    expect(page.get_by_text("They are being drawn")).to_be_visible()
    assert_accessible(page, "pictures")
    assert do_jobs(live_server) == ["done"]
    page.reload()
    expect(page.get_by_text("They are being drawn")).to_have_count(0)
