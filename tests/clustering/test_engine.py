"""The workers that a server starts for itself obey nobody else on the machine."""

import operator
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import Client

from app.clustering.engine import Engine
from app.settings import Settings


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """One worker of our own."""
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
