"""Files on their way: in parts, a few at once, resumed from what the server has, and never sent twice."""

from typing import Any

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.browser

# A server that keeps what comes by path; `trouble` answers instead of it as often as it says.
SERVER = """
window.received = new Map();
window.requests = [];
window.trouble ??= [];
window.active = window.mostActive = 0;
window.fetch = async (url, { method = "GET", body } = {}) => {
  const { pathname, searchParams } = new URL(url, location.href);
  const path = decodeURIComponent(pathname.split("/files/")[1] ?? "");
  requests.push(`${method} ${path}${method === "PUT" ? ` ${searchParams.get("offset")}+${body.size}` : ""}`);
  mostActive = Math.max(mostActive, ++active);
  await new Promise((resolve) => setTimeout(resolve, 5));
  active -= 1;
  const json = (status, value) => {
    const type = status === 200 ? "application/json" : "application/problem+json";
    return new Response(JSON.stringify(value), { status, headers: { "content-type": type } });
  };
  if (method === "GET") return json(200, { files: [...received].map(([path, file]) => ({ path, ...file })) });
  const problem = trouble.shift();
  if (problem === "away") throw new TypeError("Failed to fetch");
  if (problem) return json(problem, { detail: `No: ${problem}.` });
  const file = received.get(path) ?? { size: Number(searchParams.get("size")), received: 0 };
  if (file.received !== Number(searchParams.get("offset"))) return json(409, { detail: "Go on elsewhere." });
  file.received += body.size;
  received.set(path, file);
  if (problem === null) throw new TypeError("Failed to fetch");
  return json(200, { path, ...file });
};
void 0; // what a script ends with is called if it is a function
"""
UPLOAD = """async ({ sizes, before }) => {
  const { Uploads, PART_BYTES, fetchReceived } = await import("/static/intake/upload.js");
  window.parts = PART_BYTES;
  const files = Object.entries(sizes).map(([path, size]) => ({ path, file: new File([new Uint8Array(size)], path) }));
  for (const [path, file] of Object.entries(before)) received.set(path, file);
  const present = await fetchReceived("/api/v1/projects/p/imports/1");
  requests.length = 0;
  await new Promise((resolve) => {
    window.uploads = new Uploads("/api/v1/projects/p/imports/1", () => { if (window.uploads?.isFinished) resolve(); });
    uploads.add(files, present);
    if (uploads.isFinished) resolve();
  });
  const { done, bytes, bytesSent, refused } = uploads;
  return {
    done, bytes, bytesSent, requests, received: Object.fromEntries(received), mostActive,
    refused: refused.map(({ path, detail }) => [path, detail]),
  };
}"""
PART = 4 * 1024 * 1024


def upload(page: Page, sizes: dict[str, int], before: dict[str, dict[str, int]] | None = None) -> dict[str, Any]:
    """Send files of these sizes to a server that has some bytes already, and tell what became of them."""
    page.evaluate(SERVER)
    outcome: dict[str, Any] = page.evaluate(UPLOAD, {"sizes": sizes, "before": before or {}})
    return outcome


def test_a_large_file_goes_in_parts(page: Page) -> None:
    outcome = upload(page, {"a b/ü?.wav": 2 * PART + 7})
    assert outcome["requests"] == [f"PUT a b/ü?.wav {n}" for n in (f"0+{PART}", f"{PART}+{PART}", f"{2 * PART}+7")]
    assert outcome["received"] == {"a b/ü?.wav": {"size": 2 * PART + 7, "received": 2 * PART + 7}}
    assert (outcome["done"], outcome["bytesSent"], outcome["bytes"]) == (1, 2 * PART + 7, 2 * PART + 7)


def test_few_files_at_once_and_every_file_once(page: Page) -> None:
    outcome = upload(page, {f"{number:02}.wav": number for number in range(40)})
    assert len(outcome["requests"]) == len(set(outcome["requests"])) == 40
    assert outcome["mostActive"] == 4
    assert outcome["done"] == 40, "an empty file is sent as well, so that the server knows of it"


def test_what_came_before_is_not_sent_again(page: Page) -> None:
    before = {"a": {"size": 10, "received": 10}, "b": {"size": 10, "received": 4}, "c": {"size": 9, "received": 9}}
    outcome = upload(page, {"a": 10, "b": 10, "d": 1}, before)
    assert outcome["requests"] == ["PUT b 4+6", "PUT d 0+1"]
    assert (outcome["done"], outcome["bytesSent"], outcome["bytes"]) == (3, 21, 21)


