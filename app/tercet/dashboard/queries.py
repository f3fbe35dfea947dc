"""Reads projects, counts of answers, and figures about labelers."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from sqlalchemy import Row, Select, func, select, true, union
from sqlalchemy.orm import Session

from tercet.models import (
    Answer,
    Bag,
    Import,
    ImportSource,
    ImportStatus,
    Item,
    Membership,
    Project,
    Purpose,
    Role,
    Run,
    RunStatus,
    Triplet,
    User,
    now,
)

DRAFT = (
    ImportStatus.UPLOADING,
    ImportStatus.CHECKING,
    ImportStatus.READY,
    ImportStatus.IMPORTING,
    ImportStatus.FAILED,
)
CHUNK = 5_000  # values that one statement may carry, on both databases
RECENT = 5_000  # newest answers over which labelers' habits are measured: older ones say little and cost reading


@dataclass(frozen=True)
class Labeler:
    """How much one person has answered, and how they have answered lately."""

    name: str
    answers: int
    withdrawn: int
    last_hour: int
    dnk_share: float | None
    median_ms: int | None


@dataclass(frozen=True)
class DraftProject:
    """A project that so far exists only for its first import: the import's number, and who makes it."""

    number: int
    user_id: int | None


def my_projects(session: Session, user: User) -> list[Row[Any]]:
    """Return the user's projects for the list, in one statement, archived ones last."""
    latest = _latest_run().scalar_subquery()
    items = select(func.count()).where(Item.project_id == Project.id, Item.set_aside_at.is_(None)).scalar_subquery()
    statement = select(
        Project.id,
        Project.key,
        Project.name,
        Project.answer_number.label("answers"),
        Project.archived_at,
        func.coalesce(items, 0).label("items"),
        Run.number.label("run"),
        Run.finished_at,
        Membership.role,
    )
    of_user = (Membership.project_id == Project.id) & (Membership.user_id == user.id)
    statement = statement.where(Project.deleted_at.is_(None))
    joined = statement.outerjoin(Membership, of_user).outerjoin(Run, Run.id == latest)
    if not user.is_admin:
        joined = joined.where(Membership.id.is_not(None))
    return list(session.execute(joined.order_by(Project.archived_at.is_not(None), Project.name, Project.id)))


def drafts(session: Session) -> dict[str, DraftProject]:
    """Return all projects that so far exist only for their first import, by key."""
    no_items = ~select(Item.id).where(Item.project_id == Project.id).exists()
    statement = select(Project.key, Import.number, Import.user_id).join(Import, Import.project_id == Project.id)
    first = (Import.number == 1) & (Import.source == ImportSource.PAGE)
    rows = session.execute(statement.where(first, Import.status.in_(DRAFT), no_items))
    return {key: DraftProject(number, user_id) for key, number, user_id in rows}


def import_reports(session: Session, project_id: int) -> list[dict[str, Any]]:
    """Return what the finished imports reported, oldest first."""
    done = (Import.project_id == project_id) & (Import.status == ImportStatus.DONE)
    return list(session.scalars(select(Import.report).where(done).order_by(Import.number)))


def contents_of_items(session: Session, project_id: int) -> list[Row[Any]]:
    """Return what the checks look at of each item in use, in order."""
    columns = Item.position, Item.key, Item.text, Item.media_type, Item.content_hash, Item.media_seconds
    in_use = (Item.project_id == project_id) & Item.set_aside_at.is_(None)
    return list(session.execute(select(*columns).where(in_use).order_by(Item.position)))


def state_of_items(session: Session, project_id: int) -> tuple[int, int, int, int]:
    """Return four numbers, at least one of which changes whenever the items do: how many there are, how many of these
    are set aside, how many imports are finished and not undone, and the number of the newest.
    """
    of_project, done = Item.project_id == project_id, Import.status == ImportStatus.DONE
    counts = (
        select(func.max(Item.position) + 1).where(of_project),
        select(func.count()).where(of_project, Item.set_aside_at.is_not(None)),
        select(func.count()).where(Import.project_id == project_id, done),
        select(func.max(Import.number)).where(Import.project_id == project_id, done),
    )
    items, aside, imports, newest = session.execute(select(*(count.scalar_subquery() for count in counts))).one()
    return items or 0, aside, imports, newest or 0


def deleted_projects(session: Session, user: User) -> list[Row[Any]]:
    """Return the deleted projects that the user can still restore, the last deleted first."""
    owned = (Membership.project_id == Project.id) & (Membership.user_id == user.id) & (Membership.role == Role.OWNER)
    statement = select(Project.key, Project.name, Project.deleted_at).join(Membership, owned)
    return list(session.execute(statement.where(Project.deleted_at.is_not(None)).order_by(Project.deleted_at.desc())))


def _latest_run() -> Select[int]:
    current = (Run.project_id == Project.id) & (Run.purpose == Purpose.CURRENT)
    done = select(Run.id).where(current, Run.status == RunStatus.DONE)
    return done.order_by(Run.number.desc()).limit(1).correlate(Project)


