"""Blobs (media, features, results, checkpoints) behind fsspec: a folder by default, a bucket by URL.

Keys are made by the service, never by users: a kind and a random name or a hash of the content.
"""

import hashlib
import io
import json
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

import fsspec
import numpy as np

MEGABYTE = 2**20


class Storage:
    """One place for blobs."""

    def __init__(self, url: str) -> None:
        """Open the place; a local folder is made on the first write."""
        self.filesystem, self.root = fsspec.core.url_to_fs(url)
        self.is_local = "file" in (self.filesystem.protocol, *self.filesystem.protocol)

    def _path(self, key: str) -> str:
        return f"{self.root}/{key}"

    def put(self, key: str, content: bytes) -> str:
        """Store bytes under a key, whole or not at all; return the key."""
        with self._partial(key) as partial:
            self.filesystem.pipe_file(partial, content)
        return key

    @contextmanager
    def _partial(self, key: str) -> Iterator[str]:
        """Yield a path to write to, and move the file into place at the end: nobody ever reads half a blob."""
        path = self._path(key)
        self.filesystem.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        partial = f"{path}.{uuid.uuid4().hex}.partial"
        try:
            yield partial
            self.filesystem.mv(partial, path)
        except BaseException:
            with suppress(OSError):  # where the disk is full, half a blob would keep it so
                self.filesystem.rm_file(partial)
            raise

    def put_stream(self, key: str, stream: IO[bytes]) -> str:
        """Store the content of a stream under a key, whole or not at all, in little memory; return the key."""
        with tempfile.NamedTemporaryFile() as copy:
            shutil.copyfileobj(stream, copy, MEGABYTE)
            copy.flush()
            path = self._path(key)
            self.filesystem.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
            partial = f"{path}.{uuid.uuid4().hex}.partial"
            self.filesystem.put_file(copy.name, partial)
            self.filesystem.mv(partial, path)
        return key

    def put_content(self, kind: str, content: bytes, suffix: str = "") -> str:
        """Store bytes under a key made from their hash, so that the same content is kept once."""
        key = self.content_key(kind, content, suffix)
        return key if self.exists(key) else self.put(key, content)

    def content_key(self, kind: str, content: bytes, suffix: str = "") -> str:
        """Return the key under which `put_content` stores bytes."""
        digest = hashlib.sha256(content).hexdigest()
        return f"{kind}/{digest[:2]}/{digest[2:40]}{suffix}"

    def put_json(self, key: str, value: object) -> str:
        """Store a value as JSON; return the key."""
        return self.put(key, json.dumps(value).encode())

    def get_json(self, key: str) -> Any:
        """Read a value stored by `put_json`."""
        return json.loads(self.get(key))

    def put_file(self, key: str, file: Path) -> str:
        """Store a file of this machine under a key, whole or not at all; return the key."""
        with self._partial(key) as partial:
            self.filesystem.put_file(str(file), partial)
        return key

    def names_in(self, folder: str) -> list[str]:
        """Return the names of the blobs in a folder; half written ones are left out."""
        if not self.exists(folder):
            return []
        names = [path.rsplit("/", 1)[-1] for path in self.filesystem.ls(self._path(folder), detail=False)]
        return [name for name in names if not name.endswith(".partial")]

    def all_keys(self) -> Iterator[str]:
        """Yield the keys of all blobs; half written ones are left out."""
        if self.filesystem.exists(self.root):
            for path in self.filesystem.find(self.root):
                if not path.endswith(".partial"):
                    yield path.removeprefix(self.root).lstrip("/")

    def get(self, key: str) -> bytes:
        """Read a blob."""
        return bytes(self.filesystem.cat_file(self._path(key)))

    def open(self, key: str) -> BinaryIO:
        """Open a blob for streaming."""
        stream: BinaryIO = self.filesystem.open(self._path(key), "rb")
        return stream

    def local_path(self, key: str) -> Path | None:
        """Return the path of a blob if blobs are local files."""
        return Path(self._path(key)) if self.is_local else None

    def exists(self, key: str) -> bool:
        """Return whether a blob is there."""
        return bool(self.filesystem.exists(self._path(key)))

    def delete(self, key: str) -> None:
        """Remove a blob; a missing one is no error."""
        if self.exists(key):
            self.filesystem.rm(self._path(key))

    def delete_folder(self, folder: str) -> None:
        """Remove every blob under a folder; a missing one is no error."""
        if self.exists(folder):
            self.filesystem.rm(self._path(folder), recursive=True)

    def put_arrays(self, key: str, arrays: dict[str, np.ndarray[Any, Any]]) -> str:
        """Store named arrays as .npz; arrays of Python objects would need pickles and are refused."""
        if objects := [name for name, array in arrays.items() if np.asarray(array).dtype.hasobject]:
            raise ValueError(f"arrays of Python objects cannot be stored: {', '.join(objects)}")
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]  # allow_pickle, which numpy before 2.1 does not have
        return self.put(key, buffer.getvalue())

    def get_arrays(self, key: str) -> dict[str, np.ndarray[Any, Any]]:
        """Read named arrays stored by `put_arrays`."""
        with np.load(io.BytesIO(self.get(key)), allow_pickle=False) as stored:
            return dict(stored)

    def memory_map(self, key: str) -> np.ndarray[Any, Any]:
        """Map an .npy blob read-only; a remote one is first copied to a temporary file that goes on exit."""
        if self.is_local:
            return _map(Path(self._path(key)))
        with tempfile.NamedTemporaryFile(suffix=".npy", delete=False) as copy:
            copy.write(self.get(key))
        array = _map(Path(copy.name))
        Path(copy.name).unlink()  # the mapping keeps the bytes alive
        return array


def _map(path: Path) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array
