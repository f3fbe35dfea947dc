"""Features that other packages compute: functions in the entry point group `tercet.features`.

A package names its function in its pyproject.toml:

    [project.entry-points."tercet.features"]
    birdnet = "birdnet_for_tercet:embed"

and defines it:

    def embed(inputs):
        '''Embeddings of BirdNET.'''
        return [model.embed(item.path) for item in inputs]

`inputs` are a few hundred items at a time, each with `key`, `text`, `details` (its metadata), `media_type` and `path`
(the file of its recording or picture, or None). The function returns a row of numbers for each item, always of the same
length; the row of an item must not depend on other items. Once the package is installed where the workers run, the
plug-in is offered by its name.
"""

from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.features.inputs import FeatureInput

Rows = NDArray[np.float32]
Report = Callable[[float, str], None]

GROUP = "tercet.features"
ITEMS_AT_ONCE = 200


def plugin_names() -> list[str]:
    """Return the names of the installed plug-ins without importing them."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def plugin_rows(name: str, inputs: Sequence[FeatureInput], report: Report) -> Rows:
    """Return the rows that a plug-in computes for the items; raise ValueError with a sentence if it fails."""
    function = _load(_entry_point(name), name)
    parts: list[Rows] = []
    for start in range(0, len(inputs), ITEMS_AT_ONCE):
        report(start / len(inputs), f"Asking the plug-in '{name}': {start + 1:,} of {len(inputs):,} items")
        some = list(inputs[start : start + ITEMS_AT_ONCE])
        parts.append(_checked(_call(function, some, name), some, name))
        if parts[-1].shape[1] != parts[0].shape[1]:
            detail = f"rows of {parts[0].shape[1]} numbers, then rows of {parts[-1].shape[1]}"
            raise ValueError(f"the plug-in '{name}' returned {detail}; all must be of one length")
    return np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.float32)


def _entry_point(name: str) -> EntryPoint:
    points = [point for point in entry_points(group=GROUP) if point.name == name]
    if not points:
        installed = ", ".join(f"'{other}'" for other in plugin_names()) or "none"
        raise ValueError(f"there is no plug-in '{name}' for features; installed: {installed}")
    return points[0]


def _load(point: EntryPoint, name: str) -> Callable[[list[FeatureInput]], Any]:
    try:
        function = point.load()
    except Exception as error:
        raise ValueError(f"the plug-in '{name}' cannot be loaded: {_reason(error)}") from error
    if not callable(function):
        raise ValueError(f"the plug-in '{name}' names '{point.value}', which is not a function")
    return function  # type: ignore[no-any-return]


def _call(function: Callable[[list[FeatureInput]], Any], inputs: list[FeatureInput], name: str) -> Any:
    try:
        return function(inputs)
    except Exception as error:
        raise ValueError(f"the plug-in '{name}' failed: {_reason(error)}") from error


def _checked(answer: Any, inputs: list[FeatureInput], name: str) -> Rows:
    try:
        rows = np.asarray(answer, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the plug-in '{name}' returned no array of numbers: {_reason(error)}") from error
    if rows.ndim != 2 or len(rows) != len(inputs):
        detail = f"an array of shape {rows.shape} for {len(inputs)} items"
        raise ValueError(f"the plug-in '{name}' returned {detail}; one row for each item is expected")
    wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if wrong.size:
        raise ValueError(f"the plug-in '{name}' returned numbers that are not finite for '{inputs[wrong[0]].key}'")
    return rows


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
