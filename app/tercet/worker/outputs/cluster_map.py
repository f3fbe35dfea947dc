"""Lays out the map of a run.

A current run moves the items as little as it can from the map before; an alternative keeps the places of the map that
it is compared with, so that two maps show the same items in the same places.
"""

import numpy as np

from tercet.database import Database
from tercet.models import Run
from tercet.runs import results
from tercet.runs.queries import find_run, last_done
from tercet.runs.results import Array
from tercet.storage import Storage
from tercet_algorithms.common.layout import cluster_map


def lay_out(features: Array, posterior: Array, before: Array | None) -> Array:
    """Return coordinates (N, 2) by the clusters, as near to those of the map before as the clusters allow."""
    return cluster_map(features, posterior, None if before is None else _padded(before, len(posterior)))


def keep_places(features: Array, posterior: Array, known: Array | None) -> Array:
    """Return the coordinates of the known map (n, 2); items that came later get places among them."""
    if known is None:
        return lay_out(features, posterior, None)
    coordinates = _padded(known, len(posterior))
    is_new = np.isnan(coordinates[:, 0])
    if is_new.any():
        coordinates[is_new] = lay_out(features, posterior, known)[is_new]
    return coordinates


def known_coordinates(database: Database, storage: Storage, run: Run) -> Array | None:
    """Read the map of the first clustering that an alternative differs from, else the current one; None without."""
    with database.reading() as session:
        named = [find_run(session, run.project_id, str(number)) for number in run.parameters.get("known_runs", [])]
        compared = next((run for run in named if run is not None), None) or last_done(session, run.project_id)
    return None if compared is None or compared.result is None else results.coordinates(storage, compared.result)


def _padded(coordinates: Array, n_items: int) -> Array:
    """Return coordinates for all items; those of items that came after the map are NaN."""
    padded = np.full((n_items, 2), np.nan)
    padded[: len(coordinates)] = coordinates[:n_items]
    return padded
