"""Suggestions of questions to ask next: informative ones, and in the long run about every item.

The value of a question is the mutual information of its answer and the pattern of its three items, under the posterior
of a fit and the table of the labeler. `pool.py` makes the questions to choose from, `policy.py` chooses.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.random import Generator
from sklearn.utils.validation import check_is_fitted

from tercet_algorithms.answers.exemplars import exemplars
from tercet_algorithms.answers.patterns import (
    ANSWERS,
    Array,
    Kind,
    answer_table,
    check_probabilities,
    expected_information,
)
from tercet_algorithms.answers.policy import Batch, least_asked, most_informative, rankings
from tercet_algorithms.answers.pool import draw_pool, random_questions
from tercet_algorithms.answers.reading import read_triplets

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
# Random questions that the expected information of a random question is estimated from.
_DRAWN = 20_000
# An outlier question is the same with any of its three items first.
_MOST_EQUAL = 3


class PoolInformation(NamedTuple):
    """The expected information of one more answer, in nats: of random questions and of the best of many."""

    mean: float
    best: float
    quantiles: dict[float, float]  # share of the random questions -> the information that they do not exceed


class FittedModel(Protocol):
    """A fitted estimator with posteriors of its items and tables of its labelers."""

    posterior_: Array  # (N, K)

    def tables_of_asked(self, kind: Kind = "relative", labeler: object = None) -> Array:
        """Return P(answer | pattern), shape (5, L A), of one labeler or, with None, of anyone."""


class QuestionSuggestion:
    """Adds suggestions of questions to an estimator that is a `FittedModel` once fitted."""

    def suggest(
        self: FittedModel,
        n: int = 10,
        *,
        kind: Kind = "relative",
        candidates: Any = None,
        labeler: object = None,
        asked: Any = None,
        pending: Any = None,
        about: Any = None,
        typical: Any = None,
        X: Any = None,
        random_state: Any = None,
    ) -> tuple[Array, Array]:
        """Suggest questions about the fitted items that are worth asking next.

        Parameters
        ----------
        n, kind, candidates, asked, pending, about, typical, X, random_state :
            See `tercet_algorithms.answers.questions.suggest`.
        labeler : object, optional
            Who will be asked, where tables were learned; None for any one of those labelers.

        Returns
        -------
        triplets : array of int, shape (n, 3)
        information : array of shape (n,)
            Expected information of an answer to each, in nats.

        Raises
        ------
        ValueError
            Where an argument has a wrong shape or range, naming it.
        """
        check_is_fitted(self, "posterior_")
        table = self.tables_of_asked(kind, labeler)
        return suggest(
            self.posterior_,
            table,
            n,
            kind=kind,
            candidates=candidates,
            asked=asked,
            pending=pending,
            about=about,
            typical=typical,
            X=X,
            random_state=random_state,
        )

    def expected_information(
        self: FittedModel, *, kind: Kind = "relative", labeler: object = None, random_state: Any = None
    ) -> PoolInformation:
        """Return the expected information of one more answer; it falls as the posterior becomes sure.

        Parameters
        ----------
        kind : "relative" or "outlier"
        labeler : object, optional
            Who will be asked, where tables were learned; None for any one of those labelers.
        random_state : int, numpy Generator or None

        Returns
        -------
        PoolInformation
            In nats: mean and quantiles of random questions, and the best of many.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self, "posterior_")
        rng = np.random.default_rng(random_state)
        return expected_information_of_pool(self.posterior_, self.tables_of_asked(kind, labeler), rng, kind=kind)


