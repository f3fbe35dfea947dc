"""What separates a cluster from the other items: a measure's interval, or a value that most of them lack.

Only orders and counts are compared, so that units and other scales with the same order change nothing. The middle of a
cluster is its items between two of their order statistics. If the cluster did not differ, the share of further items
in that interval would have a beta distribution whatever the measure's distribution is (S. S. Wilks, Annals of
Mathematical Statistics 12, 1941), and the number of others in it a beta-binomial one; ties make that number larger, so
that the test errs on the side of silence. Values are compared by Fisher's exact test. Both go by the number of
comparisons (Bonferroni), so that one project in a hundred hears of any difference where there is none.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import betabinom, hypergeom

from tercet.runs.results import Array

LEVEL = 0.01  # probability that anything is said of clusters that do not differ in anything
TAIL = 0.1  # share of a cluster's items on either side of its interval
LEAST_OUTSIDE = 2 / 3  # share of the other items that lie outside an interval which separates
LEAST_RATIO = 2.0  # of the share of a cluster's items with a value to the share of the others


class Interval(NamedTuple):
    """The middle of a cluster in one measure, and the shares of the other items below and above it."""

    low: float
    median: float
    high: float
    below: float
    above: float

    @property
    def outside(self) -> float:
        """The share of the other items that lie outside."""
        return self.below + self.above


def telling_interval(values: Array, is_member: Array, n_comparisons: int) -> Interval | None:
    """Return the interval of a cluster's values, if it separates the cluster; values that are NaN are left out."""
    is_known = np.isfinite(values)
    members, others = np.sort(values[is_member & is_known]), values[~is_member & is_known]
    first = int(TAIL * (len(members) - 1))
    last = len(members) - 1 - first
    if last <= first or not len(others):
        return None
    low, high = members[first], members[last]
    below, above = int(np.count_nonzero(others < low)), int(np.count_nonzero(others > high))
    chance = betabinom.cdf(len(others) - below - above, len(others), last - first, len(members) + 1 - last + first)
    interval = Interval(*map(float, (low, np.median(members), high, below / len(others), above / len(others))))
    return interval if interval.outside >= LEAST_OUTSIDE and chance <= LEVEL / n_comparisons else None


def telling_values(counts: Array, sizes: Array, least_share: float) -> list[list[int]]:
    """Return the values that separate each cluster, the most telling first.

    That is by the difference of shares, times the logarithm of how rare the value is, as in class-based TF-IDF
    (M. Grootendorst, 2022): else words such as "my" came before "refund".

    Parameters
    ----------
    counts : ndarray of shape (K, V)
        How many items of each cluster have each value.
    sizes : ndarray of shape (K,)
        How many items each cluster has.
    least_share : float
        Share of a cluster's items that have to have a value.
    """
    n_items, all_with = int(sizes.sum()), counts.sum(axis=0)
    inside = counts / np.maximum(sizes, 1)[:, None]
    outside = (all_with - counts) / np.maximum(n_items - sizes, 1)[:, None]
    large = (inside >= least_share) & (inside >= LEAST_RATIO * outside) & (counts > 0)
    telling = []
    for cluster, size in enumerate(sizes.tolist()):
        candidates = np.flatnonzero(large[cluster])
        chances = hypergeom.sf(counts[cluster, candidates] - 1, n_items, all_with[candidates], size)
        sure = candidates[chances <= LEVEL / max(1, counts.size)]
        weights = (inside - outside)[cluster, sure] * np.log(n_items / all_with[sure])
        telling.append(sure[np.argsort(-weights, kind="stable")].tolist())
    return telling
