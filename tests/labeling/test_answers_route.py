"""The short way of the usual request with answers: it says what FastAPI's says, and it is taken."""

import uuid
from typing import Any

import httpx2 as httpx
import pytest
from fastapi import routing
from fastapi.testclient import TestClient

from tercet.web.json_bodies import SMALL_BYTES
from tests.labeling.conftest import SONGS, ask

USUAL, UNUSUAL = "application/json", "application/json; charset=utf-8"


def send(client: TestClient, body: object, query: str = "", kind: str = USUAL) -> httpx.Response:
    content = body if isinstance(body, bytes) else httpx.Request("POST", "/", json=body).content
    return client.post(f"{SONGS}/answers{query}", content=content, headers={"Content-Type": kind})


def form(triplet: list[str], **values: object) -> dict[str, Any]:
    return {"id": str(uuid.uuid4()), "triplet": triplet, "answer": "yes", "response_ms": 900, **values}


def no_fault(response: httpx.Response) -> tuple[int, dict[str, str], Any]:
    """A response without what differs between any two."""
    headers = {name: value for name, value in response.headers.items() if name not in {"x-request-id", "server-timing"}}
    return response.status_code, headers, response.json()


@pytest.mark.parametrize("several", [False, True])
def test_the_usual_request_does_without_fastapi(
    ada: TestClient, monkeypatch: pytest.MonkeyPatch, several: bool
) -> None:
    first, second, *_ = ask(ada, 6)

    def solve(**_: object) -> None:
        raise AssertionError("FastAPI looks through the parameters")

    monkeypatch.setattr(routing, "solve_dependencies", solve)
    body = {"answers": [form(first), form(second)]} if several else form(first)
    reply = send(ada, body, "?ask=3")
    assert (reply.status_code, reply.json()["stored"]) == (201, 2 if several else 1)
    assert len(reply.json()["next"]["triplets"]) == 3
    with pytest.raises(AssertionError, match="FastAPI looks"):
        send(ada, body, kind=UNUSUAL)


def test_both_ways_answer_alike(ada: TestClient) -> None:
    [triplet, *_] = ask(ada, 1)
    body = form(triplet)
    send(ada, body)
    replies = [no_fault(send(ada, body, "?ask=2", kind)) for kind in (USUAL, UNUSUAL)]
    assert replies[0] == replies[1]
    assert replies[0][2]["repeated"] == 1


@pytest.mark.parametrize(
    ("query", "change", "status"),
    [
        ("?ask=many", {}, 422),
        ("?ask=101", {}, 422),
        ("?aks=3", {}, 422),
        ("?ask=3&ask=4", {}, 201),
        ("", {"answer": "perhaps"}, 422),
        ("", {"surprise": 1}, 422),
        ("", {"triplet": ["one"]}, 422),
        ("", {"comment": "x" * 2 * SMALL_BYTES}, 422),
    ],
)
def test_what_is_unusual_is_left_to_fastapi(ada: TestClient, query: str, change: dict[str, Any], status: int) -> None:
    [triplet, *_] = ask(ada, 1)
    body = form(triplet) | change
    replies = [no_fault(send(ada, body, query, kind)) for kind in (UNUSUAL, USUAL)]
    assert replies[0][0] == replies[1][0] == status
    if status != 201:
        assert replies[0] == replies[1]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"answers": NaN}', b"[" * 5_000])
def test_what_is_no_json_is_left_to_fastapi(ada: TestClient, body: bytes) -> None:
    replies = [no_fault(send(ada, body, kind=kind)) for kind in (UNUSUAL, USUAL)]
    assert replies[0] == replies[1]
    assert replies[0][0] in {400, 422}
