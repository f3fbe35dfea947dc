"""The route of answers, which takes the usual request to its handler by itself.

FastAPI looks through the parameters of a handler and of its dependencies anew for each request. For an answer, of which
hundreds may come in a second, that was a quarter of what it costs a web process. So the request that pages and clients
send is recognised here; every other one, and every fault, is FastAPI's.
"""

import re
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import BackgroundTasks, Request, Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError

from tercet.accounts.dependencies import get_caller
from tercet.labeling.dependencies import QuestionLeases, get_answer_writer, get_rates
from tercet.labeling.schemas import AnswerIn, AnswersBody, AnswersIn, AnswersOut
from tercet.web.json_bodies import SMALL_BYTES, BoundedRequest

BODY: TypeAdapter[AnswersIn | AnswerIn] = TypeAdapter(AnswersBody)
RESPONSE = TypeAdapter(AnswersOut)
USUAL_QUERY = re.compile(rb"(?:ask=([0-9]{1,2}))?")


class AnswersRoute(APIRoute):
    """The route whose handler stores answers."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what handles a request: FastAPI's handler, and a shorter way for the usual one."""
        handle_any = super().get_route_handler()

        async def handle(sent: Request) -> Response:
            request = BoundedRequest(sent.scope, sent.receive)
            body, ask = await _usual_body(request), USUAL_QUERY.fullmatch(request.scope["query_string"])
            if body is None or ask is None:
                return await handle_any(request)
            background = BackgroundTasks()
            stored = await self.endpoint(
                project=request.path_params["project"],
                body=body,
                me=await get_caller(request, background),
                writer=await get_answer_writer(request),
                rates=await get_rates(request),
                questions=QuestionLeases(request),
                ask=int(ask[1] or 0),
            )
            content = RESPONSE.dump_json(stored, by_alias=True)
            return Response(content, self.status_code or 200, media_type="application/json", background=background)

        return handle


async def _usual_body(request: BoundedRequest) -> AnswersIn | AnswerIn | None:
    """Return what a small JSON body holds; nothing where it is another one, or has a fault."""
    if request.headers.get("content-type") != "application/json" or len(await request.body()) > SMALL_BYTES:
        return None
    try:
        return BODY.validate_python(await request.json())
    except (ValidationError, ValueError, RecursionError):
        return None
