"""Stores the plan of an import, which the check makes and the preview and the import read.

It has one line of JSON for each item, so that a page of the preview reads only what it shows.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np

from tercet.intake.feature_files import Features
from tercet.intake.reading.plan import ImportPlan, MediaSource, SourceFile
from tercet.intake.received import folder_of
from tercet.intake.tables import ItemRow
from tercet.models import Import
from tercet.storage import Storage


@dataclass(frozen=True)
class PlannedItem:
    """One item that an import would add or change, with the file of its media and the part of it."""

    row: ItemRow
    file: str | None = None
    begin_s: float | None = None
    end_s: float | None = None
    low_hz: float | None = None
    high_hz: float | None = None

    @classmethod
    def of(cls, row: ItemRow, source: MediaSource | None) -> "PlannedItem":
        """Return an item of a plan."""
        if source is None:
            return cls(row)
        return cls(row, str(source.file.path), source.begin_s, source.end_s, source.low_hz, source.high_hz)

    def source(self, files: dict[str, SourceFile]) -> MediaSource | None:
        """Return the source of the item's media, given the files by path."""
        if self.file is None:
            return None
        return MediaSource(files[self.file], self.begin_s, self.end_s, self.low_hz, self.high_hz)


def items_of(plan: ImportPlan) -> list[PlannedItem]:
    """Return the items of a plan."""
    return [PlannedItem.of(row, plan.media.get(row.key)) for row in plan.rows]


def save(storage: Storage, row: Import, plan: ImportPlan) -> None:
    """Store a plan in the folder of its import."""
    lines = (json.dumps(asdict(item), ensure_ascii=False) for item in items_of(plan))
    storage.put(f"{folder_of(row)}/plan.ndjson", "".join(f"{line}\n" for line in lines).encode())
    if plan.features is not None:
        storage.put_arrays(f"{folder_of(row)}/features.npz", _arrays(plan.features))


def load(storage: Storage, row: Import, after: int = -1, limit: int | None = None) -> list[PlannedItem]:
    """Read the items of a plan, up to `limit` of them after a position."""
    lines = islice(_lines(storage, row), after + 1, None if limit is None else after + 1 + limit)
    return [_item(json.loads(line)) for line in lines]


def load_features(storage: Storage, row: Import) -> Features | None:
    """Read the features among an import's files; None if there are none."""
    key = f"{folder_of(row)}/features.npz"
    if not storage.exists(key):
        return None
    arrays = storage.get_arrays(key)
    keys = arrays["keys"].tolist() if "keys" in arrays else None
    return Features(arrays["values"], keys, arrays["names"].tolist(), str(arrays["source"]))


def _lines(storage: Storage, row: Import) -> Iterator[bytes]:
    key = f"{folder_of(row)}/plan.ndjson"
    if storage.exists(key):
        with storage.open(key) as stream:
            yield from stream


def _item(values: dict[str, Any]) -> PlannedItem:
    row = values.pop("row")
    return PlannedItem(ItemRow(**{**row, "bag_labels": tuple(row["bag_labels"])}), **values)


def _arrays(features: Features) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "values": features.values,
        "names": np.array(features.names, dtype=str),
        "source": np.array(features.file),
    }
    return arrays if features.keys is None else {**arrays, "keys": np.array(features.keys, dtype=str)}
