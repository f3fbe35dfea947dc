"""Scores of candidates (settings of the parameters) by held-out answers.

`DCRCCV` decides which candidates to try; this module fits and scores them. For each fold and number of clusters the
first fit has all starts; other candidates continue from it, so they are compared at the same optimum and cost little.
"""

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from tercet_algorithms.answers.metrics import answers_satisfied
from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.answers.reading import Constraints
from tercet_algorithms.common.feature_space import SpacePlan
from tercet_algorithms.common.search import StopFit
from tercet_algorithms.dcrc.dcrc import DCRC
from tercet_algorithms.dcrc.held_out_scores import CHOSEN, NAMES, Parameters, Place, Scores, SearchState, n_folds
from tercet_algorithms.dcrc.search import FitState

Scoring = Literal["log_score", "accuracy"]
Grid = dict[str, list[Any]]

# A first fit, with all its starts, takes about this many times as long as one that continues from it.
_COLD = 10
# Arrays of a first fit that other candidates continue from, beside those of the space, which is the same for all.
_CONTINUED = ("coef_", "intercept_", "posterior_", "constrained_", "lower_bound_")


class ClusterCurve(NamedTuple):
    """Held-out score against the number of clusters, for a plot."""

    n_clusters: Array  # (C,)
    mean: Array  # (C,) over the folds
    standard_error: Array  # (C,) of that mean


