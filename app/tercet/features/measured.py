"""What is known of single sounds in their own units, read back from stored features: length, pitch, contour, notes."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tercet.features.fitted import FittedRecipe
from tercet.models import FeatureSet
from tercet.storage import Storage

Array = np.ndarray[Any, Any]
SOUNDS, NOTES = "sound_measures", "notes"
SEMITONE = 1 / 12  # octaves: a contour that goes less far up or down is level


class Scales(NamedTuple):
    """How stored columns become measures again: value / scale + mean."""

    scale: Array
    mean: Array


def sounds_in_units(storage: Storage, features: FeatureSet, places: Array) -> dict[str, Array]:
    """Return the measures of the sounds at these places, by name; empty where they are not in the features one by one.

    A measure that is the same for all sounds is not among what was learned of their differences: it is its mean.
    """
    if features.recipe is None or features.learned is None:
        return {}
    columns = _columns(features)
    scales = _scales(storage, features.learned) if columns else None
    if scales is None:
        return {}
    rows = storage.memory_map(features.blob)[places][:, columns].astype(np.float64)
    rows = np.divide(rows, scales.scale, out=np.zeros_like(rows), where=scales.scale > 0) + scales.mean
    measures = dict(zip([features.feature_names[column] for column in columns], rows.T, strict=True))
    return measures | {NOTES: measures["notes_per_s"] * measures["duration_s"]}


def are_measured(storage: Storage, features: FeatureSet, places: Array) -> Array:
    """Return which of the sounds at these places could be measured: others have the features of the average sound."""
    return np.asarray(storage.memory_map(features.blob)[places][:, _columns(features)].any(axis=1))


def _columns(features: FeatureSet) -> list[int]:
    groups = (features.recipe or {}).get("group_of_column", [])
    return [column for column, kind in enumerate(groups) if kind == SOUNDS]


@lru_cache(maxsize=8)
def _scales(storage: Storage, learned_key: str) -> Scales | None:
    """Read the scales of a recipe; None where measures were reduced to fewer numbers, from which none can be read."""
    learned = FittedRecipe.of_file(storage.get(learned_key)).learned.get(SOUNDS, {})
    if not learned or learned["matrix"].ndim != 1:
        return None
    return Scales(learned["matrix"] * learned["factor"], learned["mean"])


def contour(measures: Mapping[str, float]) -> str:
    """Return where a sound goes, by its rise from end to end, or by its bend where that is larger."""
    rise, bend = measures["contour_rise_octaves"], measures["contour_bend_octaves"]
    if max(abs(rise), abs(bend)) < SEMITONE:
        return "level"
    if abs(rise) >= abs(bend):
        return "rising" if rise > 0 else "falling"
    return "falling, then rising" if bend > 0 else "rising, then falling"
