"""The search over starts: what happens between two callbacks, and the state that carries a fit across processes.

A fit is a chain of states. `advance` makes the next one from the last and nothing else, so a fit that was
stopped, saved and resumed elsewhere goes through the same states as one that ran through.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np
from sklearn.cluster import KMeans

from algorithms.bag_starts import start_from_bags
from algorithms.discriminative import NO_WITNESSES, LowerBound, climb, fit_classifier
from algorithms.labeler_tables import TableLearner
from algorithms.patterns import Array, pattern_probabilities
from algorithms.rearranging import rearrange
from algorithms.sampling import sample, shares, some_items

Solver = Literal["profile", "em"]

# An outer iteration is so many L-BFGS steps; L-BFGS forgets its memory between two, which makes them resumable.
_STEPS = 20
# The fit of a sample that begins that of very many items: most steps, and the gain that ends it. The whole differs
# from its samples by more than what smaller gains would add up to.
_ROUGH_STEPS, _ROUGH_TOL = 100, 3e-5
# Centres that move less, as a share of the features' variance, tell already which clustering will be the best.
_ROUGH_KMEANS_TOL = 1e-2
# The hard stage (epsilon = 0) is judged with this epsilon: a violated answer costs much, but finitely much.
HARD_EPSILON = 1e-6
# Hard answers decide greedily, so they are approached through softer ones.
HARD_SCHEDULE = (0.3, 0.15, 0.05, 0.01, 0.0)

# With few clusters random starts find what K-means cannot. With 13 the bound preferred them where they were worse.
_FEW_CLUSTERS = 8

# What stands for labelers' tables where none are learned.
NO_TABLES: Array = np.empty((0, 5, 4))

WARM, BEST_KMEANS, KMEANS, RANDOM, MOVE, GIVEN, BAGS = range(7)


class StopFit(Exception):
    """Raised by a callback to end a fit with the best found so far."""


@dataclass(frozen=True)
class Solution:
    """Where one start has come to."""

    W: Array  # (K, D + 1), standardised coordinates, intercept last
    q: Array  # (n, K) posteriors of the constrained items, in the E-step's order
    tables: Array  # (G, 5, 4) P(answer | pattern) of labelers, empty unless learned
    witnesses: Array  # (P,) an item for every label of every bag, in the objective's order; empty without bags
    bounds: Array  # lower bound after each outer iteration
    stage: int  # position in the schedule of epsilons
    converged: bool
    finished: bool

    @property
    def bound(self) -> float:
        return float(self.bounds[-1]) if len(self.bounds) else -np.inf


@dataclass(frozen=True)
class FitState:
    """Everything needed to continue a fit of the same data, answers and parameters."""

    start_kinds: Array  # (n_starts,) WARM, BEST_KMEANS, KMEANS, RANDOM, MOVE, GIVEN or BAGS
    seeds: Array  # (n_starts,)
    start: int  # which start is at work
    current: Solution
    best: Solution | None  # of the finished starts
    goes: Array  # (K, C) 0 and 1, which bag labels go with which cluster; empty without bags

    @property
    def iteration(self) -> int:
        return len(self.current.bounds)

    @property
    def lower_bound(self) -> float:
        return self.current.bound

    @property
    def done(self) -> bool:
        return self.current.finished and self.start + 1 >= len(self.seeds)

    @property
    def fraction(self) -> float:
        """Progress in [0, 1]; within a start a guess, since nobody knows how many iterations it will take."""
        within = 1.0 if self.current.finished else self.iteration / (self.iteration + 4)
        return (self.start + within) / len(self.seeds)

    def to_arrays(self) -> dict[str, Array]:
        """Plain arrays for `numpy.savez`; no pickle."""
        arrays = {name: np.asarray(getattr(self, name)) for name in ("start_kinds", "seeds", "start", "goes")}
        for prefix, solution in (("current", self.current), ("best", self.best)):
            if solution is not None:
                for field in fields(solution):
                    arrays[f"{prefix}_{field.name}"] = np.asarray(getattr(solution, field.name))
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> "FitState":
        best = _solution(arrays, "best") if "best_W" in arrays else None
        current, goes = _solution(arrays, "current"), arrays.get("goes", np.empty((0, 0)))
        return cls(arrays["start_kinds"], arrays["seeds"], int(arrays["start"]), current, best, goes)


def _solution(arrays: dict[str, Array], prefix: str) -> Solution:
    values = (arrays.get(f"{prefix}_{field.name}", NO_WITNESSES) for field in fields(Solution))
    W, q, tables, witnesses, bounds, *rest = values
    stage, converged, finished = (value.item() for value in rest)
    return Solution(W, q, tables, witnesses, bounds, stage, converged, finished)


Callback = Callable[[FitState], object]


@dataclass(frozen=True)
class Search:
    """The fixed part of a fit: the objective, how to climb it and where to begin."""

    objective: LowerBound
    n_clusters: int
    schedule: tuple[float, ...]
    log_likelihoods: Callable[[float], Array]  # of an epsilon
    solver: Solver
    max_iter: int
    tol: float
    learner: TableLearner | None = None  # of labelers' tables, which otherwise are given by epsilon
    warm: Solution | None = None
    given: Array | None = None  # (N,) clusters to start from, in the order of the objective

    def first_state(self, start_kinds: Array, seeds: Array) -> FitState:
        """The state before anything was done."""
        objective, seed = self.objective, int(seeds[0])
        if objective.bags is not None and self.warm is None:  # a warm start's clusters have their labels already
            objective.use_labels(start_from_bags(objective, objective.bags, self.n_clusters, seed)[1])
        return FitState(start_kinds, seeds, 0, self.first(int(start_kinds[0]), seed, None), None, objective.goes)

    def check_resumable(self, state: FitState) -> None:
        """Raise ValueError where a state cannot belong to this fit."""
        expected = (self.n_clusters, self.objective.X.shape[1]), self.objective.n_constrained
        found = state.current.W.shape, len(state.current.q)
        if found != expected:
            raise ValueError(f"resume is the state of another fit: shapes {found}, expected {expected}")

    def run(self, state: FitState, callback: Callback | None) -> tuple[FitState, bool]:
        """The last state, and whether the callback stopped the fit there."""
        self.objective.use_labels(state.goes)
        while not state.done:
            state = self.advance(state)
            if callback is not None:
                try:
                    callback(state)
                except StopFit:
                    return state, True
        return state, False

    def advance(self, state: FitState) -> FitState:
        """One outer iteration further, in the next start when this one is finished."""
        if state.current.finished:
            start = state.start + 1
            fresh = self.first(int(state.start_kinds[start]), int(state.seeds[start]), state.best)
            state = replace(state, start=start, current=fresh)
        current = self.iterate(state.current)
        best = state.best
        if current.finished and (best is None or current.bound > best.bound):
            best = current
        return replace(state, current=current, best=best)

    def first(self, kind: int, seed: int, best: Solution | None) -> Solution:
        """The beginning of one start; a move begins from the best that was found before it."""
        if kind == WARM:
            assert self.warm is not None, "a warm start needs something to start from"
            return self.warm
        if kind == MOVE:
            assert best is not None, "a move needs something to start from"
            W = self._moved(best, seed)
        else:
            W = self._first_weights(kind, seed)
        W = self._roughly(self._in_order_of_labels(W), seed)
        objective, field = self.objective, self.objective.field
        objective.use_labels(objective.goes)
        objective.expect_posteriors(W)
        witnesses = objective.call_witnesses(W)
        q = np.empty((0, self.n_clusters)) if field is None else field.q.copy()
        tables = NO_TABLES if self.learner is None else self.learner.first
        if best is not None and kind == MOVE:
            tables = best.tables
        return Solution(W, q, tables, witnesses, np.empty(0), 0, converged=False, finished=False)

    def _first_weights(self, kind: int, seed: int) -> Array:
        X, bags = self.objective.X, self.objective.bags
        if kind == RANDOM:
            return 0.1 * np.random.RandomState(seed).standard_normal((self.n_clusters, X.shape[1]))
        if kind == BAGS:
            assert bags is not None, "a start from bags needs some"
            return start_from_bags(self.objective, bags, self.n_clusters, seed)[0]
        rows = some_items(len(X), seed)
        X = X[rows]
        if kind == GIVEN:
            assert self.given is not None, "a given start needs clusters"
            labels = self.given[rows]
        else:
            labels = _kmeans(X[:, :-1], self.n_clusters, seed, n_init=10 if kind == BEST_KMEANS else 1)
        return fit_classifier(X, labels, self.n_clusters, self.objective.lam)

    def _in_order_of_labels(self, W: Array) -> Array:
        """The same clusters, numbered so that they fit the bag labels that each number goes with."""
        objective = self.objective
        if objective.bags is None:
            return W
        return W[objective.bags.order(objective.log_posteriors(W)[0], objective.goes)]

    def _roughly(self, W: Array, seed: int) -> Array:
        """Weights nearer to the best, by fits of samples, where there are so many items that this is cheaper."""
        rng = np.random.RandomState(seed)
        for share in shares(len(self.objective.X)):
            likelihoods = self.log_likelihoods(self.schedule[0])
            small = sample(self.objective, likelihoods, self.n_clusters, share, rng)
            small.use_labels(self.objective.goes)
            small.expect_posteriors(W)
            W = climb(small.profile, W, _ROUGH_STEPS, max(self.tol, _ROUGH_TOL))[0]
        return W

    def _moved(self, solution: Solution, seed: int) -> Array:
        """Weights of a classifier for the solution's clusters after one split-and-merge move."""
        objective = self.objective
        objective.use_labels(objective.goes, solution.witnesses)
        if objective.field is not None:
            objective.field.q[:] = solution.q
        posterior = objective.posterior(solution.W).T.astype(np.float64)
        rows = some_items(len(posterior), seed)
        X = objective.X[rows]
        return fit_classifier(X, rearrange(X[:, :-1], posterior[rows], seed), self.n_clusters, objective.lam)

    def load(self, solution: Solution) -> bool:
        """Put the solution, without its weights, and its stage's epsilon into the objective; is that stage hard?"""
        epsilon = self.schedule[solution.stage]
        self.objective.use_labels(self.objective.goes, solution.witnesses)
        if self.objective.field is not None:
            self.objective.field.q[:] = solution.q
            if self.learner is not None:
                self._use_tables(self.learner, solution.tables)
            elif len(self.schedule) > 1:
                self.objective.field.set_log_likelihoods(self.log_likelihoods(epsilon))
        return epsilon == 0

    def iterate(self, solution: Solution) -> Solution:
        """One outer iteration: 20 L-BFGS steps, with q refreshed at every evaluation (profile) or before (EM)."""
        objective, field = self.objective, self.objective.field
        hard = self.load(solution)
        before = objective.at_fixed_q(solution.W)[0]
        if self.solver == "profile" and not hard:
            W, bound, converged = climb(objective.profile, solution.W, _STEPS, self.tol)
        else:
            objective.refresh(objective.log_posteriors(solution.W)[1], tol=1e-4, hard=hard)
            W, bound, _ = climb(objective.at_fixed_q, solution.W, _STEPS, self.tol)
            converged = abs(bound - before) < self.tol * max(abs(bound), 1)
        q, tables, witnesses = solution.q if field is None else field.q.copy(), solution.tables, solution.witnesses
        if bound < before and not hard:  # posteriors that a rejected step has moved may have cost more than was won
            W, q, bound, converged = solution.W, solution.q, before, True
        elif self.learner is not None or objective.bags is not None:
            if self.learner is not None:
                tables = self._learn_tables(self.learner)
            witnesses = objective.call_witnesses(W)
            learned = objective.at_fixed_q(W)[0]
            converged = converged and learned - bound < self.tol * max(abs(learned), 1)
            bound = learned
        bounds = np.append(solution.bounds, bound)
        last_stage = solution.stage + 1 >= len(self.schedule)
        finished = len(bounds) >= self.max_iter or (converged and last_stage)
        stage = solution.stage if finished or not converged else solution.stage + 1
        return Solution(W, q, tables, witnesses, bounds, stage, converged and last_stage, finished)

    def table_patterns(self) -> Array:
        """Expected patterns (M, 5) of the answers under the posteriors as they are."""
        field = self.objective.field
        assert field is not None, "tables are learned from answers"
        return pattern_probabilities(field.q, field.triplets)

    def _learn_tables(self, learner: TableLearner) -> Array:
        """The best tables for the posteriors as they are, from now on used."""
        tables = learner.update(self.table_patterns())
        self._use_tables(learner, tables)
        return tables

    def _use_tables(self, learner: TableLearner, tables: Array) -> None:
        assert self.objective.field is not None, "tables are learned from answers"
        self.objective.field.set_log_likelihoods(learner.log_likelihoods(tables))
        self.objective.log_prior = learner.log_prior(tables)


