"""What a warm start takes over from an earlier fit, whose items, scaling and answers may have been other."""

from dataclasses import dataclass

import numpy as np

from algorithms.discriminative import LowerBound
from algorithms.fitting import Solution
from algorithms.patterns import Array

# The attributes of a fitted estimator that make a Previous, in its order.
PREVIOUS = ("coef_", "intercept_", "mean_", "scale_", "posterior_", "constrained_")


@dataclass(frozen=True)
class Previous:
    """An earlier fit of the same clusters and features."""

    coef: Array
    intercept: Array
    mean: Array
    scale: Array
    posterior: Array
    constrained: Array

    def solution(self, n_clusters: int, mean: Array, scale: Array, objective: LowerBound, stage: int) -> Solution:
        """The same model in the coordinates of a new mean and scale, as a start at the given stage."""
        expected = (n_clusters, len(mean))
        if self.coef.shape != expected:
            raise ValueError(
                f"a warm start needs the same clusters and features: the previous fit has {self.coef.shape}, "
                f"this one {expected}; fit without warm_start"
            )
        slopes = self.coef / self.scale
        intercept = self.intercept + slopes @ (mean - self.mean)
        W = np.column_stack([slopes * scale, intercept])
        return Solution(W, self._posteriors(W, objective), np.empty(0), stage, converged=False, finished=False)

    def _posteriors(self, W: Array, objective: LowerBound) -> Array:
        """q of the items that were constrained before, p(y | x; W) of the new ones."""
        if objective.field is None:
            return np.empty((0, len(W)))
        objective.expect_posteriors(W)
        q, items = objective.field.q.copy(), objective.field.items
        known = np.isin(items, self.constrained)
        q[known] = self.posterior[items[known]]
        return q
