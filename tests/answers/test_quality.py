"""The figures of people: told from their newest answers, from others' answers, and from the last run."""

import uuid
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

from tercet.answers import queries
from tercet.answers.quality import answers_an_hour
from tercet.answers.queries import Habit
from tercet.database import Database
from tercet.models import Answer, Project, Triplet, now
from tercet_algorithms.answers.metrics import labeler_agreement
from tests.answers.conftest import SONGS, World, answer
from tests.factories import add_member, make_project, signed_in


def people(client: TestClient, **asked: Any) -> dict[str, dict[str, Any]]:
    response = client.get(f"{SONGS}/labelers", params=asked)
    assert response.status_code == 200, response.text
    return {labeler["name"]: labeler for labeler in response.json()["labelers"]}


def test_figures_of_a_small_project(analyst: TestClient, world: World) -> None:
    labelers = people(analyst)
    assert list(labelers) == ["Ada", "Ben", "Cem"], "the busiest first, and only who answered"
    ada = labelers["Ada"]
    assert (ada["labeler"], ada["answers"], ada["set_aside"], ada["median_ms"]) == (world.ada.id, 3, 0, 1500)
    assert (ada["compared"], ada["agreement"]) == (1, 0.5), "Ben said the same, Cem did not"
    assert (labelers["Cem"]["compared"], labelers["Cem"]["agreement"]) == (1, 0.0)
    assert (ada["expected"], ada["quality"], ada["accuracy"]) == (pytest.approx(2 / 3), 0.7, 0.9)
    assert (labelers["Ben"]["expected"], labelers["Ben"]["quality"]) == (0.5, None)
    assert (labelers["Cem"]["foreseen"], labelers["Cem"]["expected"]) == (0, None)
    assert sum(ada["shares"].values()) == pytest.approx(1)
    assert ada["shares"]["dnk"] == pytest.approx(1 / 3)


def test_pages_of_people_join(analyst: TestClient) -> None:
    first = analyst.get(f"{SONGS}/labelers", params={"limit": 2}).json()
    second = analyst.get(f"{SONGS}/labelers", params={"limit": 2, "after": first["next"]}).json()
    assert second["next"] is None
    assert [labeler["name"] for labeler in first["labelers"] + second["labelers"]] == ["Ada", "Ben", "Cem"]
    for wrong in ({"limit": 0}, {"after": -1}, {"after": "x"}):
        refused = analyst.get(f"{SONGS}/labelers", params=wrong)
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["field"].endswith(next(iter(wrong)))


def test_what_is_set_aside_is_no_measure_of_others(analyst: TestClient, world: World) -> None:
    analyst.post(f"{SONGS}/answers/{world.ids[4]}/set-aside", json={})
    labelers = people(analyst)
    assert labelers["Ada"]["agreement"] == 1.0, "Cem's answer does not count against her"
    assert labelers["Cem"]["agreement"] == 0.0, "but his is still held against the others'"
    assert labelers["Cem"]["answers"] == 1


def test_withdrawn_answers_are_nobodys(analyst: TestClient, world: World) -> None:
    analyst.delete(f"{SONGS}/answers/{world.ids[4]}")
    cem = people(analyst)["Cem"]
    assert (cem["answers"], cem["withdrawn"], cem["shares"], cem["agreement"]) == (0, 1, {}, None)


def test_agreement_is_that_of_the_estimators_package(analyst: TestClient, world: World, database: Database) -> None:
    rng = np.random.default_rng(7)
    with database.transaction() as session:
        project = session.get_one(Project, world.project.id)
        for _ in range(60):
            a, b, c = (world.items[k] for k in rng.permutation(5)[:3])
            who = [world.ada, world.ben, world.cem][rng.integers(3)]
            triplet = (a, *sorted((b, c)))
            asked = (Triplet.anchor_id, Triplet.left_id, Triplet.right_id)
            same = select(Answer.id).join(Triplet).where(Answer.labeler_id == who.id, *map(_equal, asked, triplet))
            if session.scalar(same) is None:
                answer(session, project, who, (a, b, c), str(rng.choice(["yes", "no", "dnk"])))
        rows = session.execute(select(*asked, Answer.value, Answer.labeler_id).join(Answer)).all()
    expected = labeler_agreement([row[:3] for row in rows], [row[3] for row in rows], [row[4] for row in rows])
    labelers = {labeler["labeler"]: labeler for labeler in people(analyst).values()}
    compared = {person: labeler["compared"] for person, labeler in labelers.items()}
    assert compared == {person: agreement.shared for person, agreement in expected.items()}
    for person, labeler in labelers.items():
        assert labeler["agreement"] == pytest.approx(expected[person].agreement)


def _equal(column: Any, value: int) -> Any:
    return column == value


def test_shares_are_of_what_was_pressed(app: FastAPI, database: Database) -> None:
    """Whoever always presses yes has no other share, in whatever order the items are stored."""
    with database.transaction() as session:
        project = make_project(session, n_items=9)
        robot, ann = add_member(session, project, "labeler", "Robot"), add_member(session, project, "analyst", "Ann")
    with signed_in(app, robot) as client:
        for question in client.get(f"{SONGS}/triplets/next", params={"n": 12}).json()["triplets"]:
            body = {"id": str(uuid.uuid4()), "triplet": question["triplet"], "answer": "yes"}
            assert client.post(f"{SONGS}/answers", json=body).status_code == 201
    with database.reading() as session:
        assert set(session.scalars(select(Answer.value))) == {"yes", "no"}, "stored in one order of items"
    with signed_in(app, ann) as client:
        assert people(client)["Robot"]["shares"] == {"yes": 1.0, "no": 0.0, "dnk": 0.0}


def habits_at(*seconds: float) -> list[Habit]:
    start = now()
    return [Habit(1, "yes", 1, 1, 2, 3, None, start + timedelta(seconds=at)) for at in seconds]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ((), None),
        ((0,), None),
        ((0, 0, 0), None),
        ((0, 10, 20), 360.0),
        ((0, 10, 20, 20 + 3600, 30 + 3600), 360.0),
        ((0, 400), None),
        ((0, 5, 20), 360.0),
    ],
)
def test_answers_an_hour_of_work(seconds: tuple[float, ...], expected: float | None) -> None:
    assert answers_an_hour(habits_at(*seconds)) == expected


def test_habits_are_of_the_newest_answers_of_each(
    world: World, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "HABITS", 2)
    with database.reading() as session:
        habits = queries.habits(session, world.project.id, [world.ada.id, world.cem.id])
        assert [(habit.labeler_id, habit.value) for habit in habits] == [
            (world.ada.id, "dnk"),
            (world.cem.id, "no"),
            (world.ada.id, "no"),
        ]
        assert queries.habits(session, world.project.id, []) == []
