"""Answers and links in the form that the E-step takes: triplets, each with log P(observation | pattern).

The likelihood of an answer or a link that counts w times is raised to the power w, so w multiplies its logarithm. A
must-link or cannot-link (a, b) is a triplet whose third item does not matter: with probability 1 - epsilon the link is
right about whether a and b are in one cluster, which they are where all three items are alike or only the third is
apart. Its messages to the third item and its product term are 0, so the third item can be a again, and no other item is
affected. Where b only stands for a cluster, no message goes to b either; see `stand_ins.py`.
"""

from dataclasses import dataclass

import numpy as np

from tercet_algorithms.answers.patterns import ALL_ALIKE, RIGHT_APART, Array, Errors, pair_log_odds
from tercet_algorithms.answers.reading import NO_PLACEMENTS, Constraints, Placements

# Bounds of the hard stage (epsilon = 0) are taken with this epsilon, so that a violated answer has a finite cost.
HARD_EPSILON = 1e-6
# A link is wrong with this probability where epsilon is "people".
LINK_EPSILON = 0.05


def link_table(epsilon: float) -> Array:
    """Return P(link | pattern), (5, 2), where the pair are the first two items of a triplet.

    The columns are must-link and cannot-link.
    """
    table = np.tile([epsilon, 1 - epsilon], (5, 1))
    table[[ALL_ALIKE, RIGHT_APART]] = 1 - epsilon, epsilon
    return table


@dataclass(frozen=True)
class PatternEvidence:
    """Answers and links about patterns of items."""

    constraints: Constraints  # M answers
    must_link: Array  # (L, 2) pairs of item positions
    cannot_link: Array
    answer_weight: float = 1.0  # power of every answer's likelihood
    link_weights: Array | None = None  # (L,) how much each link counts, must-links first; None: one
    placements: Placements = NO_PLACEMENTS  # S links with items that stand for a cluster

    def __len__(self) -> int:
        return len(self.constraints) + len(self.must_link) + len(self.cannot_link) + len(self.placements.pairs)

    @property
    def triplets(self) -> Array:
        """Item positions (M + L + S, 3): of the answers, the links, and those with what stands for a cluster."""
        pairs = np.concatenate([self.must_link, self.cannot_link, self.placements.pairs])
        return np.concatenate([self.constraints.triplets, pairs[:, [0, 1, 0]]])

    @property
    def n_mentions(self) -> float:
        """How often items are mentioned: three times the count of each answer, and twice that of each link."""
        n_links = self._link_counts().sum() + np.abs(self.placements.weights).sum()
        return float(3 * self.constraints.counts().sum() + 2 * n_links)

    def log_likelihoods(self, epsilon: Errors) -> Array:
        """Return log P(observation | pattern), (M + L + S, 5), where answers and links err as epsilon says."""
        answers = np.log(self.constraints.likelihoods(epsilon or HARD_EPSILON))
        return self.with_answers(answers, epsilon)

    def with_answers(self, answers: Array, epsilon: Errors) -> Array:
        """Return the same, with log P(answer | pattern), (M, 5), from elsewhere, such as learned tables."""
        answers = self.answer_weight * self.constraints.counts()[:, None] * answers
        links, counts = np.log(self._link_likelihoods(epsilon)), self._link_counts()
        links[: len(counts)] *= counts[:, None]  # the others are counted where what stands for a cluster is summed out
        return np.concatenate([answers, links])

    def pair_log_odds(self, epsilon: Errors, n_clusters: int) -> Array:
        """Return the log odds that each observation gives to the three pairs of its triplet, (M + L + S, 3).

        A link gives them to its one pair only.
        """
        answers = pair_log_odds(self.constraints.likelihoods(epsilon or HARD_EPSILON), n_clusters)
        links = pair_log_odds(self._link_likelihoods(epsilon), n_clusters) * [0, 0, 1]
        counts = np.concatenate([self._link_counts(), np.abs(self.placements.weights)])
        return np.concatenate([self.constraints.counts()[:, None] * answers, counts[:, None] * links])

    def _link_counts(self) -> Array:
        n_links = len(self.must_link) + len(self.cannot_link)
        return np.ones(n_links) if self.link_weights is None else self.link_weights

    def _link_likelihoods(self, epsilon: Errors) -> Array:
        """Return P(link | pattern), (L + S, 5)."""
        table = link_table(LINK_EPSILON if epsilon == "people" else epsilon or HARD_EPSILON)
        are_apart = np.repeat([0, 1], [len(self.must_link), len(self.cannot_link)])
        likelihoods: Array = table.T[np.concatenate([are_apart, (self.placements.weights < 0).astype(np.int64)])]
        return likelihoods
