"""What DCRC does for its candidates: which there are, one search after the other, and their pool."""

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.answers.reading import Constraints
from tercet_algorithms.common.feature_space import FeatureSpace, SpacePlan, mean_and_variance
from tercet_algorithms.dcrc.candidates import ALONE, FEATURES, GRAPH, VECTORS, Weighing, columns_of
from tercet_algorithms.dcrc.fitted import FittedDCRC
from tercet_algorithms.dcrc.lower_bound import fit_classifier
from tercet_algorithms.dcrc.pooling import pool, widened
from tercet_algorithms.dcrc.search import Callback, DCRCSearch, FitState, plan_starts
from tercet_algorithms.dcrc.warm_start import PreviousFit
from tercet_algorithms.dcrc.weighing import best_two, weigh

# Of the powers of 4, 2^-8 was as good as any for 16 to 33 standardised columns, and 2^-6 the best for 61 and for 97.
_LAM, _COLUMNS = 2**-8, 24
# Of fewer answers a fold holds so few that what they say for one candidate is chance.
FEWEST_ANSWERS = 30
# From so many items on, features alone: folds and graph would take as long as the fit.
MOST_ITEMS = 20_000


class Plan(NamedTuple):
    """Which candidates a fit has."""

    names: tuple[str, ...]
    space: FeatureSpace  # that they need
    n_answers: int  # that there were when they were chosen; 0 where they are not weighed


class CandidateFits(FittedDCRC):
    """What a fit does for each of its candidates."""

    n_clusters: int
    candidates: Literal["auto", "features"]
    lam: float | Literal["auto"]
    warm_start: bool
    n_init: int
    n_moves: int
    n_jobs: int | None
    verbose: int | bool
    constrained_: Array

    def _plan(
        self,
        judge: Any,
        features: Array,
        space: FeatureSpace,
        groups: dict[str, Array],
        constraints: Constraints,
        warm: bool,
    ) -> Plan:
        """Return which candidates to fit: those of the previous fit while answers have not doubled.

        `judge` is a DCRC to judge by, of features that are as they are in the space. The features alone are fitted
        where there is nothing to weigh candidates by, or nothing to gain by it.
        """
        simple = self.candidates == "auto" and self.kernel is None and self.epsilon_ != 0 and self.n_clusters > 1
        if not simple or len(constraints) < FEWEST_ANSWERS or len(features) > MOST_ITEMS:
            return Plan((FEATURES,), space, 0)
        if warm and len(constraints) < 2 * self._weighing.n_answers:
            names = self._weighing.names
            return Plan(names, self._space if GRAPH in names else space, self._weighing.n_answers)
        joint = space.with_graph(features, VECTORS * self.n_clusters)
        if warm and joint.has_graph_of(self._space):
            joint = self._space
        columns = columns_of(groups, features.shape[1], joint.width)
        names = best_two(judge, features, joint, columns, constraints)
        return Plan(names, joint if GRAPH in names else space, len(constraints))

    def _weigh(
        self,
        judge: Any,
        features: Array,
        plan: Plan,
        columns: dict[str, Array],
        ends: dict[str, FitState],
        constraints: Constraints,
    ) -> Weighing:
        """Return the weights of the candidates that have come to these ends, without those that count little."""
        if not plan.n_answers:
            return ALONE
        fitted = {name: state.solution.W for name, state in ends.items()}
        tables = weigh(judge, features, plan.space, columns, fitted, constraints)
        return Weighing(tuple(fitted), tables, plan.n_answers).without_light()

    def _check_previous(self, plan: SpacePlan, n_features: int) -> None:
        """Raise ValueError where the fit that a warm start continues from is one of another kind."""
        previous, expected = (len(self.coef_), len(self.mean_)), (self.n_clusters, n_features)
        if previous != expected:
            raise ValueError(
                f"a warm start needs the same clusters and features: the previous fit has {previous}, "
                f"this one {expected}; fit without warm_start"
            )
        plan.check(self._space.plain)

    def _penalty(self, design: Array) -> float:
        """Return the penalty of squared weights: as set, or by how many features (N, D + 1) vary, and how widely."""
        if self.lam != "auto":
            return float(self.lam)
        variances = mean_and_variance(design[:, :-1])[1]
        n_varied = int(np.count_nonzero(variances))
        return float(_LAM * variances.sum() / np.clip(n_varied, 1, _COLUMNS))

    def _previous(self, name: str, columns: Array, features: Array, space: FeatureSpace) -> PreviousFit:
        """Return what the candidate goes on from: its part of the previous fit, or that fit's clusters if it has none.

        `features` (N, d) are the `columns` that the candidate sees in its `space`.
        """
        W, before = self._models.get(name), self._space if name == GRAPH else self._space.plain
        if name not in (FEATURES, GRAPH):
            before = before.of(columns)
        if W is None or W.shape[1] != space.width + 1 or (name == GRAPH and space is not before):
            before = space
            n_items = min(len(self.posterior_), len(features))
            design = space.design(features, np.arange(n_items))
            labels = self.posterior_[:n_items].argmax(axis=1)
            W = fit_classifier(design, labels, self.n_clusters, self._penalty(design))
        return PreviousFit(W[:, :-1], W[:, -1], before, self.posterior_, self.constrained_, self._tables)

    def _run(
        self,
        searches: dict[str, DCRCSearch],
        further: list[int],
        rng: np.random.RandomState,
        resume: FitState | None,
        callback: Callback | None,
    ) -> tuple[dict[str, FitState], bool]:
        """Run one search after the other; return their last states, and whether the callback stopped the fit."""
        ends: dict[str, FitState] = {}
        for name, search in searches.items():
            starts = plan_starts(self.n_init, self.n_moves, search.warm is not None, rng, further)
            before = next(iter(ends.values()), None)
            earlier = None if resume is None else resume.chains
            if before is None and resume is not None and earlier is not None and earlier.best is not None:
                ends[name] = replace(resume, best=earlier.best)
                continue
            state = resume if resume is not None else search.first_state(*starts, len(searches), before)
            search.check_resumable(state)
            ends[name], stopped = search.run(state, callback, self.n_jobs, self.verbose)
            resume = None
            if stopped:
                break
        return ends, stopped

    def _pooled(
        self, ends: dict[str, FitState], shares: dict[str, float], leading: str, columns: dict[str, Array], X: Array
    ) -> Array:
        """Return the weights of all candidates in one, with the clusters numbered as in the leading one.

        The clusters of each candidate are numbered alike from here on, so that a warm start can go on from any.
        """
        best = {name: state.solution.W for name, state in ends.items()}
        models = {name: widened(W, columns[name], X.shape[1] - 1) for name, W in best.items()}
        models = {leading: models.pop(leading)} | models
        W, orders = pool(models, shares, X)
        self._models = {name: W[orders[name]] for name, W in best.items()}
        return W
