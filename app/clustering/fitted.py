"""What a fit is to the rest of the app, and what the fits of several algorithms share: when to search, when to go on.

An estimator keeps its results in attributes of its own; here they become one form that measures, maps and reports
read, whichever algorithm found them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from algorithms.labeler_tables import LearnedTables
from algorithms.patterns import Kind, answer_table
from app.clustering.material import Material
from app.clustering.results import Array
from app.models import Run

# Starts of a search that answers bring about: people wait for its clusters. Asked-for runs make all of theirs.
SEARCH_STARTS = 4
Callback = Callable[[Any], None]


class State(Protocol):
    """What an estimator hands to its callback: how far it is, and all that is needed to go on from there."""

    @property
    def iteration(self) -> int:
        """Iterations so far."""

    @property
    def fraction(self) -> float:
        """Progress in [0, 1]."""

    def to_arrays(self) -> dict[str, Array]:
        """Plain arrays."""


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
    lower_bound: float | None  # what the algorithm maximises, where runs compare by it
    n_iter: int
    converged: bool
    warm_start: bool
    # Answers at the last search over all starts; a fit that only continued the previous one keeps its number.
    searched_answers: int
    epsilon: float  # probability of a wrong answer that it believed in
    labelers: dict[int, LabelerFit] = field(default_factory=dict)  # by user id
    suspects: Array | None = None  # rows of the answers, most suspect first; None: they are ranked by probability
    embedding: Array | None = None  # (N, r), where clusters of any number can be cut
    figures: dict[str, Any] = field(default_factory=dict)  # metrics that only this algorithm has


class Plan(NamedTuple):
    """How much a fit searches, and how many answers there were at the last search, perhaps this one."""

    warm: bool
    search: bool
    starts: int
    searched: int


def plan_of(run: Run, material: Material, warm: bool) -> Plan:
    """Search when a run was asked for, or the answers have doubled: a refit alone stays near what was known then."""
    searched = _searched_answers(material)
    search = not warm or run.reason == "request" or len(material.answers) >= 2 * searched
    starts = run.parameters["n_init"] if search else 1
    if warm and run.reason == "answers":
        starts = min(starts, SEARCH_STARTS)
    return Plan(warm, search, starts, len(material.answers) if search else searched)


def given(material: Material) -> dict[str, Any]:
    """The answers as arguments of an estimator's `fit`."""
    return {
        "triplets": material.triplets,
        "answers": material.answers,
        "kinds": material.kind,
        "labelers": material.labelers.tolist(),
    }


def warm_state(run: Run, material: Material, same: tuple[str, ...]) -> dict[str, Array] | None:
    """The previous run's state, if it fitted the same algorithm to the same features and as many bag labels with the
    `same` parameters.
    """
    previous = material.previous
    if previous is None or previous.run.algorithm != run.algorithm or not previous.state:
        return None
    alike = previous.run.feature_set_id == run.feature_set_id
    alike = alike and previous.run.metrics.get("n_labelled_bags", 0) == material.n_labelled_bags
    alike = alike and all(previous.run.parameters.get(name) == run.parameters[name] for name in same)
    return previous.state if alike else None


def adopted_clusters(run: Run, material: Material) -> Array | None:
    """The clusters (N,), 0 to K - 1, that a person has just made the current ones; None where they do not fit."""
    previous = material.previous
    if previous is None or previous.run.reason != "adopted":
        return None
    fits = len(previous.result.labels) == len(material.features)
    fits = fits and previous.result.n_clusters == run.parameters["n_clusters"]
    return previous.result.labels - 1 if fits else None


def table_of(state: dict[str, Array], kind: Kind, epsilon: float, labeler: int) -> Array:
    """P(answer | pattern), (5, A), of a person: as a fit's state has learned it, else by `epsilon`.

    Of somebody new it is the mean of the others by their answers.
    """
    learned = LearnedTables.from_arrays(state).table(kind, labeler) if "tables" in state else None
    return answer_table(kind, epsilon) if learned is None else learned


def table_of_anyone(state: dict[str, Array], kind: Kind, epsilon: float) -> Array:
    """The tables of those who may be asked next, side by side and weighted by their answers; else by `epsilon`."""
    learned = LearnedTables.from_arrays(state).of_anyone(kind) if "tables" in state else None
    return answer_table(kind, epsilon) if learned is None else learned


def _searched_answers(material: Material) -> int:
    metrics: dict[str, Any] = {} if material.previous is None else material.previous.run.metrics
    return int(metrics.get("searched_answers", 0))


def found(model: Any, plan: Plan, **rest: Any) -> Fit:
    """What an estimator that learns from answers found; `rest` is what not every one of them has."""
    return Fit(
        labels=model.labels_,
        posterior=model.posterior_,
        state=model.state_arrays(),
        lower_bound=float(model.lower_bound_),
        n_iter=int(model.n_iter_),
        converged=bool(model.converged_),
        warm_start=plan.warm,
        searched_answers=plan.searched,
        **rest,
    )
