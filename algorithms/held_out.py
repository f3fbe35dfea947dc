"""Scoring parameters by answers held out: folds of answers, fits of folds, and the scores of every candidate.

`DCRCCV` decides what to try; here is how a try is judged. The first fit of a fold and number of clusters has all its
starts; other candidates continue from it, so they are compared in the same optimum and cost little.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from algorithms.dcrc import DCRC
from algorithms.fitting import FitState
from algorithms.metrics import answers_satisfied
from algorithms.patterns import ANSWERS, KINDS, Array
from algorithms.validation import Constraints

Scoring = Literal["log_score", "accuracy"]
Parameters = dict[str, Any]
Grid = dict[str, list[Any]]

# In this order: each is chosen with those before it at their best and those after it at their centre.
CHOSEN = ("lam", "tau", "epsilon", "balance")
NAMES = ("n_clusters", *CHOSEN)
# A first fit, with all its starts, takes about so many times as long as one that continues from it.
_COLD = 10


class ClusterCurve(NamedTuple):
    """Held-out score against the number of clusters, for a plot."""

    n_clusters: Array  # (C,)
    mean: Array  # (C,) over the folds
    standard_error: Array  # (C,) of that mean


@dataclass(frozen=True)
class SearchState:
    """What a callback of `DCRCCV.fit` is told."""

    fraction: float  # progress in [0, 1]
    best_params: Parameters | None  # of the candidates that are finished
    best_score: float


def answer_folds(constraints: Constraints, n_folds: int, rng: np.random.RandomState) -> list[Array]:
    """Rows held out in each fold: all answers to one triplet together, each answer spread evenly over the folds.

    Fewer folds, with a warning, where there are fewer triplets; none where there are fewer than two.
    """
    places = constraints.triplets.copy()
    outlier = constraints.kinds == KINDS.index("outlier")
    places[outlier] = np.sort(places[outlier], axis=1)  # an outlier question has no anchor
    questions = np.column_stack([constraints.kinds, places])
    _, first, group = np.unique(questions, axis=0, return_index=True, return_inverse=True)
    n_groups = len(first)
    if 0 < n_groups < n_folds:
        message = f"answers about only {n_groups} triplets: {n_groups if n_groups > 1 else 'no'} folds, not {n_folds}"
        warnings.warn(message, UserWarning, stacklevel=3)
    if n_groups < 2:
        return []
    n_folds = min(n_folds, n_groups)
    order = rng.permutation(n_groups)
    order = order[np.argsort(constraints.answers[first[order]], kind="stable")]
    fold = np.empty(n_groups, dtype=np.int64)
    fold[order] = np.arange(n_groups) % n_folds
    return [np.flatnonzero(fold[group] == number) for number in range(n_folds)]


class HeldOutSearch:
    """The fits of one search: what was scored, and the first fit of every fold and number of clusters."""

    def __init__(
        self,
        base: DCRC,
        X: Array,
        given: Constraints,
        said: dict[str, Any],
        folds: list[Array],
        scoring: Scoring,
        grid: Grid,
        callback: Callable[[SearchState], object] | None,
    ):
        self.base, self.X, self.given, self.folds, self.scoring = base, X, given, folds, scoring
        self.said = said  # bags and their labels: answers are held out, these never
        self.callback = callback
        defaults = base.get_params()
        self.centre: Parameters = {name: _nearest(values, defaults[name]) for name, values in grid.items()}
        self._n_clusters = grid["n_clusters"]
        self._scores: dict[tuple[Any, ...], Array] = {}
        self._first: dict[tuple[int, int], dict[str, Array]] = {}
        n_warm = sum(len(grid[name]) - 1 for name in CHOSEN)
        self._work = len(folds) * (_COLD * len(self._n_clusters) + n_warm) + _COLD
        self._done = 0

    def curve(self) -> ClusterCurve:
        """Score every number of clusters, the other values at their centre."""
        rows = [self._folds_scores(self.centre | {"n_clusters": n}) for n in self._n_clusters]
        scores = np.stack(rows)
        error = scores.std(axis=1, ddof=1) / np.sqrt(len(self.folds))
        return ClusterCurve(np.array(self._n_clusters), scores.mean(axis=1), error)

    def best_of(self, candidates: list[Parameters], current: Parameters) -> Parameters:
        """The candidate that scores best of those that gain more than the standard error of their gain."""
        best, most = current, 0.0
        for candidate in candidates:
            gains = self._folds_scores(candidate) - self._folds_scores(current)
            error = gains.std(ddof=1) / np.sqrt(len(gains))
            if gains.mean() > max(error, most):
                best, most = candidate, float(gains.mean())
        return best

    def _folds_scores(self, params: Parameters) -> Array:
        key = tuple(params.values())
        if key not in self._scores:
            self._scores[key] = np.array([self._fit_fold(params, number) for number in range(len(self.folds))])
        return self._scores[key]

    def _fit_fold(self, params: Parameters, number: int) -> float:
        place = params["n_clusters"], number
        model = clone(self.base).set_params(**params)
        cold = place not in self._first
        if not cold:
            model.set_params(n_init=1, n_moves=0, warm_start=True).set_state_arrays(self._first[place])
        held_out = np.zeros(len(self.given), dtype=bool)
        held_out[self.folds[number]] = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # what is only compared need not be at its end
            model.fit(self.X, **as_given(self.given.select(~held_out)), **self.said)
        if cold:
            self._first[place] = model.state_arrays()
        score = self._judge(model, self.given.select(held_out))
        self._done += _COLD if cold else 1
        self._tell(self._done)
        return score

    def _judge(self, model: DCRC, held_out: Constraints) -> float:
        asked = as_given(held_out)
        if self.scoring == "log_score":
            return model.score_answers(self.X, **asked)
        del asked["labelers"]
        return answers_satisfied(model.predict(self.X), **asked)

    def tell_of_last(self, state: FitState) -> None:
        """The callback of the fit with everything."""
        self._tell(self._work - _COLD * (1 - state.fraction))

    def _tell(self, done: float) -> None:
        if self.callback is not None:
            finished = bool(self._scores)
            best = self.best() if finished else None
            self.callback(SearchState(done / self._work, best, self.known(best) if best else np.nan))

    def best(self) -> Parameters:
        """The best candidate so far; the centre where none is finished."""
        if not self._scores:
            return self.centre
        best = max(self._scores, key=lambda key: self._scores[key].mean())
        return dict(zip(NAMES, best, strict=True))

    def known(self, params: Parameters) -> float:
        """Score of a candidate if it has one, else NaN."""
        scores = self._scores.get(tuple(params.values()))
        return np.nan if scores is None else float(scores.mean())

    def results(self) -> dict[str, Any]:
        """`cv_results_` of the candidates in the order in which they were scored."""
        keys = list(self._scores)
        scores = np.array([self._scores[key] for key in keys]).reshape(len(keys), len(self.folds))
        found: dict[str, Any] = {"params": [dict(zip(NAMES, key, strict=True)) for key in keys]}
        for column, name in enumerate(NAMES):
            found[f"param_{name}"] = np.array([key[column] for key in keys])
        for number in range(len(self.folds)):
            found[f"split{number}_test_score"] = scores[:, number]
        mean = scores.mean(axis=1) if keys else np.empty(0)
        found["mean_test_score"], found["std_test_score"] = mean, scores.std(axis=1) if keys else np.empty(0)
        found["rank_test_score"] = 1 + np.array([np.sum(mean > value) for value in mean], dtype=np.int64)
        return found


def _nearest(values: list[Any], wanted: float) -> Any:
    return min(values, key=lambda value: abs(value - wanted))


def as_given(constraints: Constraints) -> dict[str, Any]:
    """Checked answers as the arguments of `DCRC.fit`."""
    words = np.empty(len(constraints), dtype="<U3")
    for code, kind in enumerate(KINDS):
        mine = constraints.kinds == code
        words[mine] = np.array(ANSWERS[kind])[constraints.answers[mine]]
    return {
        "triplets": constraints.triplets,
        "answers": words,
        "kinds": np.array(KINDS)[constraints.kinds],
        "labelers": [constraints.names[code] for code in constraints.labeler_codes()],
    }
