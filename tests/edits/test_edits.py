"""Edits of clusters by hand: over REST, into the next run, and back; on real fits."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.models import AuditEntry, Bag, Item, Link, Project, Role, Run, RunStatus, Source, Triplet
from tercet.runs import results
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker import hand_edits
from tercet.worker.inputs import positions
from tests.factories import add_member, signed_in
from tests.runs.support import PLAIN, answer_truly, compute, get_run, make_songs, request

SONGS = "/api/v1/projects/songs"


@pytest.fixture
def parameters() -> dict[str, Any]:
    """How the project is fitted."""
    return PLAIN


@pytest.fixture
def project(database: Database, storage: Storage, settings: Settings, parameters: dict[str, Any]) -> int:
    """Sixty items in three clusters, after a run with twenty answers."""
    project = make_songs(database, storage, parameters=parameters)
    answer_truly(database, project, 20)
    requested_run(database, settings, project)
    return project


@pytest.fixture
def analyst(app: FastAPI, database: Database, project: int) -> Iterator[TestClient]:
    with analyst_of(app, database, project) as client:
        yield client


@contextmanager
def analyst_of(app: FastAPI, database: Database, project: int) -> Iterator[TestClient]:
    with database.transaction() as session:
        ann = add_member(session, session.get_one(Project, project), Role.ANALYST, "Ann")
    with signed_in(app, ann) as client:
        yield client


def requested_run(database: Database, settings: Settings, project: int) -> None:
    request(database, project)
    assert compute(database, settings) == "done"


def clusters(database: Database, storage: Storage, project: int) -> np.ndarray:
    """The clusters of the newest finished run."""
    with database.reading() as session:
        done = (Run.project_id == project) & (Run.status == RunStatus.DONE)
        run = session.scalars(select(Run).where(done).order_by(Run.number.desc())).first()
    assert run is not None
    assert run.result is not None
    return results.load(storage, run.result).labels


def next_run(database: Database, settings: Settings) -> Run:
    """Compute the run that an edit has queued."""
    with database.transaction() as session:
        run = session.scalars(select(Run).where(Run.status == RunStatus.QUEUED)).one()
        run.due_at = run.created_at
        number = run.id
    assert compute(database, settings) == "done"
    return get_run(database, number)


def edit(client: TestClient, kind: str, positions: np.ndarray | list[int] = (), **more: Any) -> dict[str, Any]:
    body = {"kind": kind, "items": [f"item-{position}" for position in positions], **more}
    answer = client.post(f"{SONGS}/edits", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.mark.heavy(but="sqlite")
def test_a_move_is_seen_at_once_while_unrelated_items_are_where_the_first_run_has_them(
    app: FastAPI, database: Database, storage: Storage, settings: Settings
) -> None:
    project = make_songs(database, storage)
    request(database, project)
    assert compute(database, settings) == "done"
    first = clusters(database, storage, project)
    moved = np.flatnonzero(first == 1)[:4]
    with database.transaction() as session:
        ann = add_member(session, session.get_one(Project, project), Role.ANALYST, "Ann")
    with signed_in(app, ann) as client:
        answer_truly(database, project, 10)
        edit(client, "move", moved, cluster=2, weight=2)
    run = next_run(database, settings)
    after = clusters(database, storage, project)
    assert (after[moved] == 2).all()
    figures = run.metrics["first_clusters"]
    assert figures["shown"]
    assert (after != first).sum() <= figures["items_as_fitted"] < 60
    with database.reading() as session:
        ends = [row for link in session.scalars(select(Link)) for row in (link.item_id, link.other_id)]
        linked = session.scalars(select(Item.position).where(Item.id.in_(ends))).all()
    unmoved = np.setdiff1d(linked, moved)
    assert len(unmoved) == 20 + 2, "each with five others of the new cluster, all with two of the old one"
    assert figures["items_as_fitted"] < len(linked), "those that stand for the clusters stay where they were seen"


def test_a_move_holds_in_the_next_run_and_is_gone_when_taken_back(
    database: Database, storage: Storage, settings: Settings, project: int, analyst: TestClient
) -> None:
    before = clusters(database, storage, project)
    moved = np.flatnonzero(before == 1)[:4]
    made = edit(analyst, "move", moved, cluster=2, weight=2)
    assert made["links"] == (5 + 2) * 4, "each with five of the new cluster and two of the old one"
    assert (made["by"], made["items"], made["keys"], made["holding"]) == ("Ann", 4, [f"item-{i}" for i in moved], None)

    run = next_run(database, settings)
    after = clusters(database, storage, project)
    assert (after[moved] == 2).all()
    assert (after == before).sum() >= 54, "the others stay"
    assert run.metrics["edit_links"] == run.metrics["edit_links_held"] == 28
    [logged] = analyst.get(f"{SONGS}/edits").json()["edits"]
    assert logged == made | {"holding": 28}

    back = analyst.delete(f"{SONGS}/edits/{made['edit']}").json()
    assert back["reverted_at"] is not None
    assert back["holding"] is None
    assert analyst.delete(f"{SONGS}/edits/{made['edit']}").status_code == 409
    with database.reading() as session:
        entries = session.execute(select(AuditEntry.what, AuditEntry.by_name).order_by(AuditEntry.number)).all()
    assert [tuple(entry) for entry in entries] == [("clusters edited", "Ann"), ("edit taken back", "Ann")]
    assert "edit_links" not in next_run(database, settings).metrics
    assert (clusters(database, storage, project)[moved] == 1).all()


@pytest.mark.heavy(but="sqlite")
def test_the_newest_edit_of_an_item_counts(
    database: Database, storage: Storage, settings: Settings, project: int, analyst: TestClient
) -> None:
    moved = np.flatnonzero(clusters(database, storage, project) == 1)[:3]
    edit(analyst, "move", moved, cluster=2)
    edit(analyst, "move", moved, cluster=3)
    assert next_run(database, settings).metrics["edit_links"] == 3 * (5 + 2), "those of the first move are overruled"
    assert (clusters(database, storage, project)[moved] == 3).all()


@pytest.mark.heavy(but="sqlite")
def test_items_are_moved_one_by_one_the_most_typical_ones_first(
    database: Database, storage: Storage, settings: Settings, project: int, analyst: TestClient
) -> None:
    before = clusters(database, storage, project)
    with database.reading() as session:
        run = session.scalars(select(Run).where(Run.status == RunStatus.DONE)).one()
    confidence = results.load(storage, run.result or "").confidence
    members = np.flatnonzero(before == 1)
    moved = members[np.argsort(-confidence[members], kind="stable")][:10]
    for position in moved.tolist():
        edit(analyst, "move", [position], cluster=2)
    with database.reading() as session:
        in_links = select(func.count()).where(Link.alike).group_by(Link.other_id)
        assert sorted(session.scalars(in_links)) == [2] * 10 + [3] * 10, "all of the new cluster stand for it in turns"
    # What is moved first must not hold back what is moved later.
    assert next_run(database, settings).metrics["edit_links"] == 10 * (5 + 2)
    assert np.mean(clusters(database, storage, project)[moved] == 2) >= 0.9


@pytest.mark.only_on("sqlite")
def test_what_was_said_last_of_an_item_counts_before_any_run(
    database: Database, storage: Storage, settings: Settings, project: int, analyst: TestClient
) -> None:
    before = clusters(database, storage, project)
    first, second, third, fourth = np.flatnonzero(before == 1)[:4].tolist()
    edit(analyst, "out", [first])
    edit(analyst, "keep", [first])
    edit(analyst, "move", [second], cluster=3)
    edit(analyst, "out", [second])
    edit(analyst, "out", [third])
    edit(analyst, "move", [third], cluster=3)
    edit(analyst, "move", [fourth], cluster=2)
    edit(analyst, "keep", [fourth])
    metrics = next_run(database, settings).metrics
    assert metrics["edit_links"] == metrics["edit_links_held"] == 5 + 5 + (5 + 2) + 5
    after = clusters(database, storage, project)
    assert (after[[first, third, fourth]] == [1, 3, 1]).all()
    assert after[second] != 1


@pytest.mark.only_on("sqlite")
def test_links_of_moves_alone_say_nothing_of_what_stands_for_a_cluster(
    database: Database, storage: Storage, project: int, analyst: TestClient
) -> None:
    before = clusters(database, storage, project)
    moved, remaining = np.split(np.flatnonzero(before == 1)[:4], 2)
    edit(analyst, "move", moved, cluster=2, weight=3)
    edit(analyst, "keep", remaining)
    edit(analyst, "out", np.flatnonzero(before == 3)[:1])
    with database.reading() as session:
        ids = np.array(session.scalars(select(Item.id).order_by(Item.position)).all())
        edits = hand_edits.place(hand_edits.read(session, project), partial(positions, item_ids=ids), None)
    arguments = edits.dcrc_arguments()
    weights = arguments["stand_in_weights"].tolist()
    assert weights == [3] * (2 * 5) + [-3] * (2 * 2), "where they go, and from where"
    items, others = arguments["stand_ins"].T
    assert set(items.tolist()) == set(moved.tolist())
    assert before[others].tolist() == [2] * (2 * 5) + [1] * (2 * 2)
    assert (len(arguments["must_link"]), len(arguments["cannot_link"])) == (2 * 5, 5)
    symmetric = edits.fit_arguments()
    assert (len(symmetric["must_link"]), len(symmetric["cannot_link"])) == (4 * 5, 5 + 2 * 2)


@pytest.mark.heavy
@pytest.mark.only_on("sqlite")
def test_many_items_are_moved_and_do_not_draw_the_others_to_themselves(
    app: FastAPI, database: Database, storage: Storage, settings: Settings
) -> None:
    project = make_songs(database, storage, 600)
    answer_truly(database, project, 100)
    requested_run(database, settings, project)
    before = clusters(database, storage, project)
    moved = np.flatnonzero(before == 1)[:50]
    with analyst_of(app, database, project) as client:
        edit(client, "move", moved, cluster=2)
    next_run(database, settings)
    after = clusters(database, storage, project)
    assert np.mean(after[moved] == 2) >= 0.9
    assert np.mean(after[before == 2] == 2) >= 0.9


@pytest.mark.only_on("sqlite")
def test_sklr_learns_from_edits_too(app: FastAPI, database: Database, storage: Storage, settings: Settings) -> None:
    project = make_songs(database, storage, algorithm="sklr", parameters={"n_init": 3})
    answer_truly(database, project, 60)
    requested_run(database, settings, project)
    before = clusters(database, storage, project)
    moved = np.flatnonzero(before == 1)[:10]
    with analyst_of(app, database, project) as client:
        edit(client, "move", moved, cluster=2)
        run = next_run(database, settings)
        after = clusters(database, storage, project)
        assert np.mean(after[moved] == 2) >= 0.9
        assert np.mean(after[before == 3] == 3) >= 0.9, "what has nothing to do with it stays"
        assert run.metrics["edit_links_held"] >= 0.8 * run.metrics["edit_links"]


@pytest.mark.heavy(but="sqlite")
@pytest.mark.parametrize("parameters", [{}], ids=["usual"])
def test_clusters_are_merged_and_split_and_the_others_keep_items_and_names(
    database: Database, storage: Storage, settings: Settings, project: int, analyst: TestClient
) -> None:
    before = clusters(database, storage, project)
    analyst.put(f"{SONGS}/runs/latest/clusters/3", json={"name": "trills"})
    merge = edit(analyst, "merge", cluster=1, other=2)
    next_run(database, settings)
    merged = clusters(database, storage, project)
    # The third cluster takes the number that became free.
    assert merged.tolist() == np.array([0, 1, 1, 2])[before].tolist()
    names = [cluster["name"] for cluster in analyst.get(f"{SONGS}/runs/latest/clusters").json()["clusters"]]
    assert names == ["", "trills"]
    assert analyst.get(SONGS).json()["n_clusters"] == 2

    edit(analyst, "split", np.flatnonzero(before == 2)[:8])
    assert analyst.get(SONGS).json()["n_clusters"] == 3
    next_run(database, settings)
    split = clusters(database, storage, project)
    assert len(set(split[np.flatnonzero(before == 2)[:8]].tolist())) == 1
    assert np.mean(split[before == 1] == split[np.flatnonzero(before == 2)[0]]) <= 0.1

    analyst.delete(f"{SONGS}/edits/{merge['edit']}")
    assert analyst.get(SONGS).json()["n_clusters"] == 4


@pytest.mark.only_on("sqlite")
def test_what_belongs_together_apart_in_and_out(
    database: Database, storage: Storage, settings: Settings, project: int, analyst: TestClient
) -> None:
    before = clusters(database, storage, project)
    of = {cluster: np.flatnonzero(before == cluster) for cluster in (1, 2, 3)}
    edit(analyst, "together", [of[1][0], of[1][1]], weight=3)
    edit(analyst, "apart", [of[1][2], of[2][2]])
    edit(analyst, "keep", of[3][:2])
    edit(analyst, "out", of[2][:2])
    run = next_run(database, settings)
    after = clusters(database, storage, project)
    assert (after[of[2][:2]] != after[of[2][5]]).all()
    assert (after[of[3][:2]] == 3).all()
    assert run.metrics["edit_links"] == run.metrics["edit_links_held"]
    assert [logged["kind"] for logged in analyst.get(f"{SONGS}/edits?limit=3").json()["edits"]] == [
        "out",
        "keep",
        "apart",
    ]


def times_compared_with(database: Database, positions: list[int]) -> int:
    """How often informative questions that wait compare another item with one of these."""
    with database.reading() as session:
        ids = session.scalars(select(Item.id).where(Item.position.in_(positions))).all()
        waiting = Triplet.priority.is_not(None) & (Triplet.source == Source.INFORMATION)
        pairs = session.execute(select(Triplet.left_id, Triplet.right_id).where(waiting)).all()
    return sum(item in ids for pair in pairs for item in pair)


@pytest.mark.heavy(but="sqlite")
@pytest.mark.parametrize("parameters", [{}], ids=["usual"])
def test_what_is_called_typical_stands_for_its_cluster_until_it_is_put_elsewhere(
    database: Database, storage: Storage, settings: Settings, project: int, analyst: TestClient
) -> None:
    def typical() -> list[list[str]]:
        listed = analyst.get(f"{SONGS}/runs/latest/clusters").json()["clusters"]
        return [[item["key"] for item in cluster["exemplars"] if item["called_typical"]] for cluster in listed]

    with database.transaction() as session:  # the graph makes these clusters so sure that any exemplar is as good
        session.get_one(Project, project).parameters = {"candidates": "features"}
    requested_run(database, settings, project)
    before = clusters(database, storage, project)
    one = analyst.get(f"{SONGS}/runs/latest/clusters").json()["clusters"][0]
    doubtful = [item["position"] for item in one["uncertain"]][:2]
    assert typical() == [[], [], []]
    first, second = (edit(analyst, "typical", [position]) for position in doubtful)
    called = [f"item-{doubtful[1]}", f"item-{doubtful[0]}"]
    assert typical() == [called, [], []], "at once, the newest first"
    one = analyst.get(f"{SONGS}/runs/latest/clusters").json()["clusters"][0]
    assert [item["key"] for item in one["exemplars"]][:2] == called

    seldom = times_compared_with(database, doubtful)
    next_run(database, settings)
    assert (clusters(database, storage, project)[doubtful] == 1).all()
    assert times_compared_with(database, doubtful) > 1.5 * seldom

    edit(analyst, "move", doubtful[:1], cluster=2)
    analyst.delete(f"{SONGS}/edits/{second['edit']}")
    assert typical() == [[], [], []]
    assert analyst.get(f"{SONGS}/edits").json()["edits"][-1]["edit"] == first["edit"]
    assert before[doubtful].tolist() == [1, 1]


IMPOSSIBLE = [
    ({"kind": "move", "items": ["nobody"], "cluster": 1}, "there is no item 'nobody'"),
    ({"kind": "move", "items": ["item-1"]}, "is expected with this kind"),
    ({"kind": "move", "items": ["item-1"], "cluster": 4}, "there are no items in a cluster 4"),
    ({"kind": "move", "items": [], "cluster": 1}, "1 or more are expected"),
    ({"kind": "merge", "cluster": 1, "other": 1}, "is the cluster itself"),
    ({"kind": "merge", "cluster": 1, "other": 2, "items": ["item-1"]}, "none are expected"),
    ({"kind": "apart", "items": [f"item-{n}" for n in range(4)]}, "3 clusters can keep so many items apart"),
    ({"kind": "split", "items": ["item-0", "item-1"]}, "are in several clusters"),
    ({"kind": "keep", "items": ["item-1"], "cluster": 2}, "is not expected with this kind"),
    ({"kind": "keep", "items": ["item-1"], "weight": 0}, "greater than 0"),
    ({"kind": "typical", "items": [f"item-{n}" for n in range(21)]}, "up to 20 are expected"),
]


@pytest.mark.only_on("sqlite")
def test_what_cannot_be_is_refused_and_changes_nothing(analyst: TestClient) -> None:
    for body, problem in IMPOSSIBLE:
        refused = analyst.post(f"{SONGS}/edits", json=body)
        assert refused.status_code == 422, body
        assert problem in refused.text
        assert analyst.get(f"{SONGS}/edits").json() == {"edits": [], "next": None}, body


@pytest.mark.only_on("sqlite")
def test_edits_need_clusters(app: FastAPI, database: Database, storage: Storage, settings: Settings) -> None:
    project = make_songs(database, storage)
    body = {"kind": "keep", "items": ["item-1"]}
    with analyst_of(app, database, project) as client:
        refused = client.post(f"{SONGS}/edits", json=body)
        assert (refused.status_code, "no run is done" in refused.text) == (409, True)


@pytest.mark.heavy(but="sqlite-bags")
@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize(
    ("algorithm", "parameters"),
    [
        ("bags", {}),
        ("cmbc", {"method": "em"}),
        *(("cmbc", {"method": method, "known_columns": ["site"]}) for method in ("cmbc", "dibws", "regress-out")),
    ],
)
def test_moved_items_stay_where_they_were_put_by_systems_that_read_no_answers(
    app: FastAPI,
    database: Database,
    storage: Storage,
    settings: Settings,
    algorithm: str,
    parameters: dict[str, Any],
) -> None:
    project = make_songs(database, storage)
    with database.transaction() as session:
        songs = session.get_one(Project, project)
        songs.algorithm, songs.parameters = algorithm, parameters
        add_bags_and_sites(session, project)
    requested_run(database, settings, project)
    first = clusters(database, storage, project)
    moved = np.flatnonzero(first == 1)[:10]
    with analyst_of(app, database, project) as client:
        number = edit(client, "move", moved, cluster=2)["edit"]
        next_run(database, settings)
        second = clusters(database, storage, project)
        assert np.count_nonzero(second[moved] == 2) >= 9
        others = np.setdiff1d(np.arange(60), moved)
        assert np.mean(second[others] == first[others]) > 0.75
        requested_run(database, settings, project)
        assert np.count_nonzero(clusters(database, storage, project)[moved] == 2) >= 9, "also in later runs"
        assert client.delete(f"{SONGS}/edits/{number}").status_code == 200
        next_run(database, settings)
    np.testing.assert_array_equal(clusters(database, storage, project), first)


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize(("algorithm", "parameters"), [("bags", {}), ("cmbc", {"method": "em"})])
def test_systems_that_read_no_answers_split_and_merge_and_keep_the_other_clusters(
    app: FastAPI,
    database: Database,
    storage: Storage,
    settings: Settings,
    algorithm: str,
    parameters: dict[str, Any],
) -> None:
    project = make_songs(database, storage, algorithm=algorithm, parameters=parameters)
    with database.transaction() as session:
        add_bags_and_sites(session, project)
    requested_run(database, settings, project)
    first = clusters(database, storage, project)
    others, chosen = first != 1, np.flatnonzero(first == 1)[:6]
    with analyst_of(app, database, project) as client:
        edit(client, "split", chosen)
        next_run(database, settings)
        second = clusters(database, storage, project)
        assert set(second[chosen].tolist()) == {4}
        assert np.mean(second[others] == first[others]) > 0.9
        edit(client, "merge", cluster=2, other=3)
        next_run(database, settings)
    third = clusters(database, storage, project)
    assert len(np.unique(third)) == 3
    joined = third[(second == 2) | (second == 3)]
    assert np.mean(joined == np.bincount(joined).argmax()) > 0.8, "a wide cluster loses some to the others"
    assert np.mean(third[second == 1] == 1) > 0.9


def add_bags_and_sites(session: Session, project: int) -> None:
    """Ten bags with the labels of what is in them, and a site of every item that tells nothing of its cluster."""
    items = session.scalars(select(Item).where(Item.project_id == project).order_by(Item.position)).all()
    bags = [Bag(project_id=project, key=f"bag {n}", labels=["abc"[n % 3]]) for n in range(10)]
    session.add_all(bags)
    session.flush()
    for item in items:
        item.bag_id = bags[item.position % 10].id
        item.details = {"site": "east" if item.position // 3 % 2 else "west"}
