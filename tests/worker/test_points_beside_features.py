"""Points learned from the answers, in place of features or beside them: from the choice to the clusters."""

from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from sklearn.metrics import adjusted_rand_score

from tercet.database import Database
from tercet.models import Project, Role, Run, now
from tercet.runs import results
from tercet.runs.schemas import RunOut
from tercet.runs.sentences import describe
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker.inputs import load
from tercet_algorithms import DCRC, AnswerEmbedding
from tests.factories import add_features, add_member, make_project, signed_in
from tests.runs.support import answer_rightly, compute, get_run, request
from tests.worker.test_comparison import ask, rows_of

# What is learned is the same on every database.
pytestmark = pytest.mark.only_on("sqlite")
N_ITEMS = 36
CLASSES = np.arange(N_ITEMS) % 3
BLIND = np.random.default_rng(5).normal(size=(N_ITEMS, 4))  # features that show nothing of what people go by


@pytest.fixture
def project(database: Database, storage: Storage) -> int:
    with database.transaction() as session:
        project = make_project(session, "songs", n_items=N_ITEMS, n_clusters=3)
        add_features(session, storage, project, BLIND)
        add_member(session, project, Role.LABELER)
        return project.id


def cluster(database: Database, settings: Settings, project: int, by: str) -> Run:
    run = request(database, project, parameters={"cluster_by": by})
    assert compute(database, settings) == "done", get_run(database, run).error
    return get_run(database, run)


def agreement(storage: Storage, run: Run) -> float:
    return float(adjusted_rand_score(CLASSES, results.load(storage, str(run.result)).labels))


@pytest.mark.heavy
def test_what_features_do_not_show_answers_do(
    database: Database, storage: Storage, settings: Settings, project: int
) -> None:
    answer_rightly(database, project, CLASSES, 400)
    runs = {by: cluster(database, settings, project, by) for by in ("features", "answers", "both")}
    agreements = {by: agreement(storage, run) for by, run in runs.items()}
    assert agreements["answers"] == 1
    assert agreements["both"] > 0.8
    assert {by: run.parameters["cluster_by"] for by, run in runs.items()} == {by: by for by in runs}
    assert [run.feature_set_id is None for run in runs.values()] == [False, True, False]
    assert ["learned_dimensions" in run.metrics for run in runs.values()] == [False, True, True]
    sentences = {by: describe(RunOut.of(run)) for by, run in runs.items()}
    assert "Points" not in sentences["features"]
    assert "were learned from the answers, and features were not used." in sentences["answers"]
    assert "were learned from the answers, beside their features." in sentences["both"]


