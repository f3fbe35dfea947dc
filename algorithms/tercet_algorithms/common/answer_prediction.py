"""What estimators derive from probabilities of clusters: clusters, predicted answers and scores."""

import warnings
from collections.abc import Iterable
from functools import partial
from typing import Any, Protocol

import numpy as np

from tercet_algorithms.answers.metrics import answers_satisfied
from tercet_algorithms.answers.patterns import Array, Kind, answer_probabilities, log_likelihood
from tercet_algorithms.answers.reading import read_constraints, read_kind, read_triplets
from tercet_algorithms.common.features import check_no_target, row_names

# No answer is impossible: one that hard answers rule out is given at least this probability.
_SMALLEST = 5e-7


class ClusterPredictor(Protocol):
    """An estimator that knows how likely each cluster is for an item, and how people answer."""

    def predict(self, X: Any) -> Array:
        """Return the most probable cluster of every row of X, (N,); `AnswerPrediction` has it."""

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every cluster for every row of X, (N, K)."""

    def answer_table(self, kind: Kind = "relative", labeler: object = None) -> Array:
        """Return P(answer | pattern), (5, A), of a labeler."""


class AnswerPrediction:
    """Adds `predict`, `predict_answers`, `score_answers` and `score` to an estimator with probabilities of clusters."""

    def predict(self: ClusterPredictor, X: Any) -> Array:
        """Return the most probable cluster of every row of X.

        Parameters
        ----------
        X : array-like or DataFrame of shape (N, D)
            As in `predict_proba`.

        Returns
        -------
        array of int, shape (N,)

        Raises
        ------
        ValueError
            Where X is not finite or has other columns than were fitted.
        """
        labels: Array = self.predict_proba(X).argmax(axis=1)
        return labels

    def predict_answers(
        self: ClusterPredictor, X: Any, triplets: Any, kinds: Any = None, labeler: object = None
    ) -> Array:
        """Return the probabilities of the answers to questions about rows of X.

        Parameters
        ----------
        X : array-like of shape (N, D)
        triplets : array-like of shape (M, 3)
            Anchor, left and right of each question: rows of X, or names from the index of a DataFrame.
        kinds : str or array-like of str, shape (M,), optional
            All "relative" (also where None) or all "outlier".
        labeler : object, optional
            Who is asked, where tables of labelers were learned.

        Returns
        -------
        array of shape (M, A)
            Columns yes, no, dnk; or 1, 2, 3, dnk for outlier questions.

        Raises
        ------
        ValueError
            With the row and value that is wrong, or where the kinds differ.
        """
        P = self.predict_proba(X)
        places = read_triplets(triplets, len(P), row_names(X))
        return answer_probabilities(P, places, self.answer_table(read_kind(kinds, len(places)), labeler))

    def score_answers(
        self: ClusterPredictor,
        X: Any,
        triplets: Any,
        answers: Any,
        kinds: Any = None,
        labelers: Iterable[object] | None = None,
        weights: Any = None,
    ) -> float:
        """Return the mean log probability of answers in nats; higher is better, 0 is perfect.

        Parameters
        ----------
        X, triplets, answers, kinds, labelers, weights :
            As in `fit`; repeated answers all count. `labelers` says whose tables to use, where these were learned.

        Returns
        -------
        float
            The mean under p(y | x), weighted by `weights`; 0 where nothing counts.

        Raises
        ------
        ValueError
            With the row and value that is wrong.
        """
        P = self.predict_proba(X)
        constraints = read_constraints(
            triplets, answers, kinds, labelers, weights, n_items=len(P), item_names=row_names(X), merge=False
        )
        codes = constraints.labeler_codes()
        total = 0.0
        for code, labeler in enumerate(constraints.names):
            rows = constraints.select(codes == code)
            table_of = partial(_table_without_zeros, self, labeler)
            total += log_likelihood(P, rows.triplets, rows.answers, rows.kinds, table_of, rows.weights)
        return float(total / max(constraints.counts().sum(), np.finfo(np.float64).tiny))

    def score(
        self: ClusterPredictor,
        X: Any,
        y: None = None,
        *,
        triplets: Any = None,
        answers: Any = None,
        kinds: Any = None,
        weights: Any = None,
    ) -> float:
        """Return the share of answers that people sorting by the predicted clusters would give.

        Parameters
        ----------
        X : array-like of shape (N, D)
        y : None
            Not used, as in `fit`: a value for each item gives a warning, anything else ValueError.
        triplets, answers, kinds, weights :
            Answers about the rows of X, best ones that `fit` has not had; as in `fit`.

        Returns
        -------
        float in [0, 1]
            Weighted by `weights`; 0 where nothing counts, with a warning where there are no answers at all.

        Raises
        ------
        ValueError
            With the row and value that is wrong.
        """
        labels = self.predict(X)
        check_no_target(y, len(labels))
        if triplets is None:
            warnings.warn("score counts answers, and got none: pass triplets= and answers=", UserWarning, stacklevel=2)
        return answers_satisfied(labels, triplets, answers, kinds, weights, item_names=row_names(X))


def _table_without_zeros(estimator: ClusterPredictor, labeler: object, kind: Kind) -> Array:
    table: Array = np.maximum(estimator.answer_table(kind, labeler), _SMALLEST)
    return table
