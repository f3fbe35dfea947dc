"""Uploaded files in storage: they come in parts, and stay there until the import has ended.

Each request that brings bytes of a file stores a part, named by its place in the file, so that an interrupted upload
can continue on every kind of storage. Nothing of it is visible in the project.
"""

import io
import shutil
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from tercet.intake.faults import fail
from tercet.intake.reading.plan import SourceFile
from tercet.models import Import, ImportFile
from tercet.storage import Storage
from tercet.web.texts import fault_of_text

LONGEST_PATH = 1_000
LONGEST_NAME = 255


def normal_path(text: str) -> str:
    """Return the path of a file in its folder; raise Invalid if it is absolute or leads out of the folder."""
    path = text.replace("\\", "/")
    parts = path.split("/")
    if (
        not path
        or len(path) > LONGEST_PATH
        or max(len(part.encode("utf-8", "replace")) for part in parts) > LONGEST_NAME
    ):
        raise fail("path", f"a path needs 1 to {LONGEST_PATH} characters, and at most {LONGEST_NAME} bytes a name")
    if fault_of_text(path) or any(unicodedata.category(c) == "Cc" for c in path):
        raise fail("path", "a path must not hold control characters", file=path)
    if path.startswith("/") or (len(parts[0]) == 2 and parts[0][1] == ":"):
        raise fail("path", "must be relative to the folder that is imported", file=path)
    if any(part in ("", ".", "..") for part in parts):
        raise fail("path", "must not have empty parts, '.' or '..'", file=path)
    return path


def folder_of(row: Import) -> str:
    """Return the storage folder of everything that belongs to an import until it ends."""
    return f"imports/{row.id}"


def put_part(storage: Storage, file: ImportFile, offset: int, path: Path) -> None:
    """Store received bytes under their place in the file."""
    storage.put_file(f"{file.blob}/{offset:015d}", path)


@contextmanager
def on_this_machine(storage: Storage, files: Sequence[ImportFile]) -> Iterator[list[SourceFile]]:
    """Yield the files on this machine's disk; those in several parts, or in a bucket, are copied first."""
    with TemporaryDirectory(prefix="tercet-import-") as folder:
        yield [
            SourceFile(PurePosixPath(file.path), _whole(storage, file, Path(folder) / str(number)))
            for number, file in enumerate(files)
        ]


def opened(storage: Storage, file: ImportFile) -> BinaryIO:
    """Open a file that is stored in parts, to read some of an archive without copying all of it."""
    return io.BufferedReader(_Parts(storage, file))


class _Parts(io.RawIOBase):
    """A file that is read from its parts, with random access."""

    def __init__(self, storage: Storage, file: ImportFile) -> None:
        super().__init__()
        self._storage, self._folder, self._size = storage, file.blob, file.size
        self._names = sorted(storage.names_in(file.blob))
        self._begins = [int(name) for name in self._names]
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._place = max(0, offset + (0, self._place, self._size)[whence])
        return self._place

    def readinto(self, buffer: Any) -> int:
        number = bisect_right(self._begins, self._place) - 1
        end = self._begins[number + 1] if number + 1 < len(self._begins) else self._size
        with self._storage.open(f"{self._folder}/{self._names[number]}") as part:
            part.seek(self._place - self._begins[number])
            content = part.read(max(0, min(len(buffer), end - self._place)))
        buffer[: len(content)] = content
        self._place += len(content)
        return len(content)


def _whole(storage: Storage, file: ImportFile, target: Path) -> Path:
    parts = sorted(storage.names_in(file.blob))
    if len(parts) == 1 and (local := storage.local_path(f"{file.blob}/{parts[0]}")):
        return local
    with target.open("wb") as out:
        for part in parts:
            out.seek(int(part))
            with storage.open(f"{file.blob}/{part}") as stream:
                shutil.copyfileobj(stream, out)
        out.truncate(file.size)
    return target
