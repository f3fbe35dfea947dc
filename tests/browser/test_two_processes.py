"""Two tabs of one labeler, served by two web processes on PostgreSQL: a question has one answer, and both go on."""

import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import psutil
import pytest
from playwright.sync_api import Browser, Page

from tercet.database import Database
from tercet.demo.server import DemoServer, running_server
from tercet.models import Project
from tercet.storage import Storage
from tests.browser.conftest import LiveServer, cookie_of, make_songs
from tests.browser.test_label import settle, shown, stored, wait_for_paint, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.postgres]
QUESTIONS = 4
PRESS_AT = """
at => setTimeout(
  () => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "y", bubbles: true })), at - Date.now())
"""


@pytest.fixture
def two_processes(postgres_database_url: str, tmp_path: Path) -> Iterator[tuple[LiveServer, DemoServer]]:
    """A server with two web processes."""
    settings = {"data": str(tmp_path), "database_url": postgres_database_url, "web_processes": "2", "workers": "0"}
    database = Database(postgres_database_url)
    with running_server({**settings, "log_level": "warning"}) as server:
        yield LiveServer(server.url, database, Storage(str(tmp_path / "blobs"))), server
    database.close()


def clients_of_each_process(server: DemoServer, cookie: str, stack: ExitStack) -> list[httpx.Client]:
    """Return two clients with open connections that different processes have accepted."""
    headers = {"cookie": f"tercet={cookie}", "origin": server.url}
    clients: dict[int, httpx.Client] = {}
    for _ in range(100):
        client = stack.enter_context(httpx.Client(base_url=server.url, headers=headers))
        before = connections(server)
        client.get("/healthz")
        [pid] = {pid for pid, port in connections(server) - before}
        clients.setdefault(pid, client)
        if len(clients) == 2:
            return list(clients.values())
    raise AssertionError("one process accepts all connections")


def connections(server: DemoServer) -> set[tuple[int, int]]:
    """Return the processes of the server with the ports of those who are connected to them."""
    first = psutil.Process(server.process.pid)
    port = int(server.url.rsplit(":", 1)[1])
    return {
        (process.pid, connection.raddr.port)
        for process in [first, *first.children(recursive=True)]
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_ESTABLISHED and connection.laddr.port == port
    }


@pytest.mark.heavy
def test_two_tabs_agree_whichever_process_serves_them(
    two_processes: tuple[LiveServer, DemoServer], browser: Browser
) -> None:
    live, server = two_processes
    project, lea = make_songs(live)
    cookie = cookie_of(live.database, lea, live.url)
    with ExitStack() as stack:
        clients = clients_of_each_process(server, cookie["value"], stack)
        for _ in range(QUESTIONS):
            [question, *_] = clients[0].get(f"/api/v1/projects/{project.key}/triplets/next").json()["triplets"]
            outcomes = answer_at_once(clients, project, question["triplet"])
            assert sorted(outcomes) == [(201, 0, 1), (201, 1, 0)]
    assert once_each(live, project) == QUESTIONS

    context = browser.new_context(base_url=live.url)
    context.add_cookies([cookie])
    tabs = [context.new_page() for _ in range(2)]
    for tab in tabs:
        tab.goto(f"/projects/{project.key}/label")
        wait_for_paint(tab)
    for _ in range(QUESTIONS):
        press_at_once(tabs)
    for tab in tabs:
        settle(tab)
    assert once_each(live, project) == 2 * QUESTIONS
    context.close()


def press_at_once(tabs: list[Page]) -> None:
    """Press a key in both tabs in the same instant, once both can be answered; both show the next question then."""
    wait_until(lambda: shown(tabs[0]) == shown(tabs[1]), 1)
    before = shown(tabs[0])
    for tab in tabs:
        wait_for_paint(tab)
        tab.wait_for_timeout(200)
    at = tabs[0].evaluate("Date.now() + 100")
    for tab in tabs:
        tab.evaluate(PRESS_AT, at)
    wait_until(lambda: before not in [shown(tab) for tab in tabs] and shown(tabs[0]) == shown(tabs[1]), 1)


def answer_at_once(clients: list[httpx.Client], project: Project, triplet: list[str]) -> list[tuple[int, int, int]]:
    """Answer a question by all clients in the same instant; return status, stored and repeated of each."""
    ready = threading.Barrier(len(clients))

    def send(client: httpx.Client) -> tuple[int, int, int]:
        answer = {"id": str(uuid.uuid4()), "triplet": triplet, "answer": "yes", "response_ms": 900}
        ready.wait(10)
        response = client.post(f"/api/v1/projects/{project.key}/answers", json=answer)
        return response.status_code, response.json().get("stored"), response.json().get("repeated")

    with ThreadPoolExecutor(len(clients)) as threads:
        return list(threads.map(send, clients))


def once_each(live: LiveServer, project: Project) -> int:
    """Return how many questions are answered, once each."""
    counts = Counter(answer.triplet_id for answer in stored(live, project))
    assert set(counts.values()) == {1}
    return len(counts)
