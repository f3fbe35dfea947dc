"""The loop that every fit runs in: steps with a callback between them, a clean end, and a state that can travel.

A fit is a chain of states. Each state is made from the one before and from nothing else, so a fit that was stopped,
saved as plain arrays and resumed in another process goes through the same states as one that ran through. A family
defines its state (an `ArrayRecord` that tells a `SearchProgress`) and the step from one state to the next.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import UnionType
from typing import Any, Protocol, Self, TypeVar, get_args, get_type_hints

import numpy as np

from tercet_algorithms.answers.patterns import Array


class StopFit(Exception):
    """Raised by a callback to end a fit with the best result so far."""


@dataclass(frozen=True)
class ArrayRecord:
    """A dataclass of arrays, numbers and further records that can be saved by `numpy.savez` without pickle.

    The values of a nested record are stored under "field_name"; a record that is None is not stored.
    """

    def to_arrays(self) -> dict[str, Array]:
        """Return the values as plain arrays by name."""
        arrays: dict[str, Array] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, ArrayRecord):
                arrays |= {f"{field.name}_{name}": array for name, array in value.to_arrays().items()}
            elif value is not None:
                arrays[field.name] = np.asarray(value)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """Return the record that `to_arrays` has written."""
        return cls(**{name: _read(name, kind, arrays) for name, kind in _types_of_fields(cls).items()})


def _types_of_fields(record: type[ArrayRecord]) -> dict[str, Any]:
    hints = get_type_hints(record)
    return {field.name: hints[field.name] for field in fields(record)}


def _read(name: str, kind: Any, arrays: Mapping[str, Array]) -> Any:
    """Return the value of one field: a nested record, an array, or a number or string of Python."""
    nested = _nested_record(kind)
    if nested is not None:
        prefix = f"{name}_"
        values = {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
        return nested.from_arrays(values) if values else None
    return arrays[name].item() if kind in (bool, int, float, str) else arrays[name]


def _nested_record(kind: Any) -> type[ArrayRecord] | None:
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    return next((part for part in kinds if isinstance(part, type) and issubclass(part, ArrayRecord)), None)


class SearchProgress(Protocol):
    """What every state of a fit offers to a callback."""

    @property
    def done(self) -> bool:
        """Whether the fit is at its end."""

    @property
    def fraction(self) -> float:
        """Progress in [0, 1], partly a guess: nobody knows how many iterations a fit will take."""

    @property
    def iteration(self) -> int:
        """Iterations of the start at work."""

    @property
    def lower_bound(self) -> float:
        """Value of what is maximised."""


State = TypeVar("State", bound=SearchProgress)


def run_search(
    state: State,
    advance: Callable[[State], State],
    callback: Callable[[State], object] | None = None,
    verbose: int | bool = False,
) -> tuple[State, bool]:
    """Advance a fit until it is done or its callback stops it.

    Parameters
    ----------
    state : SearchProgress
        Where to begin: the first state, or one to resume from.
    advance : callable
        Makes the next state from the last one.
    callback : callable or None
        Called with each new state. When it raises `StopFit` the search ends there; other errors pass through.
    verbose : int or bool
        Whether to print a line for each new state.

    Returns
    -------
    state : the last state
    stopped : bool, whether the callback has stopped the search
    """
    while not state.done:
        state = advance(state)
        if verbose:
            _print_progress(state)
        if callback is not None:
            try:
                callback(state)
            except StopFit:
                return state, True
    return state, False


def check_resumable(shapes: object, expected: object) -> None:
    """Raise ValueError unless the shapes of a state to resume from are those that this fit expects."""
    if shapes != expected:
        raise ValueError(f"resume is the state of another fit: it has {shapes}, expected {expected}")


def check_search(callback: object, resume: object, state: type) -> None:
    """Raise ValueError where a fit's `callback` cannot be called, or `resume` is no state of this kind of fit."""
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function of a {state.__name__}, got {callback!r}")
    if resume is not None and not isinstance(resume, state):
        raise ValueError(f"resume must be a {state.__name__}, as callbacks get them, got {type(resume).__name__}")


def fingerprint(description: object, *arrays: Array) -> Array:
    """Return a hash (16,) of numbers 0 to 255 of what a fit is made of, by which its states know it again.

    Parameters
    ----------
    description : object
        Parameters, told apart by their repr.
    arrays : ndarrays
        Data, told apart by type, shape and content.
    """
    code = hashlib.blake2b(repr(description).encode(), digest_size=16)
    for array in arrays:
        code.update(repr((array.dtype.str, array.shape)).encode())
        code.update(np.ascontiguousarray(array).data)
    return np.frombuffer(code.digest(), dtype=np.uint8)


def check_fingerprint(found: Array, expected: Array) -> None:
    """Raise ValueError where a state to resume from was made of other data or parameters than this fit."""
    if not np.array_equal(found, expected):
        raise ValueError("resume is the state of another fit: its items, answers, bags or parameters are not these")


def _print_progress(state: SearchProgress) -> None:
    line = f"{state.fraction:4.0%} done, iteration {state.iteration}: {state.lower_bound:.6g}"
    print(line, flush=True)  # noqa: T201  # printing is what verbose asks for
