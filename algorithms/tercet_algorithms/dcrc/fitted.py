"""The methods of a fitted DCRC: predicting clusters and answers, and saving and loading the model as plain arrays.

They need neither the items and answers of the fit nor its search, so they work the same in the process that fitted and
in one that has only loaded the arrays.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, Self

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from tercet_algorithms.answers.patterns import Array, Errors, Kind, answer_table
from tercet_algorithms.common.answer_prediction import AnswerPrediction
from tercet_algorithms.common.feature_space import FeatureSpace, blocks
from tercet_algorithms.common.features import check_features_of
from tercet_algorithms.common.graph import GraphMap
from tercet_algorithms.common.kernels import FeatureMap, Kernel
from tercet_algorithms.dcrc.candidates import FEATURES, Weighing
from tercet_algorithms.dcrc.labeler_tables import LearnedTables

_STATE = ("coef_", "intercept_", "mean_", "scale_", "posterior_", "constrained_", "lower_bound_", "labels_")
# The belief, and how many answers there were when it was chosen; arrays of older versions lack these.
_BELIEF = ("epsilon_", "answer_weight_", "_answers_at_choice")


class HasFittedDCRC(Protocol):
    """An estimator that has a fitted DCRC, or is one."""

    def _fitted(self) -> "FittedDCRC":
        """Return the fitted model; raise NotFittedError where there is none."""


class DCRCPrediction(AnswerPrediction):
    """The predictions of a fitted DCRC, shared with `DCRCCV`, whose best estimator is one."""

    def predict_proba(self: HasFittedDCRC, X: Any) -> Array:
        """Return p(y | x) of the model alone, without the answers about an item.

        Parameters
        ----------
        X : array-like or DataFrame of shape (N, D)

        Returns
        -------
        array of shape (N, K)
            Single precision where X is.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            Where X is not finite or has other columns than were fitted.
        """
        model = self._fitted()
        return model._probabilities(check_features_of(self, X))

    def answer_table(self: HasFittedDCRC, kind: Kind = "relative", labeler: object = None) -> Array:
        """Return P(answer | pattern) of a labeler.

        Parameters
        ----------
        kind : "relative" or "outlier"
        labeler : object, optional
            One of the labelers of `fit`; for any other, the mean of the learned tables is returned.

        Returns
        -------
        array of shape (5, A)
            The epsilon table (Table I) with labeler_tables="fixed", or where no question of the kind was answered.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        model = self._fitted()
        learned = None if model._tables is None else model._tables.table(kind, labeler)
        return answer_table(kind, model.epsilon_) if learned is None else learned

    def tables_of_asked(self: HasFittedDCRC, kind: Kind = "relative", labeler: object = None) -> Array:
        """Return P(answer | pattern) of those who may be asked next.

        Parameters
        ----------
        kind : "relative" or "outlier"
        labeler : object, optional
            Who will be asked; None for any one of those whose tables were learned.

        Returns
        -------
        array of shape (5, L A)
            For one labeler the table, L = 1. For None the L learned tables side by side, each times its labeler's share
            of the answers: the labeler will be known together with the answer, which is more informative than an answer
            under the mean table.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        model = self._fitted()
        anyone = None if model._tables is None or labeler is not None else model._tables.of_anyone(kind)
        return model.answer_table(kind, labeler) if anyone is None else anyone


class FittedDCRC(DCRCPrediction):
    """The part of DCRC that needs only the results of a fit."""

    epsilon: Errors | Literal["auto"]
    epsilon_: Errors
    answer_weight_: float
    kernel: Kernel | None
    kernel_params: Mapping[str, Any] | None
    coef_: Array
    intercept_: Array
    posterior_: Array
    _space: FeatureSpace
    _models: dict[str, Array]
    _weighing: Weighing
    _tables: LearnedTables | None

    def state_arrays(self) -> dict[str, Array]:
        """Return the fitted model as plain arrays for `numpy.savez`; see `set_state_arrays`.

        Returns
        -------
        dict of str to array

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self, "coef_")
        arrays = {name: np.asarray(getattr(self, name)) for name in _STATE}
        arrays |= {name: np.asarray(getattr(self, name)) for name in _BELIEF if hasattr(self, name)}
        if self._space.kernel is not None:
            arrays |= self._space.kernel.to_arrays()
        if self._weighing.n_answers:
            arrays |= self._weighing.to_arrays()
            arrays |= {f"model_{self._weighing.names.index(name)}": W for name, W in self._models.items()}
        if self._tables is not None:
            arrays |= self._tables.to_arrays()
        return arrays

    def set_state_arrays(self, arrays: Mapping[str, Array]) -> Self:
        """Load the model saved by `state_arrays`, in any process: to predict, or to refit with warm_start=True.

        Parameters
        ----------
        arrays : mapping of str to array
            They do not hold the parameters: `kernel` must be set as in the saved model.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Where the arrays are those of a model with another kernel.
        """
        if (self.kernel is not None) != ("kernel_points" in arrays):
            raise ValueError("the arrays are those of a model with another kernel")
        kernel: FeatureMap | GraphMap | None = None
        if "graph_points" in arrays:
            kernel = GraphMap.from_arrays(arrays)
        elif self.kernel is not None:
            kernel = FeatureMap.from_arrays(self.kernel, self.kernel_params or {}, arrays)
        self._store_space(
            FeatureSpace(arrays["mean_"], arrays["scale_"], kernel),
            LearnedTables.from_arrays(arrays) if "tables" in arrays else None,
        )
        for name in ("coef_", "intercept_", "posterior_", "constrained_"):
            setattr(self, name, arrays[name])
        self._weighing = Weighing.from_arrays(arrays)
        self.candidate_weights_ = self._weighing.by_name()
        stored = {name: f"model_{number}" for number, name in enumerate(self._weighing.names)}
        self._models = {name: arrays[key] for name, key in stored.items() if key in arrays}
        if not self._weighing.n_answers:
            self._models = {FEATURES: np.column_stack([self.coef_, self.intercept_])}
        self.epsilon_ = "people" if self.epsilon == "auto" else self.epsilon
        for name in _BELIEF:
            if name in arrays:
                setattr(self, name, arrays[name].item())
        self.lower_bound_ = float(arrays["lower_bound_"])
        self.labels_ = arrays["labels_"] if "labels_" in arrays else self.posterior_.argmax(axis=1)
        return self

    def _fitted(self) -> "FittedDCRC":
        check_is_fitted(self, "coef_")
        return self

    def _probabilities(self, features: Array) -> Array:
        """Return p(y | x) of checked features, (N, K)."""
        P = np.empty((len(features), len(self.coef_)), features.dtype)
        for rows in blocks(len(features)):
            P[rows] = softmax(self._space.transform(features[rows]) @ self.coef_.T + self.intercept_, axis=1)
        return P

    def _store_space(self, space: FeatureSpace, tables: LearnedTables | None) -> None:
        """Set the coordinates and, where they were learned, the labelers' tables."""
        self._space, self._tables = space, tables
        self.mean_, self.scale_, self.n_features_in_ = space.mean, space.scale, len(space.mean)
        if tables is not None:
            self.labeler_tables_ = tables.by_labeler()
            self.labeler_quality_ = tables.quality()
            self.labeler_accuracy_ = tables.accuracy()
