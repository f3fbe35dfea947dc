"""The choice of an algorithm in a real browser: only the chosen one's fields show, with and without JavaScript."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LiveServer, OpenPage, assert_accessible, make_board

pytestmark = pytest.mark.browser


def test_the_settings_show_the_chosen_algorithms_fields(live_server: LiveServer, open_page: OpenPage) -> None:
    project, analyst = make_board(live_server)
    page = open_page(analyst, f"/projects/{project.key}/settings#clustering", java_script_enabled=False)
    errors, apart = page.locator("#dcrc\\.epsilon"), page.get_by_label("How far apart")
    expect(errors).to_be_visible()
    expect(apart).to_be_hidden()
    page.get_by_role("radio", name="SKLR").check()
    expect(apart).to_be_visible()
    expect(errors).to_be_hidden()
    apart.fill("1")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".algorithm .problem")).to_contain_text("greater than 1")
    expect(apart).to_have_value("1")
    apart.fill("3")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_role("radio", name="SKLR")).to_be_checked()
    expect(apart).to_have_value("3")


@pytest.mark.heavy
def test_one_run_with_another_algorithm(live_server: LiveServer, open_page: OpenPage) -> None:
    project, analyst = make_board(live_server)
    page = open_page(analyst, f"/projects/{project.key}")
    page.get_by_text("with another algorithm").click()
    page.get_by_role("radio", name="SKLR").check()
    page.get_by_label("Weight of one answer").fill("0.3")
    page.get_by_role("button", name="Start a run now").click()
    expect(page.locator("#runs tbody tr").first).to_contain_text("SKLR")
    run = page.request.get(f"{live_server.url}/api/v1/projects/{project.key}/runs/2").json()
    assert (run["algorithm"], run["parameters"]) == ("sklr", {"C": 0.3})


@pytest.mark.heavy
@pytest.mark.parametrize("width", [1280, 390])
def test_accessible_and_never_wider_than_the_window(live_server: LiveServer, open_page: OpenPage, width: int) -> None:
    project, analyst = make_board(live_server)
    size = {"width": width, "height": 844}
    page = open_page(analyst, f"/projects/{project.key}/settings#clustering", viewport=size)
    page.get_by_role("radio", name="DCRC, parameters chosen").check()
    page.locator("#dcrc-cv-advanced > summary").click()
    assert_accessible(page, "algorithms")
