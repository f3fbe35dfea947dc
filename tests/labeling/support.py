"""Leasing questions as requests do, from a queue that is topped up where it is short."""

from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.labeling import queue
from tercet.labeling.dependencies import TOP_UPS
from tercet.labeling.queue import LeasedTriplet
from tercet.models import Project


def lease(session: Session, project: Project, user_id: int, count: int, seconds: float = 60) -> list[LeasedTriplet]:
    """Lease questions, and if they are too few once more after a top-up."""
    leased = queue.lease_next(session, project, user_id, count, seconds).triplets
    if len(leased) < count and queue.top_up(session, project, queue.TOP_UP):
        return queue.lease_next(session, project, user_id, count, seconds).triplets
    return leased


def lease_among_others(database: Database, project: Project, user_id: int, count: int) -> list[LeasedTriplet]:
    """Lease questions in transactions of their own; who gets none tops up, and others may take what was added."""
    leased = list[LeasedTriplet]()
    for _ in range(TOP_UPS):
        with database.transaction() as session:
            leased = queue.lease_next(session, project, user_id, count, seconds=60).triplets
            if leased or queue.is_used_up(session, project):
                break
        with database.transaction() as session:
            queue.top_up(session, project, queue.TOP_UP)
    return leased
