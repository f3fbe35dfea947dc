"""Records changes of a project as numbered rows, which open pages follow by server-sent events."""

from typing import Any

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from tercet.models import Event, Project

# Events only tell open pages what to fetch again, and a page that reconnects fetches everything, so older events than
# these are of no use. They are deleted now and then, not with each new one.
MOST_STORED = 10_000
PRUNE_EVERY = 1_000


def record(session: Session, project_id: int, *occurrences: tuple[str, dict[str, Any]]) -> bool:
    """Add events, each a kind and its payload, in the caller's transaction; return False if the project is gone.

    It locks the project's row until the transaction ends.
    """
    last = session.scalar(
        update(Project)
        .where(Project.id == project_id)
        .values(event_number=Project.event_number + len(occurrences))
        .returning(Project.event_number)
    )
    if last is None:
        return False
    for number, (kind, payload) in enumerate(occurrences, start=last - len(occurrences) + 1):
        session.add(Event(project_id=project_id, number=number, kind=kind, payload=payload))
    if last % PRUNE_EVERY < len(occurrences):
        session.execute(delete(Event).where(Event.project_id == project_id, Event.number <= last - MOST_STORED))
    return True
