"""Checks the sender and the size of a request body before it is read.

FastAPI reads and parses a body before a handler can look at who sent it, so that strangers could keep the server
busy with megabytes. Every request with a body passes here first. Handlers authorize as well.
"""

import re
import time
from collections.abc import Callable
from typing import NamedTuple

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tercet.accounts.access import (
    Action,
    Caller,
    allow_new_project,
    authorize,
    identify,
    identify_administrator,
    identify_holder,
    identify_person,
)
from tercet.accounts.dependencies import caller_of
from tercet.database import Database
from tercet.errors import DATABASE_AWAY, Problem, TooLarge
from tercet.translatable import to_translate
from tercet.web.errors import answer_database_away, answer_problem
from tercet.web.security import SAFE_METHODS

MEGABYTE = 2**20
# How long a sender who was admitted is not looked up again: answers come every second.
ADMITTED_SECONDS = 60.0
MOST_ADMITTED = 10_000

Check = Callable[[Session, Caller, str], object]


class BodyRule(NamedTuple):
    """The requests that it applies to, the check of their sender, and how much they may send."""

    request: re.Pattern[str]
    check: Check | None = None
    megabytes: int | None = 1  # None: as much as the settings allow for an upload


def may(action: Action) -> Check:
    """Return the check that the sender may do something in the project."""
    return lambda session, caller, project: authorize(session, caller, project, action)


def _in_project(methods: str, path: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{methods}) (?:/api/v1)?/projects/(?P<project>[^/]+){path}", re.DOTALL)


# The first rule that matches holds.
RULES = (
    BodyRule(
        re.compile("POST (?:/api/v1/projects|/projects/new)"),
        lambda session, caller, _: allow_new_project(identify(session, caller)),
    ),
    BodyRule(
        re.compile("POST (?:/api/v1/projects)?/restore"),
        lambda session, caller, _: allow_new_project(identify(session, caller)),
        None,
    ),
    BodyRule(
        re.compile("POST /account/(?:tokens|password)"),
        lambda session, caller, _: identify_holder(session, caller),
    ),
    BodyRule(
        re.compile("(?:POST|PATCH) (?:/api/v1)?/users(?:/.*)?", re.DOTALL),
        lambda session, caller, _: identify_administrator(session, caller),
    ),
    BodyRule(re.compile(".* /account/.*", re.DOTALL), lambda session, caller, _: identify_person(session, caller)),
    BodyRule(_in_project("POST|PUT", "/(?:items|features|constraints)"), may(Action.WRITE), None),
    BodyRule(_in_project("PUT", "/imports/[^/]+/files/.+"), may(Action.WRITE), None),
    BodyRule(_in_project("POST", "/runs/[^/]+/predict"), may(Action.READ), None),
    BodyRule(_in_project("DELETE", "/predictions/[^/]+"), may(Action.READ)),
    BodyRule(_in_project("POST", "/answers"), may(Action.LABEL), 2),
    BodyRule(
        _in_project("POST", "/(?:skips|flags|practice|triplets/ahead|label|label/skip|label/undo)"), may(Action.LABEL)
    ),
    BodyRule(_in_project("PUT", "/answers/[^/]+/comment"), may(Action.LABEL)),
    BodyRule(_in_project("DELETE", "/(?:answers/[^/]+|flags/.+)"), may(Action.LABEL)),
    BodyRule(_in_project("DELETE", "(?:|/labelers/[^/]+)"), may(Action.OWN)),
    BodyRule(
        _in_project("POST", "/undelete"),
        lambda session, caller, project: authorize(session, caller, project, Action.OWN, even_deleted=True),
    ),
    BodyRule(_in_project(".*", "/share-links/[^/]+/(?:set-aside|put-back)"), may(Action.WRITE)),
    BodyRule(
        _in_project(
            ".*",
            "/(?:(?:settings/)?(?:members|invitations|share-links|tokens|webhooks)(?:/.*)?"
            "|settings/labelers/.*|settings/delete|imports/[^/]+/link)",
        ),
        may(Action.OWN),
    ),
    BodyRule(_in_project(".*", ".*"), may(Action.WRITE)),
    BodyRule(re.compile(".*", re.DOTALL)),
)


class BodyAdmission:
    """Refuses bodies of those who may not send them, and bodies over the limit, announced or streamed."""

    def __init__(self, app: ASGIApp, database: Database, max_upload_mb: int) -> None:
        """Wrap an app."""
        self.app = app
        self.database = database
        self.max_upload_mb = max_upload_mb
        # Until when a user known by a session is admitted to a project under a rule.
        self._admitted: dict[tuple[str, str, BodyRule], float] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer why its body is not read."""
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS or not _has_body(Headers(scope=scope)):
            await self.app(scope, receive, send)
            return
        rule, project = _find_rule(f"{scope['method']} {scope['path']}")
        megabytes = min(rule.megabytes or self.max_upload_mb, self.max_upload_mb)
        response = await self._refusal(Request(scope), rule, project, megabytes)
        if response is None:
            await self.app(scope, _limited(receive, megabytes), send)
        else:
            await response(scope, receive, send)

    async def _refusal(self, request: Request, rule: BodyRule, project: str, megabytes: int) -> Response | None:
        announced = request.headers.get("content-length", "0")
        try:
            if rule.check is not None:
                await self._check(caller_of(request), rule, rule.check, project)
            if announced.isdecimal() and int(announced) > megabytes * MEGABYTE:
                raise TooLarge(_too_large(megabytes))
        except Problem as problem:
            return answer_problem(request, problem)
        except DATABASE_AWAY as error:
            return answer_database_away(request, error)
        return None

    async def _check(self, caller: Caller, rule: BodyRule, check: Check, project: str) -> None:
        key = None if caller.session is None else (caller.session, project, rule)
        if key and self._admitted.get(key, 0.0) > time.monotonic():
            return
        await run_in_threadpool(self._check_in_database, caller, check, project)
        if key:
            if len(self._admitted) >= MOST_ADMITTED:
                self._admitted.clear()
            self._admitted[key] = time.monotonic() + ADMITTED_SECONDS

    def _check_in_database(self, caller: Caller, check: Check, project: str) -> None:
        with self.database.reading() as session:
            check(session, caller, project)


def _has_body(headers: Headers) -> bool:
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def _find_rule(request: str) -> tuple[BodyRule, str]:
    """Return the rule of a request, and the key of its project, empty if it is about none."""
    for rule in RULES:
        if match := rule.request.fullmatch(request):
            return rule, match.groupdict().get("project", "")
    raise AssertionError("the last rule matches every request")


def _limited(receive: Receive, megabytes: int) -> Receive:
    """Count what is read of a body; raise when it is too much, in the form that FastAPI lets through."""
    size = 0

    async def receive_counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > megabytes * MEGABYTE:
            raise HTTPException(413, _too_large(megabytes))
        return message

    return receive_counted


def _too_large(megabytes: int) -> str:
    return to_translate(
        "The body is larger than %(megabytes)s MB, the limit here: send it in smaller parts.", megabytes=megabytes
    )
