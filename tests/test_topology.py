"""The processes of docker-compose.yml on loopback, and its file; two servers are in `benchmarks/checks`."""

import re
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest
import yaml
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.demo.server import DemoServer, running_server
from tercet.errors import Conflict
from tercet.models import Role
from tercet.serve import serve
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.web_processes import DIVIDES, WebProcesses
from tests.factories import add_features, add_member, make_project, make_token

# A class that opens the labeling page.
PEOPLE = 100
WORKER = ("--nthreads", "1", "--no-dashboard", "--preload", "tercet.worker.warmup")
COMPOSE = yaml.safe_load((Path(__file__).resolve().parent.parent / "docker-compose.yml").read_text())


@contextmanager
def processes(*commands: Sequence[str]) -> Iterator[None]:
    """Run some of dask's commands for the length of the block."""
    started = [subprocess.Popen([sys.executable, "-m", "dask", *each], stderr=subprocess.DEVNULL) for each in commands]
    try:
        yield
    finally:
        for each in started:  # each takes seconds to end
            each.terminate()
        for each in started:
            end(each)


def end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process that was asked to end; one that waits for a scheduler that is gone is killed."""
    try:
        process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def three_blobs(session: Session, storage: Storage) -> str:
    """Add a project of 60 items in three obvious groups and give its owner's token."""
    rng = np.random.default_rng(0)
    project = make_project(session, "blobs", n_items=60, n_clusters=3)
    centres = np.repeat(rng.normal(0, 8, (3, 4)), 20, axis=0)
    add_features(session, storage, project, centres + rng.normal(size=(60, 4)))
    return make_token(session, add_member(session, project, Role.OWNER))


def follow_until(server: DemoServer, token: str, kind: str, seconds: float) -> Iterator[str]:
    """Yield 'open' once the stream is open, then each event's kind, until the wanted kind or the deadline."""
    headers = {"Authorization": f"Bearer {token}"}
    deadline = time.monotonic() + seconds
    url = f"{server.url}/api/v1/projects/blobs/events"
    with httpx.stream("GET", url, headers=headers, timeout=seconds) as stream:
        assert stream.status_code == 200
        yield "open"
        for line in stream.iter_lines():
            if line.startswith("event:"):
                yield line.removeprefix("event:").strip()
                if line.endswith(kind):
                    return
            assert time.monotonic() < deadline, f"no {kind} event within {seconds} s"


def web_processes(server: DemoServer) -> set[int]:
    """The pids of the processes that accept on the server's port."""
    port = int(server.url.rsplit(":", 1)[1])
    first = psutil.Process(server.process.pid)
    return {process.pid for process in [first, *first.children(recursive=True)] if listens(process, port)}


def listens(process: psutil.Process, port: int) -> bool:
    """Whether a process has a socket that listens on the port; one that ends meanwhile has none."""
    with suppress(psutil.NoSuchProcess):
        every = process.net_connections("inet")
        return any(each.status == psutil.CONN_LISTEN and each.laddr.port == port for each in every)
    return False


def wait_for_processes(server: DemoServer, *, without: int = 0) -> set[int]:
    """Wait until two processes accept connections, and return their pids."""
    deadline = time.monotonic() + 30
    while len(pids := web_processes(server) - {without}) < 2 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert len(pids) == 2
    for pid in pids:
        wait_until_it_accepts(server, pid)
    return pids


def wait_until_it_accepts(server: DemoServer, pid: int) -> None:
    """A process that begins has a copy of the first one's socket at once, but accepts nobody for some seconds."""
    port = int(server.url.rsplit(":", 1)[1])
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.create_connection(("127.0.0.1", port)):
            time.sleep(0.1)
            if connections(pid, port):
                return
    pytest.fail(f"process {pid} accepted nobody within 30 s")


