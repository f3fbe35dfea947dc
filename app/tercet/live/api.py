"""REST: follow a project by server-sent events."""

from collections.abc import AsyncIterable, AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.live.feed import Listener
from tercet.web.dependencies import Db
from tercet.web.problems import problems

router = APIRouter(prefix="/api/v1/projects", tags=["events"], responses=problems(401, 403, 404))
STREAM = 'event: clusters\nid: 118\ndata: {"run": 41}\n\nevent: answers\ndata: {"total": 1204, "last_hour": 38}\n\n'


def _place_in_events(
    project: str,
    me: Me,
    db: Db,
    last_event_id: Annotated[str, Header(pattern=r"^\d{0,18}$", description="the last id you got")] = "",
) -> tuple[int, int, int]:
    """Return the project, the number of the event after which the stream begins, and the user who asks.

    The number is the one sent, or else the newest. All checks are made here and in `_listener`: once the stream has
    begun, the status has been sent.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
    newest = access.project.event_number
    return access.project.id, min(int(last_event_id), newest) if last_event_id else newest, access.user.id


async def _listener(
    request: Request, place: Annotated[tuple[int, int, int], Depends(_place_in_events)]
) -> AsyncIterator[Listener]:
    async with request.app.state.feed.listen(*place) as listener:
        yield listener


@router.get(
    "/{project}/events",
    response_class=EventSourceResponse,
    responses={
        **problems(422, 429),
        200: {"description": "Server-sent events", "content": {"text/event-stream": {"example": STREAM}}},
    },
)
async def get_events(
    listener: Annotated[Listener, Depends(_listener)],
) -> AsyncIterable[ServerSentEvent]:
    """Follow what happens, as server-sent events.

    `run` when a run is queued, starts, gets on or ends, `job` when an import or other work in the background does;
    `clusters` when there are new ones; `project` when
    settings, items, features or the answers set aside changed; each with a number as id. `answers`, without an id,
    carries counts, and `outage` says what the server lacks (`detail`, `since`, `then`; nothing when it is there
    again). The stream never ends by itself; with `Last-Event-ID` it resumes where another one broke off, if no more
    than 10,000 events ago. 429: you follow 20 streams already.
    """
    yield ServerSentEvent(comment="listening")
    async for message in listener.messages():
        number = None if message.number is None else str(message.number)
        yield ServerSentEvent(event=message.kind, id=number, data=message.payload)
