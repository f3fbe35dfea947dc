"""Fits by name: from a run's parameters and material to clusters, warm where the previous run allows it."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from algorithms import DCRC, DCRCCV, FitState
from algorithms.patterns import Kind
from algorithms.sklr import ANSWER_EPSILON, SKLR
from algorithms.sklr_search import LearningState
from app.clustering.material import Material
from app.clustering.results import Array
from app.models import Run

# Starts of a search that answers bring about: people wait for its clusters. Asked-for runs make all of theirs.
SEARCH_STARTS = 4
# One split-and-merge move takes about as long as a refit. Labelers' answers wait for so many moved items at most:
# twenty moves with 600 items, two with 5,000.
MOVED_ITEMS = 12_000


# What must stay for a warm start of DCRC, and what else its cross-validation hands to every fit.
_KERNEL = ("kernel", "gamma", "n_components")
_SHARED = ("use_dnk", "solver", "weight", "max_iter", "tol", "labeler_tables", "table_prior", "transductive")
_BALANCE = {"yes": True, "no": False, "choose": (True, False)}


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
class Searching:
    """How far a search over parameters is: it tells no more, so after a crash it begins anew."""

    fraction: float
    iteration: int = 0

    def to_arrays(self) -> dict[str, Array]:
        """Nothing to go on from."""
        return {}


Callback = Callable[[Any], None]


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
    epsilon: float  # probability of a wrong answer that it believed in
    labelers: dict[int, LabelerFit] = field(default_factory=dict)  # by user id
    suspects: Array | None = None  # rows of the answers, most suspect first; None: they are ranked by probability
    embedding: Array | None = None  # (N, r), where clusters of any number can be cut
    figures: dict[str, Any] = field(default_factory=dict)  # metrics that only this algorithm has


def fit(run: Run, material: Material, resume: Any, callback: Callback) -> Fit:
    """Fit the run's algorithm; `resume` is a state of it."""
    with warnings.catch_warnings():
        # The run's metrics say whether it converged; fewer folds than wanted are right where answers are few.
        warnings.simplefilter("ignore", UserWarning)
        return FITTERS[run.algorithm].fit(run, material, resume, callback)


def read_state(algorithm: str, arrays: dict[str, Array]) -> State | None:
    """Give back the state that `to_arrays` made; None where there is nothing to go on from."""
    return FITTERS[algorithm].read_state(arrays)


def fit_dcrc(run: Run, material: Material, resume: Any, callback: Callback) -> Fit:
    """Fit DCRC: from the previous run alone when few answers are new, else from it and from fresh starts."""
    state = _warm_state(run, material, ("n_clusters", *_KERNEL))
    plan = _plan(run, material, state is not None)
    values = {
        **run.parameters,
        "n_init": plan.starts,
        "n_moves": _moves(run, len(material.features)),
        "random_state": _seed(run),
    }
    model = DCRC(**values, warm_start=state is not None)
    _fit(model, material, state, resume, callback)
    return _found(model, plan, epsilon=run.parameters["epsilon"], labelers=_labelers(model, material))


def fit_dcrc_cv(run: Run, material: Material, resume: Any, callback: Callback) -> Fit:
    """Fit DCRC with parameters chosen by answers held out, or go on with those that the last search chose."""
    state = _warm_state(run, material, tuple(run.parameters))
    plan = _plan(run, material, state is not None)
    rest = {name: run.parameters[name] for name in (*_KERNEL, *_SHARED)}
    if material.previous is not None and state is not None and not plan.search:
        before = material.previous.run.metrics
        figures = {name: before[name] for name in ("chosen", "held_out_score")}
        model = DCRC(
            **{**rest, **before["chosen"]},
            n_init=1,
            n_moves=_moves(run, len(material.features)),
            warm_start=True,
            random_state=_seed(run),
        )
        _fit(model, material, state, resume, callback)
    else:
        search = DCRCCV(**_grid(run.parameters), estimator=DCRC(**rest))
        search.fit(
            np.asarray(material.features), **_given(material), callback=lambda s: callback(Searching(s.fraction))
        )
        model = search.best_estimator_
        score = float(search.best_score_) if search.n_splits_ else None
        figures = {"chosen": search.best_params_, "held_out_score": score}
        plan = plan._replace(warm=False)
    epsilon = figures["chosen"]["epsilon"]
    return _found(model, plan, epsilon=epsilon, labelers=_labelers(model, material), figures=figures)


