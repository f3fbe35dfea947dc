"""Runs of CMBC and of bag labels: what they load, what they say, and what bag labels do for DCRC."""

from dataclasses import replace

import numpy as np
import pytest
from fastapi import FastAPI
from sklearn.metrics import adjusted_rand_score
from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.models import Bag, Item, Project, Role, Run, now
from tercet.runs import known_clusterings, results
from tercet.runs.schemas import RunOut
from tercet.runs.sentences import describe
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker import inputs
from tercet.worker.fits import dcrc
from tests.factories import add_features, add_member, signed_in
from tests.runs.support import answer_rightly, compute, get_run, make_songs, request
from tests.tercet_algorithms.bags.data import bagged

# What is computed does not depend on the kind of database; how runs are stored is tested on both elsewhere.
pytestmark = pytest.mark.only_on("sqlite")

LABELS = ["crow", "thrush", "wren", "owl"]


def two_ways(n: int = 120) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features with two groupings: a strong one and, in other columns, a weaker one."""
    rng = np.random.default_rng(0)
    strong, weak = np.arange(n) % 3, np.arange(n) // 3 % 2
    return np.hstack([6 * np.eye(3)[strong], 4 * np.eye(2)[weak]]) + rng.standard_normal((n, 5)), strong, weak


def make_bagged(database: Database, storage: Storage, algorithm: str, labelled: bool = True) -> tuple[int, np.ndarray]:
    """Add a project of items in bags, with or without the bags' labels; give its id and the true classes."""
    X, y, bags, table = bagged(n_bags=30, spread=2.0)
    key = "songs" if labelled else "unlabelled-songs"
    project_id = make_songs(database, storage, len(y), 4, key, algorithm=algorithm, parameters={"n_init": 4})
    with database.transaction() as session:
        add_features(session, storage, session.get_one(Project, project_id), X, version=2)
        labels_of_bags = [[LABELS[c] for c in np.flatnonzero(row)] if labelled else [] for row in table]
        rows = [Bag(project_id=project_id, key=f"bag-{b}", labels=labels) for b, labels in enumerate(labels_of_bags)]
        session.add_all(rows)
        session.flush()
        for item, bag in zip(items_of(session, project_id), bags.tolist(), strict=True):
            item.bag_id = rows[bag].id
    return project_id, y


def items_of(session: Session, project_id: int) -> list[Item]:
    return list(session.scalars(select(Item).where(Item.project_id == project_id).order_by(Item.position)))


def fitted(database: Database, storage: Storage, settings: Settings, project: int, **choice: object) -> tuple:
    """Request a run, compute it, and give it with its labels."""
    run_id = request(database, project, **choice)
    assert compute(database, settings) == "done", get_run(database, run_id).error
    run = get_run(database, run_id)
    return run, results.load(storage, run.result).labels


@pytest.mark.heavy(but="sqlite-cmbc")
@pytest.mark.parametrize("method", ["cmbc", "regress-out", "dibws"])
def test_another_clustering_is_unlike_a_run(
    database: Database, storage: Storage, settings: Settings, method: str
) -> None:
    X, strong, weak = two_ways()
    project = make_songs(database, storage, 120)
    with database.transaction() as session:
        add_features(session, storage, session.get_one(Project, project), X, version=2)
    first, labels = fitted(database, storage, settings, project)
    assert adjusted_rand_score(strong, labels) > 0.9
    parameters = {"method": method, "n_clusters": 2, "known_runs": [first.number]}
    run, labels = fitted(database, storage, settings, project, algorithm="cmbc", parameters=parameters)
    assert adjusted_rand_score(weak, labels) > 0.8
    assert run.metrics["known_nmi"]["run 1"] < 0.05
    assert "lower_bound" not in run.metrics
    sentence = describe(RunOut.of(run))
    assert sentence.startswith(f"CMBC ({method}) put 120 items into 2 clusters unlike run 1; it read no answers. ")


def test_another_clustering_is_unlike_metadata(database: Database, storage: Storage, settings: Settings) -> None:
    X, strong, weak = two_ways()
    project = make_songs(database, storage, 120)
    with database.transaction() as session:
        add_features(session, storage, session.get_one(Project, project), X, version=2)
        for item, site in zip(items_of(session, project), strong.tolist(), strict=True):
            item.details = {"site": f"S{site}"} if item.position else {}
    parameters = {"method": "regress-out", "n_clusters": 2, "known_columns": ["site"]}
    run, labels = fitted(database, storage, settings, project, algorithm="cmbc", parameters=parameters)
    assert adjusted_rand_score(weak, labels) > 0.8
    assert list(run.metrics["known_nmi"]) == ["site"]


