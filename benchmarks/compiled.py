"""Compiles loops of benchmarks where numba is installed (`pip install numba`); without it they are far slower."""

from collections.abc import Callable
from typing import TypeVar, cast

Loop = TypeVar("Loop", bound=Callable[..., object])

try:
    from numba import njit
except ImportError:
    njit = None

# As the project's own loops, which these are compared with, are compiled.
_FREE = {"contract", "reassoc", "nsz", "arcp", "nnan"}


def compiled(loop: Loop) -> Loop:
    """Compile a function of arrays and numbers at its first call, for each kind of array."""
    return loop if njit is None else cast(Loop, njit(loop, cache=True, error_model="numpy", fastmath=_FREE))
