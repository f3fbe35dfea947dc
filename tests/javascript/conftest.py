"""A page for modules alone: Chromium loads the real files, and the test drives them with its own answers to fetch."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, Route

from tercet.settings import asset
from tests.browser.conftest import browser_type_launch_args as browser_type_launch_args

ORIGIN = "http://tercet.test"

# Requests are kept in `requests`; each is answered by the next of `responses`, the last one again and again.
# A response is {status, body, headers}, or null where there is no network.
STUB_FETCH = """
window.requests = [];
window.responses = [];
window.fetch = async (url, options = {}) => {
  const { method = "GET", body } = options;
  requests.push({ url: String(url), method, body: body && String(body), at: Date.now() });
  const response = responses.length > 1 ? responses.shift() : responses[0];
  if (!response) throw new TypeError("Failed to fetch");
  return new Response(response.body ?? "", { status: response.status, headers: response.headers });
};
"""


@contextmanager
def empty_page(browser: Browser) -> Iterator[Page]:
    """An empty page that can import `/static/...`; an error that its scripts leave uncaught fails the test."""
    context = browser.new_context(base_url=ORIGIN)
    context.route(f"{ORIGIN}/**", serve)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script(STUB_FETCH)
    page.goto("/")
    yield page
    context.close()
    assert errors == []


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Page:
    """An empty page: the test's own, or one for all tests of a file that is marked with `one_page`."""
    name = "page_of_file" if request.node.get_closest_marker("one_page") else "page_of_test"
    page: Page = request.getfixturevalue(name)
    return page


@pytest.fixture
def page_of_test(browser: Browser) -> Iterator[Page]:
    with empty_page(browser) as page:
        yield page


@pytest.fixture(scope="module")
def page_of_file(browser: Browser) -> Iterator[Page]:
    """To open a page takes longer than to try a function that keeps nothing in it."""
    with empty_page(browser) as page:
        yield page


def serve(route: Route) -> None:
    """Answer with a file of ours, or with an empty page."""
    path = route.request.url.removeprefix(ORIGIN).partition("?")[0]
    if path.startswith("/static/"):
        route.fulfill(path=asset("static") / path.removeprefix("/static/"))
    else:
        route.fulfill(body="<!doctype html><title>Empty</title>", content_type="text/html")
