"""What an algorithm lacks is said before anything is queued or saved, with how to give it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import func, insert, select

from tercet.catalogue.parameters.bags import MOST_DENSE
from tercet.database import Database
from tercet.models import Item, Project, Role, Run
from tercet.storage import Storage
from tercet_algorithms.bags import graph
from tests.factories import add_features, add_member, make_project, signed_in
from tests.runs.support import make_songs

PROJECT = "/api/v1/projects/songs"
LACKING = [
    ("bags", {}, "algorithm", "the columns bag and bag_labels of a table"),
    ("cmbc", {}, "parameters.known_runs", "give known_runs or known_columns"),
    ("cmbc", {"known_runs": [7]}, "parameters.known_runs", "run 7 has no clusters"),
    ("cmbc", {"known_columns": ["site"]}, "parameters.known_columns", "no item has metadata 'site'"),
]


@pytest.fixture
def analyst(app: FastAPI, database: Database, storage: Storage) -> Iterator[TestClient]:
    project = make_songs(database, storage)
    with database.transaction() as session:
        user = add_member(session, session.get_one(Project, project), Role.OWNER)
    with signed_in(app, user) as client:
        yield client


@pytest.mark.parametrize(("algorithm", "parameters", "field", "words"), LACKING)
def test_what_is_lacking_is_said_at_once(
    analyst: TestClient, database: Database, algorithm: str, parameters: dict[str, Any], field: str, words: str
) -> None:
    requested = {"algorithm": algorithm, "parameters": parameters}
    for refused in (analyst.post(f"{PROJECT}/runs", json=requested), analyst.patch(PROJECT, json=requested)):
        assert refused.status_code == 422
        assert [(fault["field"], words in fault["detail"]) for fault in refused.json()["errors"]] == [(field, True)]
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Run)) == 0
        assert session.scalars(select(Project.algorithm)).one() == "dcrc"


def test_nothing_is_asked_of_what_needs_nothing(analyst: TestClient) -> None:
    for requested in ({"algorithm": "bags", "parameters": {"method": "spectral"}}, {"algorithm": "cmbc"}):
        requested.setdefault("parameters", {"method": "em"})
        assert analyst.post(f"{PROJECT}/runs", json=requested).status_code == 202


def test_a_project_without_items_may_choose_already(app: FastAPI, database: Database) -> None:
    with database.transaction() as session:
        user = add_member(session, make_project(session), Role.OWNER)
    with signed_in(app, user) as client:
        assert client.patch(PROJECT, json={"algorithm": "bags"}).status_code == 200


def test_settings_say_what_is_lacking_beside_the_choice(analyst: TestClient) -> None:
    sent = {"algorithm": "bags", "bags.alpha": "0.5"}
    page = analyst.post("/projects/songs/settings", data=sent, headers={"Accept": "text/html"})
    assert (page.status_code, 'id="algorithm-problem"' in page.text) == (422, True)
    assert "the columns bag and bag_labels of a table" in page.text


@pytest.mark.parametrize(
    ("algorithm", "parameters", "field"),
    [
        ("cmbc", {"gamma": "little"}, "parameters.gamma"),
        ("cmbc", {"gamma": 1.0}, "parameters"),
        ("cmbc", {"method": "dibws", "update": "partial"}, "parameters"),
        ("cmbc", {"known_runs": [0]}, "parameters.known_runs.0"),
        ("bags", {"alpha": -1}, "parameters.alpha"),
        ("bags", {"alpha": 1, "n_neighbors": 5}, "parameters"),
        ("bags", {"center": "ones", "method": "bag-without-links"}, "parameters"),
        ("bags", {"method": "kernel"}, "parameters.method"),
    ],
)
def test_wrong_parameters_are_named(
    analyst: TestClient, algorithm: str, parameters: dict[str, Any], field: str
) -> None:
    refused = analyst.post(f"{PROJECT}/runs", json={"algorithm": algorithm, "parameters": parameters})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field)


def test_the_scale_of_bag_labels_goes_by_the_number_of_items(
    analyst: TestClient, database: Database, storage: Storage
) -> None:
    """More items than can all be compared with all are tied to neighbours, where the weight is a share."""
    assert MOST_DENSE == graph.MOST_DENSE
    heavy = {"algorithm": "bags", "parameters": {"alpha": 2, "method": "spectral", "n_neighbors": None}}
    assert analyst.post(f"{PROJECT}/runs", json=heavy).status_code == 202
    assert analyst.patch(PROJECT, json=heavy).status_code == 200
    with database.transaction() as session:
        project = session.scalars(select(Project)).one()
        project.algorithm, project.parameters = "dcrc", {}
        project_id = project.id
        more = [{"project_id": project_id, "key": f"more-{i}", "position": 60 + i} for i in range(MOST_DENSE)]
        session.execute(insert(Item), more)
        add_features(session, storage, project, np.zeros((60 + MOST_DENSE, 1)), version=2)
    for refused in (analyst.post(f"{PROJECT}/runs", json=heavy), analyst.patch(PROJECT, json=heavy)):
        [fault] = refused.json()["errors"]
        assert (refused.status_code, fault["field"]) == (422, "parameters.alpha")
        assert "with more than 6,000 items, got 2" in fault["detail"]
    heavy["parameters"] |= {"alpha_scale": "absolute"}
    assert analyst.post(f"{PROJECT}/runs", json=heavy).status_code == 202