def test_processes_on_one_port_share_events_and_leases_and_one_that_dies_is_replaced(
    postgres_database_url: str, tmp_path: Path
) -> None:
    database = Database(postgres_database_url)
    with database.transaction() as session:
        token = three_blobs(session, Storage(Settings(data=tmp_path).resolved_storage_url()))
    database.close()
    settings = {"data": str(tmp_path), "database_url": postgres_database_url, "web_processes": "2", "workers": "0"}
    headers = {"Authorization": f"Bearer {token}"}
    with running_server(settings) as server:
        pids = wait_for_processes(server)
        api = f"{server.url}/api/v1/projects/blobs"
        streams = [follow_until(server, token, "answers", 30) for _ in range(6)]
        assert [next(stream) for stream in streams] == ["open"] * 6
        # Each request comes by a connection of its own, which any of the processes may take.
        questions = [httpx.get(f"{api}/triplets/next", headers=headers).json()["triplets"] for _ in range(12)]
        assert all(question == questions[0] for question in questions), "one labeler has one question on screen"
        sent = {"triplet": questions[0][0]["triplet"], "answer": "yes"}
        stored = httpx.post(f"{api}/answers", json={"id": str(uuid.uuid4()), **sent}, headers=headers)
        assert stored.status_code == 201, stored.text
        assert all("answers" in list(stream) for stream in streams), "whichever process a stream is of"
        [second] = pids - {server.process.pid}
        psutil.Process(second).kill()
        [third] = wait_for_processes(server, without=second) - {server.process.pid}
        assert {httpx.get(api, headers=headers).status_code for _ in range(12)} == {200}
        process = psutil.Process(third)
        server.process.kill()
        process.wait(timeout=15)  # its port is free for the next


@pytest.mark.heavy
@pytest.mark.skipif(not DIVIDES, reason="this system does not divide connections among sockets")
def test_people_who_come_in_one_moment_are_divided_among_processes(postgres_database_url: str, tmp_path: Path) -> None:
    settings = {"data": str(tmp_path), "database_url": postgres_database_url, "web_processes": "2", "workers": "0"}
    with running_server(settings) as server:
        pids = wait_for_processes(server)
        port = int(server.url.rsplit(":", 1)[1])
        with ExitStack() as stack:
            for _ in range(PEOPLE):
                stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            deadline = time.monotonic() + 10
            while sum(held := [connections(pid, port) for pid in pids]) < PEOPLE and time.monotonic() < deadline:
                time.sleep(0.1)
        assert sum(held) == PEOPLE
        assert min(held) > PEOPLE / 4  # of fair coins, one in ten million has less


def connections(pid: int, port: int) -> int:
    """How many connections to the port a process has accepted."""
    every = psutil.Process(pid).net_connections("inet")
    return sum(each.status == psutil.CONN_ESTABLISHED and each.laddr.port == port for each in every)


def test_several_processes_on_sqlite_are_refused_in_a_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(Conflict, match="needs PostgreSQL"):
        WebProcesses(Settings(data=tmp_path, web_processes=2), listener, serve)


def test_compose_has_these_processes_with_health_checks_and_no_default_password() -> None:
    services = COMPOSE["services"]
    assert set(services) == {"proxy", "web", "scheduler", "worker", "postgres"}
    assert all("healthcheck" in service for service in services.values())
    assert services["postgres"]["environment"]["POSTGRES_PASSWORD"].startswith("${TERCET_POSTGRES_PASSWORD:?")
    assert ":?" in services["web"]["environment"]["TERCET_DATABASE_URL"]
    assert "data:/data" in services["worker"]["volumes"]
    assert "container_name" not in services["worker"]
    assert COMPOSE["networks"]["inside"]["internal"] is True
    assert {name for name, service in services.items() if "outside" in service["networks"]} == {"proxy", "web"}
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert all(services[name]["read_only"] for name in ("proxy", "web", "scheduler", "worker"))


def test_compose_writes_nothing_into_containers_that_are_read_only() -> None:
    """Docker refuses to copy configs and secrets into them, and gives their folders in memory to root."""
    read_only = [service for service in COMPOSE["services"].values() if service.get("read_only")]
    assert not any("configs" in service or "secrets" in service for service in read_only)
    of_users = [place for service in read_only for place in service["tmpfs"] if service["image"] == "tercet"]
    assert len(of_users) == 3
    assert all("uid=1000,gid=1000" in place for place in of_users)
    assert "useradd --uid 1000" in COMPOSE["x-tercet"]["build"]["dockerfile_inline"]


def test_compose_names_images_by_their_content() -> None:
    built = COMPOSE["x-tercet"]["build"]["dockerfile_inline"]
    images = [service["image"] for service in COMPOSE["services"].values() if service["image"] != "tercet"]
    images += re.findall(r"^FROM (\S+) AS base$", built, re.MULTILINE)
    assert set(re.findall(r"^FROM (\S+)", built, re.MULTILINE)) == {images[-1], "base"}
    assert len(images) == 3
    assert [image for image in images if not re.fullmatch(r"[a-z]+:[\d.]+[a-z-]*@sha256:[0-9a-f]{64}", image)] == []


def test_compose_names_only_settings_that_exist() -> None:
    names = {f"TERCET_{name.upper()}" for name in Settings.model_fields}
    of_libraries = {"FORWARDED_ALLOW_IPS"}
    assert set(COMPOSE["services"]["web"]["environment"]) <= names | of_libraries
