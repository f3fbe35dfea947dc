"""Query parameters that a REST route does not have are refused, with the nearest that it has."""

import uuid
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.models import Role
from tests.factories import add_member, make_project, signed_in

# One kind of database is enough: nothing is stored.
pytestmark = pytest.mark.only_on("sqlite")


@pytest.fixture
def client(app: FastAPI, database: Database) -> Iterator[TestClient]:
    with database.transaction() as session:
        user = add_member(session, make_project(session), Role.ANALYST)
    with signed_in(app, user) as analyst:
        yield analyst


@pytest.mark.parametrize(
    ("address", "field", "detail"),
    [
        ("items?limitt=3", "limitt", "is no query parameter here: did you mean 'limit'?"),
        ("triplets/next?count=3", "count", "is no query parameter here; there are n"),
        ("answers?labeller=3", "labeller", "is no query parameter here: did you mean 'labeler'?"),
        ("focus?at=3", "at", "is no query parameter here; there are none"),
    ],
)
def test_the_nearest_parameter_is_named(client: TestClient, address: str, field: str, detail: str) -> None:
    answer = client.get(f"/api/v1/projects/songs/{address}")
    assert answer.status_code == 422
    assert [(error["field"], error["detail"]) for error in answer.json()["errors"]] == [(field, detail)]


def test_pages_take_what_other_sites_add_to_addresses(client: TestClient) -> None:
    assert client.get("/?utm_source=letter").status_code == 200


@pytest.mark.parametrize(
    ("method", "address", "body", "field", "detail"),
    [
        ("PATCH", "", {"n_cluster": 3}, "n_cluster", "is no field here: did you mean 'n_clusters'?"),
        ("PUT", "/focus", {"about": "items", "item": ["a"]}, "item", "is no field here: did you mean 'items'?"),
        ("POST", "/runs", {"colour": "red"}, "colour", "is no field here; there are algorithm, parameters"),
        (
            "POST",
            "/answers",
            {"answers": [{"id": str(uuid.uuid4()), "triplet": ["a", "b", "c"], "anwser": "yes", "answer": "yes"}]},
            "answers.0.anwser",
            "is no field here: did you mean 'answer'?",
        ),
        (
            "POST",
            "/imports",
            {"options": {"segments": {"shortes": 3}}},
            "options.segments.shortes",
            "is no field here: did you mean 'shortest'?",
        ),
    ],
)
def test_the_nearest_field_is_named(
    client: TestClient, method: str, address: str, body: object, field: str, detail: str
) -> None:
    answer = client.request(method, f"/api/v1/projects/songs{address}", json=body)
    assert answer.status_code == 422
    errors = {error["field"]: error["detail"] for error in answer.json()["errors"]}
    assert errors[field] == detail
