"""A project with six items, and a program of its analyst."""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.models import Role
from tests.factories import add_member, make_project, make_token

URL = "/api/v1/projects/songs/constraints"
NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture
def client(app: FastAPI, database: Database) -> Iterator[TestClient]:
    """The analyst's program."""
    with database.transaction() as session:
        project = make_project(session, n_items=6)
        token = make_token(session, add_member(session, project, Role.ANALYST, "Ada"))
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as opened:
        yield opened


def keys(*numbers: int) -> list[str]:
    """Item keys."""
    return [f"item-{number}" for number in numbers]
