"""What the allocator keeps: for few threads at once, between two arrays of a fit, and not between two tasks."""

import ctypes
import sys
from functools import cache
from typing import Any

# How much freed memory glibc may keep (mallopt's number of the option, and so many bytes).
KEEP_AT_THE_END = (-1, 256 * 2**20)
KEEP_EACH = (-3, 32 * 2**20)
# Heaps for all threads: each of a web process had one of its own, though Python runs one thread at a time.
HEAPS = (-8, 2)


@cache
def _glibc() -> Any:
    """Return the C library, where it is glibc; None elsewhere."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    return library if hasattr(library, "malloc_trim") else None


def share_heaps() -> None:
    """Let all threads of this process allocate from two heaps."""
    if _glibc() is not None:
        _glibc().mallopt(*HEAPS)


def keep_memory() -> None:
    """Let the allocator keep freed memory for the next array of the same size.

    Dask makes it return memory at once. A fit allocates and frees the same arrays at every step, and spent a quarter
    of its time, all of it in the kernel, on getting their pages again.
    """
    if _glibc() is not None:
        _glibc().mallopt(*KEEP_AT_THE_END)
        _glibc().mallopt(*KEEP_EACH)


def give_back_memory() -> None:
    """Give back what is free: a worker that waits for its next task needs none of it."""
    if _glibc() is not None:
        _glibc().malloc_trim(0)
