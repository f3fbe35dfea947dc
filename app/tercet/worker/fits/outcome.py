"""The result of a fit, in the same form for all systems, for metrics, maps and reports.

Each estimator has attributes of its own for its results; the functions that fit it turn them into a `FitOutcome`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tercet.runs.results import Array
from tercet_algorithms.answers.patterns import Errors, Kind, answer_table
from tercet_algorithms.dcrc.labeler_tables import LearnedTables

Callback = Callable[[Any], None]


class FitProgress(Protocol):
    """The state that an estimator passes to its callback: its progress, and all that is needed to resume."""

    @property
    def iteration(self) -> int:
        """Iterations so far."""

    @property
    def fraction(self) -> float:
        """Progress in [0, 1]."""

    def to_arrays(self) -> dict[str, Array]:
        """Return the state as plain arrays."""


@dataclass(frozen=True)
class FitOutcome:
    """The clusters that a fit ended with, numbered from 0 as the estimator has them, and its figures."""

    labels: Array  # (N,)
    posterior: Array  # (N, K)
    state: dict[str, Array]  # what a warm start continues from
    lower_bound: float | None  # what the algorithm maximises, where runs compare by it
    n_iter: int
    converged: bool
    warm_start: bool
    # Answers at the last search over all starts; a fit that only continued the previous one keeps its number.
    searched_answers: int
    epsilon: Errors  # how it took answers to err
    answer_weight: float = 1.0  # the power that it took their likelihood to
    # P(answer | pattern), (5, A), by user id, where the estimator learns how each labeler answers.
    labelers: dict[int, Array] = field(default_factory=dict)
    suspects: Array | None = None  # rows of the answers, most suspect first; None: they are ranked by probability
    embedding: Array | None = None  # (N, r), where clusters of any number can be cut
    model: dict[str, Array] | None = None  # what predicts new items, its clusters numbered as in `labels`
    figures: dict[str, Any] = field(default_factory=dict)  # metrics that only this algorithm has


def labeler_table(state: dict[str, Array], kind: Kind, epsilon: Errors, labeler: int) -> Array:
    """Return P(answer | pattern), (5, A), of a labeler: as a fit's state has learned it, else by `epsilon`.

    For a labeler who is new it is the mean of the learned tables, weighted by their answers.
    """
    learned = LearnedTables.from_arrays(state).table(kind, labeler) if "tables" in state else None
    return answer_table(kind, epsilon) if learned is None else learned


def mixed_table(state: dict[str, Array], kind: Kind, epsilon: Errors) -> Array:
    """Return the tables of all labelers side by side, weighted by their answers; else the one by `epsilon`."""
    learned = LearnedTables.from_arrays(state).of_anyone(kind) if "tables" in state else None
    return answer_table(kind, epsilon) if learned is None else learned
