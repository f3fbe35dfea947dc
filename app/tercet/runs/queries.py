"""Reads runs: the queue, the newest results, a run by its number or by `latest`."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.models import ClusterNote, Item, Project, Purpose, Run, RunStatus, now


def lock_project(session: Session, project_id: int) -> Project:
    """Lock the project's row and return it as it is now.

    Every transaction that changes a run and something of its project locks the project first. Answers do so too, by
    incrementing its answer number: one order of locks for all, so that PostgreSQL never deadlocks. SQLite has one
    writer and needs no lock.
    """
    statement = select(Project).where(Project.id == project_id).with_for_update(key_share=True)
    return session.execute(statement.execution_options(populate_existing=True)).scalar_one()


def last_done(session: Session, project_id: int, before: int | None = None) -> Run | None:
    """Return the current clustering, the newest finished run of that purpose, or the one `before` a run's number."""
    current = (Run.project_id == project_id) & (Run.purpose == Purpose.CURRENT)
    statement = select(Run).where(current, Run.status == RunStatus.DONE)
    if before is not None:
        statement = statement.where(Run.number < before)
    return session.scalar(statement.order_by(Run.number.desc()).limit(1))


def find_run(session: Session, project_id: int, name: str) -> Run | None:
    """Return a run by its number, or the current clustering by the name `latest`."""
    if name == "latest":
        return last_done(session, project_id)
    if not (name.isascii() and name.isdigit() and len(name) < 10):
        return None
    return session.scalar(select(Run).where(Run.project_id == project_id, Run.number == int(name)))


def page_of_runs(session: Session, project_id: int, after: int | None, limit: int) -> list[Run]:
    """Return up to `limit` runs, newest first; only those older than run number `after`, if it is not None."""
    statement = select(Run).where(Run.project_id == project_id)
    if after is not None:
        statement = statement.where(Run.number < after)
    return list(session.scalars(statement.order_by(Run.number.desc()).limit(limit)))


def another_run_is_due(session: Session, run: Run) -> bool:
    """Return whether a run with clusters is due in the project of this one, which blocks it."""
    due = (Run.project_id == run.project_id) & (Run.status == RunStatus.QUEUED) & (Run.due_at <= now())
    return session.scalar(select(Run.id).where(due, Run.purpose != Purpose.COMPARISON).limit(1)) is not None


def cluster_notes(session: Session, run: Run) -> dict[int, ClusterNote]:
    """Return the names of a run's clusters: for each number the newest, from this run or an earlier one.

    An alternative numbers its clusters independently, so names of other runs mean nothing in it.
    """
    notes = select(ClusterNote).join(Run, Run.id == ClusterNote.run_id).order_by(Run.number)
    if run.purpose == Purpose.CURRENT:
        before = (Run.number <= run.number) & (Run.purpose == Purpose.CURRENT)
        notes = notes.where(ClusterNote.project_id == run.project_id, before)
    else:
        notes = notes.where(ClusterNote.run_id == run.id)
    return {note.cluster: note for note in session.scalars(notes)}


def note_of(session: Session, run: Run, cluster: int) -> ClusterNote | None:
    """Return the name that a cluster was given in this run, not in one before."""
    return session.scalar(select(ClusterNote).where(ClusterNote.run_id == run.id, ClusterNote.cluster == cluster))


def keys_at(session: Session, project_id: int, positions: list[int]) -> list[str]:
    """Return the keys of the items at these positions, a few thousand at most, in the same order."""
    statement = select(Item.position, Item.key).where(Item.project_id == project_id, Item.position.in_(positions))
    key_at = dict(session.execute(statement).all())
    return [key_at[position] for position in positions]