def _kmeans(X: Array, n_clusters: int, seed: int, n_init: int) -> Array:
    """Labels of the best of some K-means clusterings, (N,), of which only the best is brought to its end."""
    X = X.astype(np.float64)  # of which KMeans finds distances faster
    rough = KMeans(n_clusters, n_init=n_init, tol=_ROUGH_KMEANS_TOL, random_state=seed).fit(X)
    labels: Array = KMeans(n_clusters, init=rough.cluster_centers_, n_init=1).fit(X).labels_
    return labels


def plan_starts(
    n_init: int, n_moves: int, warm: bool, n_clusters: int, rng: np.random.RandomState, more: Sequence[int] = ()
) -> tuple[Array, Array]:
    """Kinds and seeds: the warm start if there is one, `more`, K-means with care, quick and random starts, moves."""
    first = [*([WARM] if warm else []), *more][:n_init]
    others = max(n_init - len(first), 0)
    n_random = others // 2 if n_clusters <= _FEW_CLUSTERS else 0
    n_quick = max(others - n_random - 1, 0)
    kinds = first + [BEST_KMEANS] * min(others, 1) + [KMEANS] * n_quick + [RANDOM] * n_random + [MOVE] * n_moves
    return np.array(kinds), rng.randint(np.iinfo(np.int32).max, size=len(kinds))
