"""Describes the sounds of questions by their measures, for labelers who hear them but do not see their pictures."""

from collections.abc import Mapping

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.features.measured import NOTES, are_measured, contour, sounds_in_units
from tercet.items.queries import latest_features
from tercet.labeling.queries import DisplayedItem
from tercet.labeling.schemas import ItemMeasures
from tercet.models import Item
from tercet.storage import Storage


def described(
    session: Session, storage: Storage, project_id: int, rows: dict[int, DisplayedItem]
) -> dict[int, DisplayedItem]:
    """Return the items with the measures of those that are sounds, as far as the features have them."""
    sounds = [row.id for row in rows.values() if (row.media_type or "").startswith("audio/")]
    features = latest_features(session, project_id) if sounds else None
    if features is None:
        return rows
    statement = select(Item.id, Item.position).where(Item.id.in_(sounds), Item.position < features.n)
    positions = dict(session.execute(statement).all())
    places = np.array(list(positions.values()), dtype=np.int64)
    columns = sounds_in_units(storage, features, places)
    if not columns:
        return rows
    is_measured = are_measured(storage, features, places)
    measured = {
        item_id: _measures({name: float(values[place]) for name, values in columns.items()})
        for place, item_id in enumerate(positions)
        if is_measured[place]
    }
    return {item_id: row._replace(measures=measured.get(item_id)) for item_id, row in rows.items()}


def _measures(values: Mapping[str, float]) -> ItemMeasures:
    return ItemMeasures(
        seconds=round(values["duration_s"], 2),
        low_khz=round(values["quantile05_khz"], 1),
        high_khz=round(values["quantile95_khz"], 1),
        contour=contour(values),
        notes=max(1, round(values[NOTES])),
    )
