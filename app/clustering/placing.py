"""Where a run's items lie on its map: a current run moves the map before it as little as it can, a view keeps the
places of the clustering that it stands beside, so that two maps show the same items in the same places.
"""

import numpy as np

from algorithms.layout import cluster_map
from app.clustering import results
from app.clustering.queries import find_run, last_done
from app.clustering.results import Array
from app.database import Database
from app.models import Run
from app.storage import Storage


def anew(features: Array, posterior: Array, before: Array | None) -> Array:
    """Lay the map out by the clusters, as near to the one before as they allow."""
    return cluster_map(features, posterior, None if before is None else _padded(before, len(posterior)))


def beside(features: Array, posterior: Array, known: Array | None) -> Array:
    """Give every item its place on the known map; items that came later find places among them."""
    if known is None:
        return anew(features, posterior, None)
    places = _padded(known, len(posterior))
    new = np.isnan(places[:, 0])
    if new.any():
        places[new] = anew(features, posterior, known)[new]
    return places


def known_coordinates(database: Database, storage: Storage, run: Run) -> Array | None:
    """Read the map of the first clustering that a view is to be unlike, else of the current one; None without."""
    with database.reading() as session:
        named = [find_run(session, run.project_id, str(number)) for number in run.parameters.get("known_runs", [])]
        found = next((one for one in named if one is not None), None) or last_done(session, run.project_id)
    return None if found is None or found.result is None else results.coordinates(storage, found.result)


def _padded(coordinates: Array, n_items: int) -> Array:
    """Items that came after a map was made had no place on it."""
    padded = np.full((n_items, 2), np.nan)
    padded[: len(coordinates)] = coordinates[:n_items]
    return padded
