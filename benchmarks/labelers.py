"""Simulated labelers over HTTP for benchmarks: a minimal keep-alive client, so that the client costs little."""

import asyncio
import json
import random
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx

AHEAD, MORE = 6, 6  # as in static/label.js


class Connection:
    """One keep-alive HTTP/1.1 connection, by TLS where the address says so, that sends and receives JSON."""

    def __init__(self, url: str, cookie: str) -> None:
        parts = urlsplit(url)
        self.tls = parts.scheme == "https"
        self.host, self.port = parts.hostname or "127.0.0.1", parts.port or (443 if self.tls else 80)
        self.headers = f"Host: {parts.netloc}\r\nCookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\n"
        self.headers += "Accept-Encoding: identity\r\n"  # else proxies compress, and do not say the length
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send one request and give status and parsed body."""
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port, ssl=self.tls or None)
        assert self.reader is not None
        content = json.dumps(body).encode() if body is not None else b""
        kind = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n" if content else ""
        self.writer.write(f"{method} {path} HTTP/1.1\r\n{self.headers}{kind}\r\n".encode() + content)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length:")[1].split("\r\n")[0])
        raw = await self.reader.readexactly(length)
        return int(head.split(" ", 2)[1]), json.loads(raw) if raw else None

    def close(self) -> None:
        """Forget the connection; the next request opens a new one."""
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


class Wait(NamedTuple):
    """How long a labeler waited, and when that was over by `time.perf_counter`, in seconds."""

    seconds: float
    until: float


@dataclass
class Tally:
    """What the labelers saw: how long they waited, ids that the server acknowledged, other statuses.

    Answers with which the next questions come are apart, and so are the first questions of everybody, for which all ask
    in the same instant.
    """

    answers: list[Wait] = field(default_factory=list)
    answers_and_next: list[Wait] = field(default_factory=list)
    first: list[Wait] = field(default_factory=list)
    empty: int = 0  # times that nobody had a question, though there are billions
    acknowledged: list[str] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)

    def refuse(self, what: str) -> None:
        """Count an answer that was not 2xx, or a connection that broke."""
        self.refused[what] = self.refused.get(what, 0) + 1


def join(url: str, share_link: str, participant: str) -> str:
    """Come in by the share link as a participant and give the session cookie."""
    with httpx.Client(base_url=url, headers={"Sec-Fetch-Site": "same-origin"}) as client:
        response = client.post(share_link, data={"participant": participant})
        assert response.status_code in {200, 303}, response.text
        return f"tercet={client.cookies['tercet']}"


async def label(connection: Connection, project: str, until: float, think: float, seed: int, tally: Tally) -> None:
    """Answer question after question until the time is over, sending an answer again until it is acknowledged.

    Questions are asked for as the labeling page asks for them: twelve, with an answer when fewer than six are left.
    """
    rng = random.Random(seed)
    base = f"/api/v1/projects/{project}"
    ahead: list[list[str]] = []
    while time.monotonic() < until:
        if not ahead:
            body = await _timed(connection, "GET", f"{base}/triplets/next?n={AHEAD + MORE}", None, tally.first, tally)
            ahead = _keys(body)
            tally.empty += body is not None and not ahead
        if not ahead:
            await asyncio.sleep(0.05)
            continue
        if think:
            await asyncio.sleep(max(0.2, rng.gauss(think, think / 3)))
        answer = {"id": str(uuid.uuid4()), "triplet": ahead.pop(0), "answer": rng.choice(["yes", "no", "dnk"])}
        asks = len(ahead) < AHEAD
        path = f"{base}/answers?ask={AHEAD + MORE}" if asks else f"{base}/answers"
        into = tally.answers_and_next if asks else tally.answers
        while time.monotonic() < until + 30:
            if body := await _timed(connection, "POST", path, {"answers": [answer]}, into, tally):
                tally.acknowledged.append(answer["id"])
                ahead = _keys(body["next"]) if asks else ahead
                break
            await asyncio.sleep(0.2)


def _keys(questions: Any) -> list[list[str]]:
    return [question["triplet"] for question in questions["triplets"]] if questions else []


async def _timed(connection: Connection, method: str, path: str, body: Any, into: list[Wait], tally: Tally) -> Any:
    start = time.perf_counter()
    try:
        status, content = await connection.request(method, path, body)
    except (OSError, asyncio.IncompleteReadError) as error:
        tally.refuse(type(error).__name__)
        connection.close()
        return None
    end = time.perf_counter()
    into.append(Wait(end - start, end))
    if status >= 300:
        tally.refuse(f"{method} {status}")
        return None
    return content


async def crowd(
    url: str, cookies: list[str], project: str, seconds: float, think: float, tally: Tally | None = None
) -> Tally:
    """Let one labeler per cookie work for some seconds; a tally of the caller's can be read meanwhile."""
    tally = tally or Tally()
    until = time.monotonic() + seconds
    connections = [Connection(url, cookie) for cookie in cookies]
    await asyncio.gather(*(label(c, project, until, think, i, tally) for i, c in enumerate(connections)))
    return tally
