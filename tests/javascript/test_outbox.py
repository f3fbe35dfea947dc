"""The outbox against a server, a proxy and a network that fail in every way: no answer is lost, none stops others."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.browser

STORED = {
    "status": 200,
    "body": '{"stored": 1, "progress": {"mine": 1}}',
    "headers": {"content-type": "application/json"},
}
START = datetime(2026, 11, 23, 12, tzinfo=UTC)

OPEN = """async () => {
  const { Outbox } = await import("/static/labeling/outbox.js");
  window.settled = [];
  window.outbox = new Outbox({
    project: "songs", user: "7", onChange() {}, onSettled: (entry, body) => settled.push([entry.id, body]),
  });
}"""
ADD = (
    """id => outbox.add({ kind: "answer", id, triplet: ["a", "b", "c"], items: {}, answer: "yes", response_ms: 900 })"""
)
LET_PROMISES_SETTLE = """() => new Promise((resolve) => {
  const { port1, port2 } = new MessageChannel();
  let turns = 20;
  port1.onmessage = () => (turns-- ? port2.postMessage(0) : resolve());
  port2.postMessage(0);
})"""
STATE = "() => ({ waiting: outbox.waiting, trouble: outbox.trouble, refusals: outbox.refusals, settled, requests })"


def from_proxy(status: int, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """What a proxy on the way says: a page of its own."""
    page = f"<html><body><h1>{status}</h1></body></html>"
    return {"status": status, "body": page, "headers": {"content-type": "text/html", **(headers or {})}}


def from_server(status: int, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """What the server itself says when something is wrong."""
    body = f'{{"title": "", "status": {status}, "detail": "It was refused.", "errors": []}}'
    return {"status": status, "body": body, "headers": {"content-type": "application/problem+json", **(headers or {})}}


@pytest.fixture
def outbox(page: Page) -> Page:
    """A page with an empty outbox, whose clock stands still but for what a test lets pass."""
    page.clock.install(time=START)
    page.clock.pause_at(START + timedelta(seconds=1))
    page.evaluate(OPEN)
    return page


def answer_with(page: Page, *responses: dict[str, Any] | None) -> None:
    page.evaluate("list => { responses = list }", list(responses))


def add(page: Page, *ids: str) -> None:
    for answer_id in ids:
        page.evaluate(ADD, answer_id)


def wait(page: Page, milliseconds: int) -> dict[str, Any]:
    """Let time pass, and what then comes to pass."""
    page.clock.run_for(milliseconds)
    page.evaluate(LET_PROMISES_SETTLE)
    state: dict[str, Any] = page.evaluate(STATE)
    return state


@pytest.mark.heavy(but="413")
@pytest.mark.parametrize("status", [400, 403, 404, 405, 408, 409, 413, 421, 422, 425, 429, 500, 502, 503, 504])
def test_a_page_of_a_proxy_drops_no_answer_and_stops_nothing(outbox: Page, status: int) -> None:
    answer_with(outbox, from_proxy(status))
    add(outbox, "first", "second")
    state = wait(outbox, 0)
    assert (state["waiting"], state["refusals"]) == (2, [])
    assert state["trouble"]
    answer_with(outbox, STORED)
    state = wait(outbox, 500)
    assert (state["waiting"], state["refusals"], state["trouble"]) == (0, [], "")
    assert [entry for entry, _ in state["settled"]] == ["first", "second"]


@pytest.mark.parametrize("status", [400, 403, 404, 409, 422])
def test_a_refusal_of_the_server_is_final_and_said(outbox: Page, status: int) -> None:
    answer_with(outbox, from_server(status), STORED)
    add(outbox, "first", "second")
    state = wait(outbox, 0)
    assert (state["waiting"], state["refusals"], state["trouble"]) == (0, ["It was refused."], "")
    assert [(entry, body is None) for entry, body in state["settled"]] == [("first", True), ("second", False)]
    assert len(state["requests"]) == 2


@pytest.mark.parametrize(
    ("response", "trouble"),
    [
        (None, "no network"),
        (from_server(401), "you are signed out"),
        (from_proxy(401), "you are signed out"),
        (from_server(429), "the server is busy"),
        (from_server(503), "the server is busy"),
        (from_proxy(413), "something between here and the server answered with status 413"),
        (from_proxy(200), "something between here and the server answered with status 200"),
    ],
)
def test_what_passes_is_said_and_tried_again(outbox: Page, response: dict[str, Any] | None, trouble: str) -> None:
    answer_with(outbox, response)
    add(outbox, "first")
    state = wait(outbox, 0)
    assert (state["waiting"], state["trouble"], state["settled"]) == (1, trouble, [])
    answer_with(outbox, STORED)
    state = wait(outbox, 500)
    assert (state["waiting"], state["trouble"]) == (0, "")


def times(state: dict[str, Any]) -> list[int]:
    """When the requests after the first were sent, in milliseconds after it."""
    sent = [request["at"] for request in state["requests"]]
    return [at - sent[0] for at in sent[1:]]


@pytest.mark.heavy
def test_the_waits_grow_and_start_anew_after_a_success(outbox: Page) -> None:
    answer_with(outbox, from_proxy(502))
    add(outbox, "first")
    for _ in range(400):
        state = wait(outbox, 100)
    assert times(state) == [500, 1500, 3500, 7500, 15500, 30500]
    answer_with(outbox, STORED)
    assert wait(outbox, 15_000)["waiting"] == 0
    outbox.evaluate("() => { requests = [] }")
    answer_with(outbox, from_proxy(502))
    add(outbox, "second")
    for _ in range(10):
        state = wait(outbox, 100)
    assert times(state) == [500]


def in_a_minute(page: Page) -> str:
    date: str = page.evaluate("new Date(Date.now() + 60_000).toUTCString()")
    return date


def test_retry_after_is_respected_in_seconds(outbox: Page) -> None:
    answer_with(outbox, from_server(429, {"retry-after": "60"}))
    add(outbox, "first")
    assert len(wait(outbox, 59_000)["requests"]) == 1
    assert len(wait(outbox, 1_000)["requests"]) == 2


def test_retry_after_is_respected_as_a_date(outbox: Page) -> None:
    answer_with(outbox, from_proxy(503, {"retry-after": in_a_minute(outbox)}))
    add(outbox, "first")
    assert len(wait(outbox, 58_000)["requests"]) == 1
    assert len(wait(outbox, 2_000)["requests"]) == 2


@pytest.mark.parametrize("value", ["", "soon", "-5", "0"])
def test_a_retry_after_that_says_nothing_changes_nothing(outbox: Page, value: str) -> None:
    answer_with(outbox, from_proxy(503, {"retry-after": value}))
    add(outbox, "first")
    assert len(wait(outbox, 499)["requests"]) == 1
    assert len(wait(outbox, 1)["requests"]) == 2


def test_a_retry_after_of_days_holds_answers_for_minutes(outbox: Page) -> None:
    answer_with(outbox, from_proxy(503, {"retry-after": "999999"}))
    add(outbox, "first")
    assert len(wait(outbox, 300_000)["requests"]) == 2


def test_a_network_that_is_back_is_used_at_once_but_a_busy_server_is_left_alone(outbox: Page) -> None:
    answer_with(outbox, None)
    add(outbox, "first")
    wait(outbox, 400)
    answer_with(outbox, from_server(429, {"retry-after": "60"}))
    outbox.evaluate("window.dispatchEvent(new Event('online'))")
    assert len(wait(outbox, 0)["requests"]) == 2
    outbox.evaluate("window.dispatchEvent(new Event('online'))")
    assert len(wait(outbox, 0)["requests"]) == 2


def test_a_reload_sends_what_was_not_acknowledged(outbox: Page) -> None:
    answer_with(outbox, None)
    add(outbox, "first", "second")
    wait(outbox, 0)
    outbox.reload()
    outbox.evaluate(OPEN)
    answer_with(outbox, STORED)
    outbox.evaluate("() => { outbox.send() }")
    state = wait(outbox, 0)
    assert [entry for entry, _ in state["settled"]] == ["first", "second"]
    assert outbox.evaluate("Object.keys(localStorage).map((key) => key.split('/')[0])") == ["tercet-sent"] * 2


def test_what_was_stored_is_known_for_a_minute_to_pages_that_were_asked_for_before(outbox: Page) -> None:
    answer_with(outbox, STORED, from_server(404), STORED)
    before = outbox.evaluate("Date.now()")
    add(outbox, "first", "refused")
    wait(outbox, 59_000)
    add(outbox, "second")
    wait(outbox, 0)
    outbox.reload()
    outbox.evaluate(OPEN)
    sent_since = "time => outbox.sentSince(time).map(({ id }) => id)"
    assert outbox.evaluate(sent_since, before) == ["first", "second"]
    assert outbox.evaluate(sent_since, before + 59_000) == ["second"]
    outbox.clock.run_for(1_001)
    outbox.evaluate(OPEN)
    assert outbox.evaluate(sent_since, before) == ["second"]
    answer_with(outbox, STORED)
    outbox.clock.run_for(60_000)
    add(outbox, "third")
    wait(outbox, 0)
    assert outbox.evaluate(sent_since, before) == ["third"]


def test_each_kind_of_entry_has_its_request(outbox: Page) -> None:
    answer_with(outbox, STORED)
    add(outbox, "first")
    outbox.evaluate("""() => {
      outbox.add({ kind: "skip", triplet: ["a", "b", "c"], items: {}, answer: "skip" });
      outbox.add({ kind: "withdraw", id: "first" });
      outbox.add({ kind: "comment", id: "first", comment: "two birds" });
      const about = { triplet: ["a", "b", "c"], items: {} };
      outbox.add({ kind: "flag", ...about, answer: "flag", item: "b", reason: "cut", note: "" });
      outbox.add({ kind: "unflag", item: "song 1/2" });
    }""")
    sent = [(request["method"], request["url"], request.get("body")) for request in wait(outbox, 0)["requests"]]
    base = "/api/v1/projects/songs"
    assert sent == [
        ("POST", f"{base}/answers", '{"id":"first","triplet":["a","b","c"],"answer":"yes","response_ms":900}'),
        ("POST", f"{base}/skips", '{"triplet":["a","b","c"]}'),
        ("DELETE", f"{base}/answers/first", None),
        ("PUT", f"{base}/answers/first/comment", '{"comment":"two birds"}'),
        ("POST", f"{base}/flags", '{"item":"b","reason":"cut","note":""}'),
        ("DELETE", f"{base}/flags/song%201%2F2", None),
    ]


def test_questions_are_asked_for_with_an_answer_at_the_moment_when_it_is_sent(outbox: Page) -> None:
    answer_with(outbox, STORED)
    is_asking = outbox.evaluate("""() => {
      outbox.ask = () => 12 * (outbox.waiting - 1);
      const about = { triplet: ["a", "b", "c"], items: {} };
      const before = outbox.isAsking;
      for (const id of ["first", "second"]) outbox.add({ kind: "answer", id, ...about, answer: "no", response_ms: 1 });
      outbox.add({ kind: "skip", ...about, answer: "skip" });
      return [before, outbox.isAsking];
    }""")
    assert is_asking == [False, True]
    sent = [request["url"].removeprefix("/api/v1/projects/songs") for request in wait(outbox, 0)["requests"]]
    assert sent == ["/answers", "/answers?ask=12", "/skips"], "the first was sent before the second was there"
    answer_with(outbox, None)
    add(outbox, "third")
    wait(outbox, 0)
    assert not outbox.evaluate("outbox.isAsking"), "nobody knows when it is sent"


@pytest.mark.parametrize("status", [404, 409])
def test_withdrawing_what_is_withdrawn_is_no_refusal(outbox: Page, status: int) -> None:
    answer_with(outbox, from_server(status))
    outbox.evaluate("() => outbox.add({ kind: 'withdraw', id: 'first' })")
    state = wait(outbox, 0)
    assert (state["waiting"], state["refusals"]) == (0, [])


def test_ids_are_unique_also_without_random_uuid(page: Page) -> None:
    ids = page.evaluate("""async () => {
      const { newId } = await import("/static/labeling/outbox.js");
      return [typeof crypto.randomUUID, Array.from({ length: 200 }, newId)];
    }""")
    assert ids[0] == "undefined", "a page over plain http has none"
    assert len(set(ids[1])) == 200
    assert all(len(each) == 36 and each[14] == "4" and each[19] in "89ab" for each in ids[1])
