"""The beginning of a warm start: an earlier fit, which may have had other items, scaling and answers."""

from dataclasses import dataclass

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.common.feature_space import FeatureSpace
from tercet_algorithms.common.kernels import FeatureMap
from tercet_algorithms.dcrc.bag_evidence import NO_LABELS, NO_WITNESSES
from tercet_algorithms.dcrc.labeler_tables import LearnedTables
from tercet_algorithms.dcrc.lower_bound import LowerBound
from tercet_algorithms.dcrc.search import DCRCSolution
from tercet_algorithms.dcrc.span import Span


@dataclass(frozen=True)
class PreviousFit:
    """An earlier fit of the same clusters and features."""

    coef: Array
    intercept: Array
    space: FeatureSpace
    posterior: Array
    constrained: Array
    tables: LearnedTables | None = None

    def solution(
        self, space: FeatureSpace, span: Span | None, objective: LowerBound, order: Array, tables: Array, stage: int
    ) -> tuple[DCRCSolution, Array]:
        """Return the same model in the coordinates of another space, as a start at a stage, and its cluster labels.

        `order` are the positions of the objective's items. Each bag label is matched to the cluster that most items
        with this label were in.
        """
        W, cluster_labels, witnesses = self._weights(space), NO_LABELS, NO_WITNESSES
        if span is not None:
            W = span.narrowed(W)
        if objective.bags is not None:
            posterior = objective.softmax(W).P.copy()
            earlier = order < len(self.posterior)
            posterior[:, earlier] = self.posterior[order[earlier]].T
            cluster_labels = objective.bags.match(posterior)
        evidence = objective.evidence(cluster_labels)
        q = objective.first_posteriors(W, evidence)
        if objective.bags is not None:
            witnesses = objective.bags.witnesses(objective.posterior(W, q, evidence), cluster_labels)
        if objective.field is not None:
            items = objective.field.items
            earlier = np.isin(items, self.constrained)
            q[earlier] = self.posterior[items[earlier]]
        solution = DCRCSolution(W, q, tables, witnesses, np.empty(0), stage, converged=False, finished=False)
        return solution, cluster_labels

    def _weights(self, space: FeatureSpace) -> Array:
        if space is self.space:
            return np.column_stack([self.coef, self.intercept])
        if not isinstance(space.kernel, FeatureMap):  # nor a graph: weights of eigenvectors are for the same graph only
            slopes = self.coef / self.space.scale
            intercept = self.intercept + slopes @ (space.mean - self.space.mean)
            return np.column_stack([slopes * space.scale, intercept])
        # Exact features Phi = V S^(1/2) of the new items: the weights that give these the old scores.
        scores = self.space.transform(space.kernel.points * space.scale + space.mean) @ self.coef.T
        return np.column_stack([(space.kernel.basis.T @ scores).T, self.intercept])
