"""What administrators see of the server, and the gauges of its state."""

import numpy as np
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.models import Role, Run, RunStatus, now
from tercet.runs.schedule import request_run
from tercet.settings import Settings
from tercet.storage import Storage
from tests.factories import add_features, add_member, make_project, make_user, signed_in


def test_administrators_see_how_the_server_is(
    app: FastAPI, database: Database, storage: Storage, settings: Settings, anonymous: TestClient
) -> None:
    folder = settings.data / "backups"
    folder.mkdir(parents=True)
    (folder / "tercet-2026-01-02T03-04-05Z.zip").write_bytes(bytes(2_000_000))
    settings.backup_folder = str(folder)
    with database.transaction() as session:
        admin, project = make_user(session, is_admin=True), make_project(session, n_items=4, n_clusters=2)
        add_member(session, project, Role.OWNER)
        add_features(session, storage, project, np.eye(4))
        request_run(session, project, reason="request")
        session.execute(sa.update(Run).values(status=RunStatus.FAILED, error="The disk is full.", finished_at=now()))
    with signed_in(app, admin) as client:
        body = client.get("/api/v1/system").json()
        page = client.get("/system", headers={"Accept": "text/html"}).text
    assert (body["projects"], body["answers"], body["runs"]["failed"], body["mean_run_seconds"]) == (1, 0, 1, None)
    assert [(row["what"], row["project"], row["sentence"]) for row in body["failures"]] == [
        ("run 1", "songs", "The disk is full.")
    ]
    assert body["newest_backup"]["size"] == 2_000_000
    assert 0 < body["disk_free"] <= body["disk_total"]
    assert body["database_size"] > 10_000
    for words in ("The newest backup is older than it should be", "2.0 MB", "The disk is full.", "revision "):
        assert words in page
    gauges = anonymous.get("/metrics").text
    assert 'tercet_runs{status="failed"} 1.0' in gauges
    assert "tercet_projects 1.0" in gauges
