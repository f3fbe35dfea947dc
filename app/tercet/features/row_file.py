"""Stores rows of numbers that come one by one: in memory while they are few, else in a temporary file."""

from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]

MOST_IN_MEMORY = 32 * 2**20  # bytes; the shapes of 5,000 pictures
ROWS_AT_ONCE = 1_024


class RowFile:
    """Rows of one width. A project of 100,000 pictures has a gigabyte of them before they are reduced."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._count = 0
        self._file = SpooledTemporaryFile(max_size=MOST_IN_MEMORY)  # noqa: SIM115 (closed in the next line)
        finalize(self, self._file.close)

    def __len__(self) -> int:
        return self._count

    def append(self, row: Rows) -> None:
        """Add a row at the end."""
        self._file.write(np.ascontiguousarray(row, dtype=np.float32).tobytes())
        self._count += 1

    def blocks(self) -> Iterator[Rows]:
        """Yield all rows in their order, about a thousand at a time; no row may be added meanwhile."""
        self._file.seek(0)
        for start in range(0, self._count, ROWS_AT_ONCE):
            count = min(ROWS_AT_ONCE, self._count - start)
            block = np.frombuffer(self._file.read(4 * count * self.width), dtype=np.float32)
            yield block.reshape(count, self.width)

    def to_array(self) -> Rows:
        """Return all rows as one array."""
        return np.concatenate([np.zeros((0, self.width), dtype=np.float32), *self.blocks()])
