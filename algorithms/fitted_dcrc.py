"""What a fitted DCRC can tell: clusters of any items, chances of answers, and itself as plain arrays.

None of it needs a fit's items, answers or search, so it works the same in the process that fitted and in one that
has only loaded the arrays.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from algorithms.feature_space import FeatureSpace, blocks
from algorithms.fitting import HARD_EPSILON
from algorithms.kernels import FeatureMap, Kernel
from algorithms.labeler_tables import LearnedTables
from algorithms.patterns import KINDS, Array, Kind, answer_probabilities, answer_table, log_likelihood
from algorithms.validation import check_features_of, read_constraints, read_kinds, read_triplets

_STATE = ("coef_", "intercept_", "mean_", "scale_", "posterior_", "constrained_", "lower_bound_", "labels_")


class FittedDCRC:
    """The part of DCRC that needs no more than what a fit has left."""

    epsilon: float
    kernel: Kernel | None
    kernel_params: Mapping[str, Any] | None
    coef_: Array
    intercept_: Array
    posterior_: Array
    _space: FeatureSpace
    _tables: LearnedTables | None

    def predict_proba(self, X: Any) -> Array:
        """p(y | x), shape (N, K): what the model says of an item, whatever was answered about it.

        Single precision where X is. Raises ValueError where X is not finite or has other columns than were fitted.
        """
        check_is_fitted(self, "coef_")
        features = check_features_of(self, X)
        P = np.empty((len(features), len(self.coef_)), features.dtype)
        for rows in blocks(len(features)):
            P[rows] = softmax(self._space.transform(features[rows]) @ self.coef_.T + self.intercept_, axis=1)
        return P

    def predict(self, X: Any) -> Array:
        """Most probable cluster of every row of X."""
        labels: Array = self.predict_proba(X).argmax(axis=1)
        return labels

    def answer_table(self, kind: Kind = "relative", labeler: object = None) -> Array:
        """P(answer | pattern), shape (5, A), of a labeler; of nobody in particular the mean of those learned.

        With labeler_tables="fixed", or where nothing of the kind was answered, the epsilon table (Table I).
        """
        check_is_fitted(self, "coef_")
        learned = None if self._tables is None else self._tables.table(kind, labeler)
        return answer_table(kind, self.epsilon) if learned is None else learned

    def tables_of_asked(self, kind: Kind = "relative", labeler: object = None) -> Array:
        """P(answer | pattern) of those who may be asked next, (5, L A): of a labeler, or with None of anyone.

        Anyone are those whose tables were learned, side by side, each times their share of the answers: whose answer
        it is will be known, so that it tells more than one under their mean.
        """
        anyone = None if self._tables is None or labeler is not None else self._tables.of_anyone(kind)
        return self.answer_table(kind, labeler) if anyone is None else anyone

    def predict_answers(self, X: Any, triplets: Any, kinds: Any = None, labeler: object = None) -> Array:
        """P(answer) of questions of one kind: columns yes, no, dnk, or 1, 2, 3, dnk for outlier questions.

        `labeler` asks how that person would answer, where tables were learned.
        """
        P = self.predict_proba(X)
        places = read_triplets(triplets, len(P))
        codes = read_kinds(kinds, len(places))
        if len(set(codes.tolist())) > 1:
            raise ValueError("kinds must be one kind here: relative and outlier questions have different answers")
        kind = KINDS[codes[0]] if len(codes) else KINDS[0]
        return answer_probabilities(P, places, self.answer_table(kind, labeler))

    def score_answers(
        self, X: Any, triplets: Any, answers: Any, kinds: Any = None, labelers: Iterable[object] | None = None
    ) -> float:
        """Mean log probability of given answers under p(y | x) in nats; higher is better, 0 is perfect.

        Repeated answers all count. `labelers` says whose they are, where tables were learned.
        """
        P = self.predict_proba(X)
        n_rows = len(read_triplets(triplets, len(P)))
        people = [None] * n_rows if labelers is None else list(labelers)
        rows = range(len(people))  # each row its own labeler: none is merged
        constraints = read_constraints(triplets, answers, kinds, rows, n_items=len(P))
        total = 0.0
        for name in dict.fromkeys(people):
            theirs = constraints.select(np.array([other == name for other in people]))
            total += log_likelihood(
                P,
                theirs.triplets,
                theirs.answers,
                theirs.kinds,
                partial(self._possible_table, labeler=name),
            )
        return total / max(len(constraints), 1)

    def _possible_table(self, kind: Kind, labeler: object) -> Array:
        """The labeler's table without zeros: hard answers can be wrong all the same."""
        table: Array = np.maximum(self.answer_table(kind, labeler), HARD_EPSILON / 2)
        return table

    def state_arrays(self) -> dict[str, Array]:
        """The fitted model as plain arrays for `numpy.savez`; see `set_state_arrays`."""
        check_is_fitted(self, "coef_")
        arrays = {name: np.asarray(getattr(self, name)) for name in _STATE}
        if self._space.kernel is not None:
            arrays |= self._space.kernel.to_arrays()
        if self._tables is not None:
            arrays |= self._tables.to_arrays()
        return arrays

    def set_state_arrays(self, arrays: Mapping[str, Array]) -> Self:
        """Become the model saved by `state_arrays`, in any process: to predict, or to refit with warm_start=True.

        The parameters are not part of the arrays: the kernel has to be the one that was fitted.
        """
        if (self.kernel is not None) != ("kernel_points" in arrays):
            raise ValueError("the arrays are those of a model with another kernel")
        kernel = None
        if self.kernel is not None:
            kernel = FeatureMap.from_arrays(self.kernel, self.kernel_params or {}, arrays)
        self._settle(
            FeatureSpace(arrays["mean_"], arrays["scale_"], kernel),
            LearnedTables.from_arrays(arrays) if "tables" in arrays else None,
        )
        for name in ("coef_", "intercept_", "posterior_", "constrained_"):
            setattr(self, name, arrays[name])
        self.lower_bound_ = float(arrays["lower_bound_"])
        self.labels_ = arrays["labels_"] if "labels_" in arrays else self.posterior_.argmax(axis=1)
        return self

    def _settle(self, space: FeatureSpace, tables: LearnedTables | None) -> None:
        """Take over the coordinates and, where they were learned, the labelers' tables."""
        self._space, self._tables = space, tables
        self.mean_, self.scale_, self.n_features_in_ = space.mean, space.scale, len(space.mean)
        if tables is not None:
            self.labeler_tables_ = tables.by_labeler()
            self.labeler_quality_ = tables.quality()
            self.labeler_accuracy_ = tables.accuracy()
