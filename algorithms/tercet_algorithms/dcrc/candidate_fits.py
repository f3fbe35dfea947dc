"""What DCRC does for its candidates: which there are, one search after the other, and their pool."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.answers.reading import Constraints
from tercet_algorithms.common.feature_space import FeatureSpace, SpacePlan
from tercet_algorithms.dcrc.belief import FEWEST_ANSWERS
from tercet_algorithms.dcrc.candidates import GRAPH, MOST_ITEMS, VECTORS, weigh
from tercet_algorithms.dcrc.fitted import FittedDCRC
from tercet_algorithms.dcrc.pooling import StartPool, pool, widened
from tercet_algorithms.dcrc.search import Callback, DCRCSearch, FitState, plan_starts
from tercet_algorithms.dcrc.warm_start import PreviousFit


class CandidateFits(FittedDCRC):
    """What a fit does for each of its candidates."""

    n_clusters: int
    candidates: Literal["auto", "features"]
    warm_start: bool
    n_init: int
    n_moves: int
    n_jobs: int | None
    verbose: int | bool
    constrained_: Array
    _pool: StartPool | None
    _pools_starts = False

    def _weigh_candidates(
        self, model: Any, features: Array, space: FeatureSpace, constraints: Constraints, before: FeatureSpace | None
    ) -> FeatureSpace:
        """Set the weights of candidates by answers held out, or as before while these have not doubled.

        `model` is a DCRC to judge by, of features that are as they are in the space; `before` is the space of the fit
        that a warm start continues from. Returns the space that all candidates need.
        """
        if before is not None and len(constraints) < 2 * self._weighing.n_answers:
            return before
        joint = space.with_graph(features, VECTORS * self.n_clusters)
        if before is not None and joint.has_graph_of(before):
            joint = before
        model._pools_starts = True
        model.set_params(epsilon=self.epsilon_, answer_weight=self.answer_weight_)
        self._weighing = weigh(model, features, joint, constraints)
        if self._weighing.needs_graph:
            return joint
        self._weighing = self._weighing.without_graph(features.shape[1])
        return space

    def _has_candidates(self, n_items: int, n_answers: int) -> bool:
        """Return whether there is something to weigh candidates by, and to gain by it."""
        simple = self.candidates == "auto" and self.kernel is None and self.epsilon_ != 0
        return simple and self.n_clusters > 1 and n_answers >= FEWEST_ANSWERS and n_items <= MOST_ITEMS

    def _check_previous(self, plan: SpacePlan, n_features: int) -> None:
        """Raise ValueError where the fit that a warm start continues from is one of another kind."""
        previous, expected = (len(self.coef_), len(self.mean_)), (self.n_clusters, n_features)
        if previous != expected:
            raise ValueError(
                f"a warm start needs the same clusters and features: the previous fit has {previous}, "
                f"this one {expected}; fit without warm_start"
            )
        plan.check(self._space.plain)

    def _previous(self, name: str, space: FeatureSpace) -> PreviousFit | None:
        """Return the candidate of the previous fit; None where there was none, or one with another graph."""
        W, before = self._models.get(name), self._space if name == GRAPH else self._space.plain
        if W is None or (name == GRAPH and space is not before):
            return None
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
                ends[name] = replace(resume, best=earlier.best, pool=earlier.pool)
                continue
            state = resume if resume is not None else search.first_state(*starts, len(searches), before)
            search.check_resumable(state)
            ends[name], stopped = search.run(state, callback, self.n_jobs, self.verbose)
            resume = None
            if stopped:
                break
        return ends, stopped

    def _pool_of_starts(self) -> Array:
        """Return the weights (K, D + 1) of the good starts of this fit, added up."""
        assert self._pool is not None, "a fit pools its starts"
        return self._pool.mean

    def _pooled(self, ends: dict[str, FitState], leading: str, q: Array, X: Array) -> tuple[Array, Array]:
        """Return the weights of all candidates in one, and posteriors q of the leading one with the same numbers.

        The clusters of each candidate are numbered alike from here on, so that a warm start can go on from any.
        """
        width = X.shape[1] - 1
        best = {name: state.solution.W for name, state in ends.items()}
        models = {f"best {name}": widened(W, width) for name, W in best.items()} | self._weighing.clusterings
        models |= {name: widened(state.pool.mean, width) for name, state in ends.items() if state.pool is not None}
        first = f"best {leading}"
        models = {first: models.pop(first)} | models
        W, orders = pool(models, self._weighing.shares(models), X)
        self._models = {name: W[orders[f"best {name}"]] for name, W in best.items()}
        return W, q
