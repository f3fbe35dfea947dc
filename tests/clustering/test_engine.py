"""The workers that a server starts obey nobody else on the machine, and come back when Dask has given them up."""

import operator
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import Client

from app.clustering import engine as module
from app.clustering.engine import Engine
from app.clustering.warmup import AUTOGROUP, POLITENESS, POLITENESS_OF_SESSION
from app.settings import Settings
from tests.clustering.support import wait_for


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """One worker of our own, which Dask soon gives up when it is gone."""
    monkeypatch.setitem(module.CONFIG, "distributed.deploy.lost-worker-timeout", "500ms")
    started = Engine(Settings(data=tmp_path, workers=1))
    started.connect()
    yield started
    started.close()


def test_only_this_process_may_send_tasks(engine: Engine) -> None:
    asked = engine.submit(operator.add, 1, 2, key="sum", done=lambda future: None)
    assert asked.result(timeout=30) == 3
    address = engine._client.scheduler_info()["address"]
    for stranger in (address, address.replace("tls://", "tcp://")):
        with pytest.raises((OSError, TypeError)):
            Client(stranger, timeout=3)


def place_among_processes() -> tuple[int, int, str]:
    """How polite a worker is, its session, and how polite that is where sessions share the processors."""
    return os.nice(0), os.getsid(0), AUTOGROUP.read_text() if AUTOGROUP.exists() else ""


def test_whoever_answers_people_goes_before_workers_also_those_of_other_sessions(engine: Engine) -> None:
    asked = engine.submit(place_among_processes, key="place", done=lambda future: None)
    politeness, session, group = asked.result(timeout=30)
    assert politeness == POLITENESS
    assert session != os.getsid(0)
    assert not group or group.split()[-1] == str(POLITENESS_OF_SESSION)


def test_a_worker_that_dask_has_given_up_is_replaced(engine: Engine) -> None:
    cluster = engine._cluster
    [nanny] = cluster.workers.values()
    cluster.sync(nanny.close)
    wait_for(lambda: not cluster.workers)
    engine.connect()
    assert engine.places() == 1
    assert engine.submit(operator.add, 1, 2, key="sum", done=lambda future: None).result(timeout=30) == 3
