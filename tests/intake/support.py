"""Imports as a client makes them, with the jobs done here instead of by a worker."""

from typing import Any

from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.jobs import lifecycle
from tercet.settings import Settings
from tercet.worker.jobs import run_background_job
from tests.intake.conftest import PROJECT
from tests.runs.support import place

IMPORTS = f"{PROJECT}/imports"


def do_jobs(database: Database, settings: Settings) -> list[str]:
    """Claim and do what waits, as supervisor and worker would; give how each job ended."""
    ended = []
    while claim := lifecycle.claim_next(database, 15):
        ended.append(run_background_job(place(settings), claim.job_id))
    return ended


def send(client: TestClient, files: dict[str, bytes], **options: Any) -> int:
    """Begin an import, send the files, and give its number."""
    begun = client.post(IMPORTS, json={"options": options} if options else {})
    assert begun.status_code == 201, begun.text
    number = begun.json()["number"]
    for path, content in files.items():
        put = client.put(f"{IMPORTS}/{number}/files/{path}", params={"size": len(content)}, content=content)
        assert put.status_code == 200, put.text
        assert put.json() == {"path": path, "received": len(content), "size": len(content)}
    return int(number)


def check(client: TestClient, database: Database, settings: Settings, number: int) -> dict[str, Any]:
    """Have an import checked, and give its preview."""
    asked = client.post(f"{IMPORTS}/{number}/check", json={})
    assert asked.status_code == 202, asked.text
    assert do_jobs(database, settings) == ["done"]
    preview: dict[str, Any] = client.get(f"{IMPORTS}/{number}/preview").json()
    return preview


def start(client: TestClient, database: Database, settings: Settings, number: int) -> dict[str, Any]:
    """Start a checked import, do its jobs, and give it as it is then."""
    asked = client.post(f"{IMPORTS}/{number}/start")
    assert asked.status_code == 202, asked.text
    do_jobs(database, settings)
    done: dict[str, Any] = client.get(f"{IMPORTS}/{number}").json()
    return done


def import_files(
    client: TestClient, database: Database, settings: Settings, files: dict[str, bytes], **options: Any
) -> dict[str, Any]:
    """Import files from the first byte to the end."""
    number = send(client, files, **options)
    check(client, database, settings, number)
    return start(client, database, settings, number)
