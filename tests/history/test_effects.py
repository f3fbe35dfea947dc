"""What fifty answers changed: the sentence is true, and nothing is said where it cannot be told."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.models import Edit, Project, Role, Run, User, now
from tercet.runs import results
from tercet.runs.confusion import items_between
from tercet.storage import Storage
from tests.dashboard.results import add_answers, add_result
from tests.factories import add_member, make_project, signed_in

BEFORE, NOW = [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3], [1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 1, 1]
PLACE = "/api/v1/projects/songs/effect-of-my-answers"
NOTHING = {"block": None, "sentence": None}


def curve(share: float) -> dict[str, Any]:
    return {"points": [[40, 0.5, 0.4, 0.6], [80, share, 0.4, 0.9]], "chance": 0.5}


@pytest.fixture
def ada(database: Database, storage: Storage) -> User:
    """A labeler of 12 items whose answers 1 to 30 and 51 to 71 are hers; runs know none, and the first 60 and 71."""
    with database.transaction() as session:
        project = make_project(session, n_items=12)
        ada, ben = (add_member(session, project, Role.LABELER, name) for name in ("Ada", "Ben"))
        pairs = [{"first": 2, "second": 3, "items": 20}, {"first": 1, "second": 2, "items": 6}]
        add_result(session, storage, project, 1, BEFORE, accuracy_curve=curve(0.71), confused_pairs=pairs)
        for labeler, count in ((ada, 30), (ben, 20), (ada, 21)):
            add_answers(session, project, labeler, [("yes", 900, 0, False)] * count)
        for number, known in ((2, 60), (3, 71)):
            run = add_result(session, storage, project, number, NOW, accuracy_curve=curve(0.78))
            run.answers_to = known
        return ada


@pytest.fixture
def client(app: FastAPI, ada: User) -> Iterator[TestClient]:
    """Her browser."""
    with signed_in(app, ada) as client:
        yield client


def run_of(session: Session, number: int) -> Run:
    return session.scalars(select(Run).where(Run.number == number)).one()


def test_the_sentence_is_what_the_two_runs_around_the_answers_say(
    client: TestClient, database: Database, storage: Storage
) -> None:
    with database.reading() as session:
        key = run_of(session, 3).result
    assert key is not None
    between = len(items_between(results.load(storage, key), 2, 3))
    assert between <= 10
    assert client.get(PLACE).json() == {
        "block": 1,
        "sentence": "With 51 answers of yours and 20 by others: two groups are told apart better "
        f"(items between them: {between}, before: 20); 3 of 12 items moved to another group; "
        "78 % of new answers were foreseen, 71 % before.",
    }
    with database.transaction() as session:
        first = run_of(session, 1)
        first.metrics = {"n_items": 12, "n_clusters": 3, "seconds": 0.5}
        first.result = key
    said = client.get(PLACE).json()["sentence"]
    assert said == "With 51 answers of yours and 20 by others: all 12 items stayed in their groups."


def test_nothing_is_said_before_a_run_knows_them_all(client: TestClient, database: Database, ada: User) -> None:
    with database.transaction() as session:
        run_of(session, 3).answers_to = 69
    assert client.get(PLACE).json() == NOTHING
    with database.transaction() as session:
        run_of(session, 3).answers_to = 71
        project = session.scalars(select(Project)).one()
        add_answers(session, project, session.get_one(User, ada.id), [("no", 900, 0, False)] * 60)
    assert client.get(PLACE).json()["block"] == 1, "of the second fifty no run knows all yet"


@pytest.mark.parametrize("difference", ["parameters", "items", "edit", "restored"])
def test_nothing_is_said_of_runs_that_differ_in_more_than_answers(
    client: TestClient, database: Database, ada: User, difference: str
) -> None:
    with database.transaction() as session:
        last = run_of(session, 3)
        match difference:
            case "parameters":
                last.parameters = {"n_clusters": 4}
            case "items":
                last.metrics = {**last.metrics, "n_items": 11}
            case "edit":
                session.add(Edit(project_id=last.project_id, kind="keep", items=1, weight=1.0, by_id=ada.id))
                session.flush()
                session.execute(update(Run).where(Run.number == 3).values(started_at=now()))
            case "restored":
                last.metrics = {**last.metrics, "adopted_from": 1}
    assert client.get(PLACE).json() == {"block": 1, "sentence": None}
