"""Sends stored files to a browser, whole or one range, from any kind of storage."""

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from io import BytesIO
from pathlib import PurePosixPath
from typing import BinaryIO

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from tercet.errors import Conflict
from tercet.items.media_types import CONTENT_TYPES, SOUND_TYPES
from tercet.sounds.decoding import describe_sound
from tercet.sounds.playing import Playing, plays_as_it_is, to_played_wav
from tercet.storage import Storage
from tercet.web.errors import respond

FRESH_SECONDS = 300
DAY_SECONDS = 24 * 3600
CHUNK_BYTES = 256 * 1024
ONE_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


def send(blobs: Storage, blob_key: str, request: Request, playing: Playing | None = None) -> Response:
    """Answer with a stored file, or with the range of it that the request asks for.

    With `playing`, sounds that browsers cannot play are converted to WAV.
    """
    path = PurePosixPath(blob_key)
    asked = playing or Playing()
    headers = {
        "ETag": f'"{path.stem}{asked.name}"',
        # Drawn anew, a picture keeps its address: what a browser shows at once from its cache it then asks for again.
        "Cache-Control": f"private, max-age={FRESH_SECONDS}, stale-while-revalidate={DAY_SECONDS}",
        "X-Content-Type-Options": "nosniff",
        "Accept-Ranges": "bytes",
    }
    if _names(request.headers.get("if-none-match", ""), headers["ETag"]):
        return Response(status_code=304, headers=headers)
    if playing is None or path.suffix not in SOUND_TYPES:
        return _answer(blobs.open(blob_key), CONTENT_TYPES[path.suffix], headers, request)
    stream = blobs.open(blob_key)
    converted = _converted(stream, asked)
    if converted is None:
        return _answer(stream, CONTENT_TYPES[path.suffix], headers, request)
    stream.close()
    return _answer(BytesIO(converted), CONTENT_TYPES[".wav"], headers, request)


def _names(tags: str, tag: str) -> bool:
    """Return whether a list of tags, as in If-None-Match, holds this one; weak tags count."""
    return tags.strip() == "*" or tag in (name.strip().removeprefix("W/") for name in tags.split(","))


def _converted(stream: BinaryIO, playing: Playing) -> bytes | None:
    """Return the WAV file that is sent in place of a recording; None if browsers can play it."""
    try:
        if playing == Playing() and plays_as_it_is(describe_sound(stream)):
            return None
        return to_played_wav(stream, playing)
    except ValueError as error:
        raise Conflict(f"The recording cannot be played so: {error}.") from error


def _answer(stream: BinaryIO, media_type: str, headers: dict[str, str], request: Request) -> Response:
    size = stream.seek(0, os.SEEK_END)
    first, last = 0, size - 1
    status = 200
    asked = _asked_range(request, headers["ETag"])
    if asked is not None:
        first, last = _bounds(*asked, size)
        if first > last:
            stream.close()
            detail = f"The file has {size:,} bytes: there is none at the range that was asked for."
            return respond(request, 416, detail, headers={**headers, "Content-Range": f"bytes */{size}"})
        headers["Content-Range"] = f"bytes {first}-{last}/{size}"
        status = 206
    headers["Content-Length"] = str(last - first + 1)
    return StreamingResponse(_chunks(stream, first, last), status, headers, media_type)


def _asked_range(request: Request, tag: str) -> tuple[int | None, int | None] | None:
    """Return the numbers of `FIRST-LAST`, `FIRST-` or `-LENGTH`; None if the file is asked for as a whole.

    So it is by the standard, too, where the range makes no sense, or belongs to an older file.
    """
    asked = ONE_RANGE.fullmatch(request.headers.get("range", "").strip())
    if asked is None or request.headers.get("if-range", tag) != tag:
        return None
    first, last = (int(number) if number else None for number in asked.groups())
    senseless = first is None if last is None else first is not None and last < first
    return None if senseless else (first, last)


def _bounds(first: int | None, last: int | None, size: int) -> tuple[int, int]:
    """Return the first and the last byte of a range; the last is before the first if the file has none of them."""
    if first is None:
        return max(size - (last or 0), 0), size - 1
    return first, size - 1 if last is None else min(last, size - 1)


def _chunks(stream: AbstractContextManager[BinaryIO], first: int, last: int) -> Iterator[bytes]:
    with stream as file:
        file.seek(first)
        left = last - first + 1
        while left > 0 and (chunk := file.read(min(CHUNK_BYTES, left))):
            left -= len(chunk)
            yield chunk
