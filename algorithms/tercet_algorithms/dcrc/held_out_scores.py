"""The scores of a search over parameters, and its state as plain arrays with which another process can continue it.

A search makes hundreds of fits, one after the other, in an order that depends on the scores alone. So the scores, the
fits that others continue from and the fit under way are all that another process needs to reach the same result.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.dcrc.search import FitState

Parameters = dict[str, Any]
Candidate = tuple[Any, ...]  # values in the order of NAMES
Place = tuple[int, int]  # a number of clusters and a fold

# They are chosen in this order, each with those before it at their best and those after it at their centre.
CHOSEN = ("lam", "tau", "epsilon", "balance")
NAMES = ("n_clusters", *CHOSEN)
_TYPES = (int, float, float, float, bool)


@dataclass(frozen=True)
class Scores:
    """Scores of candidates in folds, in the order in which they were made."""

    n_folds: int
    cells: dict[tuple[Candidate, int], float]

    def of(self, candidate: Candidate) -> Array:
        """Return a candidate's scores (n_folds,), NaN where it has none yet."""
        return np.array([self.cells.get((candidate, fold), np.nan) for fold in range(self.n_folds)])

    def finished(self) -> dict[Candidate, Array]:
        """Return the scores of every candidate that has them all."""
        candidates = dict.fromkeys(candidate for candidate, _ in self.cells)
        every = {candidate: self.of(candidate) for candidate in candidates}
        return {candidate: scores for candidate, scores in every.items() if not np.isnan(scores).any()}

    def places(self) -> set[Place]:
        """Return the numbers of clusters and folds that have a first fit, from which others continue."""
        return {(candidate[0], fold) for candidate, fold in self.cells}

    def best(self) -> Parameters | None:
        """Return the finished candidate that scores best, None where none is finished."""
        scores = self.finished()
        if not scores:
            return None
        best = max(scores, key=lambda candidate: scores[candidate].mean())
        return dict(zip(NAMES, best, strict=True))

    def mean_score(self, params: Parameters | None) -> float:
        """Return the mean score of a candidate, NaN where it is not finished."""
        return float(self.of(tuple(params.values())).mean()) if params and self.n_folds else np.nan

    def results(self) -> dict[str, Any]:
        """Return `cv_results_` of the finished candidates."""
        finished = self.finished()
        keys = list(finished)
        scores = np.array(list(finished.values())).reshape(len(keys), self.n_folds)
        results: dict[str, Any] = {"params": [dict(zip(NAMES, key, strict=True)) for key in keys]}
        for column, name in enumerate(NAMES):
            results[f"param_{name}"] = np.array([key[column] for key in keys])
        for number in range(self.n_folds):
            results[f"split{number}_test_score"] = scores[:, number]
        mean = scores.mean(axis=1) if keys else np.empty(0)
        results["mean_test_score"], results["std_test_score"] = mean, scores.std(axis=1) if keys else np.empty(0)
        results["rank_test_score"] = 1 + np.array([np.sum(mean > value) for value in mean], dtype=np.int64)
        return results


@dataclass(frozen=True)
class SearchState:
    """The state of a search: passed to the callback of `DCRCCV.fit`, and resumed from with the same X and answers."""

    fraction: float  # progress in [0, 1]
    seed: int  # of every fit
    fold_of: Array  # (M,) the fold in which each used answer is held out; -1 where there are no folds
    scores: Scores
    first: dict[Place, dict[str, Array]]  # arrays of the first fit of each place, which other candidates continue from
    at_work: FitState | None  # of the fit under way

    @property
    def best_params(self) -> Parameters | None:
        """Best parameters of the finished candidates; None without."""
        return self.scores.best()

    @property
    def best_score(self) -> float:
        """Mean score of `best_params`; NaN without."""
        return self.scores.mean_score(self.best_params)

    @property
    def start(self) -> int:
        """Number of the fit under way."""
        return len(self.scores.cells)

    @property
    def iteration(self) -> int:
        """Iterations of the fit under way."""
        return 0 if self.at_work is None else self.at_work.iteration

    def to_arrays(self) -> dict[str, Array]:
        """Return plain arrays for `numpy.savez`; no pickle."""
        cells = self.scores.cells
        arrays = {
            "fraction": np.array(self.fraction),
            "seed": np.array(self.seed),
            "fold_of": self.fold_of,
            "scored": np.array([candidate for candidate, _ in cells], np.float64).reshape(-1, len(NAMES)),
            "scored_folds": np.array([fold for _, fold in cells], np.int64),
            "scores": np.array(list(cells.values()), np.float64),
        }
        for (n_clusters, fold), values in self.first.items():
            arrays |= {f"first/{n_clusters}/{fold}/{name}": value for name, value in values.items()}
        if self.at_work is not None:
            arrays |= {f"at_work/{name}": value for name, value in self.at_work.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> "SearchState":
        """Return the state that `to_arrays` has written."""
        candidates = [_candidate(row) for row in arrays["scored"].tolist()]
        cells = zip(candidates, arrays["scored_folds"].tolist(), strict=True)
        scores = Scores(n_folds(arrays["fold_of"]), dict(zip(cells, arrays["scores"].tolist(), strict=True)))
        first: dict[Place, dict[str, Array]] = {}
        for (n_clusters, fold, name), value in _below("first", arrays):
            first.setdefault((int(n_clusters), int(fold)), {})[name] = value
        at_work = {name: value for (name,), value in _below("at_work", arrays)}
        return cls(
            fraction=float(arrays["fraction"]),
            seed=int(arrays["seed"]),
            fold_of=arrays["fold_of"],
            scores=scores,
            first=first,
            at_work=FitState.from_arrays(at_work) if at_work else None,
        )


def n_folds(fold_of: Array) -> int:
    """Return the number of folds, from the fold of each answer."""
    return int(fold_of.max(initial=-1)) + 1


def _candidate(row: list[float]) -> Candidate:
    return tuple(of_type(value) for of_type, value in zip(_TYPES, row, strict=True))


def _below(group: str, arrays: dict[str, Array]) -> Iterator[tuple[list[str], Array]]:
    """Yield the arrays of a group, each with the remaining parts of its name."""
    for name, value in arrays.items():
        if name.startswith(f"{group}/"):
            yield name.split("/")[1:], value
