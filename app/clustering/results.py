"""A run's result as arrays in storage: written once by its task, read by the next run and by the web process."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from app.models import Run
from app.storage import Storage

Array = np.ndarray[Any, Any]
STATE = "state_"
MAP = "/map.bin"
ARRAYS = "/result.npz"


@dataclass(frozen=True)
class Result:
    """What a run found about N items, by position; clusters are numbered from 1, as people see them."""

    labels: Array  # (N,) int16
    confidence: Array  # (N,) float32
    posterior: Array  # (N, K) float32; column j is cluster j + 1
    state: dict[str, Array]  # what a warm start continues from

    @property
    def n_clusters(self) -> int:
        """K."""
        return int(self.posterior.shape[1])


def checkpoint_key(run: Run, token: int) -> str:
    """Where the copy of the task with this token keeps its checkpoint."""
    return f"runs/{run.id}/{token}/checkpoint.npz"


def save(storage: Storage, run: Run, result: Result, coordinates: Array) -> str:
    """Store the arrays and the map, and give the key for the run's row.

    The token is part of the key: a copy of the task that lost its run cannot overwrite the result of the winner.
    """
    key = f"runs/{run.id}/{run.token}"
    arrays = {"labels": result.labels, "confidence": result.confidence, "posterior": result.posterior}
    storage.put_arrays(key + ARRAYS, {**arrays, **{STATE + name: value for name, value in result.state.items()}})
    rows = np.column_stack([coordinates, result.labels, result.confidence]).astype("<f4")
    storage.put(key + MAP, rows.tobytes())
    return key


def load(storage: Storage, key: str) -> Result:
    """Read everything."""
    arrays = storage.get_arrays(key + ARRAYS)
    state = {name.removeprefix(STATE): value for name, value in arrays.items() if name.startswith(STATE)}
    return Result(arrays["labels"], arrays["confidence"], arrays["posterior"], state)


@lru_cache(maxsize=4)
def load_cached(storage: Storage, key: str) -> Result:
    """Read what pages show, or remember it: a result never changes, and they ask for the newest again and again."""
    return replace(load(storage, key), state={})


def load_map(storage: Storage, key: str) -> bytes:
    """Read the map: N rows x, y, cluster, confidence as little-endian float32."""
    return storage.get(key + MAP)


def coordinates(storage: Storage, key: str) -> Array:
    """Read the map's x and y, (N, 2)."""
    found: Array = np.frombuffer(load_map(storage, key), "<f4").reshape(-1, 4)[:, :2]
    return found


def delete_checkpoints(storage: Storage, run: Run) -> None:
    """Remove what the copies of the task left behind; called when the run has ended."""
    for token in range(1, run.token + 1):
        storage.delete(checkpoint_key(run, token))
