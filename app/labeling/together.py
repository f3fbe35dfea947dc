"""Answers that come while others are being written are written together, in one transaction.

All answers of a project are numbered one transaction after the other, so that each waits for those before it. With
fifty labelers most of an answer's time would be waiting, and most of the work would be done once for each that could
be done once for all: who sends, which items are meant, where the project stands. Whatever has come by the time the
transaction before has ended is therefore looked up and written at once. Each request still gets its own outcome, and
none before the commit.
"""

import asyncio
import threading
from collections.abc import Sequence
from typing import NamedTuple

from fastapi.concurrency import run_in_threadpool
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from app.accounts.access import Caller
from app.database import Database
from app.labeling.schemas import AnswerIn, AnswersOut
from app.labeling.service import Checked, Sent, check_answers, store_answers

# A thread takes so many turns before it goes back: in the event loop between two it would wait for the interpreter
# twice, but whoever else needs a thread must get one, however many answers come.
TURNS_IN_A_ROW = 16
Outcome = AnswersOut | Exception


class _Post(NamedTuple):
    """The answers of a request, and who waits to hear of them."""

    sent: Sent
    heard: asyncio.Future[Outcome]


class Together:
    """Stores the answers of concurrent requests; the requests of one process share it."""

    def __init__(self, database: Database) -> None:
        """Begin with nobody waiting."""
        self.database = database
        # What waits to be written to each project whose turns are taken.
        self._waiting: dict[str, list[_Post]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._lock = threading.Lock()

    async def store(self, caller: Caller, project: str, answers: Sequence[AnswerIn]) -> AnswersOut:
        """Store the answers, all or none, and return once they are committed."""
        heard: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        post = _Post(Sent(caller, answers), heard)
        with self._lock:
            first = project not in self._waiting
            self._waiting.setdefault(project, []).append(post)
        if first:
            task = asyncio.create_task(self._have_written(project))
            self._tasks.add(task)  # the loop itself would forget it
            task.add_done_callback(self._tasks.discard)
        outcome = await heard
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _have_written(self, project: str) -> None:
        try:
            while await run_in_threadpool(self._take_turns, project, asyncio.get_running_loop()):
                pass
        except RuntimeError as error:  # no thread can be had; whoever comes later may have one
            with self._lock:
                posts = self._waiting.pop(project)
            _tell(posts, [error] * len(posts))

    def _take_turns(self, project: str, loop: asyncio.AbstractEventLoop) -> bool:
        """Write what waits, and what has come meanwhile, for some turns; whether more may wait then."""
        for _ in range(TURNS_IN_A_ROW):
            posts = self._next_turn(project)
            if not posts:
                return False
            outcomes = self._write(project, [post.sent for post in posts])
            loop.call_soon_threadsafe(_tell, posts, outcomes)
        return True

    def _next_turn(self, project: str) -> list[_Post]:
        with self._lock:
            posts = self._waiting.pop(project)
            if posts:
                self._waiting[project] = []
        return posts

    def _write(self, project: str, sent: Sequence[Sent]) -> list[Outcome]:
        try:
            with self.database.transaction() as session:
                checked = check_answers(session, project, sent)
                right = [one for one in checked if isinstance(one, Checked)]
                stored = iter(store_answers(session, right) if right else [])
        except (OperationalError, NoConnectionFree) as error:
            return [error] * len(sent)  # the database is away, and would be for each of them
        except Exception as error:  # noqa: BLE001 - raised again by the request that it belongs to
            if len(sent) == 1:
                return [error]
            # What is wrong with one must not cost the others anything.
            return [outcome for one in sent for outcome in self._write(project, [one])]
        return [next(stored) if isinstance(one, Checked) else one for one in checked]


def _tell(posts: Sequence[_Post], outcomes: Sequence[Outcome]) -> None:
    for post, outcome in zip(posts, outcomes, strict=True):
        if not post.heard.done():  # else its request was given up
            post.heard.set_result(outcome)
