"""The audit log has what came into a project and what left it, and who it was, also where a worker did it."""

from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import select

from tercet.database import Database
from tercet.models import AuditEntry, Project, Role
from tercet.settings import Settings
from tests.factories import add_member, make_project, signed_in
from tests.intake.conftest import wav
from tests.intake.support import check, do_jobs, send, start

PROJECT = "/api/v1/projects/songs"


def entries(database: Database) -> list[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    with database.reading() as session:
        rows = session.scalars(select(AuditEntry).order_by(AuditEntry.number))
        return [(row.what, row.by_name, row.before, row.after) for row in rows]


@pytest.mark.heavy(but="sqlite")
def test_what_comes_in_and_goes_out_is_in_it(app: FastAPI, database: Database, settings: Settings) -> None:
    with database.transaction() as session:
        analyst = add_member(session, make_project(session, n_items=0), Role.ANALYST, "Ann")
    with signed_in(app, analyst) as client:
        files = {f"tone-{n}.wav": wav(hz=500 + 300 * n) for n in range(4)}
        number = send(client, files)
        check(client, database, settings, number)
        start(client, database, settings, number)
        do_jobs(database, settings)
        assert client.delete(f"{PROJECT}/items/tone-3").status_code == 200
        assert client.get(f"{PROJECT}/features/latest").status_code == 200
        assert client.get(f"{PROJECT}/constraints", params={"format": "csv"}).status_code == 200
        archive = client.get(f"{PROJECT}/archive").content
        restored = client.post(
            "/api/v1/projects/restore?key=copy", content=archive, headers={"Content-Type": "application/zip"}
        )
        assert restored.status_code == 201, restored.text
        assert client.post(f"{PROJECT}/imports/{number}/undo").status_code == 200
        client.post("/sign-out", follow_redirects=False)
    with database.reading() as session:
        name = session.scalars(select(Project.name).where(Project.key == "copy")).one()
    assert entries(database) == [
        ("items imported", "Ann", {}, {"import": number, "items added": 4, "changed": 0}),
        ("item deleted", "Ann", {"item": "tone-3"}, {}),
        ("exported", "Ann", {}, {"features": "latest"}),
        ("exported", "Ann", {}, {"answers after": 0, "names": False}),
        ("exported", "Ann", {}, {"archive": "songs.zip"}),
        ("project made of an archive", "Ann", {}, {"name": name}),
        ("import undone", "Ann", {"import": number, "items": 3}, {}),
        ("signed out", "Ann", {}, {}),
    ]


def test_who_may_not_read_leaves_no_entry(app: FastAPI, database: Database) -> None:
    with database.transaction() as session:
        labeler = add_member(session, make_project(session), Role.LABELER)
    with signed_in(app, labeler) as client:
        assert client.get(f"{PROJECT}/constraints").status_code == 403
        assert client.get(f"{PROJECT}/archive").status_code == 403
    assert entries(database) == []
