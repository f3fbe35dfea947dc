"""A run's result as arrays in storage: written once by its task, read by the next run and by the web process."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tercet.models import Run
from tercet.storage import Storage

Array = np.ndarray[Any, Any]
# The columns of a stored report about labelers; what is unknown is stored as NaN.
_LABELER_COLUMNS = {
    "labeler": np.int64,
    "answers": np.int64,
    "foreseen": np.int64,
    "expected": float,
    "quality": float,
    "accuracy": float,
    "unsure": float,
    "mixed_up": float,
    "invented": float,
    "known": np.int64,
    "known_right": np.int64,
    "doubt": float,
}
MAP = "/map.bin"
ARRAYS = "/result.npz"
REPORT = "/report.npz"
RESOLUTIONS = "/resolutions.bin"
STATE = "/state.npz"
MODEL = "/model.npz"


@dataclass(frozen=True)
class Result:
    """A run's clustering of N items, by position; clusters are numbered from 1, as people see them."""

    labels: Array  # (N,) int16
    confidence: Array  # (N,) float32
    posterior: Array  # (N, K) float32; column j is cluster j + 1

    @property
    def n_clusters(self) -> int:
        """The number of clusters, K."""
        return int(self.posterior.shape[1])


@dataclass(frozen=True)
class AnswerReport:
    """How probable a run finds the M answers that it used, in the order of their numbers."""

    numbers: Array  # (M,) int64, the answers' numbers in their project
    probabilities: Array  # (M,) float32, of the answer that was given, under the run's posteriors
    suspicion: Array  # (M,) int32: 1 is the most suspect answer, 2 the next; 0 is no suspect
    # (M, A) float16: of each possible answer under the last run that had not used this one; NaN where there was none.
    foreseen: Array | None = None
    rights: Array | None = None  # (M, A) float16: that each possible answer is the right one, likewise


@dataclass(frozen=True)
class LabelerReport:
    """How far a run agrees with one labeler, and how they answer; None where nothing was foreseen of any answer."""

    labeler: int  # user id
    answers: int  # that the run used
    foreseen: int  # of these answers, those that some run had an expectation of before any run used them
    expected: float | None  # share of them that were the most probable answer then
    quality: float | None  # share of the information about clusters in perfect answers that theirs carry: 0 to 1
    accuracy: float | None  # probability that this labeler gives the right answer
    unsure: float | None = None  # share of "don't know" where an item is right
    mixed_up: float | None = None  # share of a wrong item there
    invented: float | None = None  # share of an item where none is right
    known: int = 0  # answers to questions whose right one is known, see `worker/outputs/known_answers.py`
    known_right: int = 0  # those of them that are right
    doubt: float | None = None  # probability that the answers have nothing to do with the items; None alone


@dataclass(frozen=True)
class Report:
    """A run's reports about answers and labelers, as its job stores them."""

    answers: AnswerReport
    labelers: list[LabelerReport]


def checkpoint_key(run: Run, token: int) -> str:
    """Return the key under which the copy of the task with this token stores its checkpoint."""
    return f"runs/{run.id}/{token}/checkpoint.npz"


def save(storage: Storage, run: Run, result: Result, coordinates: Array) -> str:
    """Store the arrays and the map; return the key for the run's row.

    The token is part of the key: a copy of the task that lost its run cannot overwrite the result of the winner.
    """
    key = f"runs/{run.id}/{run.token}"
    storage.put_arrays(key + ARRAYS, vars(result))
    rows = np.column_stack([coordinates, result.labels, result.confidence]).astype("<f4")
    storage.put(key + MAP, rows.tobytes())
    return key


def save_report(storage: Storage, key: str, report: Report) -> None:
    """Store a run's report with its result, whose key it takes."""
    columns = {
        f"labelers_{field}": np.array([getattr(labeler, field) for labeler in report.labelers], dtype=kind)
        for field, kind in _LABELER_COLUMNS.items()
    }
    answers = {name: array for name, array in vars(report.answers).items() if array is not None}
    storage.put_arrays(key + REPORT, {**answers, **columns})


def answer_report(storage: Storage, run: Run) -> AnswerReport | None:
    """Read a run's report about answers; None if it has no result, or one from before there were reports."""
    report = _load_report(storage, run.result) if run.result else None
    return report.answers if report else None


