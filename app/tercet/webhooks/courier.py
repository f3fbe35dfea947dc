"""A task of the web process that queues messages to webhooks and delivers them, outside of any request.

What is to be told follows from the project's numbered events and its count of answers, up to the numbers that each
webhook was told of; messages are rows until they are taken. So nothing is lost if a process is killed, and several
servers share the work: the row of a message says until when nobody else tries it. A message may come twice, with the
same number, where a server was killed before it had noted the answer.
"""

import asyncio
import json
import logging
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import anyio.to_thread
import httpx
from sqlalchemy import select, update

from tercet.database import Database
from tercet.models import Delivery, DeliveryStatus, Project, Webhook, now
from tercet.web.outgoing import trusted_authorities
from tercet.webhooks import queries, service
from tercet.webhooks.addresses import NoAddress, look_up
from tercet.webhooks.signing import HEADER, sign

log = logging.getLogger(__name__)
POLL_SECONDS = 1.0
UPKEEP_SECONDS = 3600.0
# How long to wait after each attempt; after the last one the message is given up.
PAUSES = tuple(timedelta(seconds=seconds) for seconds in (10, 60, 300, 1_800, 7_200, 21_600, 43_200))
# One attempt, from the name's look-up to the headers of the answer.
ATTEMPT_SECONDS = 10.0
# After an attempt that noted nothing, because its process was killed, another may follow.
CLAIM = timedelta(seconds=60)
AT_ONCE = 20


@dataclass(frozen=True)
class Claimed:
    """A delivery that nobody else tries for a while, with what its attempt needs."""

    delivery_id: int
    attempt: int
    url: str
    secret: str
    payload: dict[str, Any]


@dataclass(frozen=True)
class Attempt:
    """What an attempt came to."""

    taken: bool
    result: str


class Courier:
    """Queues and delivers the messages of all projects."""

    def __init__(self, database: Database, *, private_too: bool) -> None:
        """Prepare; `start` begins."""
        self.database = database
        self.private_too = private_too
        self._next_upkeep = 0.0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look for messages."""
        self._task = asyncio.create_task(self._work(), name="courier of webhooks")

    async def close(self) -> None:
        """End; a message under way is tried again by who comes next."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            try:
                await self.look()
            except Exception:  # whatever one message brings about: the task goes on, and so do all others
                log.warning("Messages to webhooks could not be seen to; trying again", exc_info=True)
            await asyncio.sleep(POLL_SECONDS)

    async def look(self) -> None:
        """Queue what there is to tell, and try every message that is due."""
        messages = await anyio.to_thread.run_sync(self._claim_messages)
        await asyncio.gather(*map(self._deliver, messages))

    async def _deliver(self, message: Claimed) -> None:
        attempt = await send(message, private_too=self.private_too)
        await anyio.to_thread.run_sync(self._note, message, attempt)

    def _claim_messages(self) -> list[Claimed]:
        self._queue_news()
        with self.database.reading() as session:
            due = queries.due(session, AT_ONCE, (timedelta(), *(max(pause, CLAIM) for pause in PAUSES), CLAIM))
        if time.monotonic() >= self._next_upkeep:
            self._next_upkeep = time.monotonic() + UPKEEP_SECONDS
            with self.database.transaction() as session:
                service.forget_old(session)
        claimed = [self._claim(delivery) for delivery in due]
        return [message for message in claimed if message is not None]

    def _queue_news(self) -> None:
        with self.database.reading() as session:
            behind = [(webhook.id, project.id) for webhook, project in queries.behind(session, AT_ONCE)]
        for webhook_id, project_id in behind:
            with self.database.transaction() as session:
                locked = select(Webhook).where(Webhook.id == webhook_id).with_for_update(skip_locked=True)
                webhook, project = session.scalar(locked), session.get(Project, project_id)
                if webhook is not None and project is not None:
                    service.queue_news(session, webhook, project)

    def _claim(self, delivery: Delivery) -> Claimed | None:
        """Let nobody else try a delivery for a while; None if somebody was faster."""
        unclaimed = (Delivery.id == delivery.id) & (Delivery.next_at == delivery.next_at)
        values = {"next_at": now() + CLAIM, "attempts": Delivery.attempts + 1}
        with self.database.transaction() as session:
            attempt = session.scalar(update(Delivery).where(unclaimed).values(values).returning(Delivery.attempts))
            webhook = session.get(Webhook, delivery.webhook_id)
            if attempt is None or webhook is None:
                return None
            return Claimed(delivery.id, attempt, webhook.url, webhook.secret, delivery.payload)

    def _note(self, message: Claimed, attempt: Attempt) -> None:
        """Store what an attempt came to, and when the next one may be."""
        moment, left = now(), message.attempt <= len(PAUSES)
        if attempt.taken:
            values = {"status": DeliveryStatus.DELIVERED, "ended_at": moment, "next_at": None}
        elif left:
            values = {"next_at": moment + PAUSES[message.attempt - 1]}
        else:
            values = {"status": DeliveryStatus.GIVEN_UP, "ended_at": moment, "next_at": None}
        with self.database.transaction() as session:
            tried = update(Delivery).where(Delivery.id == message.delivery_id)
            session.execute(tried.values(**values, result=attempt.result[:300]))


async def send(message: Claimed, *, private_too: bool) -> Attempt:
    """Send a message once, and say in a sentence what came of it."""
    try:
        async with asyncio.timeout(ATTEMPT_SECONDS):
            status = await _post(message, private_too=private_too)
    except TimeoutError:
        return Attempt(False, f"There was no answer within {ATTEMPT_SECONDS:.0f} seconds.")
    except NoAddress as error:
        return Attempt(False, str(error))
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        return Attempt(False, f"It was not delivered: {error or type(error).__name__}")
    return Attempt(200 <= status < 300, f"The receiver answered {status}.")


async def _post(message: Claimed, *, private_too: bool) -> int:
    """Connect to an address that was checked, whatever the name leads to by then; redirects are not followed."""
    url, moment = httpx.URL(message.url), now()
    port = url.port or (443 if url.scheme == "https" else 80)
    address = await look_up(url.host, port, private_too=private_too)
    body = json.dumps({**message.payload, "delivery": message.delivery_id, "at": moment.isoformat()}).encode()
    headers = {
        "Host": url.netloc.decode(),
        "Content-Type": "application/json",
        "User-Agent": "Tercet",
        HEADER: sign(message.secret, int(moment.timestamp()), body),
    }
    # Without the environment's proxy, which would look the name up again.
    client = httpx.AsyncClient(
        trust_env=False, verify=trusted_authorities(), timeout=ATTEMPT_SECONDS, follow_redirects=False
    )
    async with (
        client,
        client.stream(
            "POST",
            url.copy_with(host=address),
            content=body,
            headers=headers,
            # The certificate is checked for the name.
            extensions={"sni_hostname": url.host},
        ) as response,
    ):
        return response.status_code
