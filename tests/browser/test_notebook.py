"""The labeling page in a frame of another site, as a notebook shows it."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import func, select

import tercet
from tercet.client.labeling_frame import LabelingFrame
from tercet.models import Answer, Role, Scope
from tests.browser.conftest import LiveServer, make_songs
from tests.factories import add_member, make_token

pytestmark = [pytest.mark.browser, pytest.mark.only_on("sqlite")]


class Notebook(BaseHTTPRequestHandler):
    """A page with what a cell shows."""

    cell = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.cell.encode())

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def notebook_port() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), Notebook) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_a_cell_labels(
    live_server: LiveServer, browser: Browser, notebook_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, _ = make_songs(live_server)
    with live_server.database.transaction() as session:
        token = make_token(session, add_member(session, project, Role.OWNER), Scope.OWN)
    with tercet.Client(live_server.url, token) as client:
        frame = client.project(project.key).label()
    assert isinstance(frame, LabelingFrame)
    monkeypatch.setattr(Notebook, "cell", frame._repr_html_())
    context = browser.new_context()
    page = context.new_page()
    # The server is at 127.0.0.1, so this is another site, where browsers keep no cookies of the usual kind.
    page.goto(f"http://localhost:{notebook_port}")
    cell = page.frame_locator("iframe")
    cell.get_by_role("button", name="Start").click()
    expect(cell.locator("#label")).to_have_attribute("data-paint", "painted")
    cell.get_by_role("button", name="Yes").click()
    expect(cell.locator("#today")).to_have_text("1")
    expect(cell.locator("#saved")).to_have_text("saved")
    with live_server.database.reading() as session:
        assert session.scalar(select(func.count()).where(Answer.project_id == project.id)) == 1
    page.goto(f"http://127.0.0.1:{notebook_port}")  # an origin that is not listed
    expect(page.locator("iframe")).to_be_visible()
    expect(cell.get_by_role("button", name="Start")).to_have_count(0)
    context.close()
