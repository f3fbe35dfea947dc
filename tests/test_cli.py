"""The `tercet` command as people run it: what it does, and its plain sentences for mistakes."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest
from sqlalchemy import func, select

from tercet import cli
from tercet.accounts.access import hash_token
from tercet.database import Database
from tercet.demo.server import free_port, running_server
from tercet.models import ApiToken, Import, Item, Membership, Project, Role, SignInLink, User
from tercet.settings import Settings
from tests.intake.conftest import wav

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Done:
    """How a command ended, and what it said."""

    returncode: int
    stdout: str
    stderr: str


Tercet = Callable[..., Done]


@pytest.fixture
def tercet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tercet:
    """Run a command in the data folder; in this process, as each of its own would import everything again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERCET_DATA", str(tmp_path))

    def run(*arguments: str, **settings: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["tercet", *arguments])
        with monkeypatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                cli.main()
        output = capsys.readouterr()
        return Done(int(ended.value.code or 0), output.out, output.err)

    return run


@pytest.fixture
def opened(tmp_path: Path, sqlite_template: Path) -> Database:
    """The database in the data folder that the commands use."""
    (tmp_path / "tercet.db").write_bytes(sqlite_template.read_bytes())
    return Database(f"sqlite:///{tmp_path / 'tercet.db'}")


def test_help_needs_nothing_slow(tercet: Tercet) -> None:
    code = "import sys, tercet.cli; print(sorted({'numpy', 'sqlalchemy', 'fastapi', 'distributed'} & set(sys.modules)))"
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert process.stdout == "[]\n"
    assert "serve" in tercet("--help").stdout


def test_people_and_their_keys(tercet: Tercet, opened: Database) -> None:
    added = tercet("user", "add", "ada@example.org", "--name", "Ada")
    linked = tercet("user", "link", "Ada@Example.org", TERCET_PUBLIC_URL="https://t.example.org/")
    token = tercet("user", "token", "ada@example.org", "--scope", "read", "--days", "2")
    assert added.stdout.startswith("http://127.0.0.1:8000/sign-in/")
    assert linked.stdout.startswith("https://t.example.org/sign-in/")
    with opened.reading() as session:
        links = [hash_token(command.stdout.strip().rsplit("/", 1)[1]) for command in (added, linked)]
        assert session.scalars(select(SignInLink.token_hash).order_by(SignInLink.id)).all() == links
        row = session.scalars(select(ApiToken)).one()
        assert (row.token_hash, row.scope) == (hash_token(token.stdout.strip()), "read")
        assert session.scalars(select(User.name)).all() == ["Ada"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["user", "link", "bo@example.org"], "There is no user with the address bo@example.org."),
        (["user", "add", "bo"], "'bo' is no address."),
        (
            ["user", "token", "bo@example.org", "--scope", "all"],
            "'all' is no scope: expected read, label, write, own.",
        ),
        (["export", "songs", "answers"], "There is no project 'songs'."),
        (["import", "songs"], "There is no project 'songs'."),
        (["import", "songs", "--items", "missing.csv"], "missing.csv"),
    ],
)
def test_mistakes_are_answered_in_sentences(
    tercet: Tercet, opened: Database, arguments: list[str], sentence: str
) -> None:
    done = tercet(*arguments)
    assert done.returncode != 0
    assert sentence in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr


