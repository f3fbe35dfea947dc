"""Reads labelers by name, answers page by page, and items with their clusters."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session, aliased

from tercet.accounts.named_labelers import NamedLabeler, pseudonym, pseudonym_of
from tercet.database import Database
from tercet.models import Answer, Bag, Decision, FeatureSet, Item, Membership, Run, Triplet, User
from tercet.runs.results import Array, Result

ROWS_AT_ONCE = 2_000


class Exported(NamedTuple):
    """One exported answer."""

    id: UUID
    number: int
    anchor: str
    left: str
    right: str
    answer: str
    labeler: str
    response_ms: int | None
    created_at: datetime
    withdrawn_at: datetime | None
    set_aside_at: datetime | None
    comment: str


def labelers_by_name(session: Session, project_id: int) -> dict[str, int]:
    """Return the members who may own imported answers, by the names that imports call them.

    That is the name that pages show, their participant name or else their own, or the pseudonym of exports. An imported
    labeler whose name a labeler of a share link had before is shown under another one, and goes by both. Labelers who
    came by a share link are left out: a name proves nothing about them.
    """
    statement = (
        select(User.id, User.name, Membership.participant)
        .join(Membership, Membership.user_id == User.id)
        .where(Membership.project_id == project_id, Membership.browser_hash.is_(None))
        .order_by(Membership.participant.is_not(None), User.id.desc())
    )
    rows = session.execute(statement).all()
    by_pseudonym = {pseudonym(row.id): row.id for row in rows}
    return by_pseudonym | {row.name: row.id for row in rows} | {row.participant or row.name: row.id for row in rows}


def labelers_of_answers(session: Session, ids: Sequence[UUID]) -> dict[UUID, tuple[int, str]]:
    """Return who gave those of the answers that are stored, each with the name that pages show."""
    labeler = NamedLabeler()
    statement = select(Answer.id, Answer.labeler_id, labeler.name).where(Answer.id.in_(ids))
    statement = labeler.join(statement, Answer.labeler_id, Answer.project_id)
    return {answer_id: (labeler_id, name) for answer_id, labeler_id, name in session.execute(statement)}


def page_of_answers(
    session: Session, project_id: int, after: int, limit: int, *, with_withdrawn: bool, with_names: bool
) -> list[Exported]:
    """Return up to `limit` answers behind a number, in the order in which they came; all, or those that runs use."""
    anchor, left, right, labeler = aliased(Item), aliased(Item), aliased(Item), NamedLabeler()
    statement = (
        select(
            Answer.id,
            Answer.number,
            anchor.key,
            left.key,
            right.key,
            Answer.value,
            labeler.name if with_names else pseudonym_of(Answer.labeler_id),
            Answer.response_ms,
            Answer.created_at,
            Answer.withdrawn_at,
            Decision.created_at,
            Answer.comment,
        )
        .join(Triplet, Triplet.id == Answer.triplet_id)
        .join(anchor, anchor.id == Triplet.anchor_id)
        .join(left, left.id == Triplet.left_id)
        .join(right, right.id == Triplet.right_id)
        .outerjoin(Decision, Decision.id == Answer.set_aside_id)
        .where(Answer.project_id == project_id, Answer.number > after, ~Answer.erased)
        .order_by(Answer.number)
        .limit(limit)
    )
    statement = labeler.join(statement, Answer.labeler_id, Answer.project_id)
    if not with_withdrawn:
        statement = statement.where(Answer.counts)
    return [Exported._make(row) for row in session.execute(statement)]


class ClusteredItem(NamedTuple):
    """An item with all that exports say of it, and its cluster."""

    key: str
    details: dict[str, Any]
    media: str | None
    media_type: str | None
    bag: str | None
    cluster: int
    confidence: float


def clustered_items(
    database: Database, run: Run, result: Result, positions: Array | None = None
) -> Iterator[list[ClusteredItem]]:
    """Return items with their clusters page by page, in the order of the positions; all where these are None."""
    if positions is None:
        positions = np.arange(len(result.labels))
    for start in range(0, len(positions), ROWS_AT_ONCE):
        chunk = positions[start : start + ROWS_AT_ONCE].tolist()
        with database.reading() as session:
            rows = {row.position: row for row in session.execute(_described(run.project_id, chunk))}
        described = ((at, tuple(rows[at])[1:]) for at in chunk)
        yield [
            ClusteredItem._make((*columns, int(result.labels[at]), float(result.confidence[at])))
            for at, columns in described
        ]


def _described(project_id: int, positions: list[int]) -> Select[Any]:
    return (
        select(Item.position, Item.key, Item.details, Item.media, Item.media_type, Bag.key)
        .outerjoin(Bag, Bag.id == Item.bag_id)
        .where(Item.project_id == project_id, Item.position.in_(positions))
    )


def features_of_version(session: Session, project_id: int, version: int) -> FeatureSet | None:
    """Return a version of the features."""
    statement = select(FeatureSet).where(FeatureSet.project_id == project_id, FeatureSet.version == version)
    return session.scalar(statement)


def thumbnails(session: Session, project_id: int, keys: Sequence[str]) -> dict[str, str]:
    """Return the storage keys of the thumbnails of those of the items that have one."""
    statement = select(Item.key, Item.thumbnail).where(Item.project_id == project_id, Item.key.in_(keys))
    return {key: thumbnail for key, thumbnail in session.execute(statement) if thumbnail is not None}


class LabelerCount(NamedTuple):
    """The number of answers of one person that a run used."""

    name: str
    answers: int


def answers_by_person(session: Session, project_id: int, until: int, *, with_names: bool) -> list[LabelerCount]:
    """Count the answers that runs use, up to a number, by labeler; the busiest first."""
    labeler = NamedLabeler()
    count = func.count().label("answers")
    statement = select(labeler.name, Answer.labeler_id, count).select_from(Answer)
    statement = labeler.join(statement, Answer.labeler_id, Answer.project_id)
    statement = statement.where(Answer.project_id == project_id, Answer.number <= until, Answer.counts)
    rows = session.execute(statement.group_by(Answer.labeler_id, labeler.name).order_by(count.desc(), labeler.name))
    return [LabelerCount(name if with_names else pseudonym(number), answers) for name, number, answers in rows]


def media_count(session: Session, project_id: int, kind: str) -> int:
    """Count the items whose media type begins with a prefix."""
    of_kind = (Item.project_id == project_id) & Item.media_type.startswith(kind, autoescape=True)
    return session.scalar(select(func.count()).select_from(Item).where(of_kind, Item.deleted_at.is_(None))) or 0


def some_media(session: Session, project_id: int, most: int) -> list[str]:
    """Return the storage keys of the media of some items, spread over all of them."""
    step = max(1, media_count(session, project_id, "") // most)
    media = select(Item.media).where(Item.project_id == project_id, Item.media.is_not(None), Item.deleted_at.is_(None))
    return [key for key in session.scalars(media.where(Item.position % step == 0).limit(most)) if key]
