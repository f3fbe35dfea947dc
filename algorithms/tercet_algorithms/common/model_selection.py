"""Answers as samples, so that scikit-learn's model selection works over them.

`GridSearchCV` and its kin divide samples, and what can be held out here are answers, not items: items stay, the same
for every fold. So `TripletEstimator` binds the items at construction and takes triplets in the place of X and answers
in the place of y, and `TripletSplit` divides them so that no question is asked in two folds.
"""

import sys
from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from tercet_algorithms.answers.patterns import KINDS, Array, Kind
from tercet_algorithms.answers.reading import Constraints, read_constraints
from tercet_algorithms.common.parameters import RANDOM_STATE, Constraint, check_parameters, one_of


def questions_of(constraints: Constraints) -> Array:
    """Return a number for the question of each answer, (M,); an outlier question is the same in any order."""
    places = constraints.triplets.copy()
    outlier = constraints.kinds == KINDS.index("outlier")
    places[outlier] = np.sort(places[outlier], axis=1)
    return np.unique(np.column_stack([constraints.kinds, places]), axis=0, return_inverse=True)[1].ravel()


def answer_folds(constraints: Constraints, n_folds: int, rng: np.random.RandomState) -> list[Array]:
    """Return the rows held out in each fold: all answers to one question together, each answer spread evenly.

    There are as many folds as questions where these are fewer than `n_folds`, and none where there is only one.
    """
    questions = questions_of(constraints)
    first = np.unique(questions, return_index=True)[1]
    n_folds = min(n_folds, len(first))
    if n_folds < 2:
        return []
    order = rng.permutation(len(first))
    order = order[np.argsort(constraints.answers[first[order]], kind="stable")]
    fold_of = np.empty(len(first), dtype=np.int64)
    fold_of[order] = np.arange(len(first)) % n_folds
    return [np.flatnonzero(fold_of[questions] == number) for number in range(n_folds)]


