"""A project with a finished run, answers of three people, and the people's clients."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.labeling.service import ConstraintRow, store_constraints
from tercet.models import Answer, Item, Project, Role, Run, User
from tercet.runs.results import AnswerReport, LabelerReport, Report, save_report
from tercet.storage import Storage
from tests.dashboard.results import add_result
from tests.factories import add_features, add_member, make_project, signed_in

SONGS = "/api/v1/projects/songs"
PAGE = "/projects/songs/answers"


@dataclass(frozen=True)
class World:
    """What the tests start from: answers 1 to 6 are Ada's, Ben's, Ada's, Ben's, Cem's, Ada's."""

    project: Project
    ada: User
    ben: User
    cem: User
    analyst: User
    labeler: User
    items: list[int]
    ids: list[uuid.UUID]


GIVEN = [
    ("ada", (0, 1, 2), "yes"),
    ("ben", (0, 1, 2), "yes"),
    ("ada", (3, 4, 5), "dnk"),
    ("ben", (1, 2, 3), "no"),
    ("cem", (0, 1, 2), "no"),
    ("ada", (6, 7, 8), "no"),
]
PROBABILITIES = [0.9, 0.8, 0.4, 0.02, 0.1, 0.7]
SUSPICION = [0, 0, 0, 1, 2, 0]


def answer(session: Session, project: Project, labeler: User, triplet: tuple[int, int, int], value: str) -> uuid.UUID:
    """Store one answer about items by id."""
    key = uuid.uuid4()
    store_constraints(session, project, [ConstraintRow(1, key, triplet, value, labeler.id, 1500)])
    return key


def add_run(session: Session, storage: Storage, project: Project, number: int, people: list[LabelerReport]) -> Run:
    """Add a done run that says how probable the first answers are."""
    run = add_result(session, storage, project, number, [1, 1, 1, 2, 2, 2, 3, 3, 3], krippendorff_alpha=0.25)
    numbers = np.arange(1, len(PROBABILITIES) + 1)
    report = AnswerReport(numbers, np.array(PROBABILITIES, np.float32), np.array(SUSPICION, np.int32))
    assert run.result is not None
    save_report(storage, run.result, Report(report, people))
    return run


def make_world(session: Session, storage: Storage, **values: object) -> World:
    """Make it."""
    project = make_project(session, n_items=9, **{"redundancy": 2, **values})
    people = {name: add_member(session, project, Role.LABELER, name.title()) for name in ("ada", "ben", "cem")}
    items = list(session.scalars(select(Item.id).where(Item.project_id == project.id).order_by(Item.position)))
    add_features(session, storage, project, np.eye(9))
    ids = [
        answer(session, project, people[name], (items[a], items[b], items[c]), value)
        for name, (a, b, c), value in GIVEN
    ]
    session.refresh(project)
    habits = [
        LabelerReport(people["ada"].id, 3, 3, 2 / 3, 0.7, 0.9),
        LabelerReport(people["ben"].id, 2, 2, 0.5, None, None),
        LabelerReport(people["cem"].id, 1, 0, None, None, None),
    ]
    add_run(session, storage, project, 1, habits)
    analyst = add_member(session, project, Role.ANALYST, "Ann")
    labeler = add_member(session, project, Role.LABELER, "Dee")
    return World(project, people["ada"], people["ben"], people["cem"], analyst, labeler, items, ids)


@pytest.fixture
def world(database: Database, storage: Storage) -> World:
    """The project 'songs' with six answers."""
    with database.transaction() as session:
        return make_world(session, storage)


@pytest.fixture
def analyst(app: FastAPI, world: World) -> Iterator[TestClient]:
    """An analyst's browser."""
    with signed_in(app, world.analyst) as client:
        yield client


def stored(database: Database, number: int) -> Answer:
    """Give an answer as it is now."""
    with database.reading() as session:
        return session.scalars(select(Answer).where(Answer.number == number)).one()
