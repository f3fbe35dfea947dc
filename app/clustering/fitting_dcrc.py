"""Fits of DCRC, with parameters that are set or chosen by cross-validation, warm where the previous run allows it."""

from typing import Any

import numpy as np

from algorithms import DCRC, DCRCCV, FitState, SearchState
from algorithms.held_out import ClusterCurve
from algorithms.patterns import Kind
from app.clustering.fitted import Callback, Fit, LabelerFit, adopted_clusters, found, given, plan_of, warm_state
from app.clustering.material import Material
from app.clustering.results import Array
from app.models import Run

# One split-and-merge move takes about as long as a refit. Labelers' answers wait for so many moved items at most:
# twenty moves with 600 items, two with 5,000.
MOVED_ITEMS = 12_000
# What must stay for a warm start of DCRC, and what else its cross-validation hands to every fit.
_KERNEL = ("kernel", "gamma", "n_components")
_SHARED = (
    *("use_dnk", "transductive", "solver", "weight", "max_iter", "tol"),
    *("labeler_tables", "table_prior", "bag_epsilon"),
)
# What a search leaves for the runs that go on with its choice.
_FOUND = ("chosen", "held_out_score", "clusters_curve")
_BALANCE = {"yes": True, "no": False, "choose": (True, False)}


def fit_dcrc(run: Run, material: Material, resume: Any, callback: Callback) -> Fit:
    """Fit DCRC: from the previous run alone when few answers are new, else from it and from fresh starts.

    What a person has just adopted was seldom found by DCRC, so there is no state of it: its clusters are the start.
    """
    state = warm_state(run, material, ("n_clusters", *_KERNEL))
    adopted = adopted_clusters(run, material) if state is None else None
    plan = plan_of(run, material, state is not None or adopted is not None)
    stays = adopted is not None and not plan.search
    values = {
        **run.parameters,
        "n_init": plan.starts,
        "n_moves": 0 if stays else _moves(run, material),
        "random_state": _seed(run),
    }
    model = DCRC(**values, warm_start=state is not None)
    _fit(model, material, state, resume, callback, adopted)
    return found(model, plan, epsilon=run.parameters["epsilon"], labelers=_labelers(model, material))


def fit_dcrc_cv(run: Run, material: Material, resume: Any, callback: Callback) -> Fit:
    """Fit DCRC with parameters chosen by answers held out, or go on with those that the last search chose."""
    state = warm_state(run, material, tuple(run.parameters))
    plan = plan_of(run, material, state is not None)
    rest = {name: run.parameters[name] for name in (*_KERNEL, *_SHARED)}
    if material.previous is not None and state is not None and not plan.search:
        before = material.previous.run.metrics
        figures = {name: before[name] for name in _FOUND if name in before}
        model = DCRC(
            **{**rest, **before["chosen"]},
            n_init=1,
            n_moves=_moves(run, material),
            warm_start=True,
            random_state=_seed(run),
        )
        _fit(model, material, state, resume, callback)
    else:
        search = DCRCCV(**_grid(run.parameters), estimator=DCRC(**rest))
        everything = {**given(material), **material.said()}
        search.fit(np.asarray(material.features), **everything, callback=callback, resume=resume)
        model = search.best_estimator_
        score = float(search.best_score_) if search.n_splits_ else None
        figures = {"chosen": search.best_params_, "held_out_score": score, **_curve(search)}
        plan = plan._replace(warm=False)
    epsilon = figures["chosen"]["epsilon"]
    return found(model, plan, epsilon=epsilon, labelers=_labelers(model, material), figures=figures)


def read_search(arrays: dict[str, Array]) -> SearchState | FitState:
    """Give back the state of a search or, between two searches, that of a fit with parameters as they were chosen."""
    return SearchState.from_arrays(arrays) if "fold_of" in arrays else FitState.from_arrays(arrays)


def _fit(
    model: Any,
    material: Material,
    state: dict[str, Array] | None,
    resume: Any,
    callback: Callback,
    init: Array | None = None,
) -> None:
    if state is not None:
        model.set_state_arrays(state)
    everything = {**given(material), **material.said(), "init": init}
    model.fit(np.asarray(material.features), **everything, callback=callback, resume=resume)


def _grid(parameters: dict[str, Any]) -> dict[str, Any]:
    """The values that cross-validation chooses from, and how."""
    fewest, most = parameters["fewest_clusters"], parameters["most_clusters"]
    names = ("epsilon", "tau", "lam", "cv", "scoring", "n_init", "n_moves", "random_state")
    return {
        **{name: parameters[name] for name in names},
        "n_clusters": parameters["n_clusters"] if fewest is None else range(fewest, most + 1),
        "balance": _BALANCE[parameters["balance"]],
    }


def _curve(search: DCRCCV) -> dict[str, Any]:
    """The scores of the numbers of clusters, where it chose among several."""
    curve: ClusterCurve | None = getattr(search, "n_clusters_curve_", None)
    if curve is None or len(curve.n_clusters) == 1:
        return {}
    return {"clusters_curve": {name: values.tolist() for name, values in curve._asdict().items()}}


def _labelers(model: DCRC, material: Material) -> dict[int, LabelerFit]:
    kind: Kind = "outlier" if material.kind == "outlier" else "relative"
    return {
        person: LabelerFit(tables[kind], model.labeler_quality_[person], model.labeler_accuracy_[person])
        for person, tables in getattr(model, "labeler_tables_", {}).items()
    }


def _seed(run: Run) -> int:
    """Another one for each run, so that each tries other moves."""
    return int((run.parameters["random_state"] + run.number) % 2**32)


def _moves(run: Run, material: Material) -> int:
    """As many as asked for; where people wait few, and none where bag labels tell classes apart from the start."""
    wanted: int = run.parameters["n_moves"]
    if run.reason != "answers":
        return wanted
    return 0 if material.bags is not None else min(wanted, MOVED_ITEMS // len(material.features))