def test_a_port_that_cannot_be_is_named(tercet: Tercet) -> None:
    done = tercet("serve", "--port", "70000")
    assert done.returncode == 2
    # In the words of the oldest and of the newest typer.
    limits = ("70000 is not in the range 1<=x<=65535", "Input should be less than or equal to 65535")
    sentence = " ".join(done.stderr.replace("│", " ").split())
    assert any(f"Invalid value for '--port': {limit}" in sentence for limit in limits), sentence


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("TERCET_WORKERS", "-1", "TERCET_WORKERS"),
        ("TERCET_LOG_LEVEL", "loud", "TERCET_LOG_LEVEL"),
        ("TERCET_DATABASE_URL", "postgresql://127.0.0.1:1/none", "The database does not answer"),
    ],
)
def test_a_wrong_setting_is_named(tercet: Tercet, name: str, value: str, sentence: str) -> None:
    done = tercet("user", "link", "ada@example.org", **{name: value})
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_items_in_and_answers_out(tercet: Tercet, tmp_path: Path, opened: Database) -> None:
    tercet("user", "add", "ada@example.org")
    (tmp_path / "items.csv").write_text("key,text\na,one\nb,two\nc,three\n")
    np.save(tmp_path / "X.npy", np.arange(6.0).reshape(3, 2))
    files = ["--items", "items.csv", "--features", "X.npy"]
    done = tercet("import", "songs", *files, "--owner", "ada@example.org", "--clusters", "2")
    printed = done.stdout.splitlines()
    assert printed[:2] == [
        "Understood 1 as features, 1 as table.",
        "3 items were added to 'songs', and 2 features of 3 items.",
    ], done.stderr
    assert printed[2] == "Look: 2 clusters of 3 items have fewer than 3 items each on average. Add items."
    assert printed[3].startswith("2 clusters, of ")
    assert "/join/" in printed[4]
    with opened.reading() as session:
        assert session.execute(select(Project.key, Project.n_clusters)).one() == ("songs", 2)
        assert session.scalars(select(Membership.role)).all() == [Role.OWNER]
        assert session.scalars(select(Import.user_id)).all() == session.scalars(select(User.id)).all()
    answers = tercet("export", "songs", "answers", "--format", "json")
    assert json.loads(answers.stdout) == []
    written = tercet("export", "songs", "answers", "--output", "answers.csv")
    assert (written.returncode, written.stdout) == (0, "")
    assert (tmp_path / "answers.csv").read_text().startswith("id,number,anchor")
    assert len(tercet("export", "songs", "clusters").stdout.splitlines()) == 4
    again = tercet("import", "songs", "--items", "items.csv", "--features", "X.npy")
    assert "0 items were added to 'songs', and 2 features of 3 items." in again.stdout
    assert "there is one already" in again.stdout


def test_a_folder_of_sounds_becomes_clusters(tercet: Tercet, tmp_path: Path, opened: Database) -> None:
    tercet("user", "add", "ada@example.org")
    folder = tmp_path / "clips"
    for number in range(8):
        path = folder / f"site {number % 2}" / f"tone {number}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(wav(hz=700 if number < 4 else 3_000))
    (folder / "notes.pdf").write_bytes(b"%PDF")
    (folder / "broken.wav").write_bytes(wav()[:30])
    options = ["--owner", "ada@example.org", "--clusters", "2"]
    refused = tercet("import", "songs", str(folder), *options)
    assert refused.returncode == 1
    assert "broken.wav" in refused.stderr
    done = tercet("import", "songs", str(folder), *options, "--skip-bad")
    assert done.returncode == 0, done.stderr
    assert "skipped clips/notes.pdf" in done.stdout
    assert done.stdout.count("skipped clips/broken.wav") == 1
    assert "2 clusters, of 4, 4 items." in done.stdout
    with opened.reading() as session:
        assert session.scalars(select(Import.source)).all() == ["command"]
        assert session.scalar(select(func.count()).select_from(Item)) == 8
    one = tercet("import", "one", str(folder / "site 0" / "tone 0.wav"), *options)
    assert one.returncode == 0, one.stderr
    assert "No features, and so no clusters: the items do not differ" in one.stdout
    assert "/join/" in one.stdout


