"""Makes edits of clusters and takes them back; the next run learns from their links."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from tercet.accounts.access import Access
from tercet.audit import chain
from tercet.catalogue import algorithms
from tercet.edits import pairs, queries
from tercet.edits.schemas import EditIn, EditList, EditOut
from tercet.errors import Conflict, FieldError, Invalid, NotFound
from tercet.items.queries import count_in_use, ids_by_key, items_by_position, positions_by_id
from tercet.live import events
from tercet.models import MOVING, Edit, EditKind, Link, Project, Run, now
from tercet.projects.service import change_project
from tercet.runs import results
from tercet.runs.in_use import labels_in_use
from tercet.runs.queries import last_done, lock_project
from tercet.runs.results import Array, Result
from tercet.runs.schedule import answers_changed
from tercet.runs.typical import typical_items
from tercet.storage import Storage

KEYS = 5  # of the items of an edit that the log names
# How many items each kind takes; a merge is about clusters.
FEWEST = {EditKind.TOGETHER: 2, EditKind.APART: 2, EditKind.SPLIT: 2, EditKind.MERGE: 0}
CLUSTERS = {EditKind.MOVE: {"cluster"}, EditKind.MERGE: {"cluster", "other"}}
MOST_TYPICAL = 20  # of one edit: hundreds would stand for nothing
# By how many clusters a run has more afterwards.
MORE = {EditKind.MERGE: -1, EditKind.SPLIT: 1}


def make(session: Session, storage: Storage, access: Access, body: EditIn) -> EditOut:
    """Store an edit, and queue the run that it takes effect with."""
    project = lock_project(session, access.project.id)
    run = _current(session, project)
    result = _result(session, storage, project, run)
    items = _items(session, project, result, body)
    _check(project, result, body, items)
    edit = Edit(
        project_id=project.id,
        kind=body.kind,
        items=len(items),
        cluster=body.cluster,
        other=int(result.labels[items[0]]) if body.kind == EditKind.SPLIT else body.other,
        weight=body.weight,
        by_id=access.user.id,
    )
    session.add(edit)
    session.flush()
    n_links = np.zeros(len(result.labels), dtype=np.int64)
    if body.kind in MOVING:
        n_links = queries.links_standing_in(session, project.id, len(result.labels))
    edited = queries.edited_since(session, project.id, run.started_at)
    clusters = pairs.EditedClusters(result, items, edited, typical_items(session, project.id), n_links)
    _store_links(session, edit, _pairs(clusters, body))
    after = {"edit": edit.id, "kind": body.kind, "items": len(items), "cluster": body.cluster}
    chain.record(session, "clusters edited", project=project, after=after)
    _change(session, project, MORE.get(body.kind, 0))
    return describe(session, storage, project, [(edit, access.user.name)])[0]


def take_back(session: Session, storage: Storage, access: Access, number: int) -> EditOut:
    """Take an edit back: runs do not learn from it any more."""
    project = lock_project(session, access.project.id)
    row = queries.find(session, project.id, number)
    if row is None:
        raise NotFound(f"There is no edit {number} in project '{project.key}'.")
    edit, _ = row
    if edit.reverted_at is not None:
        raise Conflict(f"Edit {number} was taken back already.")
    edit.reverted_at = now()
    chain.record(session, "edit taken back", project=project, before={"edit": number, "kind": edit.kind})
    _change(session, project, -MORE.get(EditKind(edit.kind), 0))
    return describe(session, storage, project, [row])[0]


def page(session: Session, storage: Storage, project: Project, before: int | None, limit: int) -> EditList:
    """Return a page of the log, newest first."""
    rows = queries.page(session, project.id, before, limit + 1)
    edits = describe(session, storage, project, rows[:limit])
    return EditList(edits=edits, next=edits[-1].edit if len(rows) > limit else None)


def describe(session: Session, storage: Storage, project: Project, rows: Sequence[tuple[Edit, str]]) -> list[EditOut]:
    """Return edits as they go out, with how far they hold in the current run."""
    if not rows:
        return []
    run = last_done(session, project.id)
    labels = None if run is None else _result(session, storage, project, run).labels
    links: dict[int, list[queries.PlacedLink]] = defaultdict(list)
    for link in queries.links(session, [edit for edit, _ in rows]):
        links[link.edit_id].append(link)
    return [_out(edit, by, links[edit.id], run, labels) for edit, by in rows]


def _out(edit: Edit, by: str, links: list[queries.PlacedLink], run: Run | None, labels: Array | None) -> EditOut:
    began = run is not None and run.started_at is not None and run.started_at >= edit.created_at
    return EditOut(
        **{name: getattr(edit, name) for name in ("kind", "items", "cluster", "other", "weight")},
        **{name: getattr(edit, name) for name in ("created_at", "reverted_at")},
        edit=edit.id,
        keys=list(dict.fromkeys(link.key for link in links))[:KEYS],
        by=by,
        links=len(links),
        holding=_holding(links, labels) if began and labels is not None and edit.reverted_at is None else None,
    )


def _holding(links: list[queries.PlacedLink], labels: Array) -> int:
    n = len(labels)
    return sum(
        (labels[link.item] == labels[link.other]) == link.alike for link in links if max(link.item, link.other) < n
    )


def _current(session: Session, project: Project) -> Run:
    run = last_done(session, project.id)
    if run is None:
        raise Conflict("There are no clusters to edit yet: no run is done.")
    return run


def _result(session: Session, storage: Storage, project: Project, run: Run) -> Result:
    assert run.result is not None, "a run that is done has a result"
    stored = results.load_cached(storage, run.result)
    return Result(labels_in_use(session, project.id, stored.labels), stored.confidence, stored.posterior)


def _items(session: Session, project: Project, result: Result, body: EditIn) -> Array:
    """Return the positions of the items, in ascending order; raise Invalid for one that is in no cluster."""
    ids = ids_by_key(session, project.id, body.items)
    places = positions_by_id(session, project.id) if body.items else {}
    errors, positions = [], set()
    for row, key in enumerate(body.items, 1):
        place = places[ids[key]] if key in ids else None
        if place is None or place >= len(result.labels) or result.labels[place] < 1:
            errors.append(FieldError("items", f"there is no item '{key}' in the clusters of this project", row))
        else:
            positions.add(place)
    if errors:
        raise Invalid("Nothing was changed.", errors[:100])
    return np.array(sorted(positions), dtype=np.int64)


def _check(project: Project, result: Result, body: EditIn, items: Array) -> None:
    errors = [
        FieldError(name, "is expected with this kind" if name in needed else "is not expected with this kind")
        for needed in [CLUSTERS.get(body.kind, set())]
        for name in ("cluster", "other")
        if (getattr(body, name) is not None) != (name in needed)
    ]
    errors += [
        FieldError(name, f"there are no items in a cluster {getattr(body, name)}")
        for name in ("cluster", "other")
        if getattr(body, name) is not None and not (result.labels == getattr(body, name)).any()
    ]
    if len(items) < FEWEST.get(body.kind, 1) or (body.kind == EditKind.MERGE and len(items)):
        fewest = FEWEST.get(body.kind, 1)
        errors.append(FieldError("items", f"{fewest} or more are expected" if fewest else "none are expected"))
    if not errors and body.kind == EditKind.MERGE and body.cluster == body.other:
        errors.append(FieldError("other", "is the cluster itself"))
    if body.kind == EditKind.APART and len(items) > project.n_clusters:
        errors.append(FieldError("items", f"{project.n_clusters} clusters can keep so many items apart, not more"))
    if body.kind == EditKind.TYPICAL and len(items) > MOST_TYPICAL:
        errors.append(FieldError("items", f"up to {MOST_TYPICAL} are expected, the most typical ones"))
    if not errors and body.kind == EditKind.SPLIT:
        errors += _check_split(result, items)
    if errors:
        raise Invalid("Nothing was changed.", errors)


def _check_split(result: Result, items: Array) -> list[FieldError]:
    sources = np.unique(result.labels[items])
    if len(sources) > 1:
        return [FieldError("items", "are in several clusters: split one at a time")]
    if np.count_nonzero(result.labels == sources[0]) == len(items):
        return [FieldError("items", f"are all of cluster {sources[0]}: nothing would be left of it")]
    return []


def _pairs(clusters: pairs.EditedClusters, body: EditIn) -> pairs.Pairs:
    """Return the links of an edit."""
    items = clusters.chosen
    match body.kind:
        case EditKind.MOVE:
            assert body.cluster is not None, "checked before"
            return pairs.move(clusters, items, body.cluster)
        case EditKind.MERGE:
            assert body.cluster is not None, "checked before"
            assert body.other is not None, "checked before"
            return pairs.merge(clusters, body.cluster, body.other)
        case EditKind.SPLIT:
            return pairs.split(clusters, items, int(clusters.result.labels[items[0]]))
        case EditKind.TOGETHER:
            return pairs.together(items)
        case EditKind.APART:
            return pairs.apart(items)
        case _:
            return pairs.stay(clusters, items, alike=body.kind != EditKind.OUT)


def _store_links(session: Session, edit: Edit, linked: pairs.Pairs) -> None:
    if not linked:
        raise Invalid("Nothing was changed.", [FieldError("items", "there is nothing else in their cluster")])
    positions = sorted({position for item, other, _ in linked for position in (item, other)})
    ids = {item.position: item.id for item in items_by_position(session, edit.project_id, positions)}
    rows: list[dict[str, Any]] = [
        {
            "project_id": edit.project_id,
            "edit_id": edit.id,
            "item_id": ids[item],
            "other_id": ids[other],
            "alike": alike,
        }
        for item, other, alike in linked
    ]
    session.bulk_insert_mappings(Link.__mapper__, rows)


def _change(session: Session, project: Project, more: int) -> None:
    """Let runs make more or fewer clusters, tell open pages, and queue the run."""
    if more:
        n_clusters = algorithms.resolve(
            project, project.algorithm, project.parameters, count_in_use(session, project.id)
        )["n_clusters"]
        change_project(session, project, {"n_clusters": n_clusters + more})
    events.record(session, project.id, ("project", {"changed": "edits"}))
    answers_changed(session, project)
