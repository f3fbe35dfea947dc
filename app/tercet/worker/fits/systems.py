"""The fit of a run by the name of its algorithm, and the reading of the states that its checkpoints hold."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from tercet.models import Run
from tercet.runs.results import Array
from tercet.worker.fits.dcrc import fit_dcrc, fit_dcrc_cv, read_dcrc_cv_state
from tercet.worker.fits.outcome import Callback, FitOutcome, FitProgress
from tercet.worker.fits.sklr import fit_sklr
from tercet.worker.fits.without_answers import fit_bags, fit_cmbc
from tercet.worker.inputs import JobInputs
from tercet_algorithms import CMBCState, FitState, LearningState, SpectralState


class FittedSystem(NamedTuple):
    """How to fit one algorithm and how to read its states."""

    fit: Callable[[Run, JobInputs, Any, Callback], FitOutcome]
    read_state: Callable[[dict[str, Array]], FitProgress]


SYSTEMS = {
    "dcrc": FittedSystem(fit_dcrc, FitState.from_arrays),
    "dcrc-cv": FittedSystem(fit_dcrc_cv, read_dcrc_cv_state),
    "sklr": FittedSystem(fit_sklr, LearningState.from_arrays),
    "cmbc": FittedSystem(fit_cmbc, CMBCState.from_arrays),
    "bags": FittedSystem(fit_bags, SpectralState.from_arrays),
}


def fit(run: Run, inputs: JobInputs, resume: Any, callback: Callback) -> FitOutcome:
    """Fit the run's algorithm; `resume` is a state of it, or None to begin."""
    with warnings.catch_warnings():
        # The run's metrics say whether it converged; fewer folds than asked for are right where answers are few.
        warnings.simplefilter("ignore", UserWarning)
        return SYSTEMS[run.algorithm].fit(run, inputs, resume, callback)


def read_state(algorithm: str, arrays: dict[str, Array]) -> FitProgress:
    """Return the state of which `to_arrays` made these arrays."""
    return SYSTEMS[algorithm].read_state(arrays)
