"""Wakes the supervisors of this process when a run or a job becomes due; those of other processes poll."""

import threading

from sqlalchemy import event
from sqlalchemy.orm import Session

_waiting: set[threading.Event] = set()


def register(supervisor_event: threading.Event) -> None:
    """Set this event whenever runs or jobs may be due."""
    _waiting.add(supervisor_event)


def unregister(supervisor_event: threading.Event) -> None:
    """Stop setting the event."""
    _waiting.discard(supervisor_event)


def wake() -> None:
    """Wake every supervisor of this process."""
    for supervisor_event in tuple(_waiting):
        supervisor_event.set()


def wake_after_commit(session: Session) -> None:
    """Wake every supervisor of this process once this session has committed."""
    event.listen(session, "after_commit", lambda committed: wake(), once=True)
