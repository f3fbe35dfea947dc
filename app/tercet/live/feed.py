"""Sends the listeners of this process the events of their projects; one poll of the database serves all.

Other processes write events too (workers, other servers), so the table is the only source.
Nothing is queried while nobody listens.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import anyio.to_thread
from prometheus_client import Histogram
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.errors import TooOften
from tercet.live.outages import Outages
from tercet.models import Answer, Event, Project, now
from tercet.web.readiness import Outage

log = logging.getLogger(__name__)
POLL_SECONDS = 0.25
ANSWERS_SECONDS = 0.5
# Between two looks for outages, each of which writes a little, and for the end of one.
WATCH_SECONDS, OUTAGE_SECONDS = 5.0, 2.0
# A listener that does not read is disconnected; it reconnects with the number of the last event that it got.
MOST_WAITING = 500
MOST_AT_ONCE = 500
# Streams that one caller may have open: each tab of a dashboard has one.
MOST_PER_CALLER = 20


@dataclass(frozen=True)
class Message:
    """A message to a listener: a numbered event, or figures without a number, which need no catching up."""

    kind: str
    payload: dict[str, Any]
    number: int | None = None
    written_at: datetime | None = None  # of an event that listeners hear for the first time


@dataclass(eq=False)
class Listener:
    """One open stream: what waits to be sent; None ends it."""

    project_id: int
    after: int
    caller: int | None = None
    waiting: asyncio.Queue[Message | None] = field(default_factory=lambda: asyncio.Queue(MOST_WAITING + 1))

    async def messages(self) -> AsyncIterator[Message]:
        """Return messages until the feed closes or the listener falls too far behind."""
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
class AnswerCount:
    """The answer number of a project when its answers were last counted, and when they may be counted again."""

    answers: int | None = None
    next_at: float = 0.0


class Feed:
    """The listeners of one web process and the task that feeds them."""

    def __init__(self, database: Database, lag: Histogram | None = None, outages: Outages | None = None) -> None:
        """Start empty; the tasks run while there are listeners. `lag` gets the seconds until they have an event."""
        self.database = database
        self.outages = outages
        self.lag = lag
        self.listeners: set[Listener] = set()
        self.closed = False
        # Used by the polling thread only; the second is the number of the newest event that was read, by project.
        self._counts: dict[int, AnswerCount] = {}
        self._newest: dict[int, int] = {}
        self._task: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def listen(self, project_id: int, after: int, caller: int | None = None) -> AsyncIterator[Listener]:
        """Listen to a project, beginning after the event with a number; stop at the end of the block.

        Raises TooOften for a caller, a user's number, who listens with many streams already.
        """
        if caller is not None and sum(other.caller == caller for other in self.listeners) >= MOST_PER_CALLER:
            raise TooOften(f"You follow {MOST_PER_CALLER} streams of events already, the limit. Close some first.")
        listener = Listener(project_id, after, caller)
        if self.closed:
            listener.waiting.put_nowait(None)
        self.listeners.add(listener)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll(), name="feed of events")
        if self.outages is not None and self.outages.newest is not None:
            listener.put(_outage_message(self.outages.newest))
        if self.outages is not None and (self._watch is None or self._watch.done()):
            self._watch = asyncio.create_task(self._watch_for(self.outages), name="watch for outages")
        try:
            yield listener
        finally:
            self.listeners.discard(listener)

    async def close(self) -> None:
        """End every stream and the task."""
        self.closed = True
        for listener in tuple(self.listeners):
            listener.waiting.put_nowait(None)
        tasks = [task for task in (self._task, self._watch) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _poll(self) -> None:
        while self.listeners:
            try:
                self._send(await anyio.to_thread.run_sync(self._news, self._listened_to()))
            except SQLAlchemyError:
                log.warning("Events cannot be read; trying again", exc_info=True)
            await asyncio.sleep(POLL_SECONDS)

    async def _watch_for(self, outages: Outages) -> None:
        """Send listeners an outage when it begins, and None when it is over."""
        while self.listeners:
            before = outages.newest
            newest = await anyio.to_thread.run_sync(outages.look)
            if newest != before:
                for listener in tuple(self.listeners):
                    listener.put(_outage_message(newest))
            await asyncio.sleep(WATCH_SECONDS if newest is None else OUTAGE_SECONDS)
        outages.forget()

    def _listened_to(self) -> dict[int, int]:
        """Return the projects that are listened to, each with the number after which some listener misses events."""
        last_events: dict[int, int] = {}
        for listener in self.listeners:
            after = min(listener.after, last_events.get(listener.project_id, listener.after))
            last_events[listener.project_id] = after
        return last_events

    def _send(self, news: dict[int, list[Message]]) -> None:
        if self.lag is not None:
            written = (message.written_at for messages in news.values() for message in messages)
            for at in filter(None, written):
                self.lag.observe(max(0.0, (now() - at).total_seconds()))
        for listener in tuple(self.listeners):
            if not all(listener.put(message) for message in news.get(listener.project_id, [])):
                self.listeners.discard(listener)
                listener.waiting.put_nowait(None)

    def _news(self, last_events: dict[int, int]) -> dict[int, list[Message]]:
        """Read what is new in the projects that are listened to; runs in a thread."""
        self._counts = {key: self._counts.get(key, AnswerCount()) for key in last_events}
        before = self._newest
        numbers = select(Project.id, Project.event_number, Project.answer_number).where(Project.id.in_(last_events))
        with self.database.reading() as session:
            rows = session.execute(numbers).all()
            self._newest = {project_id: last for project_id, last, _ in rows}
            return {
                project_id: [
                    *_new_events(session, project_id, last_events[project_id], last, before.get(project_id, last)),
                    *_new_answers(session, project_id, self._counts[project_id], answers),
                ]
                for project_id, last, answers in rows
            }


def _outage_message(outage: Outage | None) -> Message:
    what = {} if outage is None else {"detail": outage.detail, "since": outage.since.isoformat(), "then": outage.then}
    return Message("outage", what)


def _new_events(session: Session, project_id: int, after: int, last: int, heard: int) -> list[Message]:
    """Read the events after a number; those up to `heard` are for listeners who catch up."""
    if after >= last:
        return []
    behind = select(Event).where(Event.project_id == project_id, Event.number > after)
    events = session.scalars(behind.order_by(Event.number).limit(MOST_AT_ONCE))
    return [
        Message(event.kind, event.payload, event.number, event.created_at if event.number > heard else None)
        for event in events
    ]


def _new_answers(session: Session, project_id: int, count: AnswerCount, last: int) -> list[Message]:
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


def count_answers(session: Session, project_id: int, answer_number: int) -> dict[str, Any]:
    """Count the answers that are not withdrawn: of all up to a number, of the last hour, of the last minute."""
    every = select(func.count()).where(Answer.project_id == project_id)
    counted = every.where(Answer.withdrawn_at.is_(None))
    moment = now()
    hour, minute = moment - timedelta(hours=1), moment - timedelta(minutes=1)
    return {
        "total": answer_number - (session.scalar(every.where(Answer.withdrawn_at.is_not(None))) or 0),
        "last_hour": session.scalar(counted.where(Answer.created_at >= hour)),
        "last_minute": session.scalar(counted.where(Answer.created_at >= minute)),
    }
