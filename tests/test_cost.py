"""What strangers and labelers can cost: the worst bodies that are known, sent to every route that takes one."""

import json
import resource
import threading
import time
from collections.abc import Iterator

import httpx2 as httpx
import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.accounts import service
from tercet.database import Database
from tercet.models import Role, Scope
from tests.factories import add_member, make_project, make_token
from tests.runs.support import wait_for
from tests.test_routes import TABLE

pytestmark = pytest.mark.only_on("sqlite")
# Far more than any of them takes, so that a busy machine holds them; far less than the attacks took: 18 s and 1 GB.
PROCESSOR_SECONDS = 3.0
PEAK_MEGABYTES = 200
HEALTH_SECONDS = 4.0

LARGE = 1_000_000
BODIES = {
    "a long name": json.dumps({"name": "x" * LARGE}),
    "unknown fields": json.dumps({f"f{i}": 0 for i in range(70_000)}),
    "a wide list": "[" + "{}," * 300_000 + "{}]",
    "wide answers": '{"answers":[' + "{}," * 300_000 + "{}]}",
    "fields of answers": '{"answers":[' + ",".join(["{" + '"a":0,' * 200 + '"b":0}'] * 60) + "]}",
    "depth": "[" * LARGE,
    "a big number": '{"n_clusters": ' + "9" * LARGE + "}",
}
FORM = "&".join(f"f{i}=1" for i in range(110_000))
VALUES = {
    "project": "songs",
    "run": "1",
    "member": "1",
    "token_id": "1",
    "link": "1",
    "invitation": "1",
    "answer": "1",
    "labeler": "1",
}
VALUES |= {
    "key": "item-0",
    "item": "item-0",
    "number": "1",
    "path": "a.csv",
    "position": "0",
    "cluster": "1",
    "version": "1",
}
VALUES |= {"webhook": "1", "kind": "media", "name": "x", "invitation": "x", "session_id": "1", "edit": "1"}


@pytest.fixture
def tokens(database: Database) -> dict[str, str]:
    with database.transaction() as session:
        project = make_project(session, n_items=4)
        labeler = add_member(session, project, Role.LABELER)
        return {"link": service.make_share_link(session, project), "label": make_token(session, labeler, Scope.LABEL)}


def megabytes_at_peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_no_route_costs_much(app: FastAPI, tokens: dict[str, str]) -> None:
    paths = {
        (row.method, row.path.replace(":path", "").format(**VALUES, token=tokens["link"]))
        for row in TABLE
        if row.method != "GET"
    }
    bodies = [("application/json", name, body.encode()) for name, body in BODIES.items()]
    bodies.append(("application/x-www-form-urlencoded", "a wide form", FORM.encode()))
    with TestClient(app, raise_server_exceptions=False) as client:
        before = megabytes_at_peak()
        for method, path in sorted(paths):
            for authorization in ({}, {"Authorization": f"Bearer {tokens['label']}"}):
                for kind, name, body in bodies:
                    began = time.process_time()
                    headers = {**authorization, "Content-Type": kind}
                    answer = client.request(method, path, content=body, headers=headers, follow_redirects=False)
                    where = f"{method} {path}, {name}: {answer.status_code}"
                    assert answer.status_code < 500, where
                    assert len(answer.content) < 100_000, where
                    assert time.process_time() - began < PROCESSOR_SECONDS, where
        assert megabytes_at_peak() - before < PEAK_MEGABYTES


@pytest.fixture
def server(app: FastAPI) -> Iterator[str]:
    """The app behind a real server in a thread."""
    running = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=running.run)
    thread.start()
    wait_for(lambda: running.started)
    yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    running.should_exit = True
    thread.join()


def test_the_server_answers_meanwhile(server: str, tokens: dict[str, str]) -> None:
    url = f"{server}/api/v1/projects/songs/answers"
    headers = {"Authorization": f"Bearer {tokens['label']}", "Content-Type": "application/json"}

    def attack() -> None:
        for body in BODIES.values():
            assert httpx.post(url, content=body, headers=headers, timeout=60).status_code in (400, 413, 422)

    attackers = [threading.Thread(target=attack) for _ in range(2)]
    for attacker in attackers:
        attacker.start()
    slowest = 0.0
    while any(attacker.is_alive() for attacker in attackers):
        began = time.process_time()  # of attackers too; what else runs on the machine does not count
        assert httpx.get(f"{server}/healthz", timeout=15).status_code == 200
        slowest = max(slowest, time.process_time() - began)
        time.sleep(0.01)
    assert slowest < HEALTH_SECONDS
