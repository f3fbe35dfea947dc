"""Fits by name: from a run's parameters and material to clusters, warm where the previous run allows it."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from algorithms import DCRC, FitState
from app.clustering.material import Material
from app.clustering.results import Array
from app.models import Run

# Starts of a search that answers bring about: people wait for its clusters. Asked-for runs make all of theirs.
SEARCH_STARTS = 4
Callback = Callable[[FitState], None]
# One split-and-merge move takes about as long as a refit. Labelers' answers wait for so many moved items at most:
# twenty moves with 600 items, two with 5,000.
MOVED_ITEMS = 12_000


@dataclass(frozen=True)
class LabelerFit:
    """How one person answers, where the estimator learns it."""

    table: Array  # (5, A), P(answer | pattern)
    quality: float
    accuracy: float


@dataclass(frozen=True)
class Fit:
    """What an estimator found, its clusters still in its own order."""

    labels: Array
    posterior: Array
    state: dict[str, Array]
    lower_bound: float
    n_iter: int
    converged: bool
    warm_start: bool
    # Answers at the last search over all starts; a fit that only continued the previous one keeps its number.
    searched_answers: int
    labelers: dict[int, LabelerFit] = field(default_factory=dict)  # by user id
    suspects: Array | None = None  # rows of the answers, most suspect first; None: they are ranked by probability


def fit(run: Run, material: Material, resume: FitState | None, callback: Callback) -> Fit:
    """Fit the run's algorithm."""
    return FITTERS[run.algorithm](run, material, resume, callback)


def fit_dcrc(run: Run, material: Material, resume: FitState | None, callback: Callback) -> Fit:
    """Fit DCRC: from the previous run alone when few answers are new, else from it and from fresh starts.

    A fit that only goes on from the previous one stays near what little was known then, so whenever the answers
    have doubled since the last search, fresh starts compete with it.
    """
    state = _warm_state(run, material)
    searched = _searched_answers(material)
    search = state is None or run.reason == "request" or len(material.answers) >= 2 * searched
    starts = run.parameters["n_init"] if search else 1
    if state is not None and run.reason == "answers":
        starts = min(starts, SEARCH_STARTS)
    seed = run.parameters["random_state"] + run.number  # other moves each time
    values = {
        **run.parameters,
        "n_init": starts,
        "n_moves": _moves(run, len(material.features)),
        "random_state": seed,
    }
    model = DCRC(**values, warm_start=state is not None)
    if state is not None:
        model.set_state_arrays(state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the run's metrics say whether it converged
        model.fit(
            np.asarray(material.features),
            triplets=material.triplets,
            answers=material.answers,
            kinds=material.kind,
            labelers=material.labelers.tolist(),
            callback=callback,
            resume=resume,
        )
    return Fit(
        labels=model.labels_,
        posterior=model.posterior_,
        state=model.state_arrays(),
        lower_bound=float(model.lower_bound_),
        n_iter=int(model.n_iter_),
        converged=bool(model.converged_),
        warm_start=state is not None,
        searched_answers=len(material.answers) if search else searched,
    )


FITTERS: dict[str, Callable[[Run, Material, FitState | None, Callback], Fit]] = {"dcrc": fit_dcrc}


def _warm_state(run: Run, material: Material) -> dict[str, Array] | None:
    """The previous run's state, if it fitted the same algorithm to the same features and number of clusters."""
    previous = material.previous
    if previous is None or previous.run.algorithm != run.algorithm:
        return None
    same = previous.run.feature_set_id == run.feature_set_id
    same = same and previous.result.n_clusters == run.parameters["n_clusters"]
    return previous.result.state if same else None


def _moves(run: Run, n_items: int) -> int:
    wanted: int = run.parameters["n_moves"]
    return min(wanted, MOVED_ITEMS // n_items) if run.reason == "answers" else wanted


def _searched_answers(material: Material) -> int:
    metrics: dict[str, Any] = {} if material.previous is None else material.previous.run.metrics
    return int(metrics.get("searched_answers", 0))
