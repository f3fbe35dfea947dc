"""Sections and forms of a live page: what the server answers, and what something on the way answers in its place."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

HTML = {"content-type": "text/html"}
PROBLEM = {"content-type": "application/problem+json"}


def content(text: str, figure: str = "1") -> str:
    """A page with one live section that holds a form and a figure."""
    return f"""<!doctype html><title>Live</title><main>
      <section id="first" data-live><h2 tabindex="-1">First</h2><p class="text">{text}</p>
        <form action="/change" data-live data-announce="Changed." data-focus="#name">
          <input id="name" name="name" value="thrush"><button>Save</button><p class="problem"></p></form></section>
      <section id="second" data-live><p class="figure">{figure}</p>
        <details id="more"><summary>More</summary></details></section>
    </main>"""


@pytest.fixture
def live(page: Page) -> Page:
    page.set_content(content("before"))
    page.evaluate("""async () => {
      window.live = await import("/static/web/live.js");
      live.sendFormsInPlace();
      live.catchUpAfterTyping();
      window.announcements = [];
      document.addEventListener("tercet:updated", (event) => announcements.push(event.detail.announcement));
    }""")
    return page


def answer_with(page: Page, response: dict[str, Any] | None) -> None:
    page.evaluate("response => { responses = [response] }", response)


@pytest.mark.parametrize("status", [400, 403, 404, 413, 429, 500, 502, 504])
def test_a_form_says_so_when_a_proxy_answers(live: Page, status: int) -> None:
    answer_with(live, {"status": status, "body": f"<h1>{status}</h1>", "headers": HTML})
    live.get_by_role("button", name="Save").click()
    expect(live.locator(".problem")).to_have_text(
        f"The server was not reached: something in between answered with status {status}. Try again."
    )
    expect(live.locator(".text")).to_have_text("before")


def test_a_form_says_what_the_server_says(live: Page) -> None:
    body = '{"detail": "It is wrong.", "errors": [{"field": "name", "detail": "is taken"}]}'
    answer_with(live, {"status": 422, "body": body, "headers": PROBLEM})
    live.get_by_role("button", name="Save").click()
    expect(live.locator(".problem")).to_have_text("It is wrong. name: is taken")


def test_a_form_says_when_there_is_no_network(live: Page) -> None:
    answer_with(live, None)
    live.get_by_role("button", name="Save").click()
    expect(live.locator(".problem")).to_have_text("No connection: nothing was changed. Try again.")


def test_a_sign_in_page_in_place_of_ours_is_no_success(live: Page) -> None:
    answer_with(live, {"status": 200, "body": "<h1>Welcome to the hotel's network</h1>", "headers": HTML})
    live.get_by_role("button", name="Save").click()
    expect(live.locator(".problem")).to_contain_text("reload the page to see whether this was saved")
    assert live.evaluate("announcements") == []


def test_a_form_that_succeeds_shows_the_new_page_and_says_so(live: Page) -> None:
    answer_with(live, {"status": 200, "body": content("after"), "headers": HTML})
    live.get_by_role("button", name="Save").click()
    expect(live.locator(".text")).to_have_text("after")
    expect(live.locator("#name")).to_be_focused()
    assert live.evaluate("announcements") == ["Changed."]
    [request] = live.evaluate("requests")
    assert (request["method"], request["body"]) == ("POST", "name=thrush")


def refresh(page: Page, html: str) -> None:
    answer_with(page, {"status": 200, "body": html, "headers": HTML})
    page.evaluate("live.refresh()")


def test_a_refresh_leaves_what_a_person_types_until_they_are_done(live: Page) -> None:
    live.locator("#name").fill("robin")
    refresh(live, content("after", "2"))
    expect(live.locator(".figure")).to_have_text("2")
    expect(live.locator(".text")).to_have_text("before")
    expect(live.locator("#name")).to_have_value("robin")
    live.locator("#name").blur()
    expect(live.locator(".text")).to_have_text("after")


def test_a_refresh_keeps_open_details_and_changes_only_what_is_new(live: Page) -> None:
    live.evaluate("document.getElementById('more').open = true; window.section = document.getElementById('first')")
    refresh(live, content("before", "2"))
    expect(live.locator(".figure")).to_have_text("2")
    assert live.evaluate("document.getElementById('more').open")
    assert live.evaluate("section === document.getElementById('first')")


def test_a_refresh_without_a_network_or_with_another_page_changes_nothing(live: Page) -> None:
    answer_with(live, None)
    live.evaluate("live.refresh()")
    refresh(live, "<h1>Welcome to the hotel's network</h1>")
    expect(live.locator(".text")).to_have_text("before")
    assert live.evaluate("announcements") == []


def test_a_popover_that_is_gone_after_its_form_was_sent_is_no_error(live: Page) -> None:
    live.evaluate("""() => {
      const popover = Object.assign(document.createElement("div"), { id: "confirm", popover: "auto" });
      popover.textContent = "Sure?";
      document.getElementById("first").append(popover);
      popover.showPopover();
    }""")
    answer_with(live, {"status": 200, "body": content("after"), "headers": HTML})
    live.locator("#name").press("Enter")
    expect(live.locator(".text")).to_have_text("after")
    assert live.evaluate("announcements") == ["Changed."]
