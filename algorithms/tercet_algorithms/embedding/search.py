"""The fits that learning an embedding takes: one of each dimension to choose among, then starts of the chosen one.

A fit is a chain of states. `advance` makes the next one from the last and nothing else, so a fit that was stopped,
saved and resumed elsewhere goes through the same states as one that ran through.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import effective_n_jobs
from scipy.optimize import minimize
from sklearn.utils.parallel import Parallel, delayed

from tercet_algorithms.answers.patterns import KINDS, Array
from tercet_algorithms.answers.reading import Constraints
from tercet_algorithms.common.model_selection import answer_folds
from tercet_algorithms.common.search import ArrayRecord, check_resumable, run_search
from tercet_algorithms.embedding.pattern_model import PRIOR_MEANS, PatternModel, answer_table, pattern_logs

# A step of the search is so many of L-BFGS, which forgets its memory between two: that makes them resumable.
_STEPS = 50
_MEMORY = 10
# Of the answers, the share that is held out while dimensions are compared: the first of so many folds.
_FOLDS = 5
# With fewer questions than this what is held out says nothing about dimensions.
FEWEST_QUESTIONS = 50
# Deviation of the points that a start begins with, as far from one another as being alike is an even chance.
_SPREAD = 0.5
NOTHING: Array = np.empty(0)


@dataclass(frozen=True)
class EmbeddingState(ArrayRecord):
    """Everything needed to resume a fit of the same answers and parameters."""

    dimensions: Array  # (n,) of the fits; 0 stands for the one that the fits before it choose
    seeds: Array  # (n,)
    fit: int  # which is at work
    parameters: Array  # points and numbers of the fit at work, flat
    bounds: Array  # its bound after each step
    converged: bool
    finished: bool  # the fit at work
    scores: Array  # mean log probability of the answers held out, for each dimension that was tried
    best_parameters: Array  # of the finished starts; empty before the first
    best_bounds: Array
    best_converged: bool

    @property
    def iteration(self) -> int:
        return len(self.bounds)

    @property
    def lower_bound(self) -> float:
        return float(self.bounds[-1]) if len(self.bounds) else -np.inf

    @property
    def done(self) -> bool:
        return self.finished and self.fit + 1 >= len(self.seeds)

    @property
    def fraction(self) -> float:
        """Progress in [0, 1]; within a fit a guess, since nobody knows how many steps it will take."""
        within = 1.0 if self.finished else self.iteration / (self.iteration + 3)
        return (self.fit + within) / len(self.seeds)


Callback = Callable[[EmbeddingState], object]


@dataclass(frozen=True, eq=False)
class EmbeddingSearch:
    """The fixed part of a fit: the answers, with and without those held out, and how to climb."""

    model: PatternModel
    fitted: PatternModel  # without the answers held out
    held_out: Constraints
    max_iter: int
    tol: float
    init: Array | None = None  # (N, d) where the first start begins, NaN for items that it does not know

    @classmethod
    def of(
        cls,
        constraints: Constraints,
        n_items: int,
        penalty: float,
        *,
        max_iter: int,
        tol: float,
        rng: np.random.RandomState,
        init: Array | None,
    ) -> "EmbeddingSearch":
        """Return the search for an embedding of answers."""
        folds = answer_folds(constraints, _FOLDS, rng)
        rows = folds[0] if folds else np.empty(0, dtype=np.int64)
        fitted = constraints.select(np.setdiff1d(np.arange(len(constraints)), rows))
        return cls(
            PatternModel.of(constraints, n_items, penalty),
            PatternModel.of(fitted, n_items, penalty),
            constraints.select(rows),
            max_iter,
            tol,
            init,
        )

    def first_state(self, candidates: Sequence[int], n_init: int, rng: np.random.RandomState) -> EmbeddingState:
        """Return the state before the first step: one fit of each candidate, where there are several, then starts."""
        alone = len(candidates) == 1
        dimensions = np.array([*([] if alone else candidates), *[candidates[0] if alone else 0] * n_init])
        seeds = rng.randint(np.iinfo(np.int32).max, size=len(dimensions))
        state = EmbeddingState(
            dimensions,
            seeds,
            fit=0,
            parameters=NOTHING,
            bounds=NOTHING,
            converged=False,
            finished=False,
            scores=NOTHING,
            best_parameters=NOTHING,
            best_bounds=NOTHING,
            best_converged=False,
        )
        return replace(state, parameters=self._first(state, 0))

    def check_resumable(self, state: EmbeddingState) -> None:
        """Raise ValueError where a state cannot belong to this fit."""
        n_points = len(state.parameters) - len(PRIOR_MEANS)
        check_resumable((n_points % self.model.n_items, n_points > 0), (0, True))

    def run(
        self, state: EmbeddingState, callback: Callback | None, n_jobs: int | None, verbose: int | bool
    ) -> tuple[EmbeddingState, bool]:
        """Return the last state, and whether the callback has stopped the search."""
        n_threads = effective_n_jobs(n_jobs)
        advance = self.advance if n_threads == 1 else self._advance_by_fits(n_threads)
        return run_search(state, advance, callback, verbose)

    def advance(self, state: EmbeddingState) -> EmbeddingState:
        """Return the state a number of steps further, in the next fit when this one is finished."""
        state = self._climbed(self._begun(state, state.fit + 1) if state.finished else state)
        return self._with_end(state) if state.finished else state

    def _advance_by_fits(self, n_threads: int) -> Callable[[EmbeddingState], EmbeddingState]:
        """Return another `advance`: several fits at once to their ends, then one state for the end of each.

        Starts wait for all fits of dimensions to choose among, since these settle their dimension.
        """
        ends: dict[int, EmbeddingState] = {}

        def advance(state: EmbeddingState) -> EmbeddingState:
            fit, n_compared = state.fit + state.finished, self._n_compared(state)
            if fit not in ends:
                last = n_compared if fit < n_compared else len(state.seeds)
                batch = range(fit, min(fit + n_threads, last))
                jobs = [delayed(self._finish)(state, number) for number in batch]
                ends.update(zip(batch, Parallel(n_threads, prefer="threads")(jobs), strict=True))
            end = ends.pop(fit)
            state = replace(state, fit=fit, parameters=end.parameters, bounds=end.bounds)
            return self._with_end(replace(state, converged=end.converged, finished=True))

        return advance

    def _finish(self, state: EmbeddingState, fit: int) -> EmbeddingState:
        """Return the state at the end of the fit at work, or of a later one."""
        if fit != state.fit:
            state = self._begun(state, fit)
        while not state.finished:
            state = self._climbed(state)
        return state

    def _begun(self, state: EmbeddingState, fit: int) -> EmbeddingState:
        """Return the state before the first step of a fit."""
        state = replace(state, fit=fit, bounds=NOTHING, converged=False, finished=False)
        return replace(state, parameters=self._first(state, fit))

    def _climbed(self, state: EmbeddingState) -> EmbeddingState:
        """Return the state a number of steps further in the fit at work."""
        model = self.fitted if state.fit < self._n_compared(state) else self.model
        parameters, bound, converged = _climb(model, state.parameters, self.tol)
        bounds = np.append(state.bounds, bound)
        finished = converged or len(bounds) * _STEPS >= self.max_iter
        return replace(state, parameters=parameters, bounds=bounds, converged=converged, finished=finished)

    def _with_end(self, state: EmbeddingState) -> EmbeddingState:
        """Return the state with the score of its finished fit or, if it is the best start, with its result."""
        if state.fit < self._n_compared(state):
            return replace(state, scores=np.append(state.scores, self._score(state.parameters)))
        if len(state.best_bounds) and state.best_bounds[-1] >= state.lower_bound:
            return state
        return replace(
            state, best_parameters=state.parameters, best_bounds=state.bounds, best_converged=state.converged
        )

    def _n_compared(self, state: EmbeddingState) -> int:
        return int(np.count_nonzero(state.dimensions)) if (state.dimensions == 0).any() else 0

    def _first(self, state: EmbeddingState, fit: int) -> Array:
        """Return the parameters that a fit begins with."""
        rng = np.random.RandomState(int(state.seeds[fit]))
        dimension = int(state.dimensions[fit]) or int(state.dimensions[np.argmax(state.scores)])
        points = _SPREAD * rng.standard_normal((self.model.n_items, dimension))
        if self.init is not None and fit == self._n_compared(state):
            known_items = np.flatnonzero(np.isfinite(self.init).all(axis=1))
            shared = min(dimension, self.init.shape[1])
            points[known_items, :shared] = self.init[known_items, :shared]
        return np.concatenate([points.ravel(), PRIOR_MEANS])

    def _score(self, parameters: Array) -> float:
        """Return the mean log probability of the answers held out."""
        points, numbers = self.fitted.split(parameters)
        return mean_log_probability(points, numbers, self.held_out)


def mean_log_probability(points: Array, numbers: Array, answers: Constraints) -> float:
    """Return the mean log probability of answers in nats, weighted; 0 where nothing counts."""
    logs = np.zeros(len(answers))
    for code in range(len(KINDS)):
        rows = np.flatnonzero(answers.kinds == code)
        probabilities = predicted_answers(points, numbers, answers.triplets[rows], code)
        logs[rows] = np.log(probabilities[np.arange(len(rows)), answers.answers[rows]])
    weights = answers.counts()
    return float(weights @ logs / weights.sum()) if weights.sum() else 0.0


def predicted_answers(points: Array, numbers: Array, triplets: Array, kind_code: int) -> Array:
    """Return P(answer), (M, A), of questions of one kind."""
    kind = KINDS[kind_code]
    log_patterns, _ = pattern_logs(points, triplets, np.full(len(triplets), kind == "relative"), numbers)
    probabilities: Array = np.exp(log_patterns).T @ answer_table(kind, numbers)
    return probabilities


def _climb(model: PatternModel, parameters: Array, tol: float) -> tuple[Array, float, bool]:
    """Return parameters, their bound and whether they are a maximum, after some steps of L-BFGS."""

    def descent(values: Array) -> tuple[float, Array]:
        value, gradient = model.bound(values)
        return -value, -gradient

    before = model.bound(parameters)[0]
    end = minimize(
        descent,
        parameters,
        method="L-BFGS-B",
        jac=True,
        options={"maxiter": _STEPS, "maxcor": _MEMORY, "ftol": tol * 1e-3, "gtol": 1e-6},
    )
    gain = -float(end.fun) - before
    return end.x, -float(end.fun), bool(gain <= tol * max(abs(before), 1.0))