def fit_sklr(run: Run, material: Material, resume: Any, callback: Callback) -> Fit:
    """Fit SKLR: multipliers of the answers go on from the previous run; the clusters compete with fresh starts."""
    state = _warm_state(run, material, ())
    plan = _plan(run, material, state is not None)
    model = SKLR(**{**run.parameters, "n_init": plan.starts}, warm_start=state is not None)
    _fit(model, material, state, resume, callback)
    figures = {
        "rank": int(model.rank_),
        "divergence": float(model.divergence_),
        "feasible": bool(model.feasible_),
        "suggested_clusters": int(model.suggest_n_clusters()),
    }
    found = {"suspects": model.suspect_answers_, "embedding": model.embedding_}
    return _found(model, plan, epsilon=ANSWER_EPSILON, figures=figures, **found)


class Fitter(NamedTuple):
    """How to fit one algorithm and how to read its states."""

    fit: Callable[[Run, Material, Any, Callback], Fit]
    read_state: Callable[[dict[str, Array]], State | None]


FITTERS = {
    "dcrc": Fitter(fit_dcrc, FitState.from_arrays),
    "dcrc-cv": Fitter(fit_dcrc_cv, lambda arrays: FitState.from_arrays(arrays) if arrays else None),
    "sklr": Fitter(fit_sklr, LearningState.from_arrays),
}


class Plan(NamedTuple):
    """How much a fit searches, and how many answers there were at the last search, perhaps this one."""

    warm: bool
    search: bool
    starts: int
    searched: int


def _plan(run: Run, material: Material, warm: bool) -> Plan:
    """Search when a run was asked for, or the answers have doubled: a refit alone stays near what was known then."""
    searched = _searched_answers(material)
    search = not warm or run.reason == "request" or len(material.answers) >= 2 * searched
    starts = run.parameters["n_init"] if search else 1
    if warm and run.reason == "answers":
        starts = min(starts, SEARCH_STARTS)
    return Plan(warm, search, starts, len(material.answers) if search else searched)


def _fit(model: Any, material: Material, state: dict[str, Array] | None, resume: Any, callback: Callback) -> None:
    if state is not None:
        model.set_state_arrays(state)
    model.fit(np.asarray(material.features), **_given(material), callback=callback, resume=resume)


def _given(material: Material) -> dict[str, Any]:
    return {
        "triplets": material.triplets,
        "answers": material.answers,
        "kinds": material.kind,
        "labelers": material.labelers.tolist(),
    }


def _grid(parameters: dict[str, Any]) -> dict[str, Any]:
    """The values that cross-validation chooses from, and how."""
    fewest, most = parameters["fewest_clusters"], parameters["most_clusters"]
    names = ("epsilon", "tau", "lam", "cv", "scoring", "n_init", "n_moves", "random_state")
    return {
        **{name: parameters[name] for name in names},
        "n_clusters": parameters["n_clusters"] if fewest is None else range(fewest, most + 1),
        "balance": _BALANCE[parameters["balance"]],
    }


def _found(model: Any, plan: Plan, **rest: Any) -> Fit:
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


def _labelers(model: DCRC, material: Material) -> dict[int, LabelerFit]:
    kind: Kind = "outlier" if material.kind == "outlier" else "relative"
    return {
        person: LabelerFit(tables[kind], model.labeler_quality_[person], model.labeler_accuracy_[person])
        for person, tables in getattr(model, "labeler_tables_", {}).items()
    }


def _warm_state(run: Run, material: Material, same: tuple[str, ...]) -> dict[str, Array] | None:
    """The previous run's state, if it fitted the same algorithm to the same features with the `same` parameters."""
    previous = material.previous
    if previous is None or previous.run.algorithm != run.algorithm or not previous.state:
        return None
    alike = previous.run.feature_set_id == run.feature_set_id
    alike = alike and all(previous.run.parameters.get(name) == run.parameters[name] for name in same)
    return previous.state if alike else None


def _seed(run: Run) -> int:
    """Another one for each run, so that each tries other moves."""
    return int((run.parameters["random_state"] + run.number) % 2**32)


def _moves(run: Run, n_items: int) -> int:
    wanted: int = run.parameters["n_moves"]
    return min(wanted, MOVED_ITEMS // n_items) if run.reason == "answers" else wanted


def _searched_answers(material: Material) -> int:
    metrics: dict[str, Any] = {} if material.previous is None else material.previous.run.metrics
    return int(metrics.get("searched_answers", 0))
