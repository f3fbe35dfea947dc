"""What a warm start takes over from an earlier fit, whose items, scaling and answers may have been other."""

from dataclasses import dataclass

import numpy as np

from algorithms.discriminative import LowerBound
from algorithms.feature_space import FeatureSpace
from algorithms.fitting import Solution
from algorithms.labeler_tables import LearnedTables
from algorithms.patterns import Array


@dataclass(frozen=True)
class Previous:
    """An earlier fit of the same clusters and features."""

    coef: Array
    intercept: Array
    space: FeatureSpace
    posterior: Array
    constrained: Array
    tables: LearnedTables | None = None

    def check(self, n_clusters: int, n_features: int) -> None:
        """Raise ValueError where a fit of so many clusters and features cannot go on from this one."""
        found, expected = (len(self.coef), len(self.space.mean)), (n_clusters, n_features)
        if found != expected:
            raise ValueError(
                f"a warm start needs the same clusters and features: the previous fit has {found}, "
                f"this one {expected}; fit without warm_start"
            )

    def solution(
        self, space: FeatureSpace, objective: LowerBound, order: Array, tables: Array, stage: int
    ) -> Solution:
        """The same model in the coordinates of another space, as a start at the given stage.

        `order` are the positions of the objective's items. Bag labels go with the clusters that have them already.
        """
        W = self._weights(space)
        if objective.bags is not None:
            posterior = objective.log_posteriors(W)[0].copy()
            known = order < len(self.posterior)
            posterior[:, known] = self.posterior[order[known]].T
            objective.use_labels(objective.bags.match(posterior))
        q = self._posteriors(W, objective)
        return Solution(W, q, tables, objective.call_witnesses(W), np.empty(0), stage, False, False)

    def _weights(self, space: FeatureSpace) -> Array:
        if space is self.space:
            return np.column_stack([self.coef, self.intercept])
        if space.kernel is None:
            slopes = self.coef / self.space.scale
            intercept = self.intercept + slopes @ (space.mean - self.space.mean)
            return np.column_stack([slopes * space.scale, intercept])
        # Exact features Phi = V S^(1/2) of the new items: the weights that give these the old scores.
        scores = self.space.transform(space.kernel.points * space.scale + space.mean) @ self.coef.T
        return np.column_stack([(space.kernel.basis.T @ scores).T, self.intercept])

    def _posteriors(self, W: Array, objective: LowerBound) -> Array:
        """q of the items that were constrained before, p(y | x; W) of the new ones."""
        if objective.field is None:
            return np.empty((0, len(W)))
        objective.expect_posteriors(W)
        q, items = objective.field.q.copy(), objective.field.items
        known = np.isin(items, self.constrained)
        q[known] = self.posterior[items[known]]
        return q
