"""Where the free part of a busy queue begins.

The head of a queue is on screens: five hundred labelers hold six thousand questions, and to step over all of them took
PostgreSQL longer than everything else that a request asks of it. So where many requests come within a second, the later
ones begin behind what those before them took. Each second they begin at the top again, where leases may have ended and
a run may have put better questions: a few, or one alone where many came in the second before.
"""

import time
from dataclasses import dataclass
from typing import NamedTuple

from tercet.labeling.sql.statements import ABOVE_ALL

SECONDS = 1.0
# At most so many requests begin at the top each second, or only one in the second after a busy one; all others begin
# behind the head.
FROM_THE_TOP = 10


class QueuePlace(NamedTuple):
    """A place in a queue: everything with a smaller priority, or the same and a smaller id, comes behind it."""

    priority: float
    id: int

    def as_parameters(self) -> dict[str, object]:
        """Return the parameters of `statements.TAKE` with which it looks behind this place."""
        return {"behind_priority": self.priority, "behind_id": self.id, "from_top": self == TOP}


TOP = QueuePlace(ABOVE_ALL, 0)


@dataclass
class _Head:
    """The requests of the current second, how many begin at the top, and the last question that one of them took."""

    began: float
    from_the_top: int = FROM_THE_TOP
    requests: int = 0
    taken: QueuePlace = TOP

    @property
    def is_busy(self) -> bool:
        """Whether as many requests as should have begun at the top."""
        return self.requests > self.from_the_top


class QueueHeads:
    """The heads of the queues of all projects, as one process knows them."""

    def __init__(self) -> None:
        """Begin at the top of every queue."""
        self._heads: dict[int, _Head] = {}

    def begin_behind(self, project_id: int) -> QueuePlace:
        """Return the place behind which a request looks for questions."""
        head, now = self._heads.get(project_id), time.monotonic()
        if head is None or now >= head.began + SECONDS:
            was_busy = head is not None and head.requests > FROM_THE_TOP and now < head.began + 2 * SECONDS
            head = self._heads[project_id] = _Head(now, 1 if was_busy else FROM_THE_TOP)
        head.requests += 1
        return head.taken if head.is_busy else TOP

    def is_busy(self, project_id: int) -> bool:
        """Return whether requests begin behind the head of this queue."""
        head = self._heads.get(project_id)
        return head is not None and head.is_busy

    def head(self, project_id: int) -> QueuePlace:
        """Return the place behind which the free part of a queue begins; its top where no request has told."""
        head = self._heads.get(project_id)
        return TOP if head is None else head.taken

    def note(self, project_id: int, taken: QueuePlace) -> None:
        """Remember the last question that a request took; that others may do so at the same time is harmless."""
        self._heads[project_id].taken = taken
