"""Adds random questions to queues that ran short, beside the requests that noticed: these only ever take.

A request that got fewer questions than it asked for is answered with those, and the next one finds more. Only a request
that got none at all waits: in a new project, and when other labelers took the last ones a moment ago. It waits for one
top-up, of one transaction that others may be waiting for as well, and holds neither a thread nor a connection.
"""

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait

from tercet.database import Database
from tercet.labeling import queue
from tercet.models import Project, ProjectView


class TopUps:
    """Tops up the queues of projects in a thread of the web process, one after the other."""

    def __init__(self, database: Database) -> None:
        """Begin with nothing to do."""
        self.database = database
        self._thread = ThreadPoolExecutor(1, "top-ups of queues")
        self._under_way: dict[int, Future[None]] = {}
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
                    queue.top_up(session, ProjectView.of(project), queue.TOP_UP)
        finally:
            with self._lock:
                del self._under_way[project_id]