def test_features_and_points_count_alike(
    database: Database, storage: Storage, settings: Settings, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_rightly(database, project, CLASSES, 60)
    fitted: list[np.ndarray] = []
    fit = DCRC.fit
    monkeypatch.setattr(DCRC, "fit", lambda self, X, *a, **k: fitted.append(X) or fit(self, X, *a, **k))
    run = cluster(database, settings, project, "both")
    columns = fitted[0]
    dimensions = run.metrics["learned_dimensions"]
    assert columns.shape == (N_ITEMS, 4 + dimensions)
    np.testing.assert_allclose(columns[:, :4].var(axis=0).sum(), columns[:, 4:].var(axis=0).sum(), rtol=1e-4)
    np.testing.assert_allclose(columns.var(axis=0).sum(), columns.shape[1], rtol=1e-4)
    for number in range(4):
        assert abs(np.corrcoef(columns[:, number], BLIND[:, number])[0, 1]) > 0.9999


@pytest.mark.heavy
def test_under_ten_answers_features_stay(
    database: Database, storage: Storage, settings: Settings, project: int
) -> None:
    answer_rightly(database, project, CLASSES, 9)
    run = cluster(database, settings, project, "answers")
    assert run.parameters["cluster_by"] == "features", "the run says what it went by"
    assert run.feature_set_id is not None
    answer_rightly(database, project, CLASSES, 1, seed=1)
    assert cluster(database, settings, project, "answers").parameters["cluster_by"] == "answers"


def test_the_next_run_goes_on_from_points_beside_features(
    database: Database, storage: Storage, settings: Settings, project: int
) -> None:
    with database.transaction() as session:
        session.get_one(Project, project).parameters = {"cluster_by": "both"}
    answer_rightly(database, project, CLASSES, 300)
    first = request(database, project)
    assert compute(database, settings) == "done"
    answer_rightly(database, project, CLASSES, 12, seed=1)
    with database.transaction() as session:
        session.add(Run(project_id=project, number=2, algorithm="dcrc", due_at=now()))
    assert compute(database, settings) == "done"
    second = get_run(database, first + 1)
    assert second.parameters["cluster_by"] == "both"
    assert second.metrics["warm_start"]
    points = results.load_state(storage, str(second.result))["points"]
    assert points.shape == (N_ITEMS, second.metrics["learned_dimensions"])


@pytest.mark.heavy
def test_no_candidate_is_weighed_by_answers_that_points_have_seen(
    database: Database, settings: Settings, project: int
) -> None:
    answer_rightly(database, project, CLASSES, 60)
    run = request(database, project, parameters={"cluster_by": "both", "candidates": "auto"})
    assert compute(database, settings) == "done"
    assert "candidate_weights" not in get_run(database, run).metrics


@pytest.mark.heavy
def test_a_comparison_learns_points_without_the_answers_held_out(
    database: Database, storage: Storage, settings: Settings, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_rightly(database, project, CLASSES, 200)
    learned_from: list[int] = []
    fit = AnswerEmbedding.fit

    def count(self: AnswerEmbedding, *arguments: Any, **further: Any) -> AnswerEmbedding:
        learned_from.append(len(further["answers"]))
        return fit(self, *arguments, **further)

    monkeypatch.setattr(AnswerEmbedding, "fit", count)
    run = ask(database, project, "dcrc", "kmeans", seeds=2, folds=4)
    with database.transaction() as session:
        row = session.get_one(Run, run)
        chosen = {**row.parameters["parameters"]["dcrc"], "cluster_by": "answers"}
        row.parameters = {**row.parameters, "parameters": {**row.parameters["parameters"], "dcrc": chosen}}
    assert compute(database, settings) == "done", get_run(database, run).error
    with database.reading() as session:
        n_answers = len(load(database, storage, session.get_one(Run, run)).answers)
    assert learned_from[:2] == [n_answers, n_answers], "two seeds"
    assert sum(learned_from[2:]) == 3 * n_answers, "four folds, each without its own"
    rows = rows_of(get_run(database, run))
    assert rows["dcrc"]["held_out_accuracy"] > rows["kmeans"]["held_out_accuracy"] + 0.1


def test_it_is_chosen_in_the_settings_and_such_a_run_leaves_no_model(
    app: FastAPI, database: Database, storage: Storage, settings: Settings, project: int
) -> None:
    answer_rightly(database, project, CLASSES, 60)
    with database.transaction() as session:
        owner = add_member(session, session.get_one(Project, project), Role.OWNER, "Ada")
    with signed_in(app, owner) as client:
        page = "/projects/songs/settings"
        sent = client.post(page, data={"algorithm": "dcrc", "dcrc.cluster_by": "answers"})
        assert sent.status_code == 200, sent.text
        assert "clusters are made from points that are learned from these" in sent.text
        run = request(database, project)
        assert compute(database, settings) == "done"
        assert get_run(database, run).parameters["cluster_by"] == "answers"
        shown = client.get("/projects/songs/runs/latest").text
        assert "dimensions that were learned from the answers, without any features" in shown
        refused = client.get("/api/v1/projects/songs/runs/latest/model")
        assert refused.status_code == 409
        assert "goes by points that answers gave its items" in refused.json()["detail"]
        offered = client.get("/api/v1/algorithms").json()["algorithms"][0]["parameters"]["properties"]["cluster_by"]
        assert offered["enum"] == ["features", "answers", "both"]
        assert client.post("/api/v1/projects/songs/runs", json={"parameters": {"cluster_by": "x"}}).status_code == 422
