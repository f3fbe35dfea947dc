"""Pictures ahead of their questions: the same element each time, fetched anew only where it failed."""

import pytest
from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser

PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"><rect width="4" height="4"/></svg>'
LOAD = """async (url) => {
  const { loadPicture } = await import("/static/labeling/preload.js");
  const picture = loadPicture(url);
  return [picture.isDecoded, await picture.loaded, picture.isDecoded, loadPicture(url) === picture];
}"""


def test_a_picture_is_fetched_once(page: Page) -> None:
    served: list[str] = []

    def serve(route: Route) -> None:
        served.append(route.request.url)
        route.fulfill(body=PICTURE, content_type="image/svg+xml")

    page.route("**/picture/*", serve)
    assert page.evaluate(LOAD, "/picture/a") == [False, True, True, True]
    assert page.evaluate(LOAD, "/picture/a") == [True, True, True, True]
    assert len(served) == 1


def test_a_picture_that_failed_is_fetched_anew(page: Page) -> None:
    is_away = True

    def serve(route: Route) -> None:
        if is_away:
            route.abort()
        else:
            route.fulfill(body=PICTURE, content_type="image/svg+xml")

    page.route("**/picture/*", serve)
    # Not LOAD: it looks the picture up twice, and its second look would already fetch the failed picture anew.
    script = """async (url) => {
      const { loadPicture } = await import("/static/labeling/preload.js");
      return loadPicture(url).loaded;
    }"""
    assert page.evaluate(script, "/picture/a") is False
    is_away = False
    assert page.evaluate(LOAD, "/picture/a") == [False, True, True, True]


def test_a_picture_that_hangs_can_be_given_up(page: Page) -> None:
    held: list[Route] = []

    def serve(route: Route) -> None:
        if held:
            route.fulfill(body=PICTURE, content_type="image/svg+xml")
        else:
            held.append(route)

    page.route("**/picture/*", serve)
    question = {"triplet": ["a"], "items": {"a": {"picture_url": "/picture/a", "media_url": None}}}
    page.evaluate(
        """async (question) => {
          window.preload = await import("/static/labeling/preload.js");
          preload.loadPicture(question.items.a.picture_url);
        }""",
        question,
    )
    page.wait_for_timeout(100)
    assert len(held) == 1
    page.evaluate("(question) => preload.dropUnloaded(question)", question)
    assert page.evaluate(LOAD, "/picture/a") == [False, True, True, True]


def test_the_cache_forgets_what_was_not_used_for_longest(page: Page) -> None:
    page.route("**/picture/*", lambda route: route.fulfill(body=PICTURE, content_type="image/svg+xml"))
    script = """async () => {
      const { loadPicture } = await import("/static/labeling/preload.js");
      const pictures = Array.from({ length: 100 }, (_, k) => loadPicture(`/picture/${k}`));
      await Promise.all(pictures.map(({ loaded }) => loaded));
      loadPicture("/picture/0");
      await loadPicture("/picture/100").loaded;
      return [loadPicture("/picture/0") === pictures[0], loadPicture("/picture/1") === pictures[1]];
    }"""
    assert page.evaluate(script) == [True, False]
