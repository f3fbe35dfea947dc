"""`tercet.Client` and `tercet.AsyncClient` against a real server with a worker."""

import asyncio
import html
import io
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import numpy as np
import pandas as pd
import pytest
from PIL import Image

import tercet
from tercet.client import operations
from tercet.client.errors import ChangedMeanwhile, ClientError, NoConnection, Refused
from tercet.client.projects import AsyncProjectClient, ProjectClient
from tercet.client.uploading import PART
from tercet.demo.server import free_port
from tests.intake.conftest import wav

README = (Path(__file__).parents[2] / "README.md").read_text()


@pytest.fixture
def client(connection: tuple[str, str]) -> Iterator[tercet.Client]:
    with tercet.Client(*connection, progress=False) as opened:
        yield opened


def points_in_three_groups() -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    X = np.repeat(9 * np.eye(3), 8, axis=0) + rng.normal(size=(24, 3))
    return pd.DataFrame({"key": [f"p{n:02d}" for n in range(24)], "text": "a point", "site": ["A", None] * 12}), X


def test_a_whole_project(client: tercet.Client) -> None:
    table, X = points_in_three_groups()
    points = client.create_project("Points", n_clusters=3)
    assert points.key in [project.key for project in client.projects()]
    assert points.push(table, X=X).report.added == 24
    items = points.items()
    assert items["key"].tolist() == table["key"].tolist()
    assert items["metadata"].tolist()[:2] == [{"site": "A"}, {}]
    assert points.items(keys=["p03", "p02"], metadata={"site": "A"})["key"].tolist() == ["p02"]
    done = points.run(n_clusters=3)
    assert done.status == "done"
    clusters = points.clusters()
    assert clusters.columns.tolist() == ["item", "cluster", "confidence"]
    in_first = clusters.loc[clusters["cluster"] == 1, "item"].tolist()
    assert points.items(cluster=1)["key"].tolist() == in_first
    assert clusters.groupby(clusters["item"].str[1:].astype(int) // 8)["cluster"].nunique().tolist() == [1, 1, 1]
    posterior = points.posterior(done.number)
    assert posterior.columns.tolist() == ["item", "cluster_1", "cluster_2", "cluster_3"]
    assert (posterior.iloc[:, 1:].to_numpy().argmax(axis=1) + 1 == clusters["cluster"]).all()
    assert points.map_points().shape == (24, 4)
    assert sorted(cluster.size for cluster in points.cluster_list().clusters) == [8, 8, 8]
    assert points.name_cluster(1, "ones").name == "ones"
    assert points.runs()[0].number >= done.number
    (question,) = points.ask()
    assert points.answer(question, "dnk", response_ms=900).progress.mine == 1
    assert points.summary().answers.total == 1
    assert points.tag("odd", add=["p03", "p05"]).added == ["p03", "p05"]
    assert points.tag("odd", remove=(key for key in ["p05", "p07"])).removed == ["p05"]
    assert points.tags().to_dict("records") == [{"tag": "odd", "items": 1}]
    assert points.items(tag="odd")["tags"].tolist() == [["odd"]]
    assert points.flag("p03", "cut", "begins late").reason == "cut"
    [flag] = points.flagged().to_dict("records")
    assert (flag["item"], flag["reason"], flag["note"]) == ("p03", "cut", "begins late")
    points.judge_flagged("p03", "set-aside")
    assert (len(points.flagged()), points.flagged("set-aside")["item"].tolist()) == (0, ["p03"])
    link = points.make_share_link(labeler="Gus", days=3)
    assert (link.labeler, link.url.split("/join/")[0]) == ("Gus", str(points.http.base_url).removesuffix("/api/v1/"))
    assert [each.id for each in points.share_links()] == [link.id]
    assert points.revoke_share_link(link.id).revoked_at is not None
    with pytest.raises(ClientError, match=r"TERCET_FRAME_ORIGINS .* http://127.0.0.1:\d+/join/"):
        points.label()


@pytest.mark.heavy
def test_nobody_overwrites_what_they_have_not_seen(client: tercet.Client) -> None:
    mine = client.create_project("Shared", n_clusters=2)
    mine.push([{"key": "a", "site": "A1", "text": "owl"}, {"key": "b", "text": "wren"}, {"key": "c"}])
    other = client.project(mine.key)
    assert (mine.details().name, mine.item("a").metadata) == ("Shared", {"site": "A1"})
    other.update(name="Theirs")
    other.change_item("a", metadata={"site": "B2"})
    with pytest.raises(ChangedMeanwhile, match="read it again") as refusal:
        mine.update(name="Mine")
    assert refusal.value.status == 412
    with pytest.raises(ChangedMeanwhile):
        mine.change_item("a", text="mine")
    assert mine.update(name="Theirs").name == "Theirs", "the same change, whose answer may have been lost"
    assert (mine.details().name, mine.item("a").text) == ("Theirs", "owl")
    assert mine.update(name="Mine").name == "Mine"
    assert mine.update(name="Mine again").name == "Mine again"
    assert mine.change_item("a", text="mine", bag="rec").bag == "rec"
    assert mine.delete_item("b").set_aside is False
    assert mine.items()["key"].tolist() == ["a", "c"]


@pytest.mark.heavy
def test_answers_come_out_as_they_go_in(client: tercet.Client) -> None:
    table, X = points_in_three_groups()
    points = client.create_project("Answers", n_clusters=3)
    points.push(table, X=X)
    sent = pd.DataFrame(
        {"anchor": ["p00", "p01"], "left": ["p02", "p09"], "right": ["p23", "p20"], "answer": ["yes", "dnk"]}
    ).assign(labeler="Ada")
    assert (points.constraints(sent).stored, points.constraints(sent).repeated) == (2, 2)
    answers = points.answers(names=True)
    pd.testing.assert_frame_equal(answers[sent.columns.tolist()], sent)
    exported = client.http.get(f"projects/{points.key}/constraints", params={"format": "csv"}).text
    assert answers.columns.tolist() == exported.splitlines()[0].split(",")
    columns = ["anchor", "left", "right", "answer", "labeler"]
    copied = client.create_project("Copied", n_clusters=3)
    copied.push(table)
    assert copied.constraints(answers[columns].to_dict("records")).stored == 2
    assert points.answers(after=answers["number"].max()).empty
    edit = points.edit("together", ["p00", "p01"])
    assert (edit.kind, edit.items) == ("together", 2)


@pytest.mark.heavy
def test_pictures_of_a_table_are_sent(client: tercet.Client, tmp_path: Path) -> None:
    paths = [tmp_path / "site 0" / "gréy.png", tmp_path / "site 1" / "gréy.png", tmp_path / "5.png"]
    for shade, path in zip((20, 120, 220), paths, strict=True):
        path.parent.mkdir(exist_ok=True)
        Image.new("L", (40, 30), shade).save(path)
    greys = client.create_project("Greys", n_clusters=1)
    done = greys.push({"key": ["a", "b", "c"], "file": paths}, media="file")
    assert (done.status, done.report.content, done.report.added) == ("done", "pictures", 3)
    assert greys.run().status == "done", "their features were waited for"
    for shade, key in zip((20, 120, 220), "abc", strict=True):
        with Image.open(io.BytesIO(greys.media(key))) as stored:
            assert stored.size == (40, 30)
            assert abs(np.asarray(stored.convert("L")).astype(int) - shade).max() <= 3


def test_faults_are_named_and_nothing_is_stored(client: tercet.Client, tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nand no more")
    (tmp_path / "good.txt").write_text("good")
    table = {"key": ["a", "b"], "file": [tmp_path / "broken.png", tmp_path / "good.txt"]}
    broken = client.create_project("Broken", n_clusters=2)
    with pytest.raises(Refused, match=r"broken\.png") as refused:
        broken.push(table, media="file")
    assert refused.value.errors[0]["file"] == "broken.png"
    assert broken.items().empty
    assert broken.push(table, media="file", skip_bad=True).report.added == 1


@pytest.mark.parametrize(
    ("table", "media", "X", "sentence"),
    [
        ({"name": ["a"]}, None, None, "a column `key` without gaps"),
        ({"key": ["a", "b"], "text": ["x"]}, None, None, "columns of one length"),
        ({"key": ["a", "b"]}, None, [[1.0]], "a row for each of the 2 items"),
        ({"key": ["a"], "file": ["nowhere.wav"]}, "file", None, "nowhere.wav"),
        ({"key": ["a"], "file": [None]}, "file", None, "names no file"),
        (7, None, None, "expected a frame"),
    ],
)
def test_a_wrong_table_is_refused_before_anything_is_sent(
    client: tercet.Client, table: Any, media: str | None, X: Any, sentence: str
) -> None:
    nowhere = client.project("nowhere")
    with pytest.raises((ValueError, TypeError, FileNotFoundError, ClientError), match=sentence):
        nowhere.push(table, media=media, X=X)


def test_refusals_are_the_servers_sentences(client: tercet.Client, connection: tuple[str, str]) -> None:
    with pytest.raises(Refused, match="There is no project 'nothing'"):
        client.project("nothing").details()
    with pytest.raises(Refused, match="There is no project 'nothing'"):
        next(client.project("nothing").events())
    with pytest.raises(Refused, match="n_clusters") as refused:
        client.create_project("Bad", n_clusters=0)
    assert refused.value.status == 422
    with pytest.raises(Refused) as stranger, tercet.Client(connection[0], "no-token") as unknown:
        unknown.projects()
    assert stranger.value.status == 401
    with pytest.raises(ValueError, match="anchor, left, right"):
        client.project("nothing").constraints([{"answer": "yes"}])


def test_who_has_no_token_is_told_where_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TERCET_TOKEN", raising=False)
    with pytest.raises(ClientError, match="tercet user token"):
        tercet.Client()
    monkeypatch.setenv("TERCET_TOKEN", "secret")
    monkeypatch.setenv("TERCET_SERVER", "https://tercet.example.org/")
    with tercet.Client() as client:
        assert repr(client) == "Client('https://tercet.example.org')"


@pytest.mark.heavy
def test_the_same_awaited(connection: tuple[str, str]) -> None:
    table, X = points_in_three_groups()

    async def walk() -> tuple[list[str], int]:
        async with tercet.AsyncClient(*connection, progress=False) as client:
            points = await client.create_project("Awaited", n_clusters=3)
            events = points.events()
            first = asyncio.ensure_future(anext(events))
            await points.push(table, X=X)
            kinds = [(await first).kind]
            await points.run()
            async for event in events:
                kinds.append(event.kind)
                if event.kind == "clusters":
                    break
            return kinds, len(await points.clusters())

    with ThreadPoolExecutor() as apart:  # a browser test before this one leaves its loop in this thread
        kinds, n_items = apart.submit(asyncio.run, walk()).result(timeout=120)
    assert "run" in kinds
    assert kinds[-1] == "clusters"
    assert n_items == 24


def test_events_of_a_client_that_waits(client: tercet.Client) -> None:
    table, X = points_in_three_groups()
    points = client.create_project("Events", n_clusters=3)
    heard = []

    def listen() -> None:
        for event in points.events():
            heard.append(event)
            if event.kind == "clusters":
                return

    listener = threading.Thread(target=listen)
    listener.start()
    points.push(table, X=X)
    points.run()
    listener.join(timeout=60)
    assert heard[-1].kind == "clusters"
    assert heard[-1].data["run"] >= 1
    assert heard[-1].number is not None


@pytest.mark.heavy
def test_a_notebook_shows_names_as_text(client: tercet.Client) -> None:
    table, X = points_in_three_groups()
    points = client.create_project("<script>alert(1)</script>", key="shown", n_clusters=3)
    assert "No clusters yet" in points._repr_html_()
    points.push(table, X=X)
    points.run()
    points.name_cluster(2, "<b>twos</b>")
    page = points._repr_html_()
    assert page.count("<circle") == 24
    assert "&lt;b&gt;twos&lt;/b&gt;" in page
    assert "<script>" not in page
    assert repr(points) == "ProjectClient('shown')"


class Flaky(BaseHTTPRequestHandler):
    """Loses the first connection, is busy at the second, and stores the third."""

    bodies: ClassVar[list[dict[str, Any]]] = []
    stored: ClassVar[dict[str, Any]] = {"stored": 1, "repeated": 0, "progress": {}}

    def do_POST(self) -> None:
        self.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        if len(self.bodies) == 1:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        busy = len(self.bodies) == 2
        progress = {"mine": 1, "mine_today": 1, "project_answers": 1}
        body = b"<html>busy</html>" if busy else json.dumps({**self.stored, "progress": progress}).encode()
        self.send_response(503 if busy else 201)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def flaky_project() -> Iterator[ProjectClient]:
    Flaky.bodies.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Flaky) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with tercet.Client(f"http://127.0.0.1:{server.server_port}", "token", progress=False) as client:
            yield client.project("songs")
        server.shutdown()


def test_an_answer_is_sent_again_with_its_id() -> None:
    with flaky_project() as songs:
        assert songs.answer(["a", "b", "c"], "yes").stored == 1
    assert len(Flaky.bodies) == 3
    assert len({body["id"] for body in Flaky.bodies}) == 1


def test_what_may_have_been_done_is_not_done_twice() -> None:
    with flaky_project() as songs, pytest.raises(NoConnection):
        songs.run()
    assert len(Flaky.bodies) == 1


def test_a_server_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "PAUSES", (0.01, 0.01))
    address = f"http://127.0.0.1:{free_port()}"
    with tercet.Client(address, "token") as client, pytest.raises(NoConnection, match=address):
        client.projects()


