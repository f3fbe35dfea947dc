"""Adds random questions to queues that ran short, beside the requests that noticed: these only ever take.

A request that got fewer questions than it asked for is answered with those, and the next one finds more. Only a request
that got none at all waits: in a new project, and when other labelers took the last ones a moment ago. It waits for one
top-up, of one transaction that others may be waiting for as well, and holds neither a thread nor a connection.

Hundreds of labelers use sixty questions up at once. So each top-up that does not last makes the next one larger, and a
busy queue is topped up before the last question is gone: otherwise all who ask until more are there get too few.
"""

import math
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import NamedTuple

from tercet.database import Database
from tercet.labeling import queue
from tercet.labeling.queue_heads import QueueHeads
from tercet.models import Project, ProjectView

# A top-up that was used up sooner was too small.
LASTING_SECONDS = 2.0
# Ten times the smallest: a transaction of more would keep others waiting.
MOST = 10 * queue.TOP_UP


class _Size(NamedTuple):
    """When a queue was topped up last, by `time.monotonic`, and by how many questions."""

    at: float
    questions: int


class TopUps:
    """Tops up the queues of projects in a thread of the web process, one after the other."""

    def __init__(self, database: Database, heads: QueueHeads) -> None:
        """Begin with nothing to do; requests begin at the top of those of `heads` that are topped up."""
        self.database = database
        self.heads = heads
        self._thread = ThreadPoolExecutor(1, "top-ups of queues")
        self._under_way: dict[int, Future[None]] = {}
        self._sizes: dict[int, _Size] = {}
        self._lock = threading.Lock()

    def order(self, project_id: int) -> Future[None]:
        """Have a queue topped up, unless that is under way, and return the future of it."""
        with self._lock:
            if project_id not in self._under_way:
                self._under_way[project_id] = self._thread.submit(self._top_up, project_id)
            return self._under_way[project_id]

    def close(self) -> None:
        """Wait for what is under way."""
        with self._lock:
            under_way = list(self._under_way.values())
        wait(under_way)

    def _top_up(self, project_id: int) -> None:
        try:
            with self.database.transaction() as session:
                project = session.get(Project, project_id)
                if project is not None:  # otherwise it was deleted meanwhile
                    queue.top_up(session, ProjectView.of(project), self._next_size(project_id))
            self.heads.begin_again(project_id)
        finally:
            with self._lock:
                del self._under_way[project_id]

    def _next_size(self, project_id: int) -> int:
        """Return by how many questions to top up a queue: twice as many as the last time where those did not last."""
        now = time.monotonic()
        at, before = self._sizes.get(project_id, _Size(-math.inf, queue.TOP_UP))
        questions = 2 * before if now < at + LASTING_SECONDS else before // 2
        self._sizes[project_id] = _Size(now, min(max(questions, queue.TOP_UP), MOST))
        return self._sizes[project_id].questions
