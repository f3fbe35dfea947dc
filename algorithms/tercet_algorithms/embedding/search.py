"""The fits of an embedding: one for each dimension to choose from, then the starts with the chosen one.

A fit is a chain of states. `advance` makes the next one from the last alone, so a fit that was stopped, saved and
resumed elsewhere goes through the same states as one without a break.
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

# L-BFGS steps of an iteration. L-BFGS loses its memory between two iterations, which makes them resumable.
_STEPS = 50
_MEMORY = 10
# While dimensions are compared, the first of this many folds of the answers is held out.
_FOLDS = 5
# With fewer questions held-out answers are too few to compare dimensions by.
FEWEST_QUESTIONS = 50
# Standard deviation of the points at the beginning of a start: in a plane two items are then alike with odds of 1/2.
_SPREAD = 0.5
NOTHING: Array = np.empty(0)


@dataclass(frozen=True)
class EmbeddingState(ArrayRecord):
    """Everything needed to resume a fit of the same answers and parameters."""

    dimensions: Array  # (n,) of the fits; 0 for starts with the dimension that the fits before them choose
    seeds: Array  # (n,)
    fit: int  # which fit is at work
    parameters: Array  # points and coefficients of the fit at work, flat
    bounds: Array  # its bound after each iteration
    converged: bool
    finished: bool  # whether the fit at work is
    scores: Array  # mean log probability of the held-out answers, for each dimension that was tried
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
        """Progress in [0, 1]; within a fit a guess, since the number of its iterations is unknown beforehand."""
        within = 1.0 if self.finished else self.iteration / (self.iteration + 3)
        return (self.fit + within) / len(self.seeds)


Callback = Callable[[EmbeddingState], object]


@dataclass(frozen=True, eq=False)
class EmbeddingSearch:
    """The fixed part of a fit: the answers, with and without the held-out ones, and when to stop."""

    model: PatternModel
    fitted: PatternModel  # without the held-out answers
    held_out: Constraints
    max_iter: int
    tol: float
    init: Array | None = None  # (N, d) points for the first start, NaN for items without one

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
        """Return the first state of a search: one fit for each dimension, if there are several, then the starts."""
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
        """Raise ValueError where the shapes of a state are not those of this fit."""
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
        """Return the state one iteration further, in the next fit when this one is finished."""
        state = self._climbed(self._begun(state, state.fit + 1) if state.finished else state)
        return self._with_end(state) if state.finished else state

    def _advance_by_fits(self, n_threads: int) -> Callable[[EmbeddingState], EmbeddingState]:
        """Return an `advance` for threads: it runs several fits at once to their ends, and makes a state of each end.

        Starts wait for the fits that choose their dimension.
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
        """Run the fit at work, or a later one, to its end."""
        if fit != state.fit:
            state = self._begun(state, fit)
        while not state.finished:
            state = self._climbed(state)
        return state

    def _begun(self, state: EmbeddingState, fit: int) -> EmbeddingState:
        """Return the state before the first iteration of a fit."""
        state = replace(state, fit=fit, bounds=NOTHING, converged=False, finished=False)
        return replace(state, parameters=self._first(state, fit))

    def _climbed(self, state: EmbeddingState) -> EmbeddingState:
        """Return the state one iteration further in the fit at work."""
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
        """Return the initial parameters of a fit."""
        rng = np.random.RandomState(int(state.seeds[fit]))
        dimension = int(state.dimensions[fit]) or int(state.dimensions[np.argmax(state.scores)])
        points = _SPREAD * rng.standard_normal((self.model.n_items, dimension))
        if self.init is not None and fit == self._n_compared(state):
            known_items = np.flatnonzero(np.isfinite(self.init).all(axis=1))
            shared = min(dimension, self.init.shape[1])
            points[known_items, :shared] = self.init[known_items, :shared]
        return np.concatenate([points.ravel(), PRIOR_MEANS])

    def _score(self, parameters: Array) -> float:
        """Return the mean log probability of the held-out answers."""
        points, coefficients = self.fitted.split(parameters)
        return mean_log_probability(points, coefficients, self.held_out)


def mean_log_probability(points: Array, coefficients: Array, answers: Constraints) -> float:
    """Return the mean log probability of answers in nats, weighted; 0 where nothing counts."""
    logs = np.zeros(len(answers))
    for code in range(len(KINDS)):
        rows = np.flatnonzero(answers.kinds == code)
        probabilities = predicted_answers(points, coefficients, answers.triplets[rows], code)
        logs[rows] = np.log(probabilities[np.arange(len(rows)), answers.answers[rows]])
    weights = answers.counts()
    return float(weights @ logs / weights.sum()) if weights.sum() else 0.0


def predicted_answers(points: Array, coefficients: Array, triplets: Array, kind_code: int) -> Array:
    """Return P(answer), (M, A), for questions of one kind."""
    kind = KINDS[kind_code]
    log_patterns, _ = pattern_logs(points, triplets, np.full(len(triplets), kind == "relative"), coefficients)
    probabilities: Array = np.exp(log_patterns).T @ answer_table(kind, coefficients)
    return probabilities


def _climb(model: PatternModel, parameters: Array, tol: float) -> tuple[Array, float, bool]:
    """Return the parameters after some steps of L-BFGS, their bound, and whether the gain was below `tol`."""

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
