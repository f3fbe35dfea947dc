"""Items that are known by name alone: their answers are all there is, and make their clusters from end to end."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sklearn.metrics import adjusted_rand_score
from sqlalchemy import delete, func, select, update

from tercet.database import Database
from tercet.models import Answer, Project, Role, Run, Source, Triplet
from tercet.runs import lifecycle, results
from tercet.runs.lifecycle import Superseded
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker.job import run_job
from tercet_algorithms import AnswerEmbedding
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tercet_algorithms.dcrc.search import DCRCSearch
from tercet_algorithms.embedding.search import EmbeddingSearch
from tests.factories import add_features, add_member, make_project, make_token
from tests.runs.support import NAMES, answer_rightly, compute, ended, get_run, place, request, wait_for
from tests.worker.steps import before_each_step
from tests.worker.test_supervisor import supervised

N_ITEMS = 36
CLASSES = np.arange(N_ITEMS) % 3
URL = "/api/v1/projects/faces"
SQLITE = pytest.mark.only_on("sqlite")


def rows(count: int, seed: int = 0) -> list[dict[str, Any]]:
    triplets = random_triplets(N_ITEMS, count, np.random.default_rng(seed))
    answers = NAMES[true_answers(CLASSES, triplets)].tolist()
    keys = [[f"face-{position}" for position in triplet] for triplet in triplets.tolist()]
    return [{"triplet": triplet, "answer": answer} for triplet, answer in zip(keys, answers, strict=True)]


@pytest.fixture
def client(app: FastAPI, database: Database) -> Iterator[TestClient]:
    """The owner of a project whose items are sent in as names and nothing else."""
    with database.transaction() as session:
        project = make_project(session, "faces", n_clusters=3)
        token = make_token(session, add_member(session, project, Role.OWNER, "Ada"))
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as opened:
        sent = opened.post(f"{URL}/items", json={"items": [{"key": f"face-{n}"} for n in range(N_ITEMS)]})
        assert sent.status_code == 201, sent.text
        yield opened


@pytest.fixture
def project(database: Database) -> int:
    with database.transaction() as session:
        project = make_project(session, "names", n_items=N_ITEMS, n_clusters=3)
        add_member(session, project, Role.LABELER)
        return project.id


@pytest.mark.heavy
@SQLITE
def test_names_and_answers_make_clusters_over_http_with_a_real_worker(
    client: TestClient, database: Database, settings: Settings
) -> None:
    refused = client.post(f"{URL}/runs", json={})
    assert refused.status_code == 409
    assert "36 items, no features and no answers yet: label first" in refused.json()["detail"]
    assert len(client.get(f"{URL}/triplets/next", params={"n": 5}).json()["triplets"]) == 5, "people can label already"
    assert client.post(f"{URL}/constraints", json=rows(400)).status_code == 201
    with supervised(database, settings):
        run = wait_for(lambda: (client.get(f"{URL}/runs").json()["runs"] or [None])[0])
        done = wait_for(lambda: next((r for r in client.get(f"{URL}/runs").json()["runs"] if r["finished_at"]), None))
    assert run["reason"] == "answers"
    assert (done["status"], done["error"]) == ("done", None)
    assert done["metrics"]["learned_dimensions"] in (2, 3, 5)
    labels = [item["cluster"] for item in client.get(f"{URL}/runs/latest/items").json()["items"]]
    assert adjusted_rand_score(CLASSES, labels) == 1
    points = np.frombuffer(client.get(f"{URL}/runs/latest/map").content, "<f4").reshape(-1, 4)
    assert np.isfinite(points).all()
    assert len(np.unique(points[:, :2], axis=0)) == N_ITEMS
    asked = client.get(f"{URL}/triplets/next", params={"n": 5}).json()["triplets"]
    assert len(asked) == 5


@SQLITE
def test_ten_answers_start_the_first_run(client: TestClient, database: Database) -> None:
    def waiting() -> int:
        with database.reading() as session:
            return session.scalar(select(func.count()).select_from(Run)) or 0

    client.post(f"{URL}/constraints", json=rows(9))
    assert waiting() == 0
    client.post(f"{URL}/constraints", json=rows(12))
    assert waiting() == 1


@pytest.mark.heavy
@SQLITE
def test_the_next_run_goes_on_from_the_points_and_the_clusters(
    database: Database, storage: Storage, settings: Settings, project: int
) -> None:
    answer_rightly(database, project, CLASSES, 300)
    first = request(database, project)
    assert compute(database, settings) == "done"
    before = results.load_state(storage, get_run(database, first).result)["points"]
    answer_rightly(database, project, CLASSES, 12, seed=1)
    with database.transaction() as session:
        session.add(Run(project_id=project, number=2, algorithm="dcrc", due_at=get_run(database, first).due_at))
    assert compute(database, settings) == "done"
    second = get_run(database, first + 1)
    assert second.metrics["warm_start"]
    assert second.metrics["searched_answers"] == 300
    assert second.metrics["items_moved"] <= 2
    after = results.load_state(storage, second.result)["points"]
    assert after.shape == before.shape
    assert np.linalg.norm(after - before) < 0.5 * np.linalg.norm(before), "turned to match"
    assert second.metrics["prequential_accuracy"] > 0.7
    with database.reading() as session:
        informative = select(func.count()).where(Triplet.project_id == project, Triplet.source == Source.INFORMATION)
        assert session.scalar(informative), "the run's questions are in the queue"


@SQLITE
@pytest.mark.parametrize("search", [EmbeddingSearch, DCRCSearch])
def test_another_copy_goes_on_where_one_was_stopped(
    database: Database,
    storage: Storage,
    settings: Settings,
    project: int,
    monkeypatch: pytest.MonkeyPatch,
    search: type,
) -> None:
    answer_rightly(database, project, CLASSES, 200)
    steps: list[object] = []

    def stop_at_the_third(state: object) -> None:
        steps.append(state)
        if len(steps) == 3:
            raise Superseded

    learned: list[object] = []
    fit = AnswerEmbedding.fit
    monkeypatch.setattr(AnswerEmbedding, "fit", lambda self, *a, **k: learned.append(k["resume"]) or fit(self, *a, **k))
    # Errors that are set: to choose them there are short fits, which leave no checkpoint.
    run = request(database, project, algorithm="dcrc", parameters={"epsilon": 0.05})
    with monkeypatch.context() as stopping:
        before_each_step(stopping, search, stop_at_the_third)
        assert compute(database, settings) == "superseded"
    assert 0 < get_run(database, run).progress < 1
    assert run_job(place(settings), run) == "done"
    if search is EmbeddingSearch:
        assert learned[1] is not None, "learning the points went on"
    else:
        assert len(learned) == 1, "the points are not learned again"
        assert get_run(database, run).metrics["resumed_iteration"] > 0
    labels = results.load(storage, get_run(database, run).result).labels
    assert adjusted_rand_score(CLASSES, labels) > 0.9


def test_algorithms_that_need_features_say_so(client: TestClient, database: Database) -> None:
    client.post(f"{URL}/constraints", json=rows(20))
    for algorithm in ("sklr", "dcrc-cv", "bags"):
        refused = client.post(f"{URL}/runs", json={"algorithm": algorithm})
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["field"] == "algorithm"
        assert "upload features, or choose 'dcrc'" in refused.json()["errors"][0]["detail"]


@SQLITE
def test_a_run_whose_answers_were_all_withdrawn_meanwhile_says_why_it_failed(
    database: Database, settings: Settings, project: int
) -> None:
    answer_rightly(database, project, CLASSES, 10)
    run = request(database, project)
    with database.transaction() as session:
        session.execute(delete(Answer))
    assert lifecycle.claim_next(database, 15) is None
    assert "no features and no answers yet: label first" in (get_run(database, run).error or "")


@SQLITE
def test_features_that_come_later_are_used(
    database: Database, storage: Storage, settings: Settings, project: int
) -> None:
    answer_rightly(database, project, CLASSES, 60)
    request(database, project)
    assert compute(database, settings) == "done"
    with database.transaction() as session:
        X = 5 * np.eye(3)[CLASSES] + np.random.default_rng(0).normal(size=(N_ITEMS, 3))
        add_features(session, storage, session.get_one(Project, project), X)
        session.execute(update(Run).values(status="done"))
    run = request(database, project)
    assert compute(database, settings) == "done"
    metrics = get_run(database, run).metrics
    assert "learned_dimensions" not in metrics
    assert not metrics["warm_start"]
    assert ended(database, run)
