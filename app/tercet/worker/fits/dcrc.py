"""Fits of DCRC, with parameters that are set or chosen by cross-validation, warm where the previous run allows it."""

from typing import Any

import numpy as np

from tercet.models import Run
from tercet.runs.results import Array
from tercet.worker.fits.outcome import Callback, FitOutcome
from tercet.worker.fits.warm_start import (
    SearchPlan,
    adopted_clusters,
    edited_clusters,
    plan_search,
    warm_outcome,
    warm_state,
)
from tercet.worker.inputs import JobInputs
from tercet.worker.outputs.models import model_of_dcrc
from tercet_algorithms import DCRC, DCRCCV, FitState, SearchState
from tercet_algorithms.dcrc.held_out import ClusterCurve

# One split-and-merge move takes about as long as a refit. Labelers' answers wait for so many moved items at most:
# twenty moves with 600 items, two with 5,000.
MOVED_ITEMS = 12_000
# A refit goes on from the previous run, and tries so many starts made from the answers beside it.
MOST_BESIDE = 2
# What must be equal for a warm start of DCRC, and what else its cross-validation passes on to every fit.
_KERNEL = ("kernel", "gamma", "n_components")
_SHARED = (
    *("use_dnk", "transductive", "solver", "answer_weight", "weight", "max_iter", "tol"),
    *("labeler_tables", "table_prior", "bag_epsilon"),
)
# Metrics of a search that later runs keep while they use the parameters that it chose.
_SEARCH_FIGURES = ("chosen", "held_out_score", "clusters_curve")
_BALANCE = {"yes": True, "no": False, "choose": (True, False)}


def fit_dcrc(run: Run, inputs: JobInputs, resume: Any, callback: Callback) -> FitOutcome:
    """Fit DCRC: from the previous run and two starts made from answers; with many new answers from more fresh starts.

    A clustering that a person has just adopted was seldom found by DCRC, so there is no state of it: the fit starts
    from its clusters. It also starts from clusters that a person has just edited, alone if they were merged or split.
    """
    state = warm_state(run, inputs, ("n_clusters", *_KERNEL))
    edited = edited_clusters(run, inputs)
    adopted = adopted_clusters(run, inputs) if state is None and edited is None else edited
    plan = plan_search(run, inputs, state is not None or adopted is not None)
    keeps_adopted = state is None and adopted is not None and not plan.search
    changes: dict[str, Any] = {
        "n_init": plan.starts if plan.search or keeps_adopted else 1 + max(_starts_beside(inputs), edited is not None),
        "n_moves": 0 if keeps_adopted else _moves(run, inputs),
        "random_state": _seed(run),
        "feature_groups": inputs.feature_groups,
        **inputs.scaling(),
    }
    if inputs.points is not None:
        changes["candidates"] = "features"  # no answer can be held out that points were learned from
    parameters = {name: value for name, value in run.parameters.items() if name != "cluster_by"}
    model = DCRC(**{**parameters, **changes}, warm_start=state is not None)
    _fit(model, inputs, state, resume, callback, adopted)
    figures = {"candidate_weights": model.candidate_weights_} if model.candidates == "auto" else {}
    return _outcome(model, inputs, plan, figures=figures)


def fit_dcrc_cv(run: Run, inputs: JobInputs, resume: Any, callback: Callback) -> FitOutcome:
    """Fit DCRC with parameters chosen by answers held out, or go on with those that the last search chose."""
    state = warm_state(run, inputs, tuple(run.parameters))
    plan = plan_search(run, inputs, state is not None)
    parameters = {name: run.parameters[name] for name in (*_KERNEL, *_SHARED)} | inputs.scaling()
    if inputs.previous is not None and state is not None and not plan.search:
        before = inputs.previous.run.metrics
        figures = {name: before[name] for name in _SEARCH_FIGURES if name in before}
        changes: dict[str, Any] = {"n_init": 1 + _starts_beside(inputs), "n_moves": _moves(run, inputs)}
        changes["random_state"] = _seed(run)
        model = DCRC(**{**parameters, **before["chosen"]}, **changes, warm_start=True)
        _fit(model, inputs, state, resume, callback)
    else:
        search = DCRCCV(**_grid(run.parameters), estimator=DCRC(**parameters))
        arguments = {**inputs.answer_arguments(), **inputs.bag_arguments(), **inputs.edits.dcrc_arguments()}
        search.fit(np.asarray(inputs.features), **arguments, callback=callback, resume=resume)
        model = search.best_estimator_
        score = float(search.best_score_) if search.n_splits_ else None
        figures = {"chosen": search.best_params_, "held_out_score": score, **_curve(search)}
        plan = plan._replace(warm=False)
    return _outcome(model, inputs, plan, figures=figures)


def read_dcrc_cv_state(arrays: dict[str, Array]) -> SearchState | FitState:
    """Return the state of a search or, between two searches, that of a fit with the parameters it chose."""
    return SearchState.from_arrays(arrays) if "fold_of" in arrays else FitState.from_arrays(arrays)


def _fit(
    model: Any,
    inputs: JobInputs,
    state: dict[str, Array] | None,
    resume: Any,
    callback: Callback,
    init: Array | None = None,
) -> None:
    if state is not None:
        model.set_state_arrays(state)
    arguments = {**inputs.answer_arguments(), **inputs.bag_arguments(), **inputs.edits.dcrc_arguments(), "init": init}
    model.fit(np.asarray(inputs.features), **arguments, callback=callback, resume=resume)


def _outcome(model: DCRC, inputs: JobInputs, plan: SearchPlan, **details: Any) -> FitOutcome:
    labelers, arrays = _labelers(model, inputs), model_of_dcrc(model)
    believed = {"epsilon": model.epsilon_, "answer_weight": model.answer_weight_}
    return warm_outcome(model, plan, labelers=labelers, model=arrays, **believed, **details)


def _grid(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the values that cross-validation chooses from, and how it does."""
    fewest, most = parameters["fewest_clusters"], parameters["most_clusters"]
    names = ("epsilon", "tau", "lam", "cv", "scoring", "n_init", "n_moves", "random_state")
    return {
        **{name: parameters[name] for name in names},
        "n_clusters": parameters["n_clusters"] if fewest is None else range(fewest, most + 1),
        "balance": _BALANCE[parameters["balance"]],
    }


def _curve(search: DCRCCV) -> dict[str, Any]:
    """Return the scores of the numbers of clusters, where the search chose among several."""
    curve: ClusterCurve | None = getattr(search, "n_clusters_curve_", None)
    if curve is None or len(curve.n_clusters) == 1:
        return {}
    return {"clusters_curve": {name: values.tolist() for name, values in curve._asdict().items()}}


def _labelers(model: DCRC, inputs: JobInputs) -> dict[int, Array]:
    return {labeler: tables[inputs.kind] for labeler, tables in getattr(model, "labeler_tables_", {}).items()}


def _seed(run: Run) -> int:
    """Return a different seed for each run, so that each tries other moves."""
    return int((run.parameters["random_state"] + run.number) % 2**32)


def _starts_beside(inputs: JobInputs) -> int:
    """Return how many starts made from answers a refit tries, each of which takes about as long as a move."""
    return min(MOST_BESIDE, MOVED_ITEMS // len(inputs.features))


def _moves(run: Run, inputs: JobInputs) -> int:
    """Return the number of moves: as set; few where labelers wait, none where bag labels separate the classes."""
    n_moves: int = run.parameters["n_moves"]
    if run.reason != "answers":
        return n_moves
    return 0 if inputs.bags is not None else min(n_moves, MOVED_ITEMS // len(inputs.features))