def test_a_failed_first_import_leaves_no_project(tercet: Tercet, tmp_path: Path, opened: Database) -> None:
    tercet("user", "add", "ada@example.org")
    (tmp_path / "items.csv").write_text("key\na\na\n")
    done = tercet("import", "songs", "--items", "items.csv", "--owner", "ada@example.org")
    assert done.returncode == 1
    assert "items.csv, row 2, key" in done.stderr or "items.csv, row 3, key" in done.stderr
    bad_key = tercet("import", "No Such Key!", "--items", "items.csv", "--owner", "ada@example.org")
    assert bad_key.returncode == 1
    assert "key" in bad_key.stderr
    with opened.reading() as session:
        assert session.scalar(select(func.count()).select_from(Project)) == 0
        assert session.scalar(select(func.count()).select_from(Item)) == 0


def test_serving_and_stopping(tmp_path: Path) -> None:
    log = tmp_path / "log"
    settings = {"data": str(tmp_path), "workers": "0", "log_json": "true"}
    with log.open("wb") as stderr, running_server(settings, stderr=stderr) as server:
        assert httpx.get(f"{server.url}/healthz").json() == {"status": "ok"}
        assert httpx.get(f"{server.url}/sign-in/the-secret").status_code == 404
        with httpx.stream("GET", f"{server.url}/static/web/style.css") as response:
            assert response.headers["content-type"].startswith("text/css")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=15) in (0, -signal.SIGTERM)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line for line in lines if line["message"].startswith("GET /sign-in/... 404")]
    assert all(line["request"] for line in lines)
    assert "the-secret" not in log.read_text()


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_a_taken_port_is_said_before_anything_is_made(tercet: Tercet, tmp_path: Path, command: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        port = occupied.getsockname()[1]
        done = tercet(command, "--port", str(port))
    expected = f"Cannot listen on 127.0.0.1, port {port}: Address already in use. --port chooses another port.\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", expected)
    assert list(tmp_path.iterdir()) == []


def imports_something(server: int) -> bool:
    """Whether a process that forks workers, or is one, has begun to import what they need."""
    processes = psutil.Process(server).children(recursive=True)
    return any("numpy" in mapped.path for process in processes for mapped in process.memory_maps())


@pytest.mark.heavy(but="are ready")
@pytest.mark.skipif(sys.platform != "linux", reason="reads what other processes have mapped")
@pytest.mark.parametrize("workers", ["still start", "are ready"])
def test_ctrl_c_ends_server_and_workers_without_a_trace(tmp_path: Path, workers: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERCET_DATA": str(tmp_path), "TERCET_LOG_LEVEL": "info"}
    command = [sys.executable, "-m", "tercet.cli", "serve", "--port", str(free_port())]
    log = tmp_path / "log"
    with log.open("wb") as stderr:
        # A session of its own, as a terminal gives: Ctrl-C goes to all of its processes.
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True
        )
        deadline = time.monotonic() + 60
        while not (
            imports_something(process.pid) if workers == "still start" else "Runs are computed by" in log.read_text()
        ):
            assert time.monotonic() < deadline, log.read_text()
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    address = f"http://127.0.0.1:{command[-1]}"
    assert out.decode().startswith(f"Tercet serves on {address} (")
    assert Settings(data=tmp_path).site_url() == address, "links of commands lead to the port that was chosen"
    assert "Traceback" not in log.read_text()


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked there alone")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_ends_soon_while_its_workers_still_start(
    workers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers, and the process that they are forked from, take a minute here to import what they need."""
    starts = "multiprocessing.forkserver" if workers == "2" else "multiprocessing.spawn"
    (tmp_path / "sitecustomize.py").write_text(f"import sys, time\nif {starts!r} in str(sys.orig_argv): time.sleep(60)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    log, data = tmp_path / "log", str(tmp_path / "data")
    with log.open("wb") as stderr, running_server({"data": data, "workers": workers}, stderr=stderr) as server:
        deadline = time.monotonic() + 60
        while not any(starts in str(child.cmdline()) for child in psutil.Process(server.process.pid).children()):
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        children = psutil.Process(server.process.pid).children(recursive=True)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=15) in (0, -signal.SIGTERM)
    _, alive = psutil.wait_procs(children, timeout=5)
    assert alive == []
    assert "Traceback" not in log.read_text()
    assert "leaked" not in log.read_text()
