"""Every labeler's own table P(answer | pattern), learned while the clusters are (beyond the paper's one epsilon).

A labeler who guesses, who always says "don't know" or who turns the question round would pull the clusters apart if
believed like the others. Given the posteriors, a table is a matter of counting: expected patterns per answer, plus
`prior` imagined answers a row that are spread as epsilon says (the mode under a Dirichlet prior). That is one more
coordinate of the ascent, so the bound with the log prior never drops.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import rel_entr, xlogy

from algorithms.patterns import (
    ALL_ALIKE,
    ALL_DIFFERENT,
    ANCHOR_APART,
    ANSWERS,
    KINDS,
    LEFT_APART,
    RIGHT_APART,
    Array,
    Kind,
    answer_table,
    right_answers,
)
from algorithms.validation import Constraints

# Below this number of answers of a labeler, patterns with the same right answer share a row.
_ENOUGH = 200
# Who of many labelers will be asked is taken to be one of so many who answered most.
_MOST_ASKED = 50
_WIDEST = max(len(answers) for answers in ANSWERS.values())
# What patterns and, by kind, answers become when left and right change places.
_TURNED_PATTERNS = [ALL_ALIKE, ANCHOR_APART, RIGHT_APART, LEFT_APART, ALL_DIFFERENT]
_TURNED_ANSWERS = ([1, 0, 2, 3], [0, 2, 1, 3])


class TableLearner:
    """What stays the same during a fit: which answers belong to which table, the prior and the ties."""

    def __init__(self, constraints: Constraints, epsilon: float, prior: float):
        pairs = np.column_stack([constraints.labeler_codes(), constraints.kinds])
        groups, self._group, self.counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
        self._answers = constraints.answers
        self.kinds: Array = groups[:, 1]  # (G,) of each table
        self.names = tuple(constraints.names[code] for code in groups[:, 0])
        self.first = np.stack([_padded(KINDS[kind], epsilon) for kind in self.kinds])  # (G, 5, 4)
        few = self.counts < _ENOUGH
        self._ties = np.stack([_ties(KINDS[kind], tied) for kind, tied in zip(self.kinds, few, strict=True)])
        self._strength, self._prior = prior, prior * self.first

    def log_likelihoods(self, tables: Array) -> Array:
        """log P(observed answer | pattern), shape (M, 5)."""
        logs: Array = np.log(tables[self._group, :, self._answers])
        return logs

    def log_prior(self, tables: Array) -> float:
        """Log density of the tables, 0 at the epsilon table; rows that are one row count once."""
        lost = rel_entr(self._prior, self._strength * tables) / self._ties.sum(axis=2, keepdims=True)
        return -float(lost.sum())

    def update(self, patterns: Array) -> Array:
        """The best tables (G, 5, 4) for the expected patterns (M, 5) of the answers."""
        cells = self._group * _WIDEST + self._answers
        size = len(self.kinds) * _WIDEST
        counts = np.stack([np.bincount(cells, column, size) for column in patterns.T.astype(np.float64)])
        counts = counts.reshape(5, -1, _WIDEST).transpose(1, 0, 2)
        tables = self._ties @ self._symmetric(counts) + self._prior
        normalised: Array = tables / tables.sum(axis=2, keepdims=True)
        return normalised

    def _symmetric(self, counts: Array) -> Array:
        """Counts shared with those of the questions turned round: which item is left depends on numbers alone."""
        turned = [
            table[_TURNED_PATTERNS][:, _TURNED_ANSWERS[kind]] for table, kind in zip(counts, self.kinds, strict=True)
        ]
        shared: Array = (counts + np.stack(turned)) / 2
        return shared

    def learned(self, tables: Array, patterns: Array) -> "LearnedTables":
        """The tables with what is needed to judge them."""
        kinds = self.kinds[self._group]
        asked = np.stack([patterns[kinds == code].sum(axis=0, dtype=np.float64) for code in range(len(KINDS))])
        asked /= np.maximum(asked.sum(axis=1, keepdims=True), 1e-12)
        return LearnedTables(self.names, self.kinds, tables, self.counts, asked)

    def starting_from(self, learned: "LearnedTables | None") -> Array:
        """Tables to begin with: those learned before where there are some, else the epsilon table."""
        tables = self.first.copy()
        for place, (name, kind) in enumerate(zip(self.names, self.kinds, strict=True)):
            before = None if learned is None else learned.place(name, KINDS[kind])
            if learned is not None and before is not None:
                tables[place] = learned.tables[before]
        return tables


@dataclass(frozen=True)
class LearnedTables:
    """One table per labeler and kind of question, and how often the patterns were asked about."""

    names: tuple[object, ...]  # (G,) labelers
    kinds: Array  # (G,) 0 relative, 1 outlier
    tables: Array  # (G, 5, 4), the last column 0 for relative questions
    counts: Array  # (G,) answers learned from
    asked: Array  # (2, 5) share of the patterns among the questions of each kind

    def place(self, name: object, kind: Kind) -> int | None:
        """Row of a labeler's table."""
        found = [n for n, known in enumerate(self.names) if known == name and KINDS[self.kinds[n]] == kind]
        return found[0] if found else None

    def table(self, kind: Kind, name: object = None) -> Array | None:
        """(5, A) table of a labeler; of an unknown one the mean of all by their answers; None without any."""
        place, width = self.place(name, kind), len(ANSWERS[kind])
        if place is not None:
            return self.tables[place, :, :width]
        mine = self.kinds == KINDS.index(kind)
        if not mine.any():
            return None
        mean: Array = np.average(self.tables[mine, :, :width], axis=0, weights=self.counts[mine])
        return mean

    def of_anyone(self, kind: Kind) -> Array | None:
        """The tables of all side by side, (5, L A), each times its labeler's share of the answers; None without any.

        What an answer of one of them is expected to tell is more than under their mean: it is known whose it is. To
        tell "somebody says don't know" from "this one always does" these answers have to be different ones.
        """
        mine = np.flatnonzero(self.kinds == KINDS.index(kind))
        mine = mine[np.argsort(-self.counts[mine], kind="stable")][:_MOST_ASKED]
        if not len(mine):
            return None
        shares = self.counts[mine] / self.counts[mine].sum()
        tables = shares[:, None, None] * self.tables[mine, :, : len(ANSWERS[kind])]
        return np.concatenate(list(tables), axis=1)

    def by_labeler(self) -> dict[object, dict[Kind, Array]]:
        """The tables (5, A) by labeler and kind."""
        found: dict[object, dict[Kind, Array]] = {}
        for name, code, table in zip(self.names, self.kinds, self.tables, strict=True):
            kind = KINDS[code]
            found.setdefault(name, {})[kind] = table[:, : len(ANSWERS[kind])]
        return found

    def quality(self) -> dict[object, float]:
        """What a labeler's answers tell of the right ones, as a share of all that there is to be told."""
        return self._mean([information_share(*self._joint(place)) for place in range(len(self.names))])

    def accuracy(self) -> dict[object, float]:
        """Expected share of right answers of each labeler to the questions that everybody was asked."""
        return self._mean([float(np.trace(self._joint(place)[0])) for place in range(len(self.names))])

    def _joint(self, place: int) -> tuple[Array, Array]:
        """P(right answer, answer) of one table, shape (A, A), and P(right answer)."""
        kind = KINDS[self.kinds[place]]
        right, shares = right_answers(kind), self.asked[self.kinds[place]]
        indicator = np.eye(len(ANSWERS[kind]))[right].T  # (A, 5)
        joint: Array = (indicator * shares) @ self.tables[place, :, : len(ANSWERS[kind])]
        return joint, indicator @ shares

    def _mean(self, values: list[float]) -> dict[object, float]:
        """Values of tables to values of labelers, weighted by answers."""
        found: dict[object, float] = {}
        for name in dict.fromkeys(self.names):
            mine = [n for n, other in enumerate(self.names) if other == name]
            found[name] = float(np.average([values[n] for n in mine], weights=self.counts[mine]))
        return found

    def to_arrays(self) -> dict[str, Array]:
        """Plain arrays; labelers that are not all integers are saved as their str(), None as ""."""
        whole = all(isinstance(name, int) and not isinstance(name, bool) for name in self.names)
        names = np.array([name if whole else "" if name is None else str(name) for name in self.names])
        values = (names, self.kinds, self.tables, self.counts, self.asked)
        return dict(zip(_ARRAYS, values, strict=True))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "LearnedTables":
        names, *rest = (arrays[name] for name in _ARRAYS)
        return cls(tuple(None if name == "" else name for name in names.tolist()), *rest)


_ARRAYS = ("table_labelers", "table_kinds", "tables", "table_counts", "table_patterns")


def information_share(joint: Array, right: Array) -> float:
    """Mutual information of answer and right answer over the entropy of the right answer; 0 where that is 0."""
    possible = -float(xlogy(right, right).sum())
    if possible < 1e-12:
        return 0.0
    told = float((xlogy(joint, joint) - xlogy(joint, np.outer(right, joint.sum(axis=0)))).sum())
    return float(np.clip(told / possible, 0, 1))


def _padded(kind: Kind, epsilon: float) -> Array:
    table = answer_table(kind, epsilon)
    return np.pad(table, ((0, 0), (0, _WIDEST - table.shape[1])))


def _ties(kind: Kind, few: bool) -> Array:
    """Which rows add up to one: those with the same right answer where answers are few, else each its own."""
    right = right_answers(kind)
    return (right[:, None] == right).astype(np.float64) if few else np.eye(5)