def answers_by_labeler(session: Session, project_id: int, after: int, until: int) -> dict[int, int]:
    """Count the answers with numbers above `after` up to `until`, withdrawn or not, per labeler."""
    statement = select(Answer.labeler_id, func.count()).where(Answer.project_id == project_id)
    if after:
        statement = statement.where(Answer.number > after, Answer.number <= until)
    else:
        # Counting them all reads the index by labeler alone. "+ 0" keeps the planner from the index by number,
        # which would have it look up every row.
        statement = statement.where(Answer.number + 0 <= until)
    return dict(session.execute(statement.group_by(Answer.labeler_id)).all())


def labelers(session: Session, project: Project, answers: dict[int, int]) -> list[Labeler]:
    """Return the figures of everyone who answered, the busiest first; `answers` are the counts per labeler."""
    withdrawn_of = withdrawn(session, project.id)
    last_hour_of = _since(session, project.id, now() - timedelta(hours=1))
    habits = _habits(session, project)
    labelers = [
        Labeler(
            name,
            answers[person] - withdrawn_of.get(person, 0),
            withdrawn_of.get(person, 0),
            last_hour_of.get(person, 0),
            *habits.get(person, (None, None)),
        )
        for person, name in _names(session, list(answers))
    ]
    return sorted(labelers, key=lambda labeler: (-labeler.answers, labeler.name))


def _names(session: Session, people: list[int]) -> list[tuple[int, str]]:
    chunks = (people[start : start + CHUNK] for start in range(0, len(people), CHUNK))
    return [
        (person, name)
        for chunk in chunks
        for person, name in session.execute(select(User.id, User.name).where(User.id.in_(chunk)))
    ]


def withdrawn(session: Session, project_id: int) -> dict[int, int]:
    """Count the answers that were withdrawn, per labeler."""
    statement = select(Answer.labeler_id, func.count()).where(
        Answer.project_id == project_id, Answer.withdrawn_at.is_not(None)
    )
    return dict(session.execute(statement.group_by(Answer.labeler_id)).all())


def _since(session: Session, project_id: int, moment: datetime) -> dict[int, int]:
    statement = (
        select(Answer.labeler_id, func.count())
        .where(Answer.project_id == project_id, Answer.created_at >= moment, Answer.withdrawn_at.is_(None))
        .group_by(Answer.labeler_id)
    )
    return dict(session.execute(statement).all())


def _habits(session: Session, project: Project) -> dict[int, tuple[float, int | None]]:
    statement = select(Answer.labeler_id, Answer.value, Answer.response_ms).where(
        Answer.project_id == project.id,
        Answer.number > project.answer_number - RECENT,
        Answer.withdrawn_at.is_(None),
    )
    answers_of: dict[int, list[tuple[str, int | None]]] = {}
    for person, value, response_ms in session.execute(statement):
        answers_of.setdefault(person, []).append((value, response_ms))
    return {person: _habit(answers) for person, answers in answers_of.items()}


def _habit(answers: list[tuple[str, int | None]]) -> tuple[float, int | None]:
    times = [response_ms for _, response_ms in answers if response_ms is not None]
    share = sum(value == "dnk" for value, _ in answers) / len(answers)
    return share, round(median(times)) if times else None


def has_bags(session: Session, project_id: int) -> bool:
    """Return whether items come from bags."""
    return session.scalar(select(Bag.id).where(Bag.project_id == project_id).limit(1)) is not None


def bags_of_items(session: Session, project_id: int) -> dict[int, str]:
    """Return the key of the bag of every item that has one, by position."""
    statement = select(Item.position, Bag.key).join(Bag, Bag.id == Item.bag_id).where(Item.project_id == project_id)
    return dict(session.execute(statement).all())


def labelers_of_items(session: Session, project_id: int) -> dict[int, int]:
    """Count by position the labelers who have answered about an item; items that nobody was asked about are missing."""
    asked = union(
        *(
            select(place.label("item_id"), Answer.labeler_id.label("labeler_id"))
            .join(Answer, Answer.triplet_id == Triplet.id)
            .where(Answer.project_id == project_id, Answer.counts)
            for place in (Triplet.anchor_id, Triplet.left_id, Triplet.right_id)
        )
    ).subquery()
    counts = select(Item.position, func.count()).join(asked, asked.c.item_id == Item.id).group_by(Item.position)
    return dict(session.execute(counts).all())


def metadata_columns(session: Session, project_id: int) -> list[str]:
    """Return the names of the columns of metadata."""
    each = func.json_each if session.get_bind().dialect.name == "sqlite" else func.jsonb_each_text
    cells = each(Item.details).table_valued("key", "value")
    names = select(cells.c.key).distinct().select_from(Item).join(cells, true()).where(Item.project_id == project_id)
    return sorted(session.scalars(names))


def cells(session: Session, project_id: int, column: str) -> dict[int, Any]:
    """Return what every item has in a column of metadata, by position."""
    statement = select(Item.position, Item.details).where(Item.project_id == project_id)
    return {position: details.get(column) for position, details in session.execute(statement)}
