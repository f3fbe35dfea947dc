"""Learns an embedding of items without features from the answers, before they are clustered.

The points take the place of features, in the run's map too. The next run starts from them and aligns its own with them,
so that the weights of its warm start keep their meaning.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

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


def add_points(run: Run, inputs: JobInputs, checkpoints: Stages) -> JobInputs:
    """Return the inputs with points as features: those of an earlier copy of the task, or new ones."""
    stored = checkpoints.stored or {}
    if _POINTS in stored:
        points = stored.pop(_POINTS)
    else:
        state = EmbeddingState.from_arrays(stored) if stored else None
        checkpoints.stored = None
        points = _learn(run, inputs, state, lambda progress: checkpoints(_Halved(progress)))
    checkpoints.beside, checkpoints.done_before = {_POINTS: points}, SHARE
    # One scale for all axes, on which the penalty of weights is made.
    scale = np.sqrt(np.mean((points - points.mean(axis=0)) ** 2))
    return replace(inputs, points=points, one_scale=True, features=points / (scale if scale > 0 else 1.0))


def keep(points: Array, outcome: FitOutcome) -> FitOutcome:
    """Return the outcome with the points in the state that the next run goes on from, and their dimension."""
    figures = {**outcome.figures, "learned_dimensions": int(points.shape[1])}
    return replace(outcome, state={**outcome.state, _POINTS: points}, figures=figures)


def _learn(run: Run, inputs: JobInputs, state: EmbeddingState | None, callback: Callable[[Any], None]) -> Array:
    """Learn points, from those of the run before where there are some; whenever DCRC searches, in a new dimension."""
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


class _Halved:
    """The state of learning points, whose progress is a share of the run's."""

    def __init__(self, state: EmbeddingState) -> None:
        self.state, self.iteration, self.fraction = state, state.iteration, SHARE * state.fraction

    def to_arrays(self) -> dict[str, Array]:
        """Return the state as plain arrays."""
        return self.state.to_arrays()
