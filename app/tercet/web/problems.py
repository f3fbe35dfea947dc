"""Declares the error responses of a route for OpenAPI, with examples."""

from http import HTTPStatus
from typing import Any

SENTENCES = {
    400: "The address or the body cannot be read.",
    401: "Sign in first: open your sign-in link, or send an API token as 'Authorization: Bearer'.",
    403: "Your role here is labeler: it does not allow this. Ask the project's owner for more.",
    404: "There is no project 'forest-songs' that you belong to.",
    409: "It contradicts what is stored.",
    412: "It was changed since you read it, so nothing was done. Read it again.",
    413: "The body is larger than 512 MB, the limit here: send it in smaller parts.",
    415: "This content type is not understood here.",
    416: "The file has 40,044 bytes: there is none at the range that was asked for.",
    429: "That is too often. Wait a moment.",
    422: "The content is wrong; nothing was stored.",
    503: "The server has more to do than it can soon. Try again in a moment.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the declarations of problem responses, as application/problem+json with an example."""
    return {status: _declaration(status) for status in statuses}


def _declaration(status: int) -> dict[str, Any]:
    title = HTTPStatus(status).phrase
    example: dict[str, Any] = {"type": "about:blank", "title": title, "status": status, "detail": SENTENCES[status]}
    example["errors"] = [{"field": "key", "detail": "is given twice", "row": 7}] if status == 422 else []
    return {"description": title, "content": {"application/problem+json": {"example": example}}}
