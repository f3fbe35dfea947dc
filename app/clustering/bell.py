"""Wakes the supervisors of this process at once when a run becomes due; those of other processes poll."""

import threading

from sqlalchemy import event
from sqlalchemy.orm import Session

_bells: set[threading.Event] = set()


def hang(bell: threading.Event) -> None:
    """Let a supervisor's event be set whenever runs may be due."""
    _bells.add(bell)


def take_down(bell: threading.Event) -> None:
    """Stop setting the event."""
    _bells.discard(bell)


def ring() -> None:
    """Wake every supervisor of this process."""
    for bell in tuple(_bells):
        bell.set()


def ring_after_commit(session: Session) -> None:
    """Wake them once what this session wrote can be seen."""
    event.listen(session, "after_commit", lambda committed: ring(), once=True)
