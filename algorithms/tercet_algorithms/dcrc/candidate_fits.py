"""The candidates' part of `DCRC.fit`: choosing them, searching for each, pooling their scores."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.answers.reading import Constraints
from tercet_algorithms.common.feature_space import FeatureSpace, SpacePlan, mean_and_variance
from tercet_algorithms.common.graph import GraphMap
from tercet_algorithms.dcrc.belief import sampled_answers
from tercet_algorithms.dcrc.candidates import ALONE, FEATURES, GRAPH, VECTORS, Weighing, columns_of
from tercet_algorithms.dcrc.fitted import FittedDCRC
from tercet_algorithms.dcrc.lower_bound import fit_classifier
from tercet_algorithms.dcrc.pooling import pool, widened
from tercet_algorithms.dcrc.prior_clusters import SURE, beside_clusters
from tercet_algorithms.dcrc.search import Callback, DCRCSearch, FitState, plan_starts
from tercet_algorithms.dcrc.warm_start import PreviousFit
from tercet_algorithms.dcrc.weighing import best_two, judge, weigh

# Measured among powers of 4: 2^-8 was as good as any for 16 to 33 standardised columns, 2^-6 the best for 61 and 97.
_LAM, _COLUMNS = 2**-8, 24
# With fewer answers a fold holds too few to tell candidates apart but by chance.
FEWEST_ANSWERS = 30
# With more items only the features are fitted: folds and graph would take as long as the fit.
MOST_ITEMS = 20_000


class Plan(NamedTuple):
    """The candidates of a fit."""

    names: tuple[str, ...]
    space: FeatureSpace  # with the graph where a candidate needs it
    n_answers: int  # answers that there were when they were chosen; 0 where there is only one that is not compared
    weighing: Weighing | None = None  # by what the previous fit foresaw of the new answers; None: chosen anew


def narrowed(space: FeatureSpace, names: Collection[str]) -> FeatureSpace:
    """Return the space of a graph without what none of these candidates sees."""
    if GRAPH in names:
        return space
    return space.without_eigenvectors if FEATURES in names else space.plain


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
        model: Any,
        features: Array,
        space: FeatureSpace,
        groups: dict[str, Array],
        constraints: Constraints,
        warm: bool,
    ) -> Plan:
        """Return which candidates to fit: those of the previous fit while answers have not doubled since.

        `model` is a quick DCRC for the folds; it takes features already in coordinates of the space. Where candidates
        cannot be compared, or that does not help, the features are the only one; few answers are read beside clusters
        that are found without any.
        """
        simple = self.candidates == "auto" and self.kernel is None and self.epsilon_ != 0 and self.n_clusters > 1
        if not simple or not len(constraints) or len(features) > MOST_ITEMS:
            return Plan((FEATURES,), space, 0)
        if len(constraints) < FEWEST_ANSWERS:
            graph = space.with_graph(features, self.n_clusters - 1)
            joint = self._beside_clusters(features, graph, constraints, least_chance=0)
            return Plan((FEATURES,), joint.without_eigenvectors, 0)
        if warm and len(constraints) < 2 * self._weighing.n_answers:
            weighing = self._weighed_by_new(features, groups, constraints)
            seen = narrowed(self._space, weighing.names)
            return Plan(weighing.names, space if seen.kernel is None else seen, weighing.n_answers, weighing)
        joint = space.with_graph(features, VECTORS * self.n_clusters)
        joint = self._beside_clusters(features, joint, constraints, SURE)
        if warm and joint.has_graph_of(self._space):
            joint = self._space
        names = best_two(model, features, joint, columns_of(groups, joint), constraints)
        return Plan(names, narrowed(joint, names), len(constraints))

    def _beside_clusters(
        self, features: Array, space: FeatureSpace, constraints: Constraints, least_chance: float
    ) -> FeatureSpace:
        """Return the space of a graph with columns of clusters found without answers, where answers agree with them."""
        assert isinstance(space.kernel, GraphMap), "clusters are columns of the points of a graph"
        answers, items = sampled_answers(constraints, len(features), np.random.RandomState(0), most_items=0)
        Z = (features[items] - space.mean) / space.scale
        kernel = beside_clusters(space.kernel, self.n_clusters, Z, answers, self.epsilon_, least_chance)
        return FeatureSpace(space.mean, space.scale, kernel)

    def _weighed_by_new(self, features: Array, groups: dict[str, Array], constraints: Constraints) -> Weighing:
        """Return the previous weighing with what each candidate's previous fit foresaw of the answers that are new."""
        weighing = self._weighing
        answers = constraints.select(weighing.are_new(constraints.triplets))
        if len(weighing.names) == 1 or not len(answers):
            return weighing
        items, places = np.unique(answers.triplets, return_inverse=True)
        X = self._space.transform(features[items])
        columns = columns_of(groups, self._space)
        answers_of_items = replace(answers, triplets=places.reshape(-1, 3))
        models = {name: widened(self._models[name], columns[name], X.shape[1]) for name in weighing.names}
        foreseen = [judge(X @ W[:, :-1].T + W[:, -1], answers_of_items, self.epsilon_) for W in models.values()]
        return weighing.with_answers(np.stack(foreseen), answers.triplets).without_light()

    def _weigh(
        self,
        model: Any,
        features: Array,
        plan: Plan,
        columns: dict[str, Array],
        ends: dict[str, FitState],
        penalties: dict[str, float],
        constraints: Constraints,
    ) -> Weighing:
        """Return the weights of the candidates with these last states, without candidates of little weight."""
        if not plan.n_answers:
            return ALONE
        if len(ends) == 1:
            return ALONE._replace(names=tuple(ends), n_answers=plan.n_answers)
        if plan.weighing is not None:
            return plan.weighing
        fitted = {name: state.solution.W for name, state in ends.items()}
        tables = weigh(model, features, plan.space, columns, fitted, penalties, constraints)
        return Weighing(tuple(fitted), tables, plan.n_answers, constraints.triplets).without_light()

    def _check_previous(self, plan: SpacePlan, n_features: int) -> None:
        """Raise ValueError where the previous fit has other clusters, features or kernel than the warm start."""
        previous, expected = (len(self.coef_), len(self.mean_)), (self.n_clusters, n_features)
        if previous != expected:
            raise ValueError(
                f"a warm start needs the same clusters and features: the previous fit has {previous}, "
                f"this one {expected}; fit without warm_start"
            )
        plan.check(self._space.plain)

    def _penalty(self, design: Array, space: FeatureSpace) -> float:
        """Return the penalty: `lam` as set, or from the number and the variances of the columns of the design.

        Columns of prior clusters are no features: how large they are says how much they count.
        """
        if self.lam != "auto":
            return float(self.lam)
        n_columns = space.width - (space.kernel.n_others if isinstance(space.kernel, GraphMap) else 0)
        variances = mean_and_variance(design[:, :n_columns])[1]
        n_varied = int(np.count_nonzero(variances))
        return float(_LAM * variances.sum() / np.clip(n_varied, 1, _COLUMNS))

    def _previous(self, name: str, columns: Array, features: Array, space: FeatureSpace) -> PreviousFit:
        """Return the beginning of a candidate's warm start: its weights in the previous fit, if any, or its clusters.

        `features` (N, d) are the `columns` that the candidate sees in its `space`.
        """
        W, in_graph = self._models.get(name), isinstance(space.kernel, GraphMap)
        before = self._space if in_graph else self._space.plain
        if in_graph and name == FEATURES:
            before = before.without_eigenvectors
        if name not in (FEATURES, GRAPH):
            before = before.of(columns)
        if in_graph and space.has_graph_of(before):
            before = space
        if W is None or W.shape[1] != space.width + 1 or (in_graph and space is not before):
            before = space
            n_items = min(len(self.posterior_), len(features))
            design = space.design(features, np.arange(n_items))
            labels = self.posterior_[:n_items].argmax(axis=1)
            W = fit_classifier(design, labels, self.n_clusters, self._penalty(design, space))
        return PreviousFit(W[:, :-1], W[:, -1], before, self.posterior_, self.constrained_, self._tables)

    def _run(
        self,
        searches: dict[str, DCRCSearch],
        weighing: Weighing | None,
        further: list[int],
        rng: np.random.RandomState,
        resume: FitState | None,
        callback: Callback | None,
    ) -> tuple[dict[str, FitState], bool]:
        """Run one search after the other; return their last states, and whether the callback stopped the fit."""
        ends: dict[str, FitState] = {}
        plans = self._starts_of(searches, weighing, further, rng)
        for name, search in searches.items():
            starts = plans[name]
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

    def _starts_of(
        self,
        searches: dict[str, DCRCSearch],
        weighing: Weighing | None,
        further: list[int],
        rng: np.random.RandomState,
    ) -> dict[str, tuple[Array, Array]]:
        """Return kinds and seeds of each candidate's starts: all of them, or fewer for one that counts less.

        Starts and moves are worth their time where the best clustering may come of them. So once candidates are weighed
        that of the largest weight makes all, and another each by a chance that is its weight relative to the largest.
        """
        is_warm = any(search.warm is not None for search in searches.values())
        if weighing is None or len(searches) == 1:
            return {name: plan_starts(self.n_init, self.n_moves, is_warm, rng, further) for name in searches}
        plans = {}
        for name, weight in weighing.by_name().items():
            kinds, seeds = plan_starts(self.n_init, self.n_moves, is_warm, rng, further)
            chosen = rng.random_sample(len(kinds)) < weight / weighing.weights.max()
            chosen[: 1 + len(further)] = True
            plans[name] = kinds[chosen], seeds[chosen]
        return plans

    def _pooled(
        self, ends: dict[str, FitState], shares: dict[str, float], leading: str, columns: dict[str, Array], X: Array
    ) -> Array:
        """Return the weights of the pooled model, with the clusters numbered as in the leading candidate.

        The stored weights of every candidate are numbered alike, so that a warm start can continue from any.
        """
        best = {name: state.solution.W for name, state in ends.items()}
        models = {name: widened(W, columns[name], X.shape[1] - 1) for name, W in best.items()}
        models = {leading: models.pop(leading)} | models
        W, orders = pool(models, shares, X)
        self._models = {name: W[orders[name]] for name, W in best.items()}
        return W
