"""The search over starts: what happens between two callbacks, and the state with which another process can continue.

A fit is a chain of states. `advance` makes the next one from the last alone, so a fit that was stopped, saved and
resumed elsewhere goes through the same states as one without a break.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, cycle, islice, repeat
from typing import Literal

import numpy as np
from joblib import effective_n_jobs
from sklearn.cluster import KMeans
from sklearn.utils.parallel import Parallel, delayed

from tercet_algorithms.answers.patterns import Array, Errors, pattern_probabilities
from tercet_algorithms.common.search import ArrayRecord, check_resumable, run_search
from tercet_algorithms.dcrc.answer_starts import NO_PAIRS, PairOdds, start_from_answers
from tercet_algorithms.dcrc.bag_evidence import NO_LABELS, NO_WITNESSES
from tercet_algorithms.dcrc.bag_starts import start_from_bags
from tercet_algorithms.dcrc.labeler_tables import TableLearner
from tercet_algorithms.dcrc.lower_bound import Evidence, LowerBound, climb, fit_classifier
from tercet_algorithms.dcrc.mean_field import MeanField
from tercet_algorithms.dcrc.moves import rearrange
from tercet_algorithms.dcrc.pattern_evidence import PatternEvidence
from tercet_algorithms.dcrc.sampling import sample, shares, some_items
from tercet_algorithms.dcrc.span import Span

Solver = Literal["profile", "em"]

# L-BFGS steps of an outer iteration. L-BFGS loses its memory between two iterations, which makes them resumable.
_STEPS = 20
# Largest number of steps in the fit of a sample, and the gain that ends it. Smaller gains would be lost again, since a
# sample differs from all items by more.
_ROUGH_STEPS, _ROUGH_TOL = 100, 3e-5
# Once the centres move less than this share of the features' variance, the best of several K-means is clear.
_ROUGH_KMEANS_TOL = 1e-2
# Updates by hard answers are greedy, so these are approached through smaller and smaller epsilon.
HARD_SCHEDULE: tuple[Errors, ...] = (0.3, 0.15, 0.05, 0.01, 0.0)

# The tables where none are learned.
NO_TABLES: Array = np.empty((0, 5, 4))

WARM, KMEANS, LIGHT, HEAVY, MOVE, INIT, BAGS = range(7)
# How much answers count against features in the two kinds of starts that are made from both.
_KAPPAS = {LIGHT: 0.3, HEAVY: 1.0}


@dataclass(frozen=True)
class DCRCSolution(ArrayRecord):
    """The weights, posteriors, tables and bounds of one start so far."""

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
class Chains(ArrayRecord):
    """The progress of a fit that has several searches, one for each candidate."""

    n_chains: int
    best: DCRCSolution | None = None  # of the first chain, where this is the second


@dataclass(frozen=True)
class FitState(ArrayRecord):
    """Everything needed to continue a fit of the same data, answers and parameters."""

    start_kinds: Array  # (n_starts,) WARM, KMEANS, LIGHT, HEAVY, MOVE, INIT or BAGS
    seeds: Array  # (n_starts,)
    start: int  # which start is at work
    current: DCRCSolution
    best: DCRCSolution | None  # of the finished starts
    cluster_labels: Array  # (K, C) 0 and 1, which bag labels are matched to which cluster; empty without bags
    chains: Chains | None = None  # None in a fit that has one search

    @property
    def solution(self) -> DCRCSolution:
        """The best so far."""
        return self.current if self.best is None else self.best

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
        """Progress in [0, 1]; within a start a guess, since the number of its iterations is unknown beforehand."""
        within = 1.0 if self.current.finished else self.iteration / (self.iteration + 4)
        of_chain = (self.start + within) / len(self.seeds)
        if self.chains is None:
            return of_chain
        return ((self.chains.best is not None) + of_chain) / self.chains.n_chains

    def moved_to(self, start: int, current: DCRCSolution) -> "FitState":
        """Return the state with this start at work and at this solution."""
        best = self.best
        if current.finished and (best is None or current.bound > best.bound):
            best = current
        return replace(self, start=start, current=current, best=best)


Callback = Callable[[FitState], object]


@dataclass(frozen=True)
class DCRCSearch:
    """The fixed part of a fit: the objective, how to maximize it and where to begin."""

    objective: LowerBound
    n_clusters: int
    schedule: tuple[Errors, ...]
    observed: PatternEvidence
    solver: Solver
    max_iter: int
    tol: float
    learner: TableLearner | None = None  # of labelers' tables, which otherwise follow from epsilon
    warm: DCRCSolution | None = None
    warm_labels: Array | None = None  # (K, C) bag labels of the clusters of the warm start
    init_labels: Array | None = None  # (N,) clusters to start from, in the order of the objective
    span: Span | None = None  # whose coordinates are the features of the objective, where D is much larger than N

    def first_state(
        self, start_kinds: Array, seeds: Array, n_chains: int = 1, before: FitState | None = None
    ) -> FitState:
        """Return the first state of this chain; `before` is the last state of the chain before it, if any."""
        objective, seed, cluster_labels = self.objective, int(seeds[0]), NO_LABELS
        if self.warm_labels is not None:
            cluster_labels = self.warm_labels
        elif objective.bags is not None:
            cluster_labels = start_from_bags(objective, objective.bags, self.n_clusters, seed)[1]
        current = self.first(int(start_kinds[0]), seed, None, cluster_labels)
        chains = None
        if n_chains > 1:
            chains = Chains(n_chains) if before is None else Chains(n_chains, before.solution)
        return FitState(start_kinds, seeds, 0, current, None, cluster_labels, chains=chains)

    def check_resumable(self, state: FitState) -> None:
        """Raise ValueError where the shapes of a state are not those of this fit."""
        expected = (self.n_clusters, self.objective.X.shape[1]), self.objective.n_constrained
        check_resumable((state.current.W.shape, len(state.current.q)), expected)

    def run(
        self, state: FitState, callback: Callback | None, n_jobs: int | None = None, verbose: int | bool = False
    ) -> tuple[FitState, bool]:
        """Return the last state, and whether the callback stopped the fit."""
        n_threads = effective_n_jobs(n_jobs)
        advance = self.advance if n_threads == 1 else self._advance_by_starts(n_threads)
        return run_search(state, advance, callback, verbose)

    def widened(self, state: FitState) -> tuple["DCRCSearch", FitState]:
        """Return this search and its last state with weights of the features instead of the span's coordinates."""
        if self.span is None:
            return self, state
        features = np.column_stack([self.span.X, self.objective.X[:, -1]])
        search = replace(self, objective=self.objective.with_features(features), span=None)
        best = replace(state.solution, W=self.span.widened(state.solution.W))
        return search, replace(state, best=best)

    def advance(self, state: FitState) -> FitState:
        """Return the state one outer iteration further, in the next start when this one is finished."""
        start, current = state.start, state.current
        if current.finished:
            start += 1
            kind, seed = int(state.start_kinds[start]), int(state.seeds[start])
            current = self.first(kind, seed, state.best, state.cluster_labels)
        return state.moved_to(start, self.iterate(current, state.cluster_labels))

    def _advance_by_starts(self, n_threads: int) -> Callable[[FitState], FitState]:
        """Return an `advance` for threads: it runs several starts at once to their ends, and makes a state of each end.

        Moves run at once too, all from the best solution so far. Where one of them finds a better solution, those after
        it are repeated from that, as they would have been without threads. So the ends are the same as without threads.
        """
        ends: dict[int, DCRCSolution] = {}
        best: DCRCSolution | None = None

        def advance(state: FitState) -> FitState:
            nonlocal best
            start, are_moves = state.start + state.current.finished, state.start_kinds == MOVE
            if are_moves[start] and best is not state.best:
                ends.clear()
            if start not in ends:
                best, last = state.best, min(start + n_threads, len(are_moves))
                batch = [n for n in range(start, last) if are_moves[n] == are_moves[start]]
                jobs = [delayed(self._separate()._finish)(state, n) for n in batch]
                ends.update(zip(batch, Parallel(n_threads, prefer="threads")(jobs), strict=True))
            return state.moved_to(start, ends.pop(start))

        return advance

    def _separate(self) -> "DCRCSearch":
        """Return the same search with an objective of its own, for another thread."""
        return replace(self, objective=self.objective.separate())

    def _finish(self, state: FitState, start: int) -> DCRCSolution:
        """Run the start at work, or a later one, to its end; a move begins from the best solution of the state."""
        solution, cluster_labels = state.current, state.cluster_labels
        if start != state.start:
            solution = self.first(int(state.start_kinds[start]), int(state.seeds[start]), state.best, cluster_labels)
        while not solution.finished:
            solution = self.iterate(solution, cluster_labels)
        return solution

    def first(self, kind: int, seed: int, best: DCRCSolution | None, cluster_labels: Array) -> DCRCSolution:
        """Return the beginning of one start; a move begins from the best solution before it."""
        if kind == WARM:
            assert self.warm is not None, "a warm start needs something to start from"
            return self.warm
        if kind == MOVE:
            assert best is not None, "a move needs something to start from"
            W = self._weights_after_move(best, seed, cluster_labels)
        else:
            W = self._first_weights(kind, seed)
        W = self._refined_on_samples(self._matched_to_labels(W, cluster_labels), seed, cluster_labels)
        evidence = self.objective.evidence(cluster_labels)
        q = self.objective.first_posteriors(W, evidence)
        witnesses = self._choose_witnesses(W, q, evidence, cluster_labels)
        tables = NO_TABLES if self.learner is None else self.learner.first
        if best is not None and kind == MOVE:
            tables = best.tables
        return DCRCSolution(W, q, tables, witnesses, np.empty(0), 0, converged=False, finished=False)

    def _first_weights(self, kind: int, seed: int) -> Array:
        X, bags = self.objective.X, self.objective.bags
        if kind == BAGS:
            assert bags is not None, "a start from bags needs some"
            return start_from_bags(self.objective, bags, self.n_clusters, seed)[0]
        rows = some_items(len(X), seed)
        if kind == INIT:
            assert self.init_labels is not None, "a start from init needs clusters"
            labels = self.init_labels[rows]
        elif kind == KMEANS:
            labels = _kmeans(X[rows, :-1], self.n_clusters, seed)
        else:
            labels = self._merged(rows, _KAPPAS[kind], seed)
        return fit_classifier(X[rows], labels, self.n_clusters, self.objective.lam)

    def _merged(self, rows: slice | Array, kappa: float, seed: int) -> Array:
        """Return clusters of some rows, made from their features and from all answers and links."""
        X, field = self.objective.X[:, :-1], self.objective.field
        if field is None or self.n_clusters == 1:
            return start_from_answers(X, rows, NO_PAIRS, self.n_clusters, kappa, seed)
        odds = self.observed.pair_log_odds(self.schedule[0], self.n_clusters)
        return start_from_answers(X, rows, PairOdds(field.triplets, odds), self.n_clusters, kappa, seed)

    def _matched_to_labels(self, W: Array, cluster_labels: Array) -> Array:
        """Return the same weights, with the clusters numbered so that they fit the bag labels of each number."""
        if self.objective.bags is None:
            return W
        return W[self.objective.bags.order(self.objective.softmax(W).P, cluster_labels)]

    def _refined_on_samples(self, W: Array, seed: int, cluster_labels: Array) -> Array:
        """Return weights improved by fits of samples, where there are so many items that this is cheaper."""
        rng = np.random.RandomState(seed)
        for share in shares(len(self.objective.X)):
            small = sample(self.objective, self.observed.log_likelihoods(self.schedule[0]), share, rng)
            evidence = small.evidence(cluster_labels)
            profile = partial(small.profile, q=small.first_posteriors(W, evidence), evidence=evidence)
            W = climb(profile, W, _ROUGH_STEPS, max(self.tol, _ROUGH_TOL))[0]
        return W

    def _weights_after_move(self, solution: DCRCSolution, seed: int, cluster_labels: Array) -> Array:
        """Return weights of a classifier for the solution's clusters after one split-and-merge move."""
        objective, evidence = self.objective, self.evidence_at(solution, cluster_labels)
        posterior = objective.posterior(solution.W, solution.q, evidence).T.astype(np.float64)
        rows = some_items(len(posterior), seed)
        X = objective.X[rows]
        return fit_classifier(X, rearrange(X[:, :-1], posterior[rows], seed), self.n_clusters, objective.lam)

    def evidence_at(self, solution: DCRCSolution, cluster_labels: Array) -> Evidence:
        """Return the evidence under the tables and the witnesses of a solution, or under the epsilon of its stage."""
        field, log_prior = self.objective.field, 0.0
        if field is not None and self.learner is not None:
            field, log_prior = self._with_tables(field, self.learner, solution.tables)
        elif field is not None and len(self.schedule) > 1:
            field = field.with_log_likelihoods(self.observed.log_likelihoods(self.schedule[solution.stage]))
        return self.objective.evidence(cluster_labels, solution.witnesses, field, log_prior)

    def is_hard(self, solution: DCRCSolution) -> bool:
        """Return whether the solution's stage takes answers as hard (Eq 14)."""
        return self.schedule[solution.stage] == 0

    def iterate(self, solution: DCRCSolution, cluster_labels: Array) -> DCRCSolution:
        """Return the solution after one outer iteration: 20 L-BFGS steps.

        q is updated at every evaluation (profile) or once before (EM); tables and witnesses are updated at the end.
        """
        objective, evidence, hard = self.objective, self.evidence_at(solution, cluster_labels), self.is_hard(solution)
        q, tables, witnesses = solution.q.copy(), solution.tables, solution.witnesses
        before = objective.at_fixed_q(solution.W, q, evidence)[0]
        if self.solver == "profile" and not hard:
            profile = partial(objective.profile, q=q, evidence=evidence)
            W, bound, converged = climb(profile, solution.W, _STEPS, self.tol)
        else:
            objective.refresh(q, objective.softmax(solution.W), evidence, tol=1e-4, hard=hard)
            W, bound, _ = climb(partial(objective.at_fixed_q, q=q, evidence=evidence), solution.W, _STEPS, self.tol)
            converged = abs(bound - before) < self.tol * max(abs(bound), 1)
        if bound < before and not hard:  # the last step, which L-BFGS rejected, has moved q and so lowered the bound
            W, q, bound, converged = solution.W, solution.q, before, True
        elif self.learner is not None or objective.bags is not None:
            tables, witnesses, learned = self._learn(W, q, evidence, cluster_labels, solution)
            converged = converged and learned - bound < self.tol * max(abs(learned), 1)
            bound = learned
        bounds = np.append(solution.bounds, bound)
        last_stage = solution.stage + 1 >= len(self.schedule)
        finished = len(bounds) >= self.max_iter or (converged and last_stage)
        stage = solution.stage if finished or not converged else solution.stage + 1
        return DCRCSolution(W, q, tables, witnesses, bounds, stage, converged and last_stage, finished)

    def _learn(
        self, W: Array, q: Array, evidence: Evidence, cluster_labels: Array, solution: DCRCSolution
    ) -> tuple[Array, Array, float]:
        """Return the best tables and witnesses for these posteriors, and the bound with them."""
        tables, field, log_prior = solution.tables, evidence.field, evidence.log_prior
        if self.learner is not None and field is not None:
            tables = self.learner.update(self.answer_patterns(q))
            field, log_prior = self._with_tables(field, self.learner, tables)
        witnesses = self._choose_witnesses(W, q, evidence, cluster_labels)
        learned = self.objective.evidence(cluster_labels, witnesses, field, log_prior)
        return tables, witnesses, self.objective.at_fixed_q(W, q, learned)[0]

    def _choose_witnesses(self, W: Array, q: Array, evidence: Evidence, cluster_labels: Array) -> Array:
        """Return the best witnesses of bag labels for these posteriors; none without bags."""
        if self.objective.bags is None:
            return NO_WITNESSES
        return self.objective.bags.witnesses(self.objective.posterior(W, q, evidence), cluster_labels)

    def answer_patterns(self, q: Array) -> Array:
        """Return the expected patterns (M, 5) of the answers."""
        assert self.objective.field is not None, "tables are learned from answers"
        return pattern_probabilities(q, self.objective.field.triplets[: len(self.observed.constraints)])

    def _with_tables(self, field: MeanField, learner: TableLearner, tables: Array) -> tuple[MeanField, float]:
        """Return the answers under these tables of the labelers, and the tables' log prior."""
        logs = self.observed.with_answers(learner.log_likelihoods(tables), self.schedule[-1])
        return field.with_log_likelihoods(logs), learner.log_prior(tables)


def _kmeans(X: Array, n_clusters: int, seed: int) -> Array:
    """Return labels (N,) of the best of ten rough K-means clusterings, continued to convergence."""
    X = X.astype(np.float64)  # KMeans is faster in double precision
    rough = KMeans(n_clusters, n_init=10, tol=_ROUGH_KMEANS_TOL, random_state=seed).fit(X)
    labels: Array = KMeans(n_clusters, init=rough.cluster_centers_, n_init=1).fit(X).labels_
    return labels


def plan_starts(
    n_init: int, n_moves: int, warm: bool, rng: np.random.RandomState, further: Sequence[int] = ()
) -> tuple[Array, Array]:
    """Return kinds and seeds of starts: warm, the `further` ones, K-means once, those made from answers, and moves.

    After a warm start two starts from answers come before K-means.
    """
    first = [*([WARM] if warm else []), *further]
    merged = cycle([LIGHT, HEAVY])
    others = chain(islice(merged, 2 if warm else 0), [KMEANS], merged)
    kinds = [*islice(chain(first, others), n_init), *repeat(MOVE, n_moves)]
    return np.array(kinds), rng.randint(np.iinfo(np.int32).max, size=len(kinds))
