"""Answers to requests: those of the server, and those that something on the way gives in its place."""

import pytest
from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.one_page]

ASK = """async ([status, type, body]) => {
  const { explain, readBody } = await import("/static/web/problem.js");
  const response = () => new Response(body, { status, headers: { "content-type": type } });
  return [await readBody(response()), await explain(response())];
}"""
IN_BETWEEN = "The server was not reached: something in between answered with status {}. Try again."


@pytest.mark.parametrize(
    ("status", "content_type", "body", "read", "sentence"),
    [
        (200, "application/json", '{"n": 1}', {"n": 1}, None),
        (200, "text/html", "<h1>Welcome to the hotel's network</h1>", None, IN_BETWEEN.format(200)),
        (413, "text/html", "<h1>413</h1>", None, IN_BETWEEN.format(413)),
        (502, "application/problem+json", "torn off", None, IN_BETWEEN.format(502)),
        (422, "application/problem+json", '{"detail": "It is wrong."}', {"detail": "It is wrong."}, "It is wrong."),
    ],
)
def test_what_came_is_read_or_said_to_come_from_elsewhere(
    page: Page, status: int, content_type: str, body: str, read: object, sentence: str | None
) -> None:
    was_read, said_so = page.evaluate(ASK, [status, content_type, body])
    assert was_read == read
    if sentence is not None:
        assert said_so == sentence
