"""Coming in, in a real browser under the real content policy: by share link, by sign-in link, with API tokens."""

import re

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tercet.accounts import service
from tercet.models import Role
from tests.browser.conftest import LiveServer, make_songs, take_shot
from tests.factories import add_member

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser, live_server: LiveServer) -> Page:
    """A window that nobody signed in."""
    return browser.new_context(base_url=live_server.url).new_page()


def test_from_the_share_link_to_the_first_question(page: Page, live_server: LiveServer) -> None:
    project, _ = make_songs(live_server)
    with live_server.database.transaction() as session:
        token = service.make_share_link(session, project)
    page.goto(f"/join/{token}")
    expect(page.get_by_role("heading", level=1)).to_have_text(project.name)
    take_shot(page, "join")
    page.get_by_label("Your name, if you like").fill("Bo <b>")
    page.get_by_role("button", name="Start").click()
    expect(page).to_have_url(re.compile(rf"/projects/{project.key}/label$"))
    page.goto(f"/join/{token}")
    expect(page.get_by_text("You are signed in as Bo <b>.")).to_be_visible()


def test_signing_in_making_a_token_and_signing_out(page: Page, live_server: LiveServer) -> None:
    project, _ = make_songs(live_server)
    with live_server.database.transaction() as session:
        link = service.make_sign_in_link(session, add_member(session, project, Role.OWNER))
    page.goto(f"/sign-in/{link}")
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{live_server.url}/")
    page.goto("/account")
    page.get_by_label("Name").fill("my script")
    page.get_by_role("button", name="Make the token").click()
    token = page.get_by_role("status").locator("code").inner_text()
    address = f"{live_server.url}/api/v1/projects/{project.key}"
    headers = {"Authorization": f"Bearer {token}"}
    assert httpx.get(address, headers=headers).json()["key"] == project.key
    page.get_by_role("button", name="Revoke my script").click()
    expect(page.get_by_text("You have none.")).to_be_visible()
    assert httpx.get(address, headers=headers).status_code == 401
    page.get_by_role("button", name="Sign out", exact=True).click()
    expect(page.get_by_text("How to sign in")).to_be_visible()
    page.goto(f"/sign-in/{link}")
    expect(page.get_by_role("heading", level=1)).to_have_text("This link does not work any more")
