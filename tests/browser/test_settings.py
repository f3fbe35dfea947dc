"""The settings page shows one section at a time, the one that its address names, and stays there after a form."""

import pytest
from playwright.sync_api import Page, expect

from tercet.models import Project, Role
from tests.browser.conftest import LiveServer, OpenPage, make_board
from tests.factories import add_member

pytestmark = [pytest.mark.browser, pytest.mark.only_on("sqlite")]
LONGEST = 2_400  # pixels of the longest section on a phone


def expect_section(page: Page, name: str) -> None:
    """Wait until this section alone is shown: while a page loads, it is not known yet which one its address names."""
    expect(page.locator(".sections > section:visible > h2")).to_have_text([name])


@pytest.mark.heavy(but="with scripts")
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_one_section_at_a_time(live_server: LiveServer, open_page: OpenPage, scripts: bool) -> None:
    project, _ = make_board(live_server)
    with live_server.database.transaction() as session:
        owner = add_member(session, session.get_one(Project, project.id), Role.OWNER, "Olga")
    size = {"width": 390, "height": 844}
    page = open_page(owner, f"/projects/{project.key}/settings", viewport=size, java_script_enabled=scripts)
    expect_section(page, "Question")
    for link in page.get_by_role("navigation", name="Sections").get_by_role("link").all():
        link.click()
        expect_section(page, link.inner_text())
        assert page.locator("body").bounding_box()["height"] < LONGEST  # type: ignore[index]
        if scripts:
            expect(page.locator(".contents [aria-current]")).to_have_text([link.inner_text()])


@pytest.mark.heavy
def test_a_form_stays_in_its_section(live_server: LiveServer, open_page: OpenPage) -> None:
    project, _ = make_board(live_server)
    with live_server.database.transaction() as session:
        owner = add_member(session, session.get_one(Project, project.id), Role.OWNER, "Olga")
    page = open_page(owner, f"/projects/{project.key}/settings#clustering")
    page.get_by_label("After this many new answers").fill("17")
    page.locator("#clustering").get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect_section(page, "Clustering")
    expect(page.get_by_label("After this many new answers")).to_have_value("17")
    page.get_by_label("How answers err").fill("2")
    page.locator("#clustering").get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect_section(page, "Clustering")
    page.goto(page.url.partition("#")[0])  # what is refused is shown wherever the address leads
    page.goto(f"{live_server.url}/projects/{project.key}/settings#members")
    expect_section(page, "Labelers")
    page.get_by_role("button", name="Make a labeling link").click()
    expect(page.get_by_text("it is not shown again")).to_be_visible()
    expect_section(page, "Labelers")
