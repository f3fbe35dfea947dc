"""A test run that is killed leaves nothing behind: no PostgreSQL, no folder of it, no process that a test started."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parent.parent
ENDLESS = """
import subprocess, sys
from pathlib import Path
from time import sleep

def test_on_postgres(postgres_url):
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    Path({path!r}).write_text(f"{{process.pid}} {{postgres_url}}")
    sleep(600)
"""
PATIENCE = 60  # seconds; the machine may be busy


def wait_for(condition) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def servers_in(folder: Path) -> list[psutil.Process]:
    """The server processes whose command names the folder."""
    return [process for process in psutil.process_iter(["cmdline"]) if str(folder) in (process.info["cmdline"] or [])]


@pytest.mark.heavy(but="with xdist")
@pytest.mark.parametrize("processes", [0, 1], ids=["in one process", "with xdist"])
def test_a_killed_run_leaves_nothing_behind(processes: int, tmp_path: Path) -> None:
    path = tmp_path / "url"
    (tmp_path / "test_endless.py").write_text(ENDLESS.format(path=str(path)))
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-n", str(processes)]
    command += ["-c", str(ROOT / "pyproject.toml"), str(tmp_path / "test_endless.py")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TERCET_", "PYTEST_"))}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) as run:
        wait_for(lambda: run.poll() is not None or (path.exists() and path.read_text()))
        assert run.poll() is None, "the tests ended by themselves"
        pid, _, url = path.read_text().partition(" ")
        folder = Path(url.rpartition("host=")[2])
        assert psutil.pid_exists(int(pid))
        assert folder.is_dir()
        assert servers_in(folder)
        run.send_signal(signal.SIGKILL)
    wait_for(lambda: not servers_in(folder) and not folder.exists() and not psutil.pid_exists(int(pid)))
