"""The page and REST of comparisons: asked for, refused with a reason, shown with a verdict, and used."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

from tercet.comparisons.schemas import TITLES
from tercet.comparisons.verdict import sentence
from tercet.database import Database
from tercet.models import Bag, Item, Project, Role, Run, RunStatus
from tercet.settings import Settings
from tercet.storage import Storage
from tests.factories import add_member, make_project, signed_in
from tests.runs.support import answer_truly, compute, make_songs

# Pages and what is refused do not depend on the kind of database.
pytestmark = pytest.mark.only_on("sqlite")

API = "/api/v1/projects/songs/comparisons"
PAGE = "/projects/songs/compare"


@pytest.fixture
def project(database: Database, storage: Storage) -> int:
    return make_songs(database, storage, parameters={"n_init": 2})


@pytest.fixture
def analyst(app: FastAPI, database: Database, project: int) -> Iterator[TestClient]:
    with database.transaction() as session:
        user = add_member(session, session.get_one(Project, project), Role.ANALYST)
    with signed_in(app, user) as client:
        yield client


def the_run(database: Database) -> Run:
    with database.reading() as session:
        return session.scalars(select(Run).where(Run.purpose == "comparison").order_by(Run.number.desc())).first()


def test_from_the_form_to_a_verdict(analyst: TestClient, database: Database, settings: Settings, project: int) -> None:
    answer_truly(database, project, 40)
    page = analyst.post(PAGE, data={"systems": ["dcrc", "sklr", "kmeans"]})
    assert (page.status_code, "Under way" in page.text, "Cancel" in page.text) == (200, True, True)
    assert analyst.get(f"{API}/latest").json()["status"] == "queued"
    assert compute(database, settings) == "done"
    comparison = analyst.get(f"{API}/latest").json()
    assert [row["name"] for row in comparison["systems"]] == ["dcrc", "sklr", "kmeans"]
    assert (comparison["answers"], comparison["folds"], comparison["seeds"]) == (40, 5, 3)
    page = analyst.get(PAGE).text
    assert comparison["sentence"] in page.replace("&#39;", "'")
    assert page.count("recommended</span>") == 1
    assert "in use" in page
    assert page.count("Use this system<") == 1, "not K-means, and not what is in use"


def test_a_system_is_used(analyst: TestClient, database: Database, project: int) -> None:
    page = analyst.post(f"{PAGE}/use", data={"system": "sklr"}, follow_redirects=False)
    assert page.headers["location"] == "/projects/songs#runs"
    with database.reading() as session:
        changed, run = session.get_one(Project, project), session.scalars(select(Run)).one()
    assert (changed.algorithm, changed.parameters) == ("sklr", {})
    assert (run.algorithm, run.status, run.purpose) == ("sklr", "queued", "current")
    for wrong, word in (("kmeans", "there is no algorithm"), ("bags", "bag_labels")):
        refused = analyst.post(f"{PAGE}/use", data={"system": wrong})
        assert (refused.status_code, word in refused.text) == (422, True)


def test_what_can_be_compared_is_compared(analyst: TestClient, database: Database, project: int) -> None:
    assert analyst.post(API, json={}).status_code == 202
    assert the_run(database).parameters["systems"] == ["dcrc", "dcrc-cv", "sklr", "kmeans"]
    assert the_run(database).parameters["parameters"]["dcrc"]["n_init"] == 2, "the project's own parameters"
    assert "no bag has labels" not in analyst.get(PAGE).text, "there is no form while one is under way"
    analyst.post(f"{PAGE}/1/cancel")
    assert the_run(database).status == "cancelled"
    assert re.search(r'value="bags" disabled>', analyst.get(PAGE).text)
    with database.transaction() as session:
        bag = Bag(project_id=project, key="a", labels=["crow"])
        session.add(bag)
        session.flush()
        session.scalars(select(Item).where(Item.project_id == project)).first().bag_id = bag.id
    assert "bags" in named(analyst, database)


def named(analyst: TestClient, database: Database) -> list[str]:
    assert analyst.post(API, json={}).status_code == 202
    return the_run(database).parameters["systems"]


@pytest.mark.parametrize(
    ("systems", "status", "word"),
    [
        (["dcrc", "cmbc"], 422, "'cmbc' cannot be compared; there are: dcrc, dcrc-cv, sklr, bags, kmeans"),
        (["dcrc", "dcrc"], 422, "two systems or more"),
        (["dcrc"], 422, "at least 2"),
        (["dcrc", "bags"], 422, "bag_labels"),
        ([["dcrc"], 1], 422, "string"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    analyst: TestClient, database: Database, systems: list[Any], status: int, word: str
) -> None:
    refused = analyst.post(API, json={"systems": systems})
    assert (refused.status_code, word in refused.text) == (status, True), refused.text
    assert the_run(database) is None


def test_one_at_a_time(analyst: TestClient) -> None:
    assert analyst.get(f"{API}/latest").status_code == 404
    assert analyst.post(API, json={"systems": ["dcrc", "kmeans"]}).json()["status"] == "queued"
    again = analyst.post(API, json={})
    assert (again.status_code, "run 1" in again.text) == (409, True)


def test_nothing_to_compare_without_features(app: FastAPI, database: Database) -> None:
    with database.transaction() as session:
        project = make_project(session, n_items=3)
        user = add_member(session, project, Role.ANALYST)
    with signed_in(app, user) as client:
        assert "no features yet" in client.get(PAGE).text
        assert client.post(API, json={}).status_code == 409


def test_a_failed_comparison_says_why(analyst: TestClient, database: Database) -> None:
    analyst.post(API, json={})
    with database.transaction() as session:
        run = session.get_one(Run, the_run(database).id)
        run.status, run.error = RunStatus.FAILED, "The computation failed: no <b>luck</b>."
    page = analyst.get(PAGE).text
    assert "no &lt;b&gt;luck&lt;/b&gt;." in page
    assert "Compare these" in page


def figures(lead: float = 0.1, over_kmeans: float = 0.3, guess: float = -0.9, answers: int = 300) -> dict[str, Any]:
    rows = [
        {"name": "dcrc", "held_out_log_score": -0.5, "held_out_accuracy": 0.8, "seconds": 6.0},
        {"name": "sklr", "held_out_log_score": -0.5 - lead, "held_out_accuracy": 0.7, "seconds": 3.0},
        {"name": "kmeans", "held_out_log_score": -0.5 - over_kmeans, "held_out_accuracy": 0.6, "seconds": 0.5},
    ]
    rivals = [
        {"name": name, "lead": by, "standard_error": 0.04} for name, by in (("sklr", lead), ("kmeans", over_kmeans))
    ]
    return {"systems": rows, "n_answers": answers, "recommended": "dcrc", "rivals": rivals, "guess_log_score": guess}


def test_a_verdict_says_why_and_how_sure() -> None:
    sure = sentence(figures(), TITLES)
    assert sure.startswith("DCRC predicts answers best: of 300 that its fits had not seen it predicted 80%, with")
    assert "It is 0.100 ahead of SKLR, more than the standard error of that difference (0.040)" in sure
    assert "K-means" not in sure
    assert "it may be luck" in sentence(figures(lead=0.03), TITLES)
    assert sentence(figures(lead=0.03), TITLES).endswith("The other is 2.0 times as fast.")
    assert "plain K-means, which reads no answers, is as good (-0.010" in sentence(figures(over_kmeans=-0.01), TITLES)
    assert "plain K-means, which reads no answers, is better" in sentence(figures(over_kmeans=-0.2), TITLES)
    assert "Guessing by the frequencies" in sentence(figures(guess=-0.4), TITLES)


def test_a_verdict_on_too_few_answers() -> None:
    nothing: dict[str, Any] = {"systems": [], "n_answers": 0}
    assert sentence(nothing, TITLES).startswith("There are no answers: with fewer than 20")
    assert sentence({**nothing, "n_answers": 7}, TITLES).startswith("There are too few answers, 7: with")
    assert sentence({}, TITLES) == ""


@pytest.mark.heavy
def test_bars_hold_what_the_numbers_say(
    analyst: TestClient, database: Database, settings: Settings, project: int
) -> None:
    answer_truly(database, project, 30)
    analyst.post(API, json={"systems": ["dcrc", "kmeans"]})
    assert compute(database, settings) == "done"
    systems = analyst.get(f"{API}/latest").json()["systems"]
    widths = [float(width) for width in re.findall(r'class="value" width="([\d.]+)"', analyst.get(PAGE).text)]
    expected = [
        100 * value
        for row in systems
        for value in (
            np.exp(row["held_out_log_score"]),
            row["held_out_accuracy"],
            row["stability"],
        )
    ]
    np.testing.assert_allclose(widths, np.clip(expected, 0, 100), atol=0.06)
