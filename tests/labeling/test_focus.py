"""What questions are about: narrowed over REST or on the dashboard, taken up by the next run, and undone."""

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

from tercet.database import Database
from tercet.models import Item, Project, Role, Run, RunStatus, Source, Triplet
from tercet.runs import results
from tercet.runs.lifecycle import claim_next
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker.job import run_job
from tests.factories import add_member, signed_in
from tests.labeling.conftest import SONGS
from tests.runs.support import answer_truly, blur, get_run, make_songs, place, request

EVERYTHING = {"about": "everything", "clusters": [], "items": []}


@pytest.fixture
def clustered(app: FastAPI, database: Database, storage: Storage, settings: Settings) -> int:
    """The project 'songs' after a run: 60 items in three clusters, half of the questions at random."""
    project = make_songs(database, storage, informative_share=0.5)
    answer_truly(database, project, 20)
    request(database, project)
    compute_next(database, settings)
    return project


def compute_next(database: Database, settings: Settings) -> int:
    claim = claim_next(database, 15)
    assert claim is not None
    assert run_job(place(settings), claim.run_id) == "done"
    return claim.run_id


def anchors(database: Database, project: int, source: Source) -> set[str]:
    """The items that queued questions are about."""
    with database.reading() as session:
        statement = select(Item.key).join(Triplet, Triplet.anchor_id == Item.id)
        queued = (Triplet.project_id == project) & Triplet.priority.is_not(None) & (Triplet.source == source)
        return set(session.scalars(statement.where(queued)))


def queued_run_is_due_now(database: Database) -> None:
    with database.transaction() as session:
        run = session.scalars(select(Run).where(Run.status == RunStatus.QUEUED)).one()
        run.due_at = run.created_at


@pytest.fixture
def analyst(app: FastAPI, database: Database, clustered: int) -> TestClient:
    with database.transaction() as session:
        ann = add_member(session, session.get_one(Project, clustered), Role.ANALYST, "Ann")
    with signed_in(app, ann) as client:
        yield client


@pytest.mark.heavy(but="sqlite")
def test_the_next_run_asks_about_chosen_items_alone_and_at_random_about_all(
    database: Database, settings: Settings, clustered: int, analyst: TestClient
) -> None:
    wanted = sorted(anchors(database, clustered, Source.INFORMATION))[:4]
    focus = {"about": "items", "items": wanted}
    answer = analyst.put(f"{SONGS}/focus", json=focus)
    assert answer.status_code == 200
    assert answer.json() == EVERYTHING | focus == analyst.get(f"{SONGS}/focus").json()
    queued_run_is_due_now(database)
    compute_next(database, settings)
    assert anchors(database, clustered, Source.INFORMATION) == set(wanted)
    assert len(anchors(database, clustered, Source.RANDOM)) > 10

    assert analyst.put(f"{SONGS}/focus", json={"about": "everything"}).json() == EVERYTHING
    queued_run_is_due_now(database)
    compute_next(database, settings)
    assert len(anchors(database, clustered, Source.INFORMATION)) > 20


@pytest.mark.heavy(but="sqlite")
def test_questions_about_a_cluster_are_about_its_items(
    database: Database, storage: Storage, settings: Settings, clustered: int, analyst: TestClient
) -> None:
    sent = {"about": "clusters", "clusters": "2"}
    page = analyst.post("/projects/songs/focus", data=sent)
    assert page.status_code == 200
    assert "cluster 2</strong>" in page.text
    queued_run_is_due_now(database)
    run = get_run(database, compute_next(database, settings))
    labels = results.load(storage, run.result or "").labels
    with database.reading() as session:
        keys = session.scalars(select(Item.key).order_by(Item.position)).all()
    inside = {key for key, label in zip(keys, labels, strict=True) if label == 2}
    assert anchors(database, clustered, Source.INFORMATION) <= inside
    page = analyst.post("/projects/songs/focus", data={"about": "everything"})
    assert "cluster 2</strong>" not in page.text
    assert analyst.get(f"{SONGS}/focus").json() == EVERYTHING


@pytest.mark.heavy(but="sqlite")
def test_what_is_confused_are_items_that_are_not_sure(
    database: Database, storage: Storage, settings: Settings, clustered: int, analyst: TestClient
) -> None:
    blur(database, storage, clustered)
    assert analyst.put(f"{SONGS}/focus", json={"about": "confused"}).status_code == 200
    queued_run_is_due_now(database)
    run = get_run(database, compute_next(database, settings))
    confidence = results.load(storage, run.result or "").confidence
    with database.reading() as session:
        keys = np.array(session.scalars(select(Item.key).order_by(Item.position)).all())
    doubtful = set(keys[confidence < 0.9])
    assert 0 < len(doubtful) < 60
    assert anchors(database, clustered, Source.INFORMATION) <= doubtful


NOT_THERE = [
    ({"about": "clusters", "clusters": [4]}, "clusters"),
    ({"about": "items", "items": ["nobody"]}, "items"),
    ({"about": "items"}, ""),
    ({"about": "confused", "clusters": [1]}, ""),
    ({"about": "weather"}, "about"),
]


def test_what_is_not_there_is_refused(analyst: TestClient) -> None:
    for focus, field in NOT_THERE:
        answer = analyst.put(f"{SONGS}/focus", json=focus)
        assert answer.status_code == 422, focus
        assert field in answer.text
        assert analyst.get(f"{SONGS}/focus").json() == EVERYTHING, focus


def test_labelers_cannot_narrow_questions(app: FastAPI, database: Database, clustered: int) -> None:
    with database.transaction() as session:
        lea = add_member(session, session.get_one(Project, clustered), Role.LABELER, "Lea")
    with signed_in(app, lea) as client:
        assert client.put(f"{SONGS}/focus", json={"about": "confused"}).status_code == 403
