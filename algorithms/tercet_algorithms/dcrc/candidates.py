"""The candidates of a fit, models that see different columns, and how much each counts.

Where classes are curved a linear model needs many answers, and features that have nothing to do with the classes hide
them. So DCRC on the features is compared with DCRC on these and the eigenvectors of a graph of neighbours, and with
DCRC on each group of the features alone, by how well they predict held-out answers. Two at most are fitted in full.
Their scores are linear in the same columns, so the weighted sum of their scores (a logarithmic opinion pool) is one
model again.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.common.feature_space import FeatureSpace
from tercet_algorithms.common.graph import GraphMap
from tercet_algorithms.common.kernels import FeatureMap

FEATURES, GRAPH = "features", "graph"
# Number of eigenvectors for each cluster.
VECTORS = 3
# Scores are divided by one of these, which calibrates a candidate that is too sure or not sure enough.
TEMPERATURES = (1.0, 0.7, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0)
# Answers about the same items are dependent, so each counts half.
_COUNT = 0.5
# How much higher the log prior probability of the simplest model, that of the features alone, is than that of others.
_HEAD_START = 1.0
# A candidate with less weight is left out.
LEAST_WEIGHT = 0.02
# The difference in log P(answers) from the best at which a candidate has that weight.
HOPELESS = np.log(LEAST_WEIGHT) / _COUNT


class Weighing(NamedTuple):
    """The candidates that are fitted in full, and how well each predicts answers: those of each fold from the others.

    Later answers are a further fold for every warm start that brings some, predicted by the fit before.
    """

    names: tuple[str, ...]
    # (C, F, T) log likelihood of each of F folds, with the scores divided by each temperature; earlier ones count less.
    tables: Array
    n_answers: int  # answers that there were when these candidates were chosen; 0 where nothing was compared
    asked: Array = np.empty((0, 3), np.int64)  # (M, 3) triplets of the answers that the tables hold

    @property
    def weights(self) -> Array:
        """How much each candidate counts, (C,), summing to 1."""
        before = _HEAD_START * (np.array(self.names) == FEATURES)
        weights: Array = softmax(before + _COUNT * np.array([held_out_score(table) for table in self.tables]))
        weights[weights < LEAST_WEIGHT] = 0
        weights /= weights.sum()
        return weights

    def by_name(self) -> dict[str, float]:
        """Return the weight of every candidate."""
        return dict(zip(self.names, self.weights.tolist(), strict=True))

    def shares(self, names: Collection[str]) -> dict[str, float]:
        """Return the factor of each candidate's scores in the pool: its weight over its relative temperature.

        Temperatures are relative to that of the candidate with the largest weight, so that a candidate that is alone
        keeps its scores.
        """
        chosen = [self.names.index(name) for name in names]
        weights, tables = self.weights[chosen], self.tables[chosen]
        temperatures = np.array(TEMPERATURES)[tables.sum(axis=1).argmax(axis=1)]
        shares = weights / weights.sum() * temperatures[weights.argmax()] / temperatures
        return dict(zip(names, shares.tolist(), strict=True))

    def with_answers(self, tables: Array, triplets: Array) -> "Weighing":
        """Return the weighing with a further fold, answers to `triplets`; `tables` (C, T) are their log likelihoods.

        Which candidate is best changes with the number of answers, so earlier folds count less: they are multiplied by
        the number of answers before, as a share of the number now.
        """
        asked = np.concatenate([self.asked, triplets])
        earlier = self.tables * (len(self.asked) / len(asked))
        return self._replace(tables=np.concatenate([earlier, tables[:, None]], axis=1), asked=asked)

    def are_new(self, triplets: Array) -> Array:
        """Return which of these questions (M, 3) the tables hold no answer to, (M,)."""
        asked = set(map(tuple, self.asked.tolist()))
        return np.array([tuple(triplet) not in asked for triplet in triplets.tolist()], dtype=bool)

    def without_light(self) -> "Weighing":
        """Return the same without the candidates that have no weight."""
        chosen = np.flatnonzero(self.weights)
        return self._replace(names=tuple(self.names[number] for number in chosen), tables=self.tables[chosen])

    def to_arrays(self) -> dict[str, Array]:
        """Return plain arrays."""
        return {
            "candidate_names": np.array(self.names),
            "candidate_tables": self.tables,
            "candidate_answers": np.asarray(self.n_answers),
            "candidate_asked": self.asked,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "Weighing":
        """Return what `to_arrays` has written; the features alone where the arrays hold no candidates."""
        if "candidate_names" not in arrays:
            return ALONE
        names = tuple(arrays["candidate_names"].tolist())
        # Fits of before it was kept: all of their answers count as new, once.
        asked = arrays.get("candidate_asked", np.empty((0, 3), dtype=np.int64))
        return cls(names, arrays["candidate_tables"], int(arrays["candidate_answers"]), asked)


ALONE = Weighing((FEATURES,), np.zeros((1, 0, len(TEMPERATURES))), 0)


def held_out_score(table: Array) -> float:
    """Return the log likelihood of a table (F, T) of folds by temperature, each fold at the best one for the others.

    So no candidate gains from a temperature that was chosen by the answers that it is judged by.
    """
    others = (table.sum(axis=0) - table).argmax(axis=1)
    return float(table[np.arange(len(table)), others].sum())


def read_groups(groups: Any, n_features: int) -> dict[str, Array]:
    """Return the columns of each group of features; empty where there are fewer than two groups.

    Raises ValueError where `groups` does not name the group of each of the columns.
    """
    if groups is None:
        return {}
    names = np.asarray(groups)
    if names.shape != (n_features,) or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"feature_groups must name the group of each of the {n_features} columns of X, "
            f"got {names.dtype} of shape {names.shape}"
        )
    different = list(dict.fromkeys(names.tolist()))
    if taken := {FEATURES, GRAPH} & set(different):
        raise ValueError(f"feature_groups has a group '{min(taken)}': that is the name of another candidate")
    return {name: np.flatnonzero(names == name) for name in different} if len(different) > 1 else {}


def columns_of(groups: Mapping[str, Array], space: FeatureSpace) -> dict[str, Array]:
    """Return which columns of the space each candidate sees: the features all that are no eigenvectors."""
    columns = np.arange(space.width)
    n_others = space.kernel.n_others if isinstance(space.kernel, GraphMap) else 0
    no_eigenvectors = (columns < len(space.mean)) | (columns >= space.width - n_others)
    if isinstance(space.kernel, FeatureMap):
        no_eigenvectors[:] = True
    return {FEATURES: columns[no_eigenvectors], GRAPH: columns, **groups}
