"""Adds random questions to queues that ran short, beside the requests that noticed: these only ever take.

A request that got fewer questions than it asked for is answered with those, and the next one finds more. Only a request
that got none at all waits: in a new project, and when other labelers took the last ones a moment ago. It waits for one
top-up, of one transaction that others may be waiting for as well, and holds neither a thread nor a connection.

Hundreds of labelers use sixty questions up at once. So the more of them found too few meanwhile, the larger the next
top-up is; and a busy queue is looked at several times a second, and gets what it lacks of a reserve. Often and little,
since who writes many rows at once keeps everybody waiting.
"""

import threading
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor, wait

from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.labeling import queue
from tercet.labeling.queue_heads import QueueHeads
from tercet.models import Project, ProjectView

# How many questions a busy queue holds that nobody has, and how often it is looked at.
RESERVE, LOOK_SECONDS = 10 * queue.TOP_UP, 0.25


class TopUps:
    """Tops up the queues of projects in a thread of the web process, one after the other."""

    def __init__(self, database: Database, heads: QueueHeads) -> None:
        """Begin with nothing to do; `heads` tell which queues are busy, and where the free part of each begins."""
        self.database = database
        self.heads = heads
        self._thread = ThreadPoolExecutor(1, "top-ups of queues")
        # What is under way for a project: a top-up that was ordered, or a look at what its queue lacks.
        self._under_way: dict[tuple[int, bool], Future[None]] = {}
        self._orders = Counter[int]()  # of each project since its last top-up began
        self._next_look: dict[int, float] = {}
        self._lock = threading.Lock()

    def order(self, project_id: int) -> Future[None]:
        """Have a queue topped up, unless that is under way, and return the future of it."""
        with self._lock:
            self._orders[project_id] += 1
            return self._begin(project_id, is_ordered=True)

    def keep_up(self, project_id: int) -> None:
        """Have a queue topped up if it is busy and lacks some of the reserve."""
        with self._lock:
            now = time.monotonic()
            if self.heads.is_busy(project_id) and now >= self._next_look.get(project_id, 0.0):
                self._next_look[project_id] = now + LOOK_SECONDS
                self._begin(project_id, is_ordered=False)

    def close(self) -> None:
        """Wait for what is under way."""
        with self._lock:
            under_way = list(self._under_way.values())
        wait(under_way)

    def _begin(self, project_id: int, *, is_ordered: bool) -> Future[None]:
        key = (project_id, is_ordered)
        if key not in self._under_way:
            self._under_way[key] = self._thread.submit(self._top_up, *key)
        return self._under_way[key]

    def _top_up(self, project_id: int, is_ordered: bool) -> None:
        try:
            with self.database.transaction() as session:
                count = self._ordered(project_id) if is_ordered else self._lacking(session, project_id)
                project = session.get(Project, project_id) if count else None
                if project is not None:  # otherwise it was deleted meanwhile
                    queue.top_up(session, ProjectView.of(project), count)
        finally:
            with self._lock:
                del self._under_way[project_id, is_ordered]

    def _ordered(self, project_id: int) -> int:
        """Return how many questions to add for those who found too few: a top-up for each, up to the reserve."""
        with self._lock:
            return min(self._orders.pop(project_id) * queue.TOP_UP, RESERVE)

    def _lacking(self, session: Session, project_id: int) -> int:
        """Return how many questions a busy queue lacks of the reserve."""
        return RESERVE - queue.count_behind(session, project_id, self.heads.head(project_id), RESERVE)
