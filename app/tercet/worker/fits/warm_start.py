"""Warm starts: when a fit searches over several starts, and what it takes from the previous run."""

from typing import Any, NamedTuple

from tercet.models import Run
from tercet.runs.results import Array
from tercet.worker.fits.outcome import FitOutcome
from tercet.worker.inputs import JobInputs, PreviousResult

# Starts of a search that answers bring about: people wait for its clusters. A requested run makes all its starts.
SEARCH_STARTS = 4


class SearchPlan(NamedTuple):
    """How much a fit searches, and how many answers there were at the last search, perhaps this one."""

    warm: bool
    search: bool
    starts: int
    searched: int


def plan_search(run: Run, inputs: JobInputs, warm: bool) -> SearchPlan:
    """Search when a run was requested or the answers have doubled: a refit alone stays near the previous clusters.

    Without any answers a refit is about something else, such as an analyst's edits, which a search might undo.
    """
    previous: dict[str, Any] = {} if inputs.previous is None else inputs.previous.run.metrics
    searched = int(previous.get("searched_answers", 0))
    search = not warm or run.reason == "request" or len(inputs.answers) >= 2 * max(searched, 1)
    starts = run.parameters["n_init"] if search else 1
    if warm and run.reason == "answers":
        starts = min(starts, SEARCH_STARTS)
    return SearchPlan(warm, search, starts, len(inputs.answers) if search else searched)


def warm_state(run: Run, inputs: JobInputs, same: tuple[str, ...]) -> dict[str, Array] | None:
    """Return the state of the previous run, from which this one can go on; None if it cannot.

    It can if that run fitted the same algorithm to the same features, or to learned points of the same dimension, and
    as many bag labels, with equal parameters of the names in `same`.
    """
    previous = inputs.previous
    if previous is None or not previous.state or not same_inputs(run, inputs, previous):
        return None
    alike = _width(previous.state.get("points")) == _width(inputs.points)
    alike = alike and all(previous.run.parameters.get(name) == run.parameters[name] for name in same)
    return previous.state if alike else None


def same_inputs(run: Run, inputs: JobInputs, previous: PreviousResult) -> bool:
    """Return whether the previous run fitted the same algorithm to the same features, and to as many bag labels."""
    alike = previous.run.algorithm == run.algorithm and previous.run.feature_set_id == run.feature_set_id
    return alike and previous.run.metrics.get("n_labelled_bags", 0) == inputs.n_labelled_bags


def _width(points: Array | None) -> int:
    """Return the dimension of learned points; 0 where there are none."""
    return 0 if points is None else int(points.shape[1])


def adopted_clusters(run: Run, inputs: JobInputs) -> Array | None:
    """Return the clusters (N,), 0 to K - 1, that a person has just adopted; None if this run cannot start from them."""
    previous = inputs.previous
    if previous is None or previous.run.reason != "adopted":
        return None
    fits = len(previous.result.labels) == len(inputs.features)
    fits = fits and previous.result.n_clusters == run.parameters["n_clusters"]
    return previous.result.labels - 1 if fits else None


def edited_clusters(run: Run, inputs: JobInputs) -> Array | None:
    """Return the previous clusters (N,), 0 to K - 1, as analysts have edited them since; None if they did not.

    None as well where there are items without a cluster, or as many clusters as the run does not make.
    """
    labels = inputs.edits.labels
    if labels is None or len(labels) != len(inputs.features):
        return None
    return labels - 1 if labels.min() >= 1 and labels.max() <= run.parameters["n_clusters"] else None


def continued_clusters(run: Run, inputs: JobInputs) -> Array | None:
    """Return the previous clusters (N,), 0 to K - 1, as edited since; None if they are not of the same fit.

    They are where the previous run fitted the same algorithm to the same features and bag labels, with parameters that
    differ in nothing but how many clusters there are.
    """
    previous, edited = inputs.previous, edited_clusters(run, inputs)
    if previous is None or not same_inputs(run, inputs, previous):
        return None
    if _without_n_clusters(previous.run.parameters) != _without_n_clusters(run.parameters):
        return None
    labels = previous.result.labels
    fits = len(labels) == len(inputs.features) and labels.min() >= 1 and labels.max() <= run.parameters["n_clusters"]
    return edited if edited is not None else labels - 1 if fits else None


def _without_n_clusters(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name != "n_clusters"}


def warm_outcome(estimator: Any, plan: SearchPlan, **details: Any) -> FitOutcome:
    """Return the outcome of an estimator that learns from answers; `details` are fields that only some have."""
    return FitOutcome(
        labels=estimator.labels_,
        posterior=estimator.posterior_,
        state=estimator.state_arrays(),
        lower_bound=float(estimator.lower_bound_),
        n_iter=int(estimator.n_iter_),
        converged=bool(estimator.converged_),
        warm_start=plan.warm,
        searched_answers=plan.searched,
        **details,
    )
