"""Learns an embedding of the items from the answers of a run before it clusters: alone, or beside their features.

The points take the place of features, or stand beside them, in the run's map too. The next run starts from them and
aligns its own with them, so that the weights of its warm start keep their meaning.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from tercet.features.scaling import side_by_side, standardised
from tercet.models import Run
from tercet.runs.results import Array
from tercet.worker.fits.outcome import FitOutcome
from tercet.worker.fits.warm_start import plan_search
from tercet.worker.inputs import JobInputs
from tercet_algorithms import AnswerEmbedding, EmbeddingState

# The share of a run's progress that learning the points takes.
SHARE = 0.5
STARTS = 3
_POINTS = "points"


class Stages(Protocol):
    """The checkpoints of a run, whose fit has two stages: points first, then clusters."""

    stored: dict[str, Array] | None
    beside: dict[str, Array]
    done_before: float

    def __call__(self, state: Any) -> None:
        """Store a state if it is time for it."""


def are_wanted(parameters: dict[str, Any]) -> bool:
    """Return whether a run of these parameters clusters by learned points."""
    return bool(parameters.get("cluster_by", "features") != "features")


def add_points(run: Run, inputs: JobInputs, checkpoints: Stages) -> JobInputs:
    """Return the inputs with points: those of an earlier copy of the task, or new ones."""
    stored = checkpoints.stored or {}
    if _POINTS in stored:
        points = stored.pop(_POINTS)
    else:
        state = EmbeddingState.from_arrays(stored) if stored else None
        checkpoints.stored = None
        points = learn(run, inputs, state, lambda progress: checkpoints(Part(progress, 0.0, SHARE)))
    checkpoints.beside, checkpoints.done_before = {_POINTS: points}, SHARE
    return with_points(run, inputs, points)


def with_points(run: Run, inputs: JobInputs, points: Array) -> JobInputs:
    """Return the inputs with these points (N, d) in the place of features, or beside them.

    Points have one scale for all axes, on which the penalty of weights is made. Features and points beside each other
    have the same total variance, however many columns they are.
    """
    scale = np.sqrt(np.mean((points - points.mean(axis=0)) ** 2))
    features = points / (scale if scale > 0 else 1.0)
    if run.parameters["cluster_by"] == "both":
        measured = np.asarray(inputs.features)
        if not inputs.one_scale:
            measured = standardised(measured, np.ones(len(measured), dtype=np.bool_))
        features = side_by_side([measured, features.astype(np.float32)], [1.0, 1.0])
    return replace(inputs, points=points, one_scale=True, feature_groups=None, features=features)


def keep(points: Array, outcome: FitOutcome) -> FitOutcome:
    """Return the outcome with the points in the state that the next run goes on from, and their dimension.

    It has no model: nobody has answered about a new item, so it has no point.
    """
    figures = {**outcome.figures, "learned_dimensions": int(points.shape[1])}
    return replace(outcome, state={**outcome.state, _POINTS: points}, figures=figures, model=None)


def learn(run: Run, inputs: JobInputs, state: EmbeddingState | None, callback: Callable[[Any], None]) -> Array:
    """Learn points (N, d), from those of the run before if there are any; in another dimension if DCRC searches."""
    before = None if inputs.previous is None else inputs.previous.state.get(_POINTS)
    anew = before is None or plan_search(run, inputs, warm=True).search
    model = AnswerEmbedding(
        "auto" if before is None or anew else before.shape[1],
        use_dnk=run.parameters["use_dnk"],
        n_items=len(inputs.item_ids),
        n_init=STARTS if anew else 1,
        random_state=run.parameters["random_state"],
    )
    model.fit(**inputs.answer_arguments(), init=before, callback=callback, resume=state)
    points: Array = model.embedding_
    return points


class Part:
    """The state of one of two stages, whose progress is that of both: learning points, or the fit that follows."""

    def __init__(self, state: Any, begin: float, end: float) -> None:
        self.state, self.iteration, self.fraction = state, state.iteration, begin + (end - begin) * state.fraction

    def to_arrays(self) -> dict[str, Array]:
        """Return the state as plain arrays."""
        arrays: dict[str, Array] = self.state.to_arrays()
        return arrays
