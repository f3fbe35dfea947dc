"""A table P(answer | pattern) for each labeler, learned with the clusters (the paper has one epsilon for all).

A labeler who guesses, always says "don't know" or reverses answers would distort the clusters if trusted like the
others. Given the posteriors, a table is a matter of counting: expected patterns for each answer, plus `prior`
pseudo-answers a row, spread as epsilon says (the mode under a Dirichlet prior). That is one more step of the coordinate
ascent, so the bound with the log prior never drops.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import rel_entr

from tercet_algorithms.answers.error_rates import information_share
from tercet_algorithms.answers.patterns import (
    ANSWERS,
    KINDS,
    MIRRORED_ANSWERS,
    MIRRORED_PATTERNS,
    Array,
    Errors,
    Kind,
    answer_table,
    right_answers,
)
from tercet_algorithms.answers.reading import Constraints

# For a labeler with fewer answers, patterns with the same right answer share a row.
_ENOUGH = 200
# The labeler who will be asked is assumed to be among this many who answered most.
_MOST_ASKED = 50
_WIDEST = max(len(answers) for answers in ANSWERS.values())


class TableLearner:
    """Learns tables: holds which answers belong to which table, the prior, and which rows are tied."""

    def __init__(self, constraints: Constraints, epsilon: Errors, prior: float, weight: float = 1.0):
        """`weight` multiplies the count of every answer."""
        pairs = np.column_stack([constraints.labeler_codes(), constraints.kinds])
        groups, self._group = np.unique(pairs, axis=0, return_inverse=True)
        self._answers, self._weights = constraints.answers, weight * constraints.counts()
        self.counts: Array = np.bincount(self._group, constraints.counts())  # (G,) answers of each table
        self.kinds: Array = groups[:, 1]  # (G,) of each table
        self.names = tuple(constraints.names[code] for code in groups[:, 0])
        self.first = np.stack([_padded(KINDS[kind], epsilon) for kind in self.kinds])  # (G, 5, 4)
        few = self.counts < _ENOUGH
        self._ties = np.stack([_ties(KINDS[kind], tied) for kind, tied in zip(self.kinds, few, strict=True)])
        self._strength, self._prior = prior, prior * self.first

    def log_likelihoods(self, tables: Array) -> Array:
        """Return log P(observed answer | pattern), shape (M, 5)."""
        logs: Array = np.log(tables[self._group, :, self._answers])
        return logs

    def log_prior(self, tables: Array) -> float:
        """Return the log density of the tables, 0 at the epsilon table; tied rows count once."""
        lost = rel_entr(self._prior, self._strength * tables) / self._ties.sum(axis=2, keepdims=True)
        return -float(lost.sum())

    def update(self, patterns: Array) -> Array:
        """Return the best tables (G, 5, 4) for the expected patterns (M, 5) of the answers."""
        cells = self._group * _WIDEST + self._answers
        size = len(self.kinds) * _WIDEST
        counts = np.stack([np.bincount(cells, column, size) for column in (self._weights[:, None] * patterns).T])
        counts = counts.reshape(5, -1, _WIDEST).transpose(1, 0, 2)
        tables = self._ties @ self._symmetric(counts) + self._prior
        normalised: Array = tables / tables.sum(axis=2, keepdims=True)
        return normalised

    def _symmetric(self, counts: Array) -> Array:
        """Return counts averaged with those of the mirrored questions: which item is left carries no information."""
        mirrored = [
            table[MIRRORED_PATTERNS][:, MIRRORED_ANSWERS[KINDS[code]]]
            for table, code in zip(counts, self.kinds, strict=True)
        ]
        shared: Array = (counts + np.stack(mirrored)) / 2
        return shared

    def learned(self, tables: Array, patterns: Array) -> "LearnedTables":
        """Return the tables, with the counts of answers and the shares of patterns that judge them."""
        kinds = self.kinds[self._group]
        counted = self._weights[:, None] * patterns
        asked = np.stack([counted[kinds == code].sum(axis=0) for code in range(len(KINDS))])
        asked /= np.maximum(asked.sum(axis=1, keepdims=True), 1e-12)
        return LearnedTables(self.names, self.kinds, tables, self.counts, asked)

    def starting_from(self, learned: "LearnedTables | None") -> Array:
        """Return initial tables: that of an earlier fit where the labeler has one, else the epsilon table."""
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
        """Return the row of a labeler's table; None without one."""
        by_name = [n for n, table_name in enumerate(self.names) if table_name == name and KINDS[self.kinds[n]] == kind]
        return by_name[0] if by_name else None

    def table(self, kind: Kind, name: object = None) -> Array | None:
        """Return the (5, A) table of a labeler, of an unknown one the mean of all; None where there are no tables."""
        place, width = self.place(name, kind), len(ANSWERS[kind])
        if place is not None:
            return self.tables[place, :, :width]
        rows = self.kinds == KINDS.index(kind)
        if not rows.any():
            return None
        mean: Array = np.average(self.tables[rows, :, :width], axis=0, weights=self.counts[rows])
        return mean

    def of_anyone(self, kind: Kind) -> Array | None:
        """Return all tables side by side, (5, L A), each times its labeler's share of answers; None without tables.

        Answers are more informative under these than under the mean table, because it is known whose they are: "don't
        know" means little from a labeler who always says so, and more from others.
        """
        rows = np.flatnonzero(self.kinds == KINDS.index(kind))
        rows = rows[np.argsort(-self.counts[rows], kind="stable")][:_MOST_ASKED]
        if not len(rows):
            return None
        shares = self.counts[rows] / self.counts[rows].sum()
        tables = shares[:, None, None] * self.tables[rows, :, : len(ANSWERS[kind])]
        return np.concatenate(list(tables), axis=1)

    def by_labeler(self) -> dict[object, dict[Kind, Array]]:
        """Return the tables (5, A) by labeler and kind."""
        by_name: dict[object, dict[Kind, Array]] = {}
        for name, code, table in zip(self.names, self.kinds, self.tables, strict=True):
            kind = KINDS[code]
            by_name.setdefault(name, {})[kind] = table[:, : len(ANSWERS[kind])]
        return by_name

    def quality(self) -> dict[object, float]:
        """Return the mutual information of answer and right answer of each labeler, as a share of the largest."""
        return self._mean([information_share(*self._joint(place)) for place in range(len(self.names))])

    def accuracy(self) -> dict[object, float]:
        """Return the expected share of right answers of each labeler, over the questions of all labelers."""
        return self._mean([float(np.trace(self._joint(place)[0])) for place in range(len(self.names))])

    def _joint(self, place: int) -> tuple[Array, Array]:
        """Return P(right answer, answer) of one table, shape (A, A), and P(right answer)."""
        kind = KINDS[self.kinds[place]]
        right, shares = right_answers(kind), self.asked[self.kinds[place]]
        indicator = np.eye(len(ANSWERS[kind]))[right].T  # (A, 5)
        joint: Array = (indicator * shares) @ self.tables[place, :, : len(ANSWERS[kind])]
        return joint, indicator @ shares

    def _mean(self, values: list[float]) -> dict[object, float]:
        """Return values of labelers from those of their tables, weighted by answers."""
        by_name: dict[object, float] = {}
        for name in dict.fromkeys(self.names):
            rows = [n for n, table_name in enumerate(self.names) if table_name == name]
            by_name[name] = float(np.average([values[n] for n in rows], weights=self.counts[rows]))
        return by_name

    def to_arrays(self) -> dict[str, Array]:
        """Return plain arrays; names of labelers are stored as integers if all are, else as str(name), None as ""."""
        integers = all(isinstance(name, int) and not isinstance(name, bool) for name in self.names)
        names = np.array([name if integers else "" if name is None else str(name) for name in self.names])
        values = (names, self.kinds, self.tables, self.counts, self.asked)
        return dict(zip(_ARRAYS, values, strict=True))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "LearnedTables":
        names, *values_after = (arrays[name] for name in _ARRAYS)
        return cls(tuple(None if name == "" else name for name in names.tolist()), *values_after)


_ARRAYS = ("table_labelers", "table_kinds", "tables", "table_counts", "table_patterns")


def _padded(kind: Kind, epsilon: Errors) -> Array:
    table = answer_table(kind, epsilon)
    return np.pad(table, ((0, 0), (0, _WIDEST - table.shape[1])))


def _ties(kind: Kind, few: bool) -> Array:
    """Return which rows are tied, (5, 5): those with the same right answer where answers are few, else none."""
    correct = right_answers(kind)
    return (correct[:, None] == correct).astype(np.float64) if few else np.eye(5)