class HeldOutSearch:
    """The fits of one search: scores so far, and the first fit of every fold and number of clusters."""

    def __init__(
        self,
        base: DCRC,
        X: Array,
        constraints: Constraints,
        fixed: dict[str, Any],
        fold_of: Array,
        scoring: Scoring,
        grid: Grid,
        callback: Callable[[SearchState], object] | None,
    ):
        self.base, self.X, self.constraints, self.fold_of, self.scoring = base, X, constraints, fold_of, scoring
        self.fixed = fixed  # bags, their labels and links: answers are held out, these never
        self.callback = callback
        defaults = base.get_params()
        self.centre: Parameters = {name: _nearest(values, defaults[name]) for name, values in grid.items()}
        self.scores = Scores(n_folds(fold_of), {})
        self._grid = grid
        self._first: dict[Place, dict[str, Array]] = {}
        self._at_work: FitState | None = None
        self._stopped = False
        n_warm = sum(len(grid[name]) - 1 for name in CHOSEN)
        self._work = self.scores.n_folds * (_COLD * len(grid["n_clusters"]) + n_warm) + _COLD

    def resume_from(self, state: SearchState) -> None:
        """Continue from the state of another search of the same parameters, items and answers."""
        if len(state.fold_of) != len(self.constraints):
            n_answers, expected = len(state.fold_of), len(self.constraints)
            raise ValueError(f"resume is the state of another search: it has {n_answers} answers, expected {expected}")
        for candidate, _ in state.scores.cells:
            for name, value in zip(NAMES, candidate, strict=True):
                if value not in self._grid[name]:
                    raise ValueError(f"resume is the state of another search: it tried {name}={value!r}")
        self.scores.cells.update(state.scores.cells)
        self._first.update(state.first)
        self._at_work = state.at_work

    def curve(self) -> ClusterCurve:
        """Score every number of clusters, with the other parameters at their centre, and return the curve."""
        numbers = self._grid["n_clusters"]
        scores = np.stack([self._folds_scores(self.centre | {"n_clusters": n}) for n in numbers])
        error = scores.std(axis=1, ddof=1) / np.sqrt(self.scores.n_folds)
        return ClusterCurve(np.array(numbers), scores.mean(axis=1), error)

    def keep_only(self, n_clusters: int) -> None:
        """Drop the first fits of other numbers of clusters: no candidate will continue from them."""
        self._first = {place: arrays for place, arrays in self._first.items() if place[0] == n_clusters}

    def best_of(self, candidates: list[Parameters], current: Parameters) -> Parameters:
        """Return the best candidate that gains more than the standard error of its gain; `current` where none does."""
        best, most = current, 0.0
        for candidate in candidates:
            gains = self._folds_scores(candidate) - self._folds_scores(current)
            error = gains.std(ddof=1) / np.sqrt(len(gains))
            if gains.mean() > max(error, most):
                best, most = candidate, float(gains.mean())
        return best

    def _folds_scores(self, params: Parameters) -> Array:
        candidate = tuple(params.values())
        for fold in range(self.scores.n_folds):
            if (candidate, fold) not in self.scores.cells:
                self.scores.cells[candidate, fold] = self._fit_fold(params, fold)
                self._report_progress(self._done)
        return self.scores.of(candidate)

    def _fit_fold(self, params: Parameters, fold: int) -> float:
        place = params["n_clusters"], fold
        model = clone(self.base).set_params(**params)
        cold = place not in self._first
        if not cold:
            model.set_params(n_init=1, n_moves=0, warm_start=True)
            model.set_state_arrays({**self._space, **self._first[place]})
        held_out = self.fold_of == fold
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fits that are only compared need not converge
            self.fit(model, self.constraints.select(~held_out), _COLD if cold else 1)
        if self._stopped:
            raise StopFit
        if cold:
            arrays = model.state_arrays()
            names = [name for name in arrays if name in _CONTINUED or name.startswith("table")]
            self._first[place] = {name: arrays[name] for name in names}
        return self._judge(model, self.constraints.select(held_out))

    def fit(self, model: DCRC, constraints: Constraints, work: int) -> None:
        """Fit, or continue the fit in which the search was stopped; `work` is how much progress the fit counts for."""
        done, resume = self._done, self._at_work
        self._at_work = None

        def report(state: FitState) -> None:
            self._report_progress(done + work * state.fraction, state)

        callback = None if self.callback is None else report
        model.fit(self.X, **constraints.fit_arguments(), **self.fixed, callback=callback, resume=resume)

    def fit_all(self, model: DCRC) -> None:
        """Fit all answers at the end of a search; from one start and without callback if the search was stopped."""
        if self._stopped:
            model.set_params(n_init=1, n_moves=0)
            model.fit(self.X, **self.constraints.fit_arguments(), **self.fixed)
        else:
            self.fit(model, self.constraints, _COLD)

    @cached_property
    def _space(self) -> dict[str, Array]:
        """The arrays of the space, the same for every fit: with a kernel they are large, so they are stored once."""
        base = self.base
        plan = SpacePlan(base.standardize, base.kernel, base.gamma, base.kernel_params or {}, base.n_components)
        space = plan.fit(self.X, None, check_random_state(base.random_state))
        kernel = {} if space.kernel is None else space.kernel.to_arrays()
        return {"mean_": space.mean, "scale_": space.scale, **kernel}

    def _judge(self, model: DCRC, held_out: Constraints) -> float:
        asked = held_out.fit_arguments()
        if self.scoring == "log_score":
            return model.score_answers(self.X, **asked)
        del asked["labelers"]
        return answers_satisfied(model.predict(self.X), **asked)

    @property
    def _done(self) -> int:
        return len(self.scores.cells) + (_COLD - 1) * len(self.scores.places())

    def _report_progress(self, done: float, at_work: FitState | None = None) -> None:
        if self.callback is None:
            return
        scores = Scores(self.scores.n_folds, dict(self.scores.cells))
        seed = self.base.random_state
        state = SearchState(done / self._work, seed, self.fold_of, scores, dict(self._first), at_work)
        try:
            self.callback(state)
        except StopFit:
            self._stopped = True
            raise


def _nearest(values: list[Any], target: Any) -> Any:
    if isinstance(target, str):  # such as "auto", which is near to no number
        return values[(len(values) - 1) // 2]
    return min(values, key=lambda value: abs(value - target))
