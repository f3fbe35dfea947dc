"""What a task computes with, loaded once: features, pinned answers, bag labels, the previous result."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.clustering import bags, known, results
from app.clustering.bags import BagLabels
from app.clustering.queries import last_done
from app.clustering.results import Array, Result
from app.database import Database
from app.models import Answer, FeatureSet, Item, Project, Purpose, Run, Triplet
from app.storage import Storage


@dataclass(frozen=True)
class Previous:
    """The newest result before this run."""

    run: Run
    result: Result
    coordinates: Array
    state: dict[str, Array]  # what a warm start continues from
    resolutions: Array | None  # (K_max - 1, N), where the algorithm has them


@dataclass(frozen=True)
class Material:
    """Everything a task reads; arrays are by item position, answers in the order in which they were given."""

    kind: str
    features: Array  # (N, D), memory-mapped
    item_ids: Array  # (N,)
    triplets: Array  # (M, 3) positions
    answers: Array  # (M,) as stored: yes, no, dnk or 1, 2, 3, dnk
    labelers: Array  # (M,)
    numbers: Array  # (M,)
    previous: Previous | None
    bags: BagLabels | None = None  # where a bag has labels
    known: Array | None = None  # (N, c) codes of what another clustering shall differ from

    @property
    def n_labelled_bags(self) -> int:
        """How many bags have labels."""
        return 0 if self.bags is None else len(self.bags.labels)

    def said(self) -> dict[str, Any]:
        """Bags and their labels as arguments of an estimator's `fit`; nothing where there are none."""
        return {} if self.bags is None else self.bags.said()

    def digest(self) -> str:
        """Name answers and bag labels: a checkpoint only fits the very same, and both may change in between."""
        parts = [self.triplets.tobytes(), self.answers.tobytes(), self.labelers.tobytes()]
        parts += [] if self.bags is None else [self.bags.digest()]
        return hashlib.sha256(b"".join(parts)).hexdigest()


def load(database: Database, storage: Storage, run: Run) -> Material:
    """Read what the run pinned."""
    with database.reading() as session:
        project = session.get_one(Project, run.project_id)
        features = session.get_one(FeatureSet, run.feature_set_id)
        said = bags.load(session, project.id, features.n)
        differ = (
            known.load(session, storage, project.id, run.parameters, features.n) if run.algorithm == "cmbc" else None
        )
        item_ids = _item_ids(session, project.id, features.n)
        rows = _answer_rows(session, run)
        before = last_done(session, project.id, before=run.number) if run.purpose == Purpose.CURRENT else None
    triplets, kept = _positions(rows[:, :3].astype(np.int64), item_ids)
    return Material(
        kind=project.question_kind,
        features=storage.memory_map(features.blob),
        item_ids=item_ids,
        triplets=triplets,
        answers=rows[kept, 3].astype(str),
        labelers=rows[kept, 4].astype(np.int64),
        numbers=rows[kept, 5].astype(np.int64),
        previous=None if before is None else _previous(storage, before),
        bags=said,
        known=differ,
    )


def _item_ids(session: Session, project_id: int, n: int) -> Array:
    statement = select(Item.id).where(Item.project_id == project_id, Item.position < n).order_by(Item.position)
    return np.array(session.scalars(statement).all(), dtype=np.int64)


def _answer_rows(session: Session, run: Run) -> Array:
    columns = (Triplet.anchor_id, Triplet.left_id, Triplet.right_id, Answer.value, Answer.labeler_id, Answer.number)
    statement = (
        select(*columns)
        .join(Triplet, Triplet.id == Answer.triplet_id)
        .where(Answer.project_id == run.project_id, Answer.number <= run.answers_to)
        .where(Answer.withdrawn_at.is_(None), Answer.set_aside_id.is_(None))
        .order_by(Answer.number)
    )
    rows: list[Any] = [tuple(row) for row in session.execute(statement)]
    return np.array(rows, dtype=object).reshape(-1, len(columns))


def _positions(ids: Array, item_ids: Array) -> tuple[Array, Array]:
    """Turn item ids into positions; answers about items that came after the features wait for the next ones."""
    order = np.argsort(item_ids)
    places = np.searchsorted(item_ids, ids, sorter=order)
    found = order[np.minimum(places, len(item_ids) - 1)]
    kept = (item_ids[found] == ids).all(axis=1)
    return found[kept], kept


def _previous(storage: Storage, run: Run) -> Previous:
    key = run.result
    assert key is not None, "a run that is done has a result"
    found = results.load(storage, key)
    raw = results.load_resolutions(storage, key)
    rows = None if raw is None else np.frombuffer(raw, np.uint8).reshape(-1, len(found.labels))
    return Previous(run, found, results.coordinates(storage, key), results.load_state(storage, key), rows)