def labeler_report(storage: Storage, run: Run) -> list[LabelerReport]:
    """Read a run's report about labelers; empty if it has no result, or one from before there were reports."""
    report = _load_report(storage, run.result) if run.result else None
    return report.labelers if report else []


@lru_cache(maxsize=4)
def _load_report(storage: Storage, key: str) -> Report | None:
    if not storage.exists(key + REPORT):
        return None
    arrays = storage.get_arrays(key + REPORT)
    fields = ("numbers", "probabilities", "suspicion")
    answers = AnswerReport(
        **{field: arrays[field] for field in fields}, foreseen=arrays.get("foreseen"), rights=arrays.get("rights")
    )
    # Reports of Tercet 0.1 have no predictions and no doubts.
    n_labelers = len(arrays["labelers_labeler"])
    unknown = {name: np.full(n_labelers, np.nan if kind is float else 0) for name, kind in _LABELER_COLUMNS.items()}
    columns = {name: arrays.get(f"labelers_{name}", unknown[name]).tolist() for name in _LABELER_COLUMNS}
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return Report(answers, [_labeler_report(row) for row in rows])


def _labeler_report(row: dict[str, float]) -> LabelerReport:
    values: dict[str, Any] = {name: None if value != value else value for name, value in row.items()}  # NaN is unknown
    counts = {name: int(row[name]) for name, kind in _LABELER_COLUMNS.items() if kind is np.int64}
    expected = row["expected"] if row["foreseen"] else None
    return LabelerReport(**{**values, **counts, "expected": expected})


def load(storage: Storage, key: str) -> Result:
    """Read a result."""
    return Result(**storage.get_arrays(key + ARRAYS))


@lru_cache(maxsize=4)
def load_cached(storage: Storage, key: str) -> Result:
    """Read a result through a cache: results never change, and pages read the newest one all the time."""
    return load(storage, key)


def save_state(storage: Storage, key: str, state: dict[str, Array]) -> None:
    """Store what a warm start continues from; the key is the result's."""
    storage.put_arrays(key + STATE, state)


def load_state(storage: Storage, key: str) -> dict[str, Array]:
    """Read what a warm start continues from; empty if it has been deleted."""
    return storage.get_arrays(key + STATE) if storage.exists(key + STATE) else {}


def delete_state(storage: Storage, key: str) -> None:
    """Delete the state once a newer run is done, from which later ones continue: with a kernel it is large."""
    storage.delete(key + STATE)


def save_model(storage: Storage, key: str, model: dict[str, Array]) -> None:
    """Store what predicts new items with the result, whose key it takes."""
    storage.put_arrays(key + MODEL, model)


def load_model_arrays(storage: Storage, key: str) -> dict[str, Array] | None:
    """Read what predicts new items; None where the algorithm cannot, or the run is from before there were models."""
    return storage.get_arrays(key + MODEL) if storage.exists(key + MODEL) else None


def save_resolutions(storage: Storage, key: str, labels: Array) -> None:
    """Store the clusters at every resolution, (K_max - 1, N): a row for each number of clusters from 2."""
    storage.put(key + RESOLUTIONS, labels.astype(np.uint8).tobytes())


def load_resolutions(storage: Storage, key: str) -> bytes | None:
    """Read the clusters at every resolution as stored, one byte per item; None where there are none."""
    return storage.get(key + RESOLUTIONS) if storage.exists(key + RESOLUTIONS) else None


def load_map(storage: Storage, key: str) -> bytes:
    """Read the map: N rows x, y, cluster, confidence as little-endian float32."""
    return storage.get(key + MAP)


def coordinates(storage: Storage, key: str) -> Array:
    """Read the map's x and y, (N, 2)."""
    xy: Array = np.frombuffer(load_map(storage, key), "<f4").reshape(-1, 4)[:, :2]
    return xy


@lru_cache(maxsize=64)
def clusters_of(storage: Storage, key: str) -> Array:
    """Read only the items' clusters, (N,) from 1, for pages that relate many runs."""
    labels: Array = np.frombuffer(load_map(storage, key), "<f4").reshape(-1, 4)[:, 2].astype(np.int64)
    return labels


def delete_checkpoints(storage: Storage, run: Run) -> None:
    """Delete the checkpoints of all copies of the task, when the run has ended."""
    for token in range(1, run.token + 1):
        storage.delete(checkpoint_key(run, token))
