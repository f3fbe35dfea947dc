"""The workers that a server starts obey nobody else on the machine, and come back when Dask has given them up."""

import operator
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path

import dask
import pytest
from distributed import Security

from tercet.demo.server import free_port
from tercet.settings import Settings
from tercet.worker import engine as module
from tercet.worker.engine import Engine
from tercet.worker.politeness import AUTOGROUP, POLITENESS, starves
from tests.runs.support import wait_for
from tests.test_topology import processes

# The scheduler answers no heartbeat, as on a machine that is very busy, so that one is under way when workers end.
CLOSE_DURING_A_HEARTBEAT = """
import asyncio, time
from tercet.settings import Settings
from tercet.worker.engine import Engine

async def answer_late(**report):
    await asyncio.sleep(60)

engine = Engine(Settings(workers=1))
engine.connect()
engine._cluster.scheduler.handlers["heartbeat_worker"] = answer_late
time.sleep(1.5)
engine.close()
print("closed")
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One worker for several tests, since starting takes seconds; Dask soon gives it up when it is gone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(module.CONFIG, "distributed.deploy.lost-worker-timeout", "500ms")
        started = Engine(Settings(data=tmp_path_factory.mktemp("engine"), workers=1))
        started.connect()
        yield started
        started.close()


REFUSED = 3
STRANGER = f"""
import sys
from distributed import Client

try:
    Client(sys.argv[1], timeout=3)
except (OSError, TypeError):
    sys.exit({REFUSED})
"""


def test_only_this_process_may_send_tasks(engine: Engine) -> None:
    asked = engine.submit(operator.add, 1, 2, key="sum", done=lambda future: None)
    assert asked.result(timeout=30) == 3
    address = engine._client.scheduler_info()["address"]
    for stranger in (address, address.replace("tls://", "tcp://")):
        command = [sys.executable, "-c", STRANGER, stranger]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == REFUSED, done.stderr


def place_among_processes() -> tuple[int, int, str, bool]:
    """How polite a worker is, its session, how polite that is where sessions share processors, whether it starves."""
    return os.nice(0), os.getsid(0), AUTOGROUP.read_text() if AUTOGROUP.exists() else "", starves()


def test_whoever_answers_people_goes_before_workers_also_those_of_other_sessions(engine: Engine) -> None:
    asked = engine.submit(place_among_processes, key="place", done=lambda future: None)
    politeness, session, group, is_starving = asked.result(timeout=30)
    assert politeness == POLITENESS
    assert session != os.getsid(0)
    # One that has starved for half a minute, as it may on a busy machine, is raised for a while.
    assert not group or is_starving or group.split()[-1] == str(POLITENESS)


@pytest.mark.heavy
def test_a_worker_that_dask_has_given_up_is_replaced(engine: Engine) -> None:
    cluster = engine._cluster
    [nanny] = cluster.workers.values()
    cluster.sync(nanny.close)
    wait_for(lambda: not cluster.workers)
    engine.connect()
    assert engine.places() == 1
    assert engine.submit(operator.add, 1, 2, key="sum", done=lambda future: None).result(timeout=30) == 3


def test_a_single_worker_has_no_process_between_since_nobody_would_share_its_memory(engine: Engine) -> None:
    assert set(engine._client.run(os.getppid).values()) == {os.getpid()}


@pytest.mark.heavy(but="2")
@pytest.mark.skipif(sys.platform != "linux", reason="only there are workers forked")
@pytest.mark.parametrize("workers", [2, 3])
def test_several_workers_are_forked_from_one_process_and_share_its_memory(tmp_path: Path, workers: int) -> None:
    engine = Engine(Settings(data=tmp_path, workers=workers))
    engine.connect()
    try:
        # On a busy machine a worker may take longer to answer than the service waits.
        with dask.config.set({"distributed.comm.timeouts.connect": "30s"}):
            parents = engine._client.run(os.getppid).values()
            shared = engine._client.run(shared_megabytes).values()
    finally:
        engine.close()
    assert len(parents) == workers - 1, "the last of several is called up"
    assert len(set(parents)) == 1
    assert set(parents) != {os.getpid()}
    assert min(shared) > 50


def test_the_last_of_several_workers_is_there_while_it_is_called_up(tmp_path: Path) -> None:
    engine = Engine(Settings(data=tmp_path, workers=2))
    engine.connect()
    try:
        assert len(engine._client.nthreads()) == 1
        engine.call_up(True)
        engine.connect()  # what is on its way is not given up
        wait_for(lambda: len(engine._client.nthreads()) == 2)
        first = engine.submit(operator.add, 1, 2, key="sum", done=lambda future: None)
        assert first.result(timeout=30) == 3
        engine.call_up(False)
        wait_for(lambda: len(engine._client.nthreads()) == 1 and len(engine._cluster.workers) == 1)
        engine.connect()
        assert engine.submit(operator.add, 2, 2, key="next", done=lambda future: None).result(timeout=30) == 4
    finally:
        engine.close()


def shared_megabytes() -> float:
    """How much of a worker's memory is that of other processes, too."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Shared_")) / 1024


@pytest.mark.heavy
def test_workers_end_in_silence_while_a_heartbeat_is_under_way() -> None:
    command = [sys.executable, "-c", CLOSE_DURING_A_HEARTBEAT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert (done.returncode, done.stdout, done.stderr) == (0, "closed\n", "")


@pytest.mark.heavy
def test_a_scheduler_elsewhere_is_reached_by_tls_and_by_nobody_without_its_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Security.temporary()
    settings = {}
    for name, text in {"ca": made.tls_ca_file, "cert": made.tls_client_cert, "key": made.tls_client_key}.items():
        (tmp_path / f"{name}.pem").write_text(text)
    settings["distributed.comm.tls.ca-file"] = str(tmp_path / "ca.pem")
    for role, kind in product(("scheduler", "worker", "client"), ("cert", "key")):
        settings[f"distributed.comm.tls.{role}.{kind}"] = str(tmp_path / f"{kind}.pem")
    for name, path in settings.items():
        monkeypatch.setenv("DASK_" + name.replace(".", "__").replace("-", "_").upper(), path)
    port = free_port()
    address = f"tls://127.0.0.1:{port}"
    scheduler = ("scheduler", "--host", address, "--no-dashboard")
    with processes(scheduler, ("worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny")):
        with dask.config.set(settings):
            engine = Engine(Settings(dask_scheduler=address))
            wait_for(lambda: is_connected(engine))
            asked = engine.submit(operator.add, 1, 2, key="sum", done=lambda future: None)
            assert asked.result(timeout=60) == 3
            engine.close()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DASK_")}
        for stranger in (address, address.replace("tls://", "tcp://")):
            command = [sys.executable, "-c", STRANGER, stranger]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
            assert done.returncode == REFUSED, done.stderr


def is_connected(engine: Engine) -> bool:
    """Whether the scheduler is there by now."""
    with suppress(OSError):
        engine.connect()
        return True
    return False
