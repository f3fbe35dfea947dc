"""Tells listeners of this process what happens in their projects: one poll of the database feeds all of them.

Other processes write events too (workers, other servers), so the table is read and nothing else is relied on.
Between two looks nothing is queried when nobody listens.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import anyio.to_thread
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app.database import Database
from app.models import Answer, Event, Project, now

log = logging.getLogger(__name__)
POLL_SECONDS = 0.25
ANSWERS_SECONDS = 0.5
# A listener that does not read is let go; it reconnects with the number of the last event that it got.
MOST_WAITING = 500
MOST_AT_ONCE = 500


@dataclass(frozen=True)
class Message:
    """One thing to tell: a numbered event, or figures without a number, which nobody needs to catch up on."""

    kind: str
    payload: dict[str, Any]
    number: int | None = None


@dataclass(eq=False)
class Listener:
    """One open stream: what waits to be sent; None ends it."""

    project_id: int
    after: int
    waiting: asyncio.Queue[Message | None] = field(default_factory=lambda: asyncio.Queue(MOST_WAITING + 1))

    async def messages(self) -> AsyncIterator[Message]:
        """Give messages until the feed closes or the listener falls too far behind."""
        while (message := await self.waiting.get()) is not None:
            yield message

    def put(self, message: Message) -> bool:
        """Add a message, each event once; False if there is no more room."""
        if message.number is not None:
            if message.number <= self.after:
                return True
            self.after = message.number
        if self.waiting.qsize() >= MOST_WAITING:
            return False
        self.waiting.put_nowait(message)
        return True


@dataclass
class Count:
    """The answers of a project as they were last told, and when they may be counted again."""

    answers: int | None = None
    next_at: float = 0.0


class Feed:
    """The listeners of one web process and the task that feeds them."""

    def __init__(self, database: Database) -> None:
        """Start empty; the task runs while there are listeners."""
        self.database = database
        self.listeners: set[Listener] = set()
        self.closed = False
        self._counts: dict[int, Count] = {}  # used by the polling thread only
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def listen(self, project_id: int, after: int) -> AsyncIterator[Listener]:
        """Listen to a project, first to the events behind a number; stops at the end of the block."""
        listener = Listener(project_id, after)
        if self.closed:
            listener.waiting.put_nowait(None)
        self.listeners.add(listener)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll(), name="feed of events")
        try:
            yield listener
        finally:
            self.listeners.discard(listener)

    async def close(self) -> None:
        """End every stream and the task."""
        self.closed = True
        for listener in tuple(self.listeners):
            listener.waiting.put_nowait(None)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _poll(self) -> None:
        while self.listeners:
            try:
                self._tell(await anyio.to_thread.run_sync(self._news, self._heard()))
            except SQLAlchemyError:
                log.warning("Events cannot be read; trying again", exc_info=True)
            await asyncio.sleep(POLL_SECONDS)

    def _heard(self) -> dict[int, int]:
        """Give the projects that are listened to, each with the number behind which somebody misses events."""
        heard: dict[int, int] = {}
        for listener in self.listeners:
            heard[listener.project_id] = min(listener.after, heard.get(listener.project_id, listener.after))
        return heard

    def _tell(self, news: dict[int, list[Message]]) -> None:
        for listener in tuple(self.listeners):
            if not all(listener.put(message) for message in news.get(listener.project_id, [])):
                self.listeners.discard(listener)
                listener.waiting.put_nowait(None)

    def _news(self, heard: dict[int, int]) -> dict[int, list[Message]]:
        """Read what is new in the projects that are listened to; runs in a thread."""
        self._counts = {key: self._counts.get(key, Count()) for key in heard}
        numbers = select(Project.id, Project.event_number, Project.answer_number).where(Project.id.in_(heard))
        with self.database.reading() as session:
            return {
                project_id: [
                    *_new_events(session, project_id, heard[project_id], events),
                    *_new_answers(session, project_id, self._counts[project_id], answers),
                ]
                for project_id, events, answers in session.execute(numbers).all()
            }


def _new_events(session: Session, project_id: int, after: int, last: int) -> list[Message]:
    if after >= last:
        return []
    behind = select(Event).where(Event.project_id == project_id, Event.number > after)
    found = session.scalars(behind.order_by(Event.number).limit(MOST_AT_ONCE))
    return [Message(event.kind, event.payload, event.number) for event in found]


def _new_answers(session: Session, project_id: int, count: Count, last: int) -> list[Message]:
    """Count the answers when there are new ones, at most twice a second, and seldomer where counting takes long."""
    if count.answers == last or time.monotonic() < count.next_at:
        return []
    first, count.answers = count.answers is None, last
    if first:
        return []
    started = time.monotonic()
    figures = count_answers(session, project_id, last)
    count.next_at = started + max(ANSWERS_SECONDS, 20 * (time.monotonic() - started))
    return [Message("answers", figures)]


def count_answers(session: Session, project_id: int, given: int) -> dict[str, Any]:
    """Count the answers that count: of all that were given, of the last hour, of the last minute."""
    every = select(func.count()).where(Answer.project_id == project_id)
    counted = every.where(Answer.withdrawn_at.is_(None))
    moment = now()
    hour, minute = moment - timedelta(hours=1), moment - timedelta(minutes=1)
    return {
        "total": given - (session.scalar(every.where(Answer.withdrawn_at.is_not(None))) or 0),
        "last_hour": session.scalar(counted.where(Answer.created_at >= hour)),
        "last_minute": session.scalar(counted.where(Answer.created_at >= minute)),
    }
