"""Compiles loops that numpy could make only with a temporary array for each step.

Only loops whose measured time asks for it are compiled: the first run of each takes seconds. The machine code is
stored beside the source, or in the user's cache where that folder cannot be written. The process that compiles a loop
may round its sums otherwise than those that load it later, so fits with the same seed can differ between the two.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.extending import register_jitable

Loop = TypeVar("Loop", bound=Callable[..., object])
# Every loop that was imported.
_loops: list[Any] = []
# Sums may be added up in any order, and values are assumed never to be NaN. They may be infinite: "ninf" is missing.
_FREE = {"contract", "reassoc", "nsz", "arcp", "nnan"}


def compiled(loop: Loop) -> Loop:
    """Compile a function of arrays and numbers at its first call, for each kind of array; it releases the GIL."""
    try:
        return _compiled(loop, cache=True)
    except RuntimeError:  # nothing can be written anywhere, so that every process compiles for itself
        return _compiled(loop, cache=False)


def _compiled(loop: Loop, cache: bool) -> Loop:
    dispatcher = njit(loop, cache=cache, nogil=True, fastmath=_FREE, error_model="numpy")
    _loops.append(dispatcher)
    return cast(Loop, dispatcher)


def are_stored() -> bool:
    """Return whether there is machine code on disk for every loop that was imported."""
    return all(_is_stored(loop) for loop in _loops)


def _is_stored(loop: Any) -> bool:
    folder = loop.stats.cache_path
    return folder is not None and any(Path(folder).glob(f"*.{loop.py_func.__qualname__}-*.nbi"))


def part(function: Loop) -> Loop:
    """Let a function be compiled into the loops that call it."""
    return register_jitable(function)
