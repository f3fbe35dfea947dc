"""What to ask next: triplets drawn by how much an answer is expected to tell, spread over items.

An answer is worth the mutual information between it and the pattern of its three items, under what a fit believes
and under the table by which the labeler answers. Taking simply the triplets worth most repeats a fit's mistakes: a
fit that is sure of a wrong cluster never asks about it again, and its suggestions can be worse than random ones.
So triplets are drawn with a probability that grows with their information, which asks about the uncertain most of
the time and about everything sometimes.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.random import Generator
from sklearn.utils.validation import check_is_fitted

from tercet_algorithms.answers.patterns import ANSWERS, Array, Kind, answer_table, expected_information
from tercet_algorithms.answers.reading import read_triplets

# This share of a pool is aimed at uncertain items: among a million items random triplets meet few of them.
_AIMED = 0.2
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


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
        n_candidates: int = 100_000,
        *,
        kind: Kind = "relative",
        candidates: Any = None,
        labeler: object = None,
        exclude: Any = None,
        most_per_item: int = 1,
        power: float = 1.0,
        random_state: Any = None,
    ) -> tuple[Array, Array]:
        """Suggest questions about the fitted items that are worth asking next.

        Parameters
        ----------
        n, n_candidates, kind, candidates, exclude, most_per_item, power, random_state :
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
        return suggest(
            self.posterior_,
            self.tables_of_asked(kind, labeler),
            n,
            n_candidates,
            kind=kind,
            candidates=candidates,
            exclude=exclude,
            most_per_item=most_per_item,
            power=power,
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
        """
        check_is_fitted(self, "posterior_")
        rng = np.random.default_rng(random_state)
        return expected_information_of_pool(self.posterior_, self.tables_of_asked(kind, labeler), rng, kind=kind)


def suggest(
    posterior: Any,
    table: Any,
    n: int = 10,
    n_candidates: int = 100_000,
    *,
    kind: Kind = "relative",
    candidates: Any = None,
    exclude: Any = None,
    most_per_item: int = 1,
    power: float = 1.0,
    random_state: Any = None,
) -> tuple[Array, Array]:
    """Return triplets that are worth asking about, drawn without replacement by expected information ** power.

    Parameters
    ----------
    posterior : (N, K) array
        P(cluster) of every item; items are taken to be independent given the posterior.
    table : (5, A) array
        P(answer | pattern) of the labeler who will be asked, see `patterns.answer_table`. Where that may be one of L,
        their tables side by side, (5, L A), each times the probability that it is they.
    n : int
        Number of triplets; fewer are returned only where there are no more.
    n_candidates : int
        Size of the pool they are drawn from: random triplets, and triplets of an uncertain item with likely members
        of its two most probable clusters.
    kind : "relative" or "outlier"
    candidates : (C, 3) array of item positions, optional
        The pool, instead of drawing one.
    exclude : (E, 3) array of item positions, optional
        Triplets not to be suggested, such as those already answered, in any order of left and right.
    most_per_item : int
        How often one item may occur in the suggestions as long as there are others: a second question about an item
        tells less once the first is answered. Raised where 3 n places are more than the items have.
    power : float
        0 draws uniformly, numpy.inf takes the best. The best are those of a fit that may be wrong; see the module.
    random_state : int, numpy Generator or RandomState, or None

    Returns
    -------
    triplets : (n, 3) item positions, most informative first, left < right (outlier: all three ascending)
    information : (n,) mutual information of answer and pattern in nats, between 0 and log A

    Raises
    ------
    ValueError
        Where an argument has a wrong shape or range, naming it.
    """
    P, rows = _check(posterior, table, kind)
    for name, value, least in (("n", n, 0), ("n_candidates", n_candidates, 1), ("most_per_item", most_per_item, 1)):
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")
    if not power >= 0:
        raise ValueError(f"power must be at least 0, got {power}")
    rng = np.random.default_rng(random_state)
    if candidates is None:
        pool = draw_pool(P, n_candidates, kind, rng)
    else:
        pool = _canonical(read_triplets(candidates, len(P)), kind)
    information = expected_information(P, pool, rows)
    order = np.argsort(-_keys(information, power, rng), kind="stable")
    excluded = set(map(tuple, _canonical(read_triplets(exclude, len(P)), kind).tolist()))
    chosen = order[_spread(pool[order], len(P), n, most_per_item, excluded)]
    chosen = chosen[np.argsort(-information[chosen], kind="stable")]
    return pool[chosen], information[chosen]


def expected_information_of_pool(
    posterior: Any, table: Any, rng: Generator, n_candidates: int = 20_000, *, kind: Kind = "relative"
) -> PoolInformation:
    """Return what an answer is expected to tell, in nats: mean and quantiles of random questions, and the best.

    "An answer to the best question is expected to tell 0.4 nats, one to a random question 0.05" says how much is
    still to be learned and what suggestions gain. Nothing (0) where fewer than three items leave no question.
    """
    P, rows = _check(posterior, table, kind)
    if len(P) < 3:
        return PoolInformation(0.0, 0.0, dict.fromkeys(_QUANTILES, 0.0))
    drawn = expected_information(P, _random(len(P), n_candidates, rng), rows)
    aimed = expected_information(P, draw_pool(P, n_candidates, kind, rng), rows)
    quantiles = dict(zip(_QUANTILES, np.quantile(drawn, _QUANTILES).tolist(), strict=True))
    return PoolInformation(float(drawn.mean()), float(max(drawn.max(), aimed.max())), quantiles)


def draw_pool(posterior: Array, n: int, kind: Kind, rng: Generator) -> Array:
    """Return about n different triplets, (n, 3), some aimed at uncertain items; all triplets where items are few."""
    n_items, n_clusters = posterior.shape
    if n > n_items * (n_items - 1) * (n_items - 2) // 4:
        return _canonical(_all_triplets(n_items), kind)
    n_aimed = int(_AIMED * n) if n_clusters > 1 else 0
    drawn = _random(n_items, n - n_aimed, rng)
    if n_aimed:
        drawn = np.concatenate([drawn, _aimed(posterior, n_aimed, rng)])
    return _canonical(drawn, kind)


def _random(n_items: int, n: int, rng: Generator) -> Array:
    """Return n random triplets, (n, 3), each of three different items."""
    drawn = rng.integers(n_items, size=(n, 3))
    while len(same := np.flatnonzero(_repeats(drawn))):
        drawn[same] = rng.integers(n_items, size=(len(same), 3))
    return drawn


def _repeats(triplets: Array) -> Array:
    """Return whether an item occurs twice in each triplet, shape (n,)."""
    repeated: Array = (triplets == np.roll(triplets, 1, axis=1)).any(axis=1)
    return repeated


def _all_triplets(n_items: int) -> Array:
    left, right = np.triu_indices(n_items, k=1)
    anchors = np.repeat(np.arange(n_items), len(left))
    every = np.column_stack([anchors, np.tile(left, n_items), np.tile(right, n_items)])
    return every[~_repeats(every)]


def _aimed(posterior: Array, n: int, rng: Generator) -> Array:
    """Return triplets of an uncertain item with a likely member of each of its two most probable clusters."""
    n_items = len(posterior)
    doubt = 1 - posterior.max(axis=1).astype(np.float64)
    least_sure = np.argsort(-doubt, kind="stable")[: max(n_items // 10, 1)]
    chances = doubt[least_sure] + 1e-9
    anchors = rng.choice(least_sure, n, p=chances / chances.sum())
    best_two = np.argsort(-posterior[anchors], axis=1)[:, :2]
    members = np.cumsum(posterior, axis=0, dtype=np.float64)
    heights = rng.random((n, 2)) * members[-1, best_two]
    others = np.empty((n, 2), np.int64)
    for cluster in range(posterior.shape[1]):
        in_cluster = best_two == cluster
        others[in_cluster] = np.searchsorted(members[:, cluster], heights[in_cluster]).clip(max=n_items - 1)
    aimed = np.column_stack([anchors, others])
    return aimed[~_repeats(aimed)]


def _canonical(triplets: Array, kind: Kind) -> Array:
    """Return different triplets with left < right; all three are sorted for outlier questions, which have no anchor."""
    places = triplets.copy()
    places[:, 0 if kind == "outlier" else 1 :].sort(axis=1)
    places = places[np.lexsort(places.T)]
    fresh = np.ones(len(places), dtype=bool)
    fresh[1:] = (places[1:] != places[:-1]).any(axis=1)
    different: Array = places[fresh]
    return different


def _keys(information: Array, power: float, rng: Generator) -> Array:
    """Return numbers whose largest are a draw without replacement by information ** power (the Gumbel-max trick)."""
    if np.isinf(power):
        return information
    logs = np.log(np.maximum(information, np.finfo(np.float64).tiny), dtype=np.float64)
    keys: Array = power * logs + rng.gumbel(size=len(information))
    return keys


def _spread(triplets: Array, n_items: int, n: int, most_per_item: int, excluded: set[tuple[int, ...]]) -> Array:
    """Return rows of the first n triplets that are not excluded, each item at most so often while others are left.

    Rows that were passed over fill the places that remain.
    """
    limit = max(most_per_item, -(-3 * n // max(n_items, 1)))
    used = [0] * n_items
    selected: list[int] = []
    passed: list[int] = []
    for row in range(len(triplets)):
        if len(selected) == n:
            break
        triplet = triplets[row].tolist()
        if excluded and tuple(triplet) in excluded:
            continue
        if any(used[item] >= limit for item in triplet):
            passed.append(row)
            continue
        for item in triplet:
            used[item] += 1
        selected.append(row)
    return np.array(selected + passed[: n - len(selected)], dtype=np.int64)


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
