"""Calls loops in C, which numpy could make only with a temporary array for each step.

Only loops whose measured time asks for it are in C. They are compiled when Tercet is installed, by
algorithms/compile_loops.py: for single and for double precision, and on x86-64 for processors with AVX2 and for all.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from cffi import FFI

_FOLDER = Path(__file__).parent.parent / "machine_code"
_PRECISIONS = {"float32": "float", "float64": "double"}
# What an array must be of where C asks for a pointer to these.
_DTYPES = {"float": np.float32, "double": np.float64, "int32_t": np.int32, "int64_t": np.int64, "uint8_t": np.bool_}


def loops(module: str, processor: str = "") -> SimpleNamespace:
    """Return the loops of the header beside a module, `__file__`, by their names; they release the GIL.

    Arrays are taken as they are, so they must be in C order and of the types in the header; others raise a ValueError
    or TypeError. The first array of `real` numbers decides in which precision a loop computes.
    """
    header = Path(module).with_suffix(".h").read_text()
    single, double = (_library(header, processor or processors()[-1], precision) for precision in _PRECISIONS)
    return SimpleNamespace(**{name: _loop(name, single[name], double[name]) for name in double})


@cache
def processors() -> list[str]:
    """Return the kinds of processors whose machine code this one can run, the fastest last."""
    has_avx2 = _library("int has_avx2(void);", "any", "float64")["has_avx2"]
    return ["any", "avx2"] if has_avx2() else ["any"]


class _Function:
    """A function in C with what turns each of its arguments into C's."""

    def __init__(self, ffi: FFI, function: Any):
        self.ffi, self.function = ffi, function  # with `ffi` the library would go
        self.kinds = ffi.typeof(function).args
        self.converters = [_converter(ffi, kind) if kind.kind == "pointer" else None for kind in self.kinds]

    def __call__(self, *values: Any) -> Any:
        pairs = zip(values, self.converters, strict=True)
        return self.function(*[value if convert is None else convert(value) for value, convert in pairs])


def _library(header: str, processor: str, precision: str) -> dict[str, _Function]:
    """Return the functions of a header in the machine code for a kind of processor and a precision."""
    file = _FOLDER / f"{processor}-{precision}.so"
    if not file.exists():
        raise ImportError(f"{file} is missing: loops are compiled by `pip install .`, or `pip install -e .`")
    ffi = FFI()
    ffi.cdef(f"typedef ptrdiff_t index; typedef {_PRECISIONS[precision]} real; {header}")
    library = ffi.dlopen(str(file))
    return {name: _Function(ffi, getattr(library, name)) for name in dir(library)}


def _converter(ffi: FFI, pointer: Any) -> Callable[[Any], Any]:
    """Return what turns an array into a pointer of this type."""
    element = pointer.item
    while element.kind == "array":
        element = element.item
    dtype, buffer = np.dtype(_DTYPES[element.cname]), ffi.typeof(ffi.getctype(pointer.item, "[]"))

    def convert(array: Any) -> Any:
        if array.dtype != dtype:
            raise TypeError(f"{dtype} was expected, not {array.dtype}")
        return ffi.from_buffer(buffer, array)

    return convert


def _loop(name: str, single: _Function, double: _Function) -> Callable[..., Any]:
    """Return the function in the precision of its first array of real numbers, if it has any."""
    kinds = zip(single.kinds, double.kinds, strict=True)
    place = next((place for place, (one, other) in enumerate(kinds) if one.cname != other.cname), None)
    if place is None:
        return double
    versions = {np.dtype(np.float32): single, np.dtype(np.float64): double}

    def loop(*values: Any) -> Any:
        version = versions.get(values[place].dtype)
        if version is None:
            raise TypeError(f"{name} computes in float32 or float64, not in {values[place].dtype}")
        return version(*values)

    return loop
