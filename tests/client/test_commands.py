"""`tercet remote` against a real server: what is printed, and how each command ends."""

import json
import os
import pty
import stat
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tercet.backups.checking import check_backup
from tercet.cli import cli
from tercet.demo.server import free_port
from tercet.runs.schemas import RUN_EXAMPLE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connection: tuple[str, str]) -> Path:
    """The folder that the commands run in, with the server and the token in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERCET_SERVER", connection[0])
    monkeypatch.setenv("TERCET_TOKEN", connection[1])
    return tmp_path


def remote(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["remote", *arguments])


@pytest.mark.heavy
def test_a_project_from_a_table_to_clusters(folder: Path) -> None:
    rng = np.random.default_rng(0)
    np.save(folder / "X.npy", np.repeat(9 * np.eye(3), 8, axis=0) + rng.normal(size=(24, 3)))
    (folder / "items.csv").write_text("key,text\n" + "".join(f"p{n},a point\n" for n in range(24)))
    (folder / "answers.csv").write_text("anchor,left,right,answer\np0,p1,p9,yes\np0,p9,p20,dnk\n")
    assert remote("create", "Points", "--clusters", "3").stdout == "points\n"
    assert remote("projects").stdout == "points\t0\t3\tPoints\n"
    assert json.loads(remote("create", "More points", "--json").stdout)["key"] == "more-points"
    assert json.loads(remote("push", "more-points", "items.csv", "--json").stdout)["added"] == 24
    pushed = remote("push", "points", "items.csv", "--features", "X.npy")
    assert pushed.stdout == "24 items were added, 0 changed, 0 left out.\n", pushed.stderr
    assert remote("answer", "points", "answers.csv").stdout == "2 answers were stored, 0 had been before.\n"
    assert remote("answer", "points", "answers.csv").stdout == "0 answers were stored, 2 had been before.\n"
    done = json.loads(remote("run", "points", "--set", "n_clusters=3", "--json").stdout)
    assert (done["status"], done["parameters"]["n_clusters"]) == ("done", 3)
    number, status = remote("watch", "points", str(done["number"])).stdout.split("\t")[:2]
    assert (int(number), status) == (done["number"], "done")
    assert remote("runs", "points", "--limit", "1").stdout.startswith(number)
    assert remote("clusters", "points").stdout.splitlines()[0] == "item,cluster,confidence,tags"
    assert remote("answers", "points", "--format", "ndjson", "--output", "answers.ndjson").stdout == ""
    assert [json.loads(line)["answer"] for line in (folder / "answers.ndjson").read_text().splitlines()] == [
        "yes",
        "dnk",
    ]
    assert "/join/" in remote("link", "points", "--labeler", "Gus").stdout
    link = remote("links", "points").stdout.split("\t")
    assert link[1:3] == ["Gus", "1"]
    assert remote("unlink", "points", link[0]).exit_code == 0
    added = remote("webhooks", "add", "points", "https://example.org/told", "--every-answers", "50")
    webhook = added.stdout.split("\t")[0]
    assert added.exit_code == 0, added.stderr
    assert remote("webhooks", "list", "points").stdout == f"{webhook}\thttps://example.org/told\tyes\t50\n"
    assert "address of a private" in remote("webhooks", "add", "points", "https://10.0.0.1").stderr
    assert remote("webhooks", "deliveries", "points", webhook).stdout == ""
    assert remote("webhooks", "remove", "points", webhook).exit_code == 0
    assert "no webhook" in remote("webhooks", "test", "points", webhook).stderr
    made = json.loads(remote("tokens", "create", "points", "--scope", "read", "--days", "3", "--json").stdout)
    assert remote("runs", "points", "--token", made["token"]).exit_code == 0
    assert remote("tokens", "list", "points").stdout.split("\t")[:4] == [str(made["id"]), "command line", "Ada", "read"]
    assert remote("tokens", "revoke", "points", str(made["id"])).exit_code == 0
    assert remote("runs", "points", "--token", made["token"]).exit_code == 1
    assert "administrators" in remote("users", "list").stderr
    assert "administrators" in remote("backup", "all.zip").stderr
    ended = remote("cancel", "points", str(done["number"]))
    assert ended.exit_code == 1
    assert "it is done" in ended.stderr


def test_administrators_add_people_keep_them_out_and_take_everything_home(
    folder: Path, administrator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERCET_TOKEN", administrator)
    assert "/sign-in/" in remote("users", "add", "di@example.org", "--name", "Di").stdout
    assert "a user with the address" in remote("users", "add", "di@example.org").stderr

    def listed() -> dict[str, object]:
        rows = map(json.loads, remote("users", "list", "--json").stdout.splitlines())
        return next(row for row in rows if row["name"] == "Di")

    number = str(listed()["id"])
    assert listed()["disabled_at"] is None
    assert remote("users", "disable", number).exit_code == 0
    assert listed()["disabled_at"] is not None
    assert remote("users", "enable", number).exit_code == 0
    assert listed()["disabled_at"] is None
    assert remote("users", "disable", "999").exit_code == 1
    saved = remote("backup", "all.zip")
    assert saved.exit_code == 0, saved.stderr
    assert check_backup(folder / "all.zip").rows["user"] >= 3
    assert stat.S_IMODE((folder / "all.zip").stat().st_mode) == 0o600


@pytest.mark.heavy
def test_files_of_a_column_are_sent(folder: Path) -> None:
    for name in "ab":
        (folder / f"{name}.txt").write_text(f"the text of {name}")
    (folder / "items.ndjson").write_text('{"key": "a", "file": "a.txt"}\n{"key": "b", "file": "b.txt"}\n')
    remote("create", "Texts", "--clusters", "1", "--key", "texts")
    assert remote("push", "texts", "items.ndjson", "--media", "file").stdout.startswith("2 items were added")
    project = json.loads(remote("projects", "--json").stdout.splitlines()[-1])
    assert project["key"] == "texts"


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["runs", "nothing"], 1, "There is no project 'nothing'"),
        (["run", "nothing", "--set", "n_clusters"], 2, "name=value was expected"),
        (["push", "nothing", "nowhere.csv"], 2, "does not exist"),
        (["projects", "--token", "wrong"], 1, "This API token is not known here."),
        (["projects", "--server", f"http://127.0.0.1:{free_port()}"], 3, "No connection to"),
    ],
)
def test_mistakes_are_sentences_and_exit_codes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, sentence: str
) -> None:
    monkeypatch.setattr("tercet.client.operations.PAUSES", (0.01,))
    ended = remote(*arguments)
    assert ended.exit_code == code, ended.output
    assert sentence in " ".join(ended.stderr.replace("│", " ").split())
    assert "Traceback" not in ended.output


class FailedRun(BaseHTTPRequestHandler):
    """A server whose run has failed."""

    def do_GET(self) -> None:
        body = json.dumps({**RUN_EXAMPLE, "status": "failed", "error": "the disk is full"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_a_run_that_failed_has_an_exit_code() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), FailedRun) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = ("--server", f"http://127.0.0.1:{server.server_port}", "--token", "token")
        ended = remote("watch", "songs", "41", *place)
        server.shutdown()
    assert ended.exit_code == 4
    assert "Run 41 failed: the disk is full" in ended.stderr


@pytest.mark.heavy
def test_people_see_a_table_with_headings(folder: Path) -> None:
    remote("create", "Birds [bold]", "--key", "birds")
    remote("link", "birds")
    assert remote("links", "birds").stdout.split("\t")[1:] == ["-", "0", "-", "-\n"]
    plain = {**os.environ, "TERM": "dumb"}  # without bold letters
    terminal, end = pty.openpty()
    with os.fdopen(terminal, "rb", buffering=0) as screen:
        subprocess.run([sys.executable, "-m", "tercet.cli", "remote", "projects"], env=plain, stdout=end, check=True)
        os.close(end)
        lines = [line.split() for line in screen.read(4096).decode().splitlines()]
    assert lines[0] == ["key", "answers", "n", "clusters", "name"]
    assert ["birds", "0", "10", "Birds", "[bold]"] in lines
