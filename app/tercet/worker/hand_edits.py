"""Loads what analysts changed by hand, as links between items, and as the previous clusters with their changes."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.models import ClusterNote, Dismissal, Edit, EditKind, Link, Run
from tercet.runs import queries
from tercet.runs.results import Array
from tercet_algorithms.dcrc.pattern_evidence import LINK_EPSILON

MOST_CLUSTERS = 10_000
LEAST_PROBABILITY = 1e-3  # smaller ones of the fit count as this: it must not be too sure for an analyst's links
SWEEPS = 5  # through the links; what belongs together follows in two or three
# The kinds that say in which cluster an item is.
PLACING = (EditKind.MOVE, EditKind.KEEP, EditKind.MERGE, EditKind.SPLIT, EditKind.TYPICAL)


class Edits(NamedTuple):
    """Pairs of positions that belong together, and apart, (L, 2) each, and how many answers each counts as, (L,)."""

    must_link: Array
    cannot_link: Array
    must_weights: Array
    cannot_weights: Array
    labels: Array | None = None  # (N,) previous clusters, from 1, as edited since; None: nobody did
    # Clusters that now have the number of one that was merged away: the number before, and the one now.
    renumbered: tuple[tuple[int, int], ...] = ()
    # (L,) of which pairs the second item only stands for a cluster, as in moves; None: of none.
    must_stand_ins: Array | None = None
    cannot_stand_ins: Array | None = None

    def dcrc_arguments(self) -> dict[str, Array]:
        """Return the links as arguments of `DCRC.fit`, which moves no item that only stands for a cluster."""
        links, must, cannot = self.fit_arguments(), self.must_stand_ins, self.cannot_stand_ins
        if not links or must is None or cannot is None:
            return links
        return {
            "must_link": self.must_link[~must],
            "cannot_link": self.cannot_link[~cannot],
            "must_weights": self.must_weights[~must],
            "cannot_weights": self.cannot_weights[~cannot],
            "stand_ins": np.concatenate([self.must_link[must], self.cannot_link[cannot]]),
            "stand_in_weights": np.concatenate([self.must_weights[must], -self.cannot_weights[cannot]]),
        }

    def fit_arguments(self) -> dict[str, Array]:
        """Return the links as arguments of `fit` of the estimators other than DCRC; empty where there are none."""
        names = ("must_link", "cannot_link", "must_weights", "cannot_weights")
        links = {name: getattr(self, name) for name in names}
        return links if len(self.must_link) or len(self.cannot_link) else {}


_NO_PAIRS: Array = np.empty((0, 2), dtype=np.int64)
NO_EDITS = Edits(_NO_PAIRS, _NO_PAIRS, np.empty(0), np.empty(0))


class StoredEdits(NamedTuple):
    """The edits that count, oldest first, and their links: ids of the two items and of the edit, and whether alike."""

    edits: list[Edit]
    links: Array  # (L, 4)


def read(session: Session, project_id: int) -> StoredEdits:
    """Read the edits of a project that were not taken back."""
    counts = (Edit.project_id == project_id) & Edit.reverted_at.is_(None)
    edits = list(session.scalars(select(Edit).where(counts).order_by(Edit.id)))
    columns = (Link.item_id, Link.other_id, Link.edit_id, Link.alike)
    rows = session.execute(select(*columns).join(Edit, Edit.id == Link.edit_id).where(counts).order_by(Link.id))
    return StoredEdits(edits, np.array([tuple(row) for row in rows], dtype=np.int64).reshape(-1, len(columns)))


def place(
    stored: StoredEdits,
    positions: Callable[[Array], tuple[Array, Array]],
    previous: tuple[datetime | None, Array] | None,
) -> Edits:
    """Return the edits with items as positions; links of items that have no position are left out.

    `previous` is when the previous run began, and its clusters. An edit overrules older ones about the same pair; one
    that places an item, or throws it out of a cluster, also overrules older ones that placed the item.
    """
    if not stored.edits:
        return NO_EDITS
    pairs, are_here = positions(stored.links[:, :2])
    links = stored.links[are_here]
    counts = _newest(stored, links, pairs)
    pairs, links = pairs[counts], links[counts]
    weight_of = {edit.id: edit.weight for edit in stored.edits}
    weights = np.array([weight_of[number] for number in links[:, 2].tolist()])
    alike = links[:, 3] == 1
    of_moves = _are_of((EditKind.MOVE,), stored, links[:, 2])
    edited = Edits(
        pairs[alike],
        pairs[~alike],
        weights[alike],
        weights[~alike],
        must_stand_ins=of_moves[alike],
        cannot_stand_ins=of_moves[~alike],
    )
    if previous is None:
        return edited
    labels, renumbered = _edited(stored.edits, pairs, links, *previous)
    return edited._replace(labels=labels, renumbered=renumbered)


def _newest(stored: StoredEdits, links: Array, pairs: Array) -> Array:
    """Return which links count, (L,): of each pair those of the newest edit, of each item those of its newest place."""
    numbers, (item, other) = links[:, 2], pairs.T
    is_placing, is_out = _are_of(PLACING, stored, numbers), _are_of((EditKind.OUT,), stored, numbers)
    is_joined = _are_of((EditKind.SPLIT,), stored, numbers) & (links[:, 3] == 1)
    place, out = (_newest_of(item[rows], numbers[rows]) for rows in (is_placing, is_out))
    low, high = np.sort(pairs, axis=1).T
    pair = low * (high.max(initial=0) + 1) + high
    is_overruled = numbers < _newest_of(pair, numbers)(pair)
    # An item thrown out of several clusters stays out of all of them, so only a newer place overrules these edits: the
    # item may have been thrown out of that cluster before.
    is_overruled |= is_placing & (numbers < np.maximum(place(item), out(item)))
    is_overruled |= is_out & (numbers < place(item))
    # Both items of a pair that was split off have to be where the split has put them.
    is_overruled |= is_joined & (numbers < np.maximum(place(other), out(other)))
    return ~is_overruled


def _are_of(kinds: Sequence[EditKind], stored: StoredEdits, numbers: Array) -> Array:
    """Return which links are of edits of these kinds, by the numbers of their edits."""
    return np.isin(numbers, [edit.id for edit in stored.edits if edit.kind in kinds])


def _newest_of(keys: Array, numbers: Array) -> Callable[[Array], Array]:
    """Return a function that gives the largest number that goes with each of some keys, 0 where there is none."""
    distinct, rows = np.unique(keys, return_inverse=True)
    largest = np.zeros(len(distinct) + 1, dtype=np.int64)
    np.maximum.at(largest, rows.ravel(), numbers)

    def look_up(keys: Array) -> Array:
        places = np.searchsorted(distinct, keys)
        is_known = places < len(distinct)
        is_known[is_known] = distinct[places[is_known]] == keys[is_known]
        values: Array = largest[np.where(is_known, places, len(distinct))]
        return values

    return look_up


def _edited(
    edits: list[Edit], pairs: Array, links: Array, began: datetime | None, labels: Array
) -> tuple[Array | None, tuple[tuple[int, int], ...]]:
    """Return the previous clusters with the changes since, None where there are none, and what they renumber.

    Where a cluster was merged into another, the last one gets its number, so that numbers have no gap.
    """
    placing = (EditKind.MOVE, EditKind.MERGE, EditKind.SPLIT)
    new = [edit for edit in edits if edit.kind in placing and (began is None or edit.created_at >= began)]
    if not new:
        return None, ()
    edited, renumbered = labels.astype(np.int64), []
    for edit in new:
        chosen = pairs[links[:, 2] == edit.id, 0]
        chosen = chosen[chosen < len(edited)]
        last = int(edited.max())
        match edit.kind:
            case EditKind.MOVE if edit.cluster is not None:
                edited[chosen] = edit.cluster
            case EditKind.SPLIT:
                edited[chosen] = last + 1
            case EditKind.MERGE if edit.cluster is not None and edit.other is not None:
                # If the cluster that stays is the last one, it is what gets the number.
                edited[edited == edit.other] = edit.cluster
                edited[edited == last] = edit.other
                if edit.other != last:
                    renumbered.append((last, edit.other))
    return edited, tuple(renumbered)


def chosen(edits: Edits) -> Array:
    """Return the items that analysts chose: the first one of each link."""
    items: Array = np.unique(np.concatenate([edits.must_link[:, 0], edits.cannot_link[:, 0]]))
    return items


def placed(edits: Edits, posterior: Array) -> Array:
    """Return a posterior (N, K) in which the items that analysts chose are where their links say.

    For systems whose model may learn something else from links: the first item of each link follows the other one,
    which stands for the cluster that was meant. Everything else stays as it was fitted.
    """
    links = np.concatenate([edits.must_link, edits.cannot_link])
    if not len(links):
        return posterior
    weights = np.concatenate([edits.must_weights, edits.cannot_weights])[:, None]
    alike = np.arange(len(links))[:, None] < len(edits.must_link)
    item, other = links.T
    items = chosen(edits)
    fitted = np.log(np.maximum(posterior[items], LEAST_PROBABILITY))
    values: Array = posterior.astype(float)
    for _ in range(SWEEPS):
        together = (1 - LINK_EPSILON) * values[other] + LINK_EPSILON * (1 - values[other])
        from_links = weights * np.log(np.where(alike, together, 1 - together))
        log_odds = fitted.copy()
        np.add.at(log_odds, np.searchsorted(items, item), from_links)
        values[items] = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
        values[items] /= values[items].sum(axis=1, keepdims=True)
    return values


def carry_names(database: Database, run: Run, edits: Edits) -> None:
    """Give clusters that a merge has renumbered their names under their new numbers, from this run on."""
    if not edits.renumbered:
        return
    with database.transaction() as session:
        names = {cluster: (note.name, note.note) for cluster, note in queries.cluster_notes(session, run).items()}
        for before, number in edits.renumbered:
            name, note = names.pop(before, ("", ""))
            names[number] = name, note
            stored = queries.note_of(session, run, number)
            if stored is None:
                stored = ClusterNote(project_id=run.project_id, run_id=run.id, cluster=number)
                session.add(stored)
            stored.name, stored.note = name, note


def carry_dismissals(session: Session, run: Run, edits: Edits, n_clusters: int) -> None:
    """Give dismissed suggestions about renumbered clusters the new numbers; drop those about clusters that are gone."""
    rows = session.scalars(select(Dismissal).where(Dismissal.project_id == run.project_id)).all()
    subjects = {row.id: (row.cluster, row.other) for row in rows}
    for before, number in edits.renumbered:
        remaining = {key: subject for key, subject in subjects.items() if number not in subject}
        subjects = {
            key: _ordered(*(number if cluster == before else cluster for cluster in subject))
            for key, subject in remaining.items()
        }
    subjects = {key: subject for key, subject in subjects.items() if max(subject) <= n_clusters}
    for row in rows:
        if row.id not in subjects:
            session.delete(row)
    session.flush()
    # Numbers above all clusters first: the new ones may be those that another row is about to leave.
    for step in (MOST_CLUSTERS, 0):
        for row in rows:
            if row.id in subjects:
                row.cluster, row.other = (cluster + step for cluster in subjects[row.id])
        session.flush()


def _ordered(cluster: int, other: int) -> tuple[int, int]:
    """Return two clusters, the smaller number first, 0 behind any."""
    return (other, cluster) if 0 < other < cluster else (cluster, other)


def holding(edits: Edits, labels: Array) -> dict[str, Any]:
    """Return, as metrics, how many links there are and how many of them the clusters (N,) agree with."""
    n_links = len(edits.must_link) + len(edits.cannot_link)
    if not n_links:
        return {}
    agreeing = np.count_nonzero(labels[edits.must_link[:, 0]] == labels[edits.must_link[:, 1]])
    agreeing += np.count_nonzero(labels[edits.cannot_link[:, 0]] != labels[edits.cannot_link[:, 1]])
    return {"edit_links": n_links, "edit_links_held": int(agreeing)}
