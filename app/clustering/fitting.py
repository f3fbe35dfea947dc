"""Fits by name: from a run's parameters and material to clusters, by whichever algorithm the run names."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from algorithms import CMBCState, FitState, LearningState, SpectralState
from app.clustering.fitted import Callback, Fit, State
from app.clustering.fitting_dcrc import fit_dcrc, fit_dcrc_cv, read_search
from app.clustering.fitting_others import fit_bags, fit_cmbc, fit_sklr
from app.clustering.material import Material
from app.clustering.results import Array
from app.models import Run

__all__ = ["Fit", "State", "fit", "read_state"]


class Fitter(NamedTuple):
    """How to fit one algorithm and how to read its states."""

    fit: Callable[[Run, Material, Any, Callback], Fit]
    read_state: Callable[[dict[str, Array]], State]


FITTERS = {
    "dcrc": Fitter(fit_dcrc, FitState.from_arrays),
    "dcrc-cv": Fitter(fit_dcrc_cv, read_search),
    "sklr": Fitter(fit_sklr, LearningState.from_arrays),
    "cmbc": Fitter(fit_cmbc, CMBCState.from_arrays),
    "bags": Fitter(fit_bags, SpectralState.from_arrays),
}


def fit(run: Run, material: Material, resume: Any, callback: Callback) -> Fit:
    """Fit the run's algorithm; `resume` is a state of it."""
    with warnings.catch_warnings():
        # The run's metrics say whether it converged; fewer folds than wanted are right where answers are few.
        warnings.simplefilter("ignore", UserWarning)
        return FITTERS[run.algorithm].fit(run, material, resume, callback)


def read_state(algorithm: str, arrays: dict[str, Array]) -> State:
    """Give back the state that `to_arrays` made."""
    return FITTERS[algorithm].read_state(arrays)
