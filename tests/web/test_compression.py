"""What is text is compressed for those who can read it, and arrives whole; recordings and ranges of them are not."""

import gzip
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from tercet.web.compression import LARGE, LEAST, Compression

WORDS = b"one song after the other " * LARGE


async def plain(request: Request) -> Response:
    size, kind = int(request.path_params["size"]), request.query_params["type"]
    return Response(WORDS[:size], media_type=kind)


async def stream(request: Request) -> Response:
    async def parts() -> AsyncIterator[bytes]:
        for start in range(0, 5_000, 100):
            yield WORDS[start : start + 100]

    return StreamingResponse(parts(), media_type=request.query_params["type"])


async def file(request: Request) -> Response:
    return FileResponse(__file__, media_type="text/plain")


@pytest.fixture
def client() -> TestClient:
    app = Starlette(routes=[Route("/plain/{size}", plain), Route("/stream", stream), Route("/file", file)])
    return TestClient(Compression(app))


@pytest.mark.parametrize("size", [LEAST, LARGE + 1])
def test_text_arrives_whole_and_small(client: TestClient, size: int) -> None:
    response = client.get(f"/plain/{size}?type=application/json")
    assert (response.headers["content-encoding"], response.content) == ("gzip", WORDS[:size])
    assert response.headers["vary"] == "Accept-Encoding"
    with client.stream("GET", f"/plain/{size}?type=text/html") as raw:
        packed = b"".join(raw.iter_raw())
    assert gzip.decompress(packed) == WORDS[:size]
    assert len(packed) < size / 5


def test_streams_and_files_too(client: TestClient) -> None:
    response = client.get("/stream?type=application/x-ndjson")
    assert (response.headers["content-encoding"], response.content) == ("gzip", WORDS[:5_000])
    response = client.get("/file")
    assert (response.headers["content-encoding"], "content-length" in response.headers) == ("gzip", False)
    assert zlib.crc32(response.content) == zlib.crc32(Path(__file__).read_bytes())


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/plain/5000?type=audio/wav", {}),
        ("/plain/5000?type=image/png", {}),
        ("/stream?type=text/event-stream", {}),
        (f"/plain/{LEAST - 1}?type=text/html", {}),
        ("/plain/5000?type=text/html", {"Accept-Encoding": "identity"}),
        ("/file", {"Range": "bytes=0-1999"}),
    ],
)
def test_others_are_left_alone(client: TestClient, path: str, headers: dict[str, str]) -> None:
    response = client.get(path, headers=headers)
    assert "content-encoding" not in response.headers
    assert len(response.content) == int(response.headers.get("content-length", 5_000))