def test_a_lost_connection_goes_on_where_it_was(page: Page) -> None:
    page.evaluate("window.trouble = ['away', 503]")
    outcome = upload(page, {"a": 10})
    assert outcome["requests"] == ["PUT a 0+10", "GET ", "PUT a 0+10", "GET ", "PUT a 0+10"]
    assert outcome["done"] == 1


def test_the_answer_to_a_part_that_came_was_lost(page: Page) -> None:
    page.evaluate("window.trouble = [null]")  # stored, but the answer does not arrive
    outcome = upload(page, {"a": PART + 5})
    assert outcome["requests"] == [f"PUT a 0+{PART}", "GET ", f"PUT a {PART}+5"]
    assert outcome["received"]["a"]["received"] == PART + 5


def test_a_refused_file_is_left_and_its_part_named(page: Page) -> None:
    page.evaluate("window.trouble = [0, 0, 0, 413]")  # the second part of the large one
    outcome = upload(page, {"a": PART + 5, "b": 3, "c": 2})
    assert (outcome["done"], outcome["refused"]) == (2, [["a", "No: 413."]])
    assert page.evaluate("uploads.leaveRefused()") == ["a"]
    assert page.evaluate("[uploads.isFinished, uploads.refused.length, uploads.bytes, uploads.bytesSent]") == [
        True,
        0,
        5,
        5,
    ]


def test_another_page_sends_the_same_file(page: Page) -> None:
    page.evaluate(
        "window.trouble = { shift: () => void (received.has('a') || received.set('a', { size: 10, received: 6 })) }"
    )
    outcome = upload(page, {"a": 10})
    assert outcome["requests"] == ["PUT a 0+10", "GET ", "PUT a 6+4"]


def test_what_the_server_refuses_is_said_and_the_others_go_on(page: Page) -> None:
    page.evaluate("window.trouble = [413]")
    outcome = upload(page, {"a": 10, "b": 10})
    assert outcome["refused"] == [["a", "No: 413."]]
    assert outcome["done"] == 1


def test_an_import_that_takes_no_more_files_is_not_asked_for_ever(page: Page) -> None:
    page.evaluate("window.trouble = { shift: () => 409 }")
    outcome = upload(page, {"a": 10})
    assert outcome["refused"] == [["a", "No: 409."]]
    assert len(outcome["requests"]) == 2


def test_a_file_that_was_taken_away_is_refused_rather_than_tried_again(page: Page) -> None:
    page.evaluate("window.trouble = ['away']")
    page.evaluate(SERVER)
    detail = page.evaluate(
        """async () => {
          const { Uploads } = await import("/static/intake/upload.js");
          const arrayBuffer = () => Promise.reject(new DOMException("gone"));
          const file = { size: 3, slice: () => ({ size: 3, arrayBuffer }) };
          const uploads = await new Promise((resolve) => {
            const uploads = new Uploads("/api", () => { if (uploads.isFinished) resolve(uploads); });
            uploads.add([{ path: "a", file }], new Map());
          });
          return uploads.refused[0].detail;
        }"""
    )
    assert "cannot be read any more" in detail


def test_files_may_be_added_while_others_are_sent(page: Page) -> None:
    page.evaluate(SERVER)
    outcome = page.evaluate(
        """async () => {
          const { Uploads } = await import("/static/intake/upload.js");
          const files = (...names) => names.map((path) => ({ path, file: new File(["x"], path) }));
          const uploads = await new Promise((resolve) => {
            const uploads = new Uploads("/api", () => uploads.isFinished && uploads.count === 9 && resolve(uploads));
            uploads.add(files("a", "b", "c", "d", "e", "f"), new Map());
            uploads.add(files("e", "g", "h", "i"), new Map());
          });
          return [uploads.done, requests];
        }"""
    )
    assert outcome == [9, [f"PUT {name} 0+1" for name in "abcdefghi"]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("inBytes(7)", "7 bytes"),
        ("inBytes(1500)", "1.5 kB"),
        ("inBytes(25_400_000)", "25.4 MB"),
        ("timeLeft(4)", "a few seconds left"),
        ("timeLeft(44)", "about 40 s left"),
        ("timeLeft(600)", "about 10 min left"),
        ("timeLeft(9000)", "about 3 h left"),
        ("counted(1, 'file')", "1 file"),
        ("counted(4998, 'file')", "4,998 files"),
    ],
)
def test_amounts_in_words(page: Page, call: str, words: str) -> None:
    assert page.evaluate(f"async () => (await import('/static/intake/amounts.js')).{call}") == words
