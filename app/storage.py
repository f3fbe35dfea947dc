"""Blobs (media, features, results, checkpoints) behind fsspec: a folder by default, a bucket by URL.

Keys are made by the app, never by users: a kind and a random or content-derived name.
"""

import hashlib
import io
import tempfile
import uuid
from pathlib import Path
from typing import Any, BinaryIO

import fsspec
import numpy as np


class Storage:
    """One place for blobs."""

    def __init__(self, url: str) -> None:
        """Open the place; a local folder is made on the first write."""
        self.filesystem, self.root = fsspec.core.url_to_fs(url)
        self.is_local = "file" in (self.filesystem.protocol, *self.filesystem.protocol)

    def _path(self, key: str) -> str:
        return f"{self.root}/{key}"

    def put(self, key: str, content: bytes) -> str:
        """Store bytes under a key, whole or not at all; give the key."""
        path = self._path(key)
        self.filesystem.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        # A reader, or a crash in the middle, must never see half a blob.
        partial = f"{path}.{uuid.uuid4().hex}.partial"
        self.filesystem.pipe_file(partial, content)
        self.filesystem.mv(partial, path)
        return key

    def put_content(self, kind: str, content: bytes, suffix: str = "") -> str:
        """Store bytes under a key made from their hash, so that the same content is kept once."""
        digest = hashlib.sha256(content).hexdigest()
        key = f"{kind}/{digest[:2]}/{digest[2:40]}{suffix}"
        return key if self.exists(key) else self.put(key, content)

    def get(self, key: str) -> bytes:
        """Read a blob."""
        return bytes(self.filesystem.cat_file(self._path(key)))

    def open(self, key: str) -> BinaryIO:
        """Open a blob for streaming."""
        return self.filesystem.open(self._path(key), "rb")  # type: ignore[no-any-return]

    def local_path(self, key: str) -> Path | None:
        """Give the file that holds a blob, if blobs are files here: those can be sent in ranges."""
        return Path(self._path(key)) if self.is_local else None

    def exists(self, key: str) -> bool:
        """Tell whether a blob is there."""
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
        """Store named arrays as .npz, without pickles."""
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        return self.put(key, buffer.getvalue())

    def get_arrays(self, key: str) -> dict[str, np.ndarray[Any, Any]]:
        """Read named arrays stored by `put_arrays`."""
        with np.load(io.BytesIO(self.get(key)), allow_pickle=False) as stored:
            return dict(stored)

    def memory_map(self, key: str) -> np.ndarray[Any, Any]:
        """Map an .npy blob read-only; a remote one is first copied to a temporary file that goes on exit."""
        if self.is_local:
            return np.load(self._path(key), mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
        with tempfile.NamedTemporaryFile(suffix=".npy", delete=False) as copy:
            copy.write(self.get(key))
        array = np.load(copy.name, mmap_mode="r", allow_pickle=False)
        Path(copy.name).unlink()  # the mapping keeps the bytes alive
        return array  # type: ignore[no-any-return]
