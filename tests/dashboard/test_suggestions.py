"""What to do next: what is suggested, dismissals that hold and are taken back, and merges that renumber them."""

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

from tercet.database import Database
from tercet.labeling import decisions
from tercet.models import Dismissal, Project, Role, Run, User, Verdict
from tercet.runs.queries import lock_project
from tercet.storage import Storage
from tercet.worker.hand_edits import NO_EDITS, carry_dismissals
from tests.dashboard.results import add_result
from tests.factories import add_features, add_member, make_project, signed_in

API = "/api/v1/projects/songs/suggestions"
PAIRS = [
    {"first": 1, "second": 3, "items": 4},  # a quarter of the 10 of cluster 1
    {"first": 1, "second": 2, "items": 2},
    {"first": 2, "second": 3, "items": 5},  # less than a quarter of the 30
]
LABELS = [1] * 10 + [2] * 30 + [3] * 40 + [4]


@pytest.fixture
def analyst(database: Database, storage: Storage) -> User:
    """An analyst of a project of clusters of 10, 30, 40 and 1 items."""
    with database.transaction() as session:
        project = make_project(session, n_items=len(LABELS), n_clusters=4)
        add_features(session, storage, project, np.eye(len(LABELS)))
        level = {"low": 80, "median": 120, "high": None}
        add_result(session, storage, project, 1, LABELS, confused_pairs=PAIRS, levels_off=level)
        return add_member(session, project, Role.ANALYST)


def suggestions(client: TestClient) -> list[tuple[str, list[int], str, bool]]:
    rows = client.get(API).json()["suggestions"]
    return [(row["kind"], row["clusters"], row["text"], row["dismissed"]) for row in rows]


def test_what_is_suggested_is_dismissed_and_brought_back(app: FastAPI, analyst: User) -> None:
    merge = ("merge", [1, 3], "Merge 1 and 3? 4 items lie between them.", False)
    small = ("small", [4], "Cluster 4 has 1 item.", False)
    answers = ("answers", [], "About 120 more answers until the clusters level off (80 to more than 800).", False)
    with signed_in(app, analyst) as client:
        assert suggestions(client) == [merge, small, answers]
        for _ in range(2):  # a retry changes nothing more
            sent = {"kind": "merge", "clusters": [3, 1], "dismissed": True}
            assert client.put(API, json=sent).status_code == 200
        assert suggestions(client) == [(*merge[:3], True), small, answers]
        page = client.get("/projects/songs").text
        assert "1 dismissed" in page
        assert page.index("Cluster 4 has 1 item.") < page.index("Merge 1 and 3?")
        form = {"kind": "merge", "clusters": "1, 3", "dismissed": "false"}
        response = client.post("/projects/songs/suggestions", data=form, follow_redirects=False)
        assert response.status_code == 303
        client.post("/projects/songs/suggestions", data={"kind": "answers", "clusters": "", "dismissed": "true"})
        assert suggestions(client) == [merge, small, (*answers[:3], True)]


@pytest.mark.only_on("sqlite")
def test_labelers_on_hold_are_to_be_looked_at_first(app: FastAPI, database: Database, analyst: User) -> None:
    with database.transaction() as session:
        project = session.scalars(select(Project)).one()
        labeler = add_member(session, project, Role.LABELER)
    with signed_in(app, analyst) as client:
        assert client.get(API).json()["held"] == 0
        assert "on hold" not in client.get("/projects/songs").text
        with database.transaction() as session:
            locked = lock_project(session, project.id)
            decisions.log(session, locked, Verdict.HELD, labeler.id, None, "30 answers took less than half a second.")
        assert client.get(API).json()["held"] == 1
        page = " ".join(client.get("/projects/songs").text.split())
        assert "A labeler is on hold: runs do not use their answers until somebody looks." in page


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "merge", "clusters": [1], "dismissed": True},
        {"kind": "merge", "clusters": [1, 1], "dismissed": True},
        {"kind": "small", "clusters": [], "dismissed": True},
        {"kind": "answers", "clusters": [2], "dismissed": True},
        {"kind": "split", "clusters": [2], "dismissed": True},
        {"kind": "small", "clusters": [0], "dismissed": True},
    ],
)
@pytest.mark.only_on("sqlite")
def test_what_is_no_suggestion_cannot_be_dismissed(app: FastAPI, database: Database, analyst: User, body: dict) -> None:
    with signed_in(app, analyst) as client:
        assert client.put(API, json=body).status_code == 422
    with database.reading() as session:
        assert session.scalars(select(Dismissal)).all() == []


@pytest.mark.only_on("sqlite")
def test_labelers_dismiss_nothing(app: FastAPI, database: Database, analyst: User) -> None:
    with database.transaction() as session:
        labeler = add_member(session, session.scalars(select(Project)).one(), Role.LABELER)
    with signed_in(app, labeler) as client:
        assert client.get(API).status_code == 403
        assert client.put(API, json={"kind": "answers", "dismissed": True}).status_code == 403


def test_a_merge_takes_dismissals_along(database: Database, analyst: User) -> None:
    with database.transaction() as session:
        project, run = session.scalars(select(Project)).one(), session.scalars(select(Run)).one()
        for kind, cluster, other in (
            ("merge", 1, 4), ("merge", 1, 2), ("merge", 3, 4), ("small", 4, 0), ("small", 2, 0), ("answers", 0, 0),
        ):  # fmt: skip
            row = Dismissal(project_id=project.id, kind=kind, cluster=cluster, other=other, by_id=analyst.id)
            session.add(row)
        session.flush()
        # 2 was merged into 1, and 4, the last one, got its number.
        carry_dismissals(session, run, NO_EDITS._replace(renumbered=((4, 2),)), 3)
        columns = Dismissal.kind, Dismissal.cluster, Dismissal.other
        rows = {tuple(row) for row in session.execute(select(*columns))}
        assert rows == {("merge", 1, 2), ("merge", 2, 3), ("small", 2, 0), ("answers", 0, 0)}
        carry_dismissals(session, run, NO_EDITS, 2)
        rows = {tuple(row) for row in session.execute(select(*columns))}
        assert rows == {("merge", 1, 2), ("small", 2, 0), ("answers", 0, 0)}, "there is no cluster 3 any more"


@pytest.mark.only_on("sqlite")
def test_items_between_clusters_are_listed_over_rest(app: FastAPI, analyst: User) -> None:
    base = "/api/v1/projects/songs/runs/latest/between"
    with signed_in(app, analyst) as client:
        # All of a test's items have 0.1 for every other cluster: the second likeliest is the first of these.
        between = client.get(f"{base}/2/1").json()
        assert (between["run"], between["clusters"]) == (1, [2, 1])
        assert {item["position"] for item in between["items"]} <= set(range(40))
        confidence = [item["confidence"] for item in between["items"]]
        assert confidence == sorted(confidence)
        assert max(confidence) < 0.9
        assert client.get(f"{base}/2/5").status_code == 404
