"""Answers with errors: as problem+json to programs and as a page to people. Only `/readyz` builds its own."""

import logging
from dataclasses import asdict, replace
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from tercet.errors import DATABASE_AWAY, FieldError, Overloaded, Problem, TooOften, is_disk_full
from tercet.translatable import to_translate
from tercet.web.dependencies import asked_for
from tercet.web.known_names import fields_beside, nearest
from tercet.web.languages import ENGLISH, Words, words_of
from tercet.web.methods import allowed_methods
from tercet.web.rendering import render

log = logging.getLogger(__name__)
# The most errors that an answer lists, so that strangers cannot make the server send more than they have sent.
MOST_ERRORS = 100
# What pydantic calls a field that a model, or a dataclass, does not have.
UNKNOWN_FIELD = {"extra_forbidden", "unexpected_keyword_argument"}
# Those that labelers may see.
TITLES = {
    403: to_translate("Forbidden"),
    404: to_translate("Not Found"),
    409: to_translate("Conflict"),
    413: to_translate("Content Too Large"),
    422: to_translate("Unprocessable Content"),
    429: to_translate("Too Many Requests"),
    500: to_translate("Internal Server Error"),
    503: to_translate("Service Unavailable"),
    507: to_translate("Insufficient Storage"),
}


def problem_json(status: int, detail: str, errors: list[FieldError] | None = None) -> dict[str, Any]:
    """Build the body of an application/problem+json answer (RFC 9457)."""
    listed = [{k: v for k, v in asdict(e).items() if v is not None} for e in errors or []]
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "errors": listed,
    }


def respond(
    request: Request,
    status: int,
    detail: str,
    errors: list[FieldError] | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """Answer with an error: a page to a person's browser, problem+json to a program.

    What labelers may be told is in their language. Everything else is in English, as all other pages are.
    """
    words = _words(request, detail)
    detail = words.translated(detail)
    errors = [replace(error, detail=words.translated(error.detail)) for error in errors or []]
    if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
        body = problem_json(status, detail, errors)
        return JSONResponse(body, status, headers, media_type="application/problem+json")
    title = TITLES.get(status) or HTTPStatus(status).phrase
    page = render(
        request,
        "web/error.html",
        status_code=status,
        status=status,
        title=title,
        detail=detail,
        errors=errors,
        words=words,
    )
    page.headers.update(headers or {})
    return page


def _words(request: Request, detail: str) -> Words:
    """Return the language that a browser asks for, if it has this sentence; English to programs."""
    is_program = "tercet" not in request.cookies and "text/html" not in request.headers.get("accept", "")
    words = asked_for(request)
    return words_of(ENGLISH) if is_program or words.translated(detail) == detail else words


def answer_problem(request: Request, problem: Exception) -> Response:
    """Answer with the status and the sentence of a problem that was raised."""
    assert isinstance(problem, Problem)
    headers = {"WWW-Authenticate": "Bearer"} if problem.status == 401 else None
    if isinstance(problem, TooOften | Overloaded):
        headers = {"Retry-After": str(problem.retry_after)}
    return respond(request, problem.status, problem.detail, problem.errors, headers)


def _field_error(request: Request, fault: dict[str, Any]) -> FieldError:
    """Return where the fault is: the field, or in a body that is not JSON the place where reading stopped.

    The tag of a form is left out where a body has several forms. An unknown field is answered with the nearest one.
    """
    if fault["type"] == "json_invalid":
        return FieldError("body", f"is not JSON at character {fault['loc'][-1]}: {fault['ctx']['error']}")
    parts = [str(part) for part in fault["loc"] if part != "body" and not str(part).startswith("form:")]
    if fault["type"] in UNKNOWN_FIELD and isinstance(route := request.scope.get("route"), APIRoute):
        known = fields_beside(route.body_field.field_info.annotation, fault["loc"]) if route.body_field else frozenset()
        return FieldError(".".join(parts), f"is no field here{nearest(parts[-1], known)}")
    return FieldError(".".join(parts) or "body", fault["msg"])


def _on_validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults = error.errors()
    errors = [_field_error(request, fault) for fault in faults[:MOST_ERRORS]]
    detail = to_translate("The request is not of the expected form.")
    if len(faults) > MOST_ERRORS:
        detail = to_translate(
            "%(sentence)s These are the first %(count)s of %(total)s errors.",
            sentence=detail,
            count=MOST_ERRORS,
            total=len(faults),
        )
    return respond(request, 422, detail, errors)


def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:  # the router names the methods of one route, where others have the same address
        methods = ", ".join(allowed_methods(request))
        detail = f"{request.method} is not possible at this address. Possible are {methods}."
        return respond(request, 405, detail, headers={"Allow": methods})
    return respond(request, error.status_code, error.detail, headers=dict(error.headers or {}))


def answer_database_away(request: Request, error: Exception) -> Response:
    """Answer that the database is restarting or has no free connection: the request can be repeated."""
    log.warning("The database does not answer", exc_info=error)
    detail = to_translate("The database does not answer just now. Try again in a moment.")
    return respond(request, 503, detail, headers={"Retry-After": "2"})


def _on_system_error(request: Request, error: Exception) -> Response:
    """Answer that the disk is full; any other error of the system is a crash."""
    if not is_disk_full(error):
        raise error
    log.error("The disk is full", exc_info=error)
    detail = to_translate("There is no room left on the server's disk. Nothing of this request was stored.")
    return respond(request, 507, detail)


def _on_crash(request: Request, error: Exception) -> Response:
    detail = to_translate("Something went wrong on our side. Nothing of this request was stored.")
    return respond(request, 500, detail)


def install_error_handlers(app: FastAPI) -> None:
    """Install the handlers that answer every error in one of the two forms."""
    app.add_exception_handler(Problem, answer_problem)
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(HTTPException, _on_http)
    for kind in DATABASE_AWAY:
        app.add_exception_handler(kind, answer_database_away)
    app.add_exception_handler(OSError, _on_system_error)
    app.add_exception_handler(Exception, _on_crash)
