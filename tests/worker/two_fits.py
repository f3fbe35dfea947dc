"""Two fits of eight items, as runs leave them and as the next run reads them."""

from typing import Any

import numpy as np

from tercet.models import Run
from tercet.runs.results import Result
from tercet.worker.fits.outcome import FitOutcome
from tercet.worker.inputs import Calibration, JobInputs, PreviousResult, Withheld

EPSILON = 0.4
N = 8
PARAMETERS = {"n_clusters": 2}
# Items 0 to 3 in one cluster, the others in the second, and the other way round for every second item.
FIRST = np.repeat([[0.9, 0.1], [0.2, 0.8]], 4, axis=0).astype(np.float32)
FITTED = np.tile([[0.95, 0.05], [0.05, 0.95]], (4, 1)).astype(np.float32)


def result(posterior: np.ndarray) -> Result:
    return Result((posterior.argmax(axis=1) + 1).astype(np.int16), posterior.max(axis=1), posterior)


def a_run(number: int, answers_from: int, **values: Any) -> Run:
    before = {"algorithm": "dcrc", "parameters": PARAMETERS, "feature_set_id": 1, "metrics": {}}
    return Run(number=number, answers_from=answers_from, **{**before, **values})


def an_outcome(**values: Any) -> FitOutcome:
    fitted = {"labels": FITTED.argmax(axis=1), "posterior": FITTED, "state": {"coef": np.zeros(1)}}
    fitted |= {"lower_bound": 0.0, "n_iter": 1, "converged": True, "warm_start": True, "searched_answers": 0}
    return FitOutcome(**{**fitted, "epsilon": EPSILON, **values})


def inputs_after(before: PreviousResult | None, triplets: list[list[int]], values: list[str]) -> JobInputs:
    return JobInputs(
        kind="relative",
        features=np.zeros((N, 2)),
        item_ids=np.arange(N),
        triplets=np.array(triplets, dtype=np.int64).reshape(-1, 3),
        answers=np.array(values, dtype="<U3"),
        labelers=np.ones(len(values), dtype=np.int64),
        numbers=np.arange(len(values)) + 1,
        previous=before,
    )


def previous(
    withheld: Withheld | None, shows: np.ndarray = FIRST, calibration: Calibration | None = None, **values: Any
) -> PreviousResult:
    run, state = a_run(1, 0, **values), {"coef": np.zeros(1)}
    return PreviousResult(run, result(shows), np.zeros((N, 2)), state, None, None, withheld, calibration)
