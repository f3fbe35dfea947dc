"""Answers that an analyst says are right: marked, taken back, and asked of others without a sign."""

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from tercet.database import Database
from tercet.models import Answer, Project, Role, Triplet
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker import inputs
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tests.answers.conftest import PAGE, SONGS, World, stored
from tests.factories import add_member, signed_in
from tests.runs.support import NAMES, add_answers, blobs, compute, get_run, make_songs, request

# Pages and what is refused do not depend on the kind of database.
pytestmark = pytest.mark.only_on("sqlite")


def right(world: World, number: int) -> str:
    return f"{SONGS}/answers/{world.ids[number - 1]}/right"


def test_an_answer_is_marked_and_taken_back(analyst: TestClient, world: World, database: Database) -> None:
    assert analyst.put(right(world, 1)).status_code == 204
    at = stored(database, 1).known_at
    assert at is not None
    assert analyst.put(right(world, 1)).status_code == 204, "again"
    assert analyst.put(right(world, 2)).status_code == 204, "another one who says the same"
    listed = analyst.get(f"{SONGS}/answers").json()["answers"]
    assert {answer["number"] for answer in listed if answer["known_at"]} == {1, 2}
    contrary = analyst.put(right(world, 5))
    assert (contrary.status_code, contrary.json()["detail"]) == (
        409,
        f"Answer {listed[-1]['number']} says otherwise and is marked as right: take that back first.",
    )
    assert analyst.delete(right(world, 1)).status_code == 204
    assert analyst.delete(right(world, 1)).status_code == 409
    assert stored(database, 1).known_at is None


def test_one_that_is_not_used_is_not_right(analyst: TestClient, world: World) -> None:
    analyst.post(f"{SONGS}/answers/{world.ids[0]}/set-aside", json={})
    assert analyst.put(right(world, 1)).status_code == 409


def test_labelers_may_not_mark_and_are_told_nothing(app: FastAPI, analyst: TestClient, world: World) -> None:
    with signed_in(app, world.labeler) as labeler:
        assert labeler.put(right(world, 1)).status_code == 403
        plain = labeler.get(f"{SONGS}/triplets/next", params={"n": 5}).json()["triplets"]
        analyst.put(right(world, 1))
        assert labeler.get(f"{SONGS}/triplets/next", params={"n": 5}).json()["triplets"] == plain


def test_the_page_marks_and_takes_back(analyst: TestClient, world: World, database: Database) -> None:
    for path, sign, is_known in (("right", "said to be right", True), ("not-known", "This is right", False)):
        page = analyst.post(f"{PAGE}/{world.ids[0]}/{path}", data={"back": "order=newest"})
        assert page.url.path == PAGE
        assert sign in page.text
        assert (stored(database, 1).known_at is not None) == is_known


@pytest.mark.heavy(but="sqlite-0.5")
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_run_asks_what_is_known_of_the_others(
    database: Database, storage: Storage, settings: Settings, share: float
) -> None:
    key = make_songs(database, storage, known_share=share, parameters={})
    triplets = random_triplets(60, 120, np.random.default_rng(3))
    values = NAMES[true_answers(blobs(60)[1], triplets)]
    with database.transaction() as session:
        add_answers(session, key, triplets, values.tolist())
        project = session.get_one(Project, key)
        ben = add_member(session, project, Role.LABELER, "Ben").id
        session.execute(update(Answer).where(Answer.number > 100).values(labeler_id=ben))
        session.execute(update(Answer).where(Answer.number <= 20).values(known_at=Answer.created_at))
        known = set(session.scalars(select(Answer.triplet_id).where(Answer.known_at.is_not(None))))
    run_id = request(database, key)
    assert compute(database, settings) == "done"
    run = get_run(database, run_id)
    assert inputs.load(database, storage, run).known.sum() == 20
    with database.reading() as session:
        queued = session.execute(select(Triplet.id, Triplet.asked_of).where(Triplet.extra_answers > 0)).all()
    asked = {row.id for row in queued if row.id in known}
    assert len(asked) == (20 if share else 0), "all that there are: half of Ben's questions would be more"
    assert {row.asked_of for row in queued if row.id in known} <= {ben}
