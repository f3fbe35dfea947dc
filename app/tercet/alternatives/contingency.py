"""How much two groupings of the same items share: the contingency table, and the mutual information in it.

The information is in bits, from the counts themselves. With few items and many groups even unrelated groupings share
some by chance; `chance` estimates it, and `shared` subtracts it.
"""

from dataclasses import dataclass

import numpy as np

from tercet.runs.results import Array

UNKNOWN = -1
# The words of the sentence, each from this value of `shared`.
DEGREES = ((0.9, "nearly everything"), (0.6, "most"), (0.25, "a part"), (0.05, "little"))


@dataclass(frozen=True)
class Relation:
    """Two groupings, A with R groups and B with C, over the items whose group is known in both."""

    counts: Array  # (R, C) items
    information: float  # I(A; B) in bits
    chance: float  # expected for unrelated groupings of these sizes, in bits
    entropies: tuple[float, float]  # H(A), H(B) in bits

    @property
    def items(self) -> int:
        """The number of items whose group is known in both."""
        return int(self.counts.sum())

    @property
    def nmi(self) -> float:
        """I / mean(H(A), H(B)): 0 for unrelated groupings of many items, 1 for the same."""
        mean = sum(self.entropies) / 2
        return self.information / mean if mean > 0 else 0.0

    @property
    def shared(self) -> float:
        """The NMI with chance subtracted, from 0 to 1."""
        most = sum(self.entropies) / 2 - self.chance
        return min(1.0, max(0.0, (self.information - self.chance) / most)) if most > 0 else 0.0


def relate(a: Array, b: Array, n_groups: tuple[int, int]) -> Relation:
    """Relate two arrays of group codes (N,), -1 where unknown; items that only the longer one has are left out."""
    common = min(len(a), len(b))
    a, b = a[:common].astype(np.int64), b[:common].astype(np.int64)
    in_both = (a != UNKNOWN) & (b != UNKNOWN)
    rows, columns = n_groups
    counts = np.bincount(a[in_both] * columns + b[in_both], minlength=rows * columns).reshape(rows, columns)
    entropies = entropy(counts.sum(axis=1)), entropy(counts.sum(axis=0))
    information = max(0.0, sum(entropies) - entropy(counts.ravel()))
    return Relation(counts, information, _by_chance(counts), entropies)


def entropy(sizes: Array) -> float:
    """Return the entropy H of groups of these sizes, in bits."""
    shares = sizes[sizes > 0] / max(1, sizes.sum())
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def _by_chance(counts: Array) -> float:
    """Return the expected information of unrelated groupings, (R - 1)(C - 1) / (2 N ln 2), without empty groups."""
    rows, columns = (max(1, int(np.count_nonzero(counts.sum(axis=axis)))) for axis in (1, 0))
    return float((rows - 1) * (columns - 1) / (2 * max(1, counts.sum()) * np.log(2)))


def sentence(relation: Relation) -> str:
    """Return what the figures mean, in a sentence."""
    most = min(relation.entropies)
    if most < 1e-9:
        return "One of them is a single group, so there is nothing that they could share."
    degree = next((words for least, words in DEGREES if relation.shared >= least), "almost nothing")
    chance = f" (chance alone gives {relation.chance:.2f})" if relation.chance >= 0.005 else ""
    return (
        f"They share {relation.information:.2f} of {most:.2f} bits{chance}: "
        f"knowing one tells you {degree} of the other."
    )