def suggest(
    posterior: Any,
    table: Any,
    n: int = 10,
    *,
    kind: Kind = "relative",
    candidates: Any = None,
    asked: Any = None,
    pending: Any = None,
    about: Any = None,
    typical: Any = None,
    X: Any = None,
    random_state: Any = None,
) -> tuple[Array, Array]:
    """Return questions to ask: in turns the most informative one and one about an item that was seldom asked about.

    The most informative ones are chosen from questions that compare an item with exemplars of two of its likeliest
    clusters, questions whether a cluster should be split or two clusters merged, and random questions. As long as
    possible each question is about another item.

    Parameters
    ----------
    posterior : (N, K) array
        P(cluster) of every item; items are assumed to be independent given the posterior.
    table : (5, A) array
        P(answer | pattern) of the labeler who will be asked, see `patterns.answer_table`. Where L labelers are
        possible, their tables side by side, (5, L A), each times the probability of the labeler.
    n : int
        Number of triplets; fewer are returned only where there are no more.
    kind : "relative" or "outlier"
    candidates : (C, 3) array of item positions, optional
        The only questions that may be suggested; the first item of each is the one that it is about.
    asked : (E, 3) array of item positions, optional
        Triplets that were asked before. They are not suggested again, whatever the order of left and right, and items
        that are in few of them are preferred.
    pending : (E, 3) array of item positions, optional
        Triplets that were asked, but whose answers are not in the posterior yet: questions about the same items come
        later.
    about : (m,) array of item positions, optional
        The only items that questions may be about; the two other items may be any. None or an empty array is all.
    typical : (m,) array of item positions, optional
        Items that stand for their likeliest clusters in questions before all others.
    X : (N, D) array, optional
        Features of the items, all columns in one scale. Whether a cluster should be split is then asked about two of
        its items that are far apart.
    random_state : int, numpy Generator or RandomState, or None

    Returns
    -------
    triplets : (n, 3) item positions in the order in which to ask them, left < right (outlier: all three ascending)
    information : (n,) mutual information of answer and pattern in nats, between 0 and log A

    Raises
    ------
    ValueError
        Where an argument has a wrong shape or range, naming it.
    """
    P, rows = _check(posterior, table, kind)
    places = None if X is None else _check_places(X, len(P))
    named = _check_items("about", about, len(P))
    items = named if len(named) else np.arange(len(P))
    stand_for = _check_items("typical", typical, len(P))
    if n < 0:
        raise ValueError(f"n must be at least 0, got {n}")
    rng = np.random.default_rng(random_state)
    answered, waiting = (read_triplets(triplets, len(P)) for triplets in (asked, pending))
    batch = Batch(P, kind, n, answered, waiting)
    before = np.concatenate([answered, waiting])
    times_asked = np.bincount(before.ravel(), minlength=len(P))
    if candidates is None:
        examples = exemplars(P, times_asked, stand_for)
        batch.by_turns(*rankings(P, rows, times_asked, places, items, examples, rng))
        if len(batch.chosen) < n:
            more = random_questions(len(P), _MOST_EQUAL * (2 * n + len(before)), items, rng)
            batch.fill(most_informative(P, rows, more))
    else:
        informative = most_informative(P, rows, read_triplets(candidates, len(P)))
        batch.by_turns(informative, least_asked(informative, times_asked))
        batch.fill(informative)
    return np.array(batch.chosen, dtype=np.int64).reshape(-1, 3), np.array(batch.information)


def expected_information_of_pool(
    posterior: Any, table: Any, rng: Generator, *, kind: Kind = "relative"
) -> PoolInformation:
    """Return the expected information of an answer, in nats: mean and quantiles of random questions, and the best.

    It tells how much there is still to learn, and how much suggested questions gain over random ones: say 0.4 nats
    over 0.05. All are 0 with fewer than three items, which make no question.
    """
    P, rows = _check(posterior, table, kind)
    if len(P) < 3:
        return PoolInformation(0.0, 0.0, dict.fromkeys(_QUANTILES, 0.0))
    everything = np.arange(len(P))
    drawn = expected_information(P, random_questions(len(P), _DRAWN, everything, rng), rows)
    examples = exemplars(P, np.zeros(len(P)))
    best = expected_information(P, draw_pool(P, examples, None, everything, rng), rows).max()
    quantiles = dict(zip(_QUANTILES, np.quantile(drawn, _QUANTILES).tolist(), strict=True))
    return PoolInformation(float(drawn.mean()), float(max(drawn.max(), best)), quantiles)


def _check_places(X: Any, n_items: int) -> Array:
    places = np.asarray(X)
    if places.ndim != 2 or len(places) != n_items:
        raise ValueError(f"X must have shape ({n_items}, D), a row for each item, got {places.shape}")
    return places


def _check_items(name: str, items: Any, n_items: int) -> Array:
    """Return the different positions that an argument holds."""
    positions = np.unique(np.asarray([] if items is None else items))
    if not len(positions):
        return positions.astype(np.int64)
    if not np.issubdtype(positions.dtype, np.integer) or positions[0] < 0 or positions[-1] >= n_items:
        raise ValueError(f"{name} must hold item positions from 0 to {n_items - 1}")
    return positions


def _check(posterior: Any, table: Any, kind: Kind) -> tuple[Array, Array]:
    if kind not in ANSWERS:
        raise ValueError(f"kind must be 'relative' or 'outlier', got {kind!r}")
    P, rows = np.asarray(posterior), np.asarray(table)
    if P.ndim != 2 or not np.issubdtype(P.dtype, np.floating):
        raise ValueError(f"posterior must be a float array of shape (N, K), got {P.dtype} of shape {P.shape}")
    expected = answer_table(kind, 0.0).shape
    if rows.ndim != 2 or len(rows) != expected[0] or not rows.shape[1] or rows.shape[1] % expected[1]:
        raise ValueError(f"table of {kind} questions must have shape {expected}, got {rows.shape}")
    check_probabilities("posterior", P, 1e-3)
    return P, rows
