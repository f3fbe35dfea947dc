"""What to ask next: questions whose answers are expected to tell much, about every item in the course of time.

An answer is worth the mutual information between it and the pattern of its three items, under what a fit believes
and under the table by which the labeler answers. `policy.py` says which questions are taken, `pool.py` among which.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.random import Generator
from sklearn.utils.validation import check_is_fitted

from tercet_algorithms.answers.exemplars import exemplars
from tercet_algorithms.answers.patterns import ANSWERS, Array, Kind, answer_table, expected_information
from tercet_algorithms.answers.policy import Batch, least_asked, most_telling, rankings
from tercet_algorithms.answers.pool import draw_pool, random_questions
from tercet_algorithms.answers.reading import read_triplets

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
# So many random questions say what a random one is expected to tell.
_DRAWN = 20_000
# An outlier question is the same with any of its items first.
_MOST_EQUAL = 3


class PoolInformation(NamedTuple):
    """What one more answer is expected to tell, in nats: to a random question and to the best of many."""

    mean: float
    best: float
    quantiles: dict[float, float]  # share of the random questions -> the information they stay below


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
        X: Any = None,
        random_state: Any = None,
    ) -> tuple[Array, Array]:
        """Suggest questions about the fitted items that are worth asking next.

        Parameters
        ----------
        n, kind, candidates, asked, pending, about, X, random_state :
            See `tercet_algorithms.answers.questions.suggest`.
        labeler : object, optional
            Who will be asked, where tables were learned; None for any of those.

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
            X=X,
            random_state=random_state,
        )

    def expected_information(
        self: FittedModel, *, kind: Kind = "relative", labeler: object = None, random_state: Any = None
    ) -> PoolInformation:
        """Return what one more answer is expected to tell; it falls as a fit becomes sure.

        Parameters
        ----------
        kind : "relative" or "outlier"
        labeler : object, optional
            Who will be asked, where tables were learned; None for any of those.
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
    X: Any = None,
    random_state: Any = None,
) -> tuple[Array, Array]:
    """Return questions that are worth asking, by turns one that is expected to tell most and one about a new item.

    The first are chosen among items between exemplars of two of their likeliest clusters, questions whether a
    cluster is to be split or two are to be merged, and random ones; the others are about items that were asked about
    least. While there are enough, each is about another item.

    Parameters
    ----------
    posterior : (N, K) array
        P(cluster) of every item; items are taken to be independent given the posterior.
    table : (5, A) array
        P(answer | pattern) of the labeler who will be asked, see `patterns.answer_table`. Where that may be one of L,
        their tables side by side, (5, L A), each times the probability that it is they.
    n : int
        Number of triplets; fewer are returned only where there are no more.
    kind : "relative" or "outlier"
    candidates : (C, 3) array of item positions, optional
        The only questions that may be suggested, the item that each is about first.
    asked : (E, 3) array of item positions, optional
        Triplets that were asked already. None is suggested again in any order of left and right, and items that are
        in few of them come the sooner.
    pending : (E, 3) array of item positions, optional
        Triplets that were asked, but whose answers the posterior does not know yet: the items that they are about
        come later.
    about : (m,) array of item positions, optional
        The only items that questions may be about; the two that such an item is compared with may be any. None is
        all, and so is an empty array.
    X : (N, D) array, optional
        Where items lie, its columns in one scale: members of a cluster that lie far apart say best whether it is two.
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
    items = _check_items(about, len(P))
    if n < 0:
        raise ValueError(f"n must be at least 0, got {n}")
    rng = np.random.default_rng(random_state)
    answered, waiting = (read_triplets(triplets, len(P)) for triplets in (asked, pending))
    batch = Batch(P, kind, n, answered, waiting)
    before = np.concatenate([answered, waiting])
    times_asked = np.bincount(before.ravel(), minlength=len(P))
    if candidates is None:
        batch.by_turns(*rankings(P, rows, times_asked, places, items, rng))
        if len(batch.chosen) < n:
            more = random_questions(len(P), _MOST_EQUAL * (2 * n + len(before)), items, rng)
            batch.fill(most_telling(P, rows, more))
    else:
        telling = most_telling(P, rows, read_triplets(candidates, len(P)))
        batch.by_turns(telling, least_asked(telling, times_asked))
        batch.fill(telling)
    return np.array(batch.chosen, dtype=np.int64).reshape(-1, 3), np.array(batch.information)


def expected_information_of_pool(
    posterior: Any, table: Any, rng: Generator, *, kind: Kind = "relative"
) -> PoolInformation:
    """Return what an answer is expected to tell, in nats: mean and quantiles of random questions, and the best.

    "An answer to the best question is expected to tell 0.4 nats, one to a random question 0.05" says how much is
    still to be learned and what suggestions gain. Nothing (0) where fewer than three items leave no question.
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


def _check_items(about: Any, n_items: int) -> Array:
    """Return the different items that are named, or all."""
    named = np.unique(np.asarray([] if about is None else about))
    if not len(named):
        return np.arange(n_items)
    if not np.issubdtype(named.dtype, np.integer) or named[0] < 0 or named[-1] >= n_items:
        raise ValueError(f"about must hold item positions from 0 to {n_items - 1}")
    return named


def _check(posterior: Any, table: Any, kind: Kind) -> tuple[Array, Array]:
    if kind not in ANSWERS:
        raise ValueError(f"kind must be 'relative' or 'outlier', got {kind!r}")
    P, rows = np.asarray(posterior), np.asarray(table)
    if P.ndim != 2 or not np.issubdtype(P.dtype, np.floating):
        raise ValueError(f"posterior must be a float array of shape (N, K), got {P.dtype} of shape {P.shape}")
    expected = answer_table(kind, 0.0).shape
    if rows.ndim != 2 or len(rows) != expected[0] or not rows.shape[1] or rows.shape[1] % expected[1]:
        raise ValueError(f"table of {kind} questions must have shape {expected}, got {rows.shape}")
    if not (np.isfinite(P).all() and (P >= 0).all() and np.allclose(P.sum(axis=1), 1, atol=1e-3)):
        raise ValueError("posterior must hold probabilities: rows of numbers of at least 0 that sum to 1")
    return P, rows
