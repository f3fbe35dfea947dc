"""Items of the map: fetched once each, and a server that is not reached is said to be, not passed over."""

import json

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.browser

ITEMS = '{"items": [{"position": 0, "key": "a"}, {"position": 2, "key": "c"}]}'
NOT_REACHED = "The server was not reached. Try again."
ASK = """async ([responses, positions]) => {
  const { ItemStore } = await import("/static/dashboard/item_list.js");
  window.responses = responses;
  const store = new ItemStore("/api");
  const keys = (await store.at(positions)).map((item) => item.key);
  return [keys, await store.askAbout(positions), requests.map((request) => request.method)];
}"""


def test_items_are_fetched_once(page: Page) -> None:
    served = [{"status": 200, "body": ITEMS}, {"status": 200, "body": "{}"}]
    assert page.evaluate(ASK, [served, [0, 2]]) == [["a", "c"], "", ["GET", "PUT"]]


@pytest.mark.parametrize(
    "response", [None, {"status": 502, "body": "down"}, {"status": 200, "body": "<h1>Sign in</h1>"}]
)
def test_a_server_that_is_not_reached_is_reported(page: Page, response: object) -> None:
    assert page.evaluate(ASK, [[response], [0, 2]]) == [[], NOT_REACHED, ["GET", "GET"]]


def test_a_question_that_is_lost_on_the_way_is_reported(page: Page) -> None:
    served = [{"status": 200, "body": ITEMS}, None]
    assert page.evaluate(ASK, [served, [0, 2]]) == [["a", "c"], NOT_REACHED, ["GET", "PUT"]]


def test_questions_can_be_about_more_items_than_one_request_describes(page: Page) -> None:
    program = """async (responses) => {
      const { ItemStore } = await import("/static/dashboard/item_list.js");
      window.responses = responses;
      const problem = await new ItemStore("/api").askAbout(Array.from({ length: 501 }, (_, position) => position));
      return [problem, requests.map((request) => request.method), JSON.parse(requests.at(-1).body).items.length];
    }"""
    pages = [range(500), range(500, 501)]
    served = [json.dumps({"items": [{"position": number, "key": str(number)} for number in page]}) for page in pages]
    responses = [{"status": 200, "body": body} for body in [*served, "{}"]]
    assert page.evaluate(program, responses) == ["", ["GET", "GET", "PUT"], 501]


def test_what_is_forgotten_meanwhile_leaves_no_gap(page: Page) -> None:
    program = """async (responses) => {
      const { ItemStore } = await import("/static/dashboard/item_list.js");
      window.responses = responses;
      const store = new ItemStore("/api");
      await store.at([0]);
      const asked = store.at([0, 2]);
      store.forget();
      return [(await asked).map((item) => item.key), store.items.size];
    }"""
    first, second = ('{"items": [{"position": 0, "key": "a"}]}', '{"items": [{"position": 2, "key": "c"}]}')
    served = [{"status": 200, "body": first}, {"status": 200, "body": second}]
    assert page.evaluate(program, served) == [["a", "c"], 0]