def test_a_part_that_came_before_the_connection_was_lost(
    client: tercet.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has the part, its response was lost, and the part is sent again."""
    (tmp_path / "a.txt").write_text("one long text " * 400)
    texts = client.create_project("Texts", n_clusters=1)
    lost = []
    request = client.http.request

    def losing(method: str, path: str, **options: Any) -> Any:
        response = request(method, path, **options)
        if method == "PUT" and not lost:
            lost.append(path)
            raise httpx.ReadError("the connection was lost")
        return response

    monkeypatch.setattr(client.http, "request", losing)
    monkeypatch.setattr("tercet.client.uploading.PART", 1_000)
    monkeypatch.setattr(operations, "PAUSES", (0.01, 0.01))
    assert PART > 1_000
    assert texts.push({"key": ["a"], "file": [tmp_path / "a.txt"]}, media="file").report.added == 1
    assert lost


POLARS = """
import sys, polars, tercet
with tercet.Client(*sys.argv[1:], frames="polars", progress=False) as client:
    words = client.create_project("Polars", n_clusters=1)
    words.push(polars.DataFrame({"key": ["a", "b", "c"], "text": ["x", "y", None], "length": [1.5, None, 2.0]}))
    words.constraints(polars.DataFrame({"anchor": ["a"], "left": ["b"], "right": ["c"], "answer": ["yes"]}))
    print(words.items()["metadata"].to_list(), words.answers().rows(named=True)[0]["left"])
"""


@pytest.mark.heavy
def test_frames_of_polars_come_and_go(connection: tuple[str, str], tmp_path: Path) -> None:
    """In a folder of its own, as nothing else here needs polars."""
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path)]
    subprocess.run([*install, "polars", "polars-runtime-32"], check=True, timeout=300)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    command = [sys.executable, "-c", POLARS, *connection]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[{'length': 1.5}, {'length': None}, {'length': 2.0}] b\n"


def program_of(page: str, name: str) -> str:
    """The program of a help page, as people copy it."""
    text = re.search(rf'<pre tabindex="0" id="{name}">(.*?)</pre>', page, re.DOTALL)
    assert text is not None
    return html.unescape(text[1])


@pytest.mark.heavy
def test_the_programs_of_the_help_page_run(connection: tuple[str, str], tmp_path: Path) -> None:
    page = httpx.get(f"{connection[0]}/help/client").text
    variables = {**os.environ, "TERCET_SERVER": connection[0], "TERCET_TOKEN": connection[1]}
    printed = []
    for name in ("program", "coroutine"):
        command = [sys.executable, "-c", program_of(page, name)]
        done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert re.search(r"point-0 +\d", printed[0])
    assert "clusters {'run':" in printed[1]


def test_the_help_page_has_every_operation(connection: tuple[str, str]) -> None:
    page = httpx.get(f"{connection[0]}/help/client").text
    methods = {name for name in vars(ProjectClient) if not name.startswith("_")} - {"events"}
    assert set(re.findall(r'<h3 id="(\w+)">', page)) == methods
    assert methods == {name for name in vars(AsyncProjectClient) if not name.startswith("_")} - {"events"}
    for name in methods:
        assert getattr(ProjectClient, name).__doc__ == getattr(AsyncProjectClient, name).__doc__


def programs_of_the_readme(url: str) -> list[str]:
    """Return the programs that need a server, as they are written but for its address."""
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    return [block.replace("http://127.0.0.1:8000", url) for block in blocks if "http://127.0.0.1:8000" in block]


def test_the_programs_of_the_readme_run(
    connection: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, token = connection
    monkeypatch.chdir(tmp_path)
    first, second = programs_of_the_readme(url)
    names: dict[str, object] = {"token": token, "table": songs(28)}
    exec(first, names)
    with tercet.Client(url, token) as client:
        clusters = client.project("songs").clusters()
    assert clusters["item"].tolist() == [f"song-{n:02d}" for n in range(28)], "named by their files"
    assert clusters["cluster"].nunique() == 14

    triplet = {"triplet": ["song-00", "song-01", "song-02"]}
    answered = [{"type": "choices", "value": {"choices": ["left"]}}]
    Image.new("RGB", (40, 30)).save("1.png")
    box = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [2, 2, 20, 20]}
    names |= {
        "exported_tasks": [{"id": 1, "data": triplet, "annotations": [{"completed_by": 3, "result": answered}]}],
        "coco_file": {
            "images": [{"id": 1, "file_name": "1.png"}],
            "categories": [{"id": 1, "name": "dog"}],
            "annotations": [box],
        },
    }
    Path("images").mkdir()
    Path("1.png").rename("images/1.png")
    exec(second, names)
    with tercet.Client(url, token) as client:
        assert client.project("songs").answers()["answer"].tolist() == ["yes"]
        assert len(client.project("songs").items()) == 29


def songs(n: int) -> pd.DataFrame:
    """Write so many tones of fourteen pitches; return their table."""
    for number in range(n):
        Path(f"song-{number:02d}.wav").write_bytes(wav(0.2, hz=500.0 + 300 * (number % 14)))
    return pd.DataFrame({"file": [f"song-{number:02d}.wav" for number in range(n)]})