class TripletSplit(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Cross-validation over answers: a splitter for scikit-learn whose samples are triplets.

    All answers to one question stay in one fold, and every fold gets its share of each answer.

    Parameters
    ----------
    n_splits : int
        Number of folds, at least 2.
    kind : "relative" or "outlier"
        Kind of all questions.
    random_state : int, RandomState or None

    Examples
    --------
    >>> from tercet_algorithms import TripletSplit
    >>> triplets = [[0, 1, 2], [0, 2, 1], [3, 4, 5], [1, 3, 5]]  # the second is the first, asked the other way round
    >>> answers = ["yes", "no", "dnk", "no"]
    >>> splitter = TripletSplit(3, random_state=0)
    >>> splitter.get_n_splits()
    3
    >>> sorted(test.tolist() for _, test in splitter.split(triplets, answers))
    [[0, 1], [2], [3]]
    """

    _parameter_constraints: ClassVar[dict[str, Constraint]] = {
        "n_splits": [Interval(Integral, 2, None, closed="left")],
        "kind": one_of(*KINDS),
        "random_state": RANDOM_STATE,
    }

    def __init__(self, n_splits: int = 5, *, kind: Kind = "relative", random_state: Any = None):
        self.n_splits = n_splits
        self.kind = kind
        self.random_state = random_state

    def split(self, triplets: Any, answers: Any, groups: None = None) -> Iterator[tuple[Array, Array]]:
        """Yield the rows to fit and the rows to judge by, fold by fold.

        Parameters
        ----------
        triplets : array-like of shape (M, 3)
            Positions or names of items.
        answers : array-like of shape (M,)
        groups : ignored
            There for scikit-learn's convention.

        Yields
        ------
        train, test : arrays of int

        Raises
        ------
        ValueError
            With the row and value that is wrong, or where fewer questions were answered than there are folds.
        """
        check_parameters(self)
        places = np.asarray(triplets)
        if not np.issubdtype(places.dtype, np.integer):
            places = np.unique(places, return_inverse=True)[1].reshape(places.shape)
        constraints = read_constraints(places, answers, self.kind, n_items=sys.maxsize, merge=False)
        folds = answer_folds(constraints, self.n_splits, check_random_state(self.random_state))
        if len(folds) < self.n_splits:
            n_questions = len(np.unique(questions_of(constraints)))
            raise ValueError(f"n_splits={self.n_splits} is more than the number of questions, {n_questions}")
        for test in folds:
            yield np.setdiff1d(np.arange(len(constraints)), test), test

    def get_n_splits(self, triplets: Any = None, answers: Any = None, groups: None = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        triplets, answers, groups : ignored
            There for scikit-learn's convention.

        Returns
        -------
        int
        """
        return self.n_splits


class TripletEstimator(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """An estimator of clusters as one whose samples are triplets and whose targets are answers.

    Parameters
    ----------
    estimator : DCRC, SKLR or the like
        Has `fit(X, triplets=, answers=, ...)`, `score` and `score_answers`. Its parameters are `estimator__tau` etc.
    items : array-like or DataFrame of shape (N, D)
        Features of the items that triplets are about.
    kind : "relative" or "outlier"
        Kind of all questions.

    Attributes
    ----------
    estimator_ : the fitted estimator

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from tercet_algorithms import DCRC, TripletEstimator, TripletSplit
    >>> rng = np.random.default_rng(0)
    >>> classes = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 2)) + 4 * classes[:, None]
    >>> triplets = np.array([rng.choice(40, 3, replace=False) for _ in range(60)])
    >>> like_left, like_right = (classes[triplets[:, [0]]] == classes[triplets[:, 1:]]).T
    >>> answers = like_left.astype(int) - like_right
    >>> model = TripletEstimator(DCRC(2, n_init=1, n_moves=0, random_state=0), X)
    >>> search = GridSearchCV(model, {"estimator__epsilon": [0.05, 0.3]}, cv=TripletSplit(3, random_state=0))
    >>> bool(search.fit(triplets, answers).best_score_ > 0.8)
    True
    >>> search.best_estimator_.estimator_.labels_.shape
    (40,)
    >>> bool(model.fit(triplets, answers).score(triplets, answers) > 0.8)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Constraint | str]] = {
        "estimator": [HasMethods(["fit", "score"])],
        "items": "no_validation",
        "kind": one_of(*KINDS),
    }

    def __init__(self, estimator: Any, items: Any, *, kind: Kind = "relative"):
        self.estimator = estimator
        self.items = items
        self.kind = kind

    def fit(
        self, triplets: Any, answers: Any, *, labelers: Iterable[object] | None = None, weights: Any = None
    ) -> Self:
        """Fit the estimator to the items and these answers.

        Parameters
        ----------
        triplets : array-like of shape (M, 3)
        answers, labelers, weights : array-likes of length M
            As in `DCRC.fit`.

        Returns
        -------
        self : TripletEstimator

        Raises
        ------
        ValueError
            With the row, value or parameter that is wrong.
        """
        check_parameters(self)
        optional = {"labelers": labelers, "weights": weights}
        optional = {name: values for name, values in optional.items() if values is not None}
        self.estimator_ = clone(self.estimator)
        self.estimator_.fit(self.items, triplets=triplets, answers=answers, kinds=self.kind, **optional)
        return self

    def score(self, triplets: Any, answers: Any, *, weights: Any = None) -> float:
        """Return the share of the answers that the predicted clusters satisfy, in [0, 1].

        Parameters
        ----------
        triplets : array-like of shape (M, 3)
        answers, weights : array-likes of length M
            As in `DCRC.score`.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            With the row and value that is wrong.
        """
        check_is_fitted(self, "estimator_")
        optional = {} if weights is None else {"weights": weights}
        share: float = self.estimator_.score(
            self.items, triplets=triplets, answers=answers, kinds=self.kind, **optional
        )
        return share


def answer_log_score(estimator: TripletEstimator, triplets: Any, answers: Any, *, weights: Any = None) -> float:
    """Return the mean log probability of answers in nats: a scorer for `GridSearchCV(scoring=answer_log_score)`.

    Unlike the share of satisfied answers it sees how sure a model is, so that it also tells apart values of epsilon.
    """
    check_is_fitted(estimator, "estimator_")
    optional = {} if weights is None else {"weights": weights}
    score: float = estimator.estimator_.score_answers(estimator.items, triplets, answers, estimator.kind, **optional)
    return score
