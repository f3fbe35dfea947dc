"""A run's result as arrays in storage: written once by its task, read by the next run and by the web process."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from app.models import Run
from app.storage import Storage

Array = np.ndarray[Any, Any]
# The columns of a stored report about people; what is not known is stored as NaN.
_PEOPLE = {"labeler": np.int64, "answers": np.int64, "predicted": float, "quality": float, "accuracy": float}
MAP = "/map.bin"
ARRAYS = "/result.npz"
REPORT = "/report.npz"
RESOLUTIONS = "/resolutions.bin"
STATE = "/state.npz"


@dataclass(frozen=True)
class Result:
    """What a run found about N items, by position; clusters are numbered from 1, as people see them."""

    labels: Array  # (N,) int16
    confidence: Array  # (N,) float32
    posterior: Array  # (N, K) float32; column j is cluster j + 1

    @property
    def n_clusters(self) -> int:
        """K."""
        return int(self.posterior.shape[1])


@dataclass(frozen=True)
class AnswerReport:
    """What a run says about the M answers that it used, in the order of their numbers."""

    numbers: Array  # (M,) int64, the answers' numbers in their project
    probabilities: Array  # (M,) float32, of the answer that was given, under the run's posteriors
    suspicion: Array  # (M,) int32: 1 is the most suspect answer, 2 the next; 0 is not suspect


@dataclass(frozen=True)
class LabelerReport:
    """What a run says about one person; quality and accuracy only where it learned how each person answers."""

    labeler: int  # user id
    answers: int  # that the run used
    predicted: float  # share of them that the run holds for the most probable answer
    quality: float | None  # share of what answers could tell about the clusters that this person's do: 0 to 1
    accuracy: float | None  # probability that this person gives the right answer


@dataclass(frozen=True)
class Report:
    """Both together, as the job stores them."""

    answers: AnswerReport
    labelers: list[LabelerReport]


def checkpoint_key(run: Run, token: int) -> str:
    """Where the copy of the task with this token keeps its checkpoint."""
    return f"runs/{run.id}/{token}/checkpoint.npz"


def save(storage: Storage, run: Run, result: Result, coordinates: Array) -> str:
    """Store the arrays and the map, and give the key for the run's row.

    The token is part of the key: a copy of the task that lost its run cannot overwrite the result of the winner.
    """
    key = f"runs/{run.id}/{run.token}"
    storage.put_arrays(key + ARRAYS, vars(result))
    rows = np.column_stack([coordinates, result.labels, result.confidence]).astype("<f4")
    storage.put(key + MAP, rows.tobytes())
    return key


def save_report(storage: Storage, key: str, report: Report) -> None:
    """Store what the run says about answers and people, beside its result; the key is the result's."""
    people = {field: [getattr(one, field) for one in report.labelers] for field in _PEOPLE}
    arrays = {f"labelers_{field}": np.array(values, dtype=_PEOPLE[field]) for field, values in people.items()}
    storage.put_arrays(key + REPORT, {**vars(report.answers), **arrays})


def answer_report(storage: Storage, run: Run) -> AnswerReport | None:
    """Read what a run says about its answers; None if it has no result, or one from before there were reports."""
    report = _load_report(storage, run.result) if run.result else None
    return report.answers if report else None


def labeler_report(storage: Storage, run: Run) -> list[LabelerReport]:
    """Read what a run says about people, by user id; empty if it has no result, or one from before reports."""
    report = _load_report(storage, run.result) if run.result else None
    return report.labelers if report else []


@lru_cache(maxsize=4)
def _load_report(storage: Storage, key: str) -> Report | None:
    if not storage.exists(key + REPORT):
        return None
    arrays = storage.get_arrays(key + REPORT)
    answers = AnswerReport(**{field: arrays[field] for field in ("numbers", "probabilities", "suspicion")})
    rows = zip(*(arrays[f"labelers_{field}"].tolist() for field in _PEOPLE), strict=True)
    return Report(answers, [LabelerReport(*row[:3], *(None if x != x else x for x in row[3:])) for row in rows])


def load(storage: Storage, key: str) -> Result:
    """Read what was found."""
    return Result(**storage.get_arrays(key + ARRAYS))


@lru_cache(maxsize=4)
def load_cached(storage: Storage, key: str) -> Result:
    """Read it, or remember it: a result never changes, and pages ask for the newest again and again."""
    return load(storage, key)


def save_state(storage: Storage, key: str, state: dict[str, Array]) -> None:
    """Store what a warm start continues from; the key is the result's."""
    storage.put_arrays(key + STATE, state)


def load_state(storage: Storage, key: str) -> dict[str, Array]:
    """Read what a warm start continues from; empty if it is not kept any more."""
    return storage.get_arrays(key + STATE) if storage.exists(key + STATE) else {}


def delete_state(storage: Storage, key: str) -> None:
    """Remove what no run will continue from, now that a newer one is done: with a kernel it is large."""
    storage.delete(key + STATE)


def save_resolutions(storage: Storage, key: str, labels: Array) -> None:
    """Store clusters of other numbers, (K_max - 1, N): a row for each number from 2."""
    storage.put(key + RESOLUTIONS, labels.astype(np.uint8).tobytes())


def load_resolutions(storage: Storage, key: str) -> bytes | None:
    """Read clusters of other numbers as they were stored, a byte an item; None where there are none."""
    return storage.get(key + RESOLUTIONS) if storage.exists(key + RESOLUTIONS) else None


def load_map(storage: Storage, key: str) -> bytes:
    """Read the map: N rows x, y, cluster, confidence as little-endian float32."""
    return storage.get(key + MAP)


def coordinates(storage: Storage, key: str) -> Array:
    """Read the map's x and y, (N, 2)."""
    found: Array = np.frombuffer(load_map(storage, key), "<f4").reshape(-1, 4)[:, :2]
    return found


@lru_cache(maxsize=64)
def clusters_of(storage: Storage, key: str) -> Array:
    """Read every item's cluster alone, (N,) from 1: a series of views compares many runs and needs nothing else."""
    found: Array = np.frombuffer(load_map(storage, key), "<f4").reshape(-1, 4)[:, 2].astype(np.int64)
    return found


def delete_checkpoints(storage: Storage, run: Run) -> None:
    """Remove what the copies of the task left behind; called when the run has ended."""
    for token in range(1, run.token + 1):
        storage.delete(checkpoint_key(run, token))