def test_what_is_known_is_read_as_codes(database: Database, storage: Storage) -> None:
    project = make_songs(database, storage, 5)
    with database.transaction() as session:
        metadata = [{"year": 2020}, {"year": "2021"}, {}, {"year": 2020}, {"year": None}]
        for item, details in zip(items_of(session, project), metadata, strict=True):
            item.details = details
        result = results.Result(np.array([2, 1], np.int16), np.ones(2, np.float32), np.eye(2, dtype=np.float32))
        run = Run(project_id=project, number=1, algorithm="dcrc", status="done", due_at=now(), token=1)
        session.add(run)
        session.flush()
        run.result = results.save(storage, run, result, np.zeros((2, 2)))
    with database.reading() as session:
        codes = known_clusterings.load(session, storage, project, {"known_runs": [1], "known_columns": ["year"]}, 5)
        np.testing.assert_array_equal(codes, [[2, 0], [1, 1], [-1, -1], [-1, 0], [-1, -1]])
        assert known_clusterings.load(session, storage, project, {"known_runs": [], "known_columns": []}, 5) is None
        for wrong, what in (
            ({"known_runs": [7]}, "run 7 has no clusters"),
            ({"known_columns": ["x"]}, "metadata 'x'"),
        ):
            with pytest.raises(ValueError, match=what):
                known_clusterings.load(session, storage, project, {"known_runs": [], "known_columns": [], **wrong}, 5)


@pytest.mark.heavy(but="sqlite-bags")
@pytest.mark.parametrize("algorithm", ["dcrc", "dcrc-cv", "bags"])
def test_bag_labels_help_before_anyone_has_answered(
    database: Database, storage: Storage, settings: Settings, algorithm: str
) -> None:
    project, y = make_bagged(database, storage, algorithm)
    run, labels = fitted(database, storage, settings, project)
    assert (run.metrics["n_labelled_bags"], run.metrics["n_bag_labels"]) == (30, 4)
    assert "4 labels of 30 bags" in describe(RunOut.of(run))
    without = {"method": "spectral"} if algorithm == "bags" else {}
    alone, _ = make_bagged(database, storage, algorithm, labelled=False) if not without else (project, y)
    _, plain = fitted(database, storage, settings, alone, parameters=without)
    assert adjusted_rand_score(y, labels) > adjusted_rand_score(y, plain) + 0.1


def test_clusters_tell_their_bag_labels(app: FastAPI, database: Database, storage: Storage, settings: Settings) -> None:
    project, y = make_bagged(database, storage, "dcrc")
    run, labels = fitted(database, storage, settings, project)
    with database.transaction() as session:
        user = add_member(session, session.get_one(Project, project), Role.ANALYST)
    with signed_in(app, user) as client:
        clusters = client.get("/api/v1/projects/songs/runs/latest/clusters").json()["clusters"]
        page = client.get("/projects/songs").text
    assert page.count("Goes with") == 4
    for cluster in clusters:
        shares = [[label["label"], label["share"]] for label in cluster["bag_labels"]]
        assert shares == run.metrics["cluster_labels"][str(cluster["cluster"])]
    for cluster, shares in run.metrics["cluster_labels"].items():
        commonest = np.bincount(y[labels == int(cluster)]).argmax()
        assert shares[0][0] == LABELS[commonest]
        assert 0.5 < shares[0][1] <= 1


@pytest.mark.heavy
def test_bag_labels_stay_when_answers_come(database: Database, storage: Storage, settings: Settings) -> None:
    project, y = make_bagged(database, storage, "dcrc")
    _, before = fitted(database, storage, settings, project)
    answer_rightly(database, project, y, 20)
    run, after = fitted(database, storage, settings, project)
    assert run.metrics["warm_start"]
    assert "4 labels of 30 bags and 20 answers" in describe(RunOut.of(run))
    assert adjusted_rand_score(before, after) > 0.5
    with database.transaction() as session:
        session.scalars(select(Bag).where(Bag.project_id == project)).first().labels = []
    assert not fitted(database, storage, settings, project)[0].metrics["warm_start"], "other labels, another model"


@pytest.mark.heavy
def test_a_system_may_follow_any_other(database: Database, storage: Storage, settings: Settings) -> None:
    """Figures and maps do not care who computed the run before."""
    project, y = make_bagged(database, storage, "dcrc")
    answer_rightly(database, project, y, 30)
    for algorithm in ("bags", "cmbc", "sklr", "dcrc"):
        parameters = {"known_runs": [1], "method": "regress-out"} if algorithm == "cmbc" else {}
        run, _ = fitted(database, storage, settings, project, algorithm=algorithm, parameters=parameters)
        assert 0 <= run.metrics["answers_satisfied"] <= 1
        assert describe(RunOut.of(run)), algorithm


def test_people_who_answer_wait_for_no_moves_where_bags_have_labels(
    database: Database, storage: Storage, settings: Settings
) -> None:
    project, _ = make_bagged(database, storage, "dcrc")
    run = fitted(database, storage, settings, project)[0]
    loaded = inputs.load(database, storage, run)
    assert loaded.bags is not None
    for reason, bags, moves in (("request", loaded.bags, 20), ("answers", loaded.bags, 0), ("answers", None, 20)):
        run.reason = reason
        assert dcrc._moves(run, replace(loaded, bags=bags)) == moves
