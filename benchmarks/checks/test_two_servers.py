"""What one web server starts, a worker of a remote scheduler does, and another web server shows it live."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tercet.database import Database
from tercet.demo.server import DemoServer, free_port, running_server
from tercet.settings import Settings
from tercet.storage import Storage
from tests.test_topology import WORKER, follow_until, processes, three_blobs


@pytest.fixture
def servers(postgres_database_url: str, tmp_path: Path) -> Iterator[tuple[list[DemoServer], str]]:
    """Two web servers over one database, one scheduler and two workers, and a token for the project 'blobs'."""
    database = Database(postgres_database_url)
    with database.transaction() as session:
        token = three_blobs(session, Storage(Settings(data=tmp_path).resolved_storage_url()))
    database.close()
    address = f"tcp://127.0.0.1:{free_port()}"
    settings = {
        "data": str(tmp_path),
        "database_url": postgres_database_url,
        "dask_scheduler": address,
    }
    with ExitStack() as stack:
        port = address.rsplit(":", 1)[1]
        scheduler, worker = ("scheduler", "--host", "127.0.0.1", "--port", port), ("worker", address, *WORKER)
        stack.enter_context(processes((*scheduler, "--no-dashboard"), worker, worker))
        yield [stack.enter_context(running_server(settings)) for _ in range(2)], token


def test_a_run_started_on_one_server_is_seen_live_on_the_other(servers: tuple[list[DemoServer], str]) -> None:
    (first, second), token = servers
    events = follow_until(second, token, "clusters", 60)
    assert next(events) == "open"
    headers = {"Authorization": f"Bearer {token}"}
    started = httpx.post(f"{first.url}/api/v1/projects/blobs/runs", json={}, headers=headers)
    assert started.status_code == 202, started.text
    assert "clusters" in list(events)
    run = httpx.get(f"{second.url}/api/v1/projects/blobs/runs/latest", headers=headers).json()
    assert run["status"] == "done"
    assert run["number"] == started.json()["number"]
    clusters = httpx.get(f"{first.url}/api/v1/projects/blobs/runs/latest/clusters", headers=headers).json()
    assert sorted(cluster["size"] for cluster in clusters["clusters"]) == [20, 20, 20]
