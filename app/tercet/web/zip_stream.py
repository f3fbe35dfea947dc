"""Streams a ZIP while it is written: nothing waits for all of it, or keeps it in memory or on disk."""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, cast

import numpy as np

# What some file system or shell takes for something else than a name.
UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]')
LONGEST_NAME = 100
FIRST_YEAR = (1980, 1, 1, 0, 0, 0)


class Sink:
    """Takes what `zipfile` writes until it is sent."""

    closed = False

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, content: bytes) -> int:
        """Hold bytes."""
        self.written.append(bytes(content))
        return len(content)

    def close(self) -> None:
        """Do nothing; written bytes can still be drained."""

    def flush(self) -> None:
        """Do nothing."""

    def drain(self) -> bytes:
        """Return all that was written since the last call."""
        content = b"".join(self.written)
        self.written.clear()
        return content


class ZipStream:
    """The pieces of a ZIP: `add` members one after the other, then `close`; each yields what can be sent by then."""

    def __init__(self) -> None:
        """Begin an empty ZIP."""
        self._sink = Sink()
        self._zip = zipfile.ZipFile(cast(IO[bytes], self._sink), "w")

    def add(self, name: str, chunks: Iterable[bytes], *, packed: bool = False) -> Iterator[bytes]:
        """Add a member; sounds and pictures are packed already, and only texts get smaller by `packed`."""
        member = zipfile.ZipInfo(name, FIRST_YEAR)
        member.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        with self._zip.open(member, "w", force_zip64=True) as target:
            for chunk in chunks:
                target.write(chunk)
                if content := self._sink.drain():
                    yield content
        yield self._sink.drain()

    def close(self) -> Iterator[bytes]:
        """End the ZIP with its directory."""
        self._zip.close()
        yield self._sink.drain()


def npz_pieces(arrays: Mapping[str, np.ndarray[Any, Any] | Iterable[bytes]]) -> Iterator[bytes]:
    """Return the pieces of an .npz; an array may be given as an iterable of the bytes of its .npy file."""
    archive = ZipStream()
    for name, array in arrays.items():
        yield from archive.add(f"{name}.npy", [npy_bytes(array)] if isinstance(array, np.ndarray) else array)
    yield from archive.close()


def npz_bytes(arrays: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """Return arrays as the bytes of an .npz file, the same ones whenever it is made."""
    return b"".join(npz_pieces(arrays))


def npy_bytes(array: np.ndarray[Any, Any]) -> bytes:
    """Return an array as the bytes of a .npy file."""
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


class FileNames:
    """Makes unique file names, safe on every system, from any texts."""

    def __init__(self) -> None:
        """Begin an empty folder."""
        self._taken: set[str] = set()

    def make(self, text: str, suffix: str = "") -> str:
        """Return a name that begins like the text and ends with the suffix."""
        stem = text[: -len(suffix)] if suffix and text.lower().endswith(suffix.lower()) else text
        stem = UNSAFE.sub("_", stem).strip(" .")[:LONGEST_NAME] or "_"
        name, number = f"{stem}{suffix}", 1
        while name.casefold() in self._taken:
            number += 1
            name = f"{stem} ({number}){suffix}"
        self._taken.add(name.casefold())
        return name
