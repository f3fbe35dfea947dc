"""A small project with two labelers, an analyst and a stranger, and the short ways to talk to it."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import httpx2 as httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.models import Project, Role, User
from tests.factories import add_member, make_project, signed_in

SONGS = "/api/v1/projects/songs"


@dataclass(frozen=True)
class World:
    """What the tests start from."""

    project: Project
    ada: User
    ben: User
    analyst: User


@pytest.fixture
def world(app: FastAPI) -> World:
    """The project 'songs' with 12 items."""
    with app.state.database.transaction() as session:
        project = make_project(session, n_items=12)
        return World(
            project,
            add_member(session, project, Role.LABELER, "Ada"),
            add_member(session, project, Role.LABELER, "Ben"),
            add_member(session, project, Role.ANALYST, "Ann"),
        )


@pytest.fixture
def ada(app: FastAPI, world: World) -> Iterator[TestClient]:
    """A labeler's browser."""
    with signed_in(app, world.ada) as client:
        yield client


@pytest.fixture
def ben(app: FastAPI, world: World) -> Iterator[TestClient]:
    """Another labeler's browser."""
    with signed_in(app, world.ben) as client:
        yield client


@pytest.fixture
def analyst(app: FastAPI, world: World) -> Iterator[TestClient]:
    """An analyst's browser."""
    with signed_in(app, world.analyst) as client:
        yield client


def ask(client: TestClient, n: int = 5) -> list[list[str]]:
    """Lease questions and give their keys as shown."""
    answer = client.get(f"{SONGS}/triplets/next", params={"n": n})
    assert answer.status_code == 200, answer.text
    return [question["triplet"] for question in answer.json()["triplets"]]


def give(client: TestClient, triplet: list[str], value: str = "yes", key: str | None = None) -> httpx.Response:
    """Answer one question."""
    body = {"id": key or str(uuid.uuid4()), "triplet": triplet, "answer": value, "response_ms": 900}
    return client.post(f"{SONGS}/answers", json=body)
