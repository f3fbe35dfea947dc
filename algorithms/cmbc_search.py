"""CMBC's search: the gamma, anneals from several starts at it, and the state that carries a fit elsewhere.

Every method of CMBC is a `Model`: something with a position that settles at a temperature. A fit is a chain of
states, each one temperature further and made from the last and nothing else, so a fit that was stopped, saved and
resumed elsewhere goes through the same states as one that ran through. Gamma is sought by halving a list of them:
the more it is, the less a clustering tells of the known ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np

from algorithms.cmbc_known import likeness
from algorithms.fitting import StopFit
from algorithms.patterns import Array

# No colder than this, even where items between two clusters keep an anneal from becoming hard.
COLDEST = 1e-3
# A clustering is another one when its likeness with every known one is below this.
DIFFERENT = 0.05


class Model(Protocol):
    """What is annealed, at one gamma."""

    def hottest(self) -> float:
        """Temperature at which an anneal begins."""

    def first(self, rng: np.random.RandomState) -> Array:
        """A position to begin from."""

    def perturbed(self, position: Array, rng: np.random.RandomState) -> Array:
        """The position with its symmetry broken, before the next temperature."""

    def settle(
        self, position: Array, temperature: float, tol: float, max_iter: int
    ) -> tuple[Array, list[float], bool]:
        """The position at rest at a temperature, the objective before each iteration, and whether it came to rest."""

    def is_hard(self, position: Array, temperature: float) -> bool:
        """Whether colder would change nothing."""

    def polished(
        self, position: Array, temperature: float, tol: float, max_iter: int
    ) -> tuple[Array, list[float], bool]:
        """The same for all items, where `settle` sees only some; where it sees all, the position as it is."""

    def objective(self, position: Array) -> float:
        """By which starts at one gamma are compared; larger is better."""

    def labels(self, position: Array) -> Array:
        """Cluster of every item."""


@dataclass(frozen=True)
class Solution:
    """Where one anneal has come to."""

    gamma: float
    position: Array
    temperature: float
    values: Array  # objective before every iteration, each at its temperature
    converged: bool  # at the last temperature
    finished: bool
    objective: float = -np.inf  # this and what follows once finished
    n_found: int = 0  # clusters that have items
    likeness: float = np.inf  # the largest with a known clustering


@dataclass(frozen=True)
class CMBCState:
    """Everything needed to continue a fit of the same data and parameters."""

    seed: int
    low: int  # position of the largest gamma that was too small, -1 if none was
    high: int  # position of the smallest gamma that was large enough, or one past the last
    anneals: int  # done so far
    first_temperature: float
    current: Solution
    best: Solution | None  # of the finished anneals
    fraction: float  # progress in [0, 1], partly a guess
    done: bool

    @property
    def start(self) -> int:
        """Anneals done."""
        return self.anneals

    @property
    def iteration(self) -> int:
        """Iterations of the start at work."""
        return len(self.current.values)

    @property
    def lower_bound(self) -> float:
        """The objective at the present temperature."""
        return float(self.current.values[-1]) if len(self.current.values) else -np.inf

    def to_arrays(self) -> dict[str, Array]:
        """Plain arrays for `numpy.savez`; no pickle."""
        arrays = {name: np.asarray(getattr(self, name)) for name in _PLAIN}
        for prefix, solution in (("current", self.current), ("best", self.best)):
            if solution is not None:
                values = {f"{prefix}_{field.name}": getattr(solution, field.name) for field in fields(solution)}
                arrays |= {name: np.asarray(value) for name, value in values.items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> "CMBCState":
        """The state that `to_arrays` has written."""
        plain = {name: arrays[name].item() for name in _PLAIN}
        best = _solution(arrays, "best") if "best_gamma" in arrays else None
        return cls(**plain, current=_solution(arrays, "current"), best=best)


_PLAIN = ("seed", "low", "high", "anneals", "first_temperature", "fraction", "done")
_ARRAYS = ("position", "values")


def _solution(arrays: dict[str, Array], prefix: str) -> Solution:
    found = {field.name: arrays[f"{prefix}_{field.name}"] for field in fields(Solution)}
    values: dict[str, Any] = {name: value if name in _ARRAYS else value.item() for name, value in found.items()}
    return Solution(**values)


Callback = Callable[[CMBCState], object]


@dataclass(frozen=True)
class Search:
    """The fixed part of a fit: the model at every gamma, how to anneal it and what it should not be."""

    model_at: Callable[[float], Model]
    gammas: Sequence[float]  # one that is given, or those to choose from, ascending
    unwanted: Sequence[Array]  # (N,) codes of every clustering that this one should not be like, -1 where not known
    n_clusters: int
    n_init: int
    anneal_rate: float
    first_temperature: float | None  # None: the model's
    last_temperature: float
    tol: float
    max_iter: int

    def first_state(self, seed: int) -> CMBCState:
        """The state before anything was done."""
        low, high = (-1, 0) if self.is_given else (-1, len(self.gammas))
        gamma = self.gammas[self._middle(low, high)]
        temperature = max(self.first_temperature or self.model_at(gamma).hottest(), self.last_temperature)
        current = self._fresh(gamma, seed, 0, temperature)
        return CMBCState(seed, low, high, 0, temperature, current, None, 0.0, done=False)

    @property
    def is_given(self) -> bool:
        """Whether there is no gamma to be sought."""
        return len(self.gammas) == 1

    def check_resumable(self, state: CMBCState) -> None:
        """Raise ValueError where a state cannot belong to this fit."""
        model = self.model_at(self.gammas[0])
        found, expected = state.current.position.shape, model.first(np.random.RandomState(0)).shape
        if found != expected:
            raise ValueError(f"resume is the state of another fit: shape {found}, expected {expected}")

    def run(self, state: CMBCState, callback: Callback | None) -> tuple[CMBCState, bool]:
        """The last state, and whether the callback stopped the fit there."""
        while not state.done:
            state = self.advance(state)
            if callback is not None:
                try:
                    callback(state)
                except StopFit:
                    return state, True
        return state, False

    def best(self, state: CMBCState) -> Solution:
        """The best of the finished anneals, for all items; where none is finished, what the first has come to."""
        best = state.current if state.best is None else state.best
        model = self.model_at(best.gamma)
        position, new, converged = model.polished(best.position, best.temperature, self.tol, self.max_iter)
        values = np.concatenate([best.values, new])
        return self.judged(replace(best, position=position, values=values, converged=best.converged and converged))

    def advance(self, state: CMBCState) -> CMBCState:
        """One temperature further, in the next anneal when this one is finished."""
        current = state.current
        if current.finished:
            current = self._fresh(self._next_gamma(state), state.seed, state.anneals, state.first_temperature)
        state = replace(state, current=self._cool(current, state))
        if state.current.finished:
            state = self._count(state)
        return replace(state, fraction=max(state.fraction, self._fraction(state)))

    def _next_gamma(self, state: CMBCState) -> float:
        if state.high - state.low > 1:
            return self.gammas[self._middle(state.low, state.high)]
        return state.current.gamma if state.best is None else state.best.gamma

    def _middle(self, low: int, high: int) -> int:
        return max((low + high) // 2, 0)

    def _fresh(self, gamma: float, seed: int, number: int, temperature: float) -> Solution:
        position = self.model_at(gamma).first(np.random.RandomState([seed, number]))
        return Solution(gamma, position, temperature, np.empty(0), converged=False, finished=False)

    def _cool(self, solution: Solution, state: CMBCState) -> Solution:
        """Settle at the next temperature."""
        model, temperature, position = self.model_at(solution.gamma), solution.temperature, solution.position
        if len(solution.values):
            temperature = max(temperature * self.anneal_rate, self.last_temperature)
            rng = np.random.RandomState([state.seed, state.anneals, len(solution.values)])
            position = model.perturbed(position, rng)
        position, new, converged = model.settle(position, temperature, self.tol, self.max_iter)
        finished = temperature <= self.last_temperature or model.is_hard(position, temperature)
        values = np.concatenate([solution.values, new])
        moved = Solution(solution.gamma, position, temperature, values, converged, finished)
        return self.judged(moved) if finished else moved

    def judged(self, solution: Solution) -> Solution:
        """The solution with what decides between solutions."""
        model = self.model_at(solution.gamma)
        labels = model.labels(solution.position)
        return replace(
            solution,
            objective=model.objective(solution.position),
            n_found=len(np.unique(labels)),
            likeness=max([likeness(labels, codes) for codes in self.unwanted], default=0.0),
        )

    def _count(self, state: CMBCState) -> CMBCState:
        """One more anneal is finished."""
        current, best, low, high = state.current, state.best, state.low, state.high
        if best is None or self._rank(current) > self._rank(best):
            best = current
        if high - low > 1:
            middle = self._middle(low, high)
            enough = self._is_different(current) or self._has_collapsed(current)
            low, high = (low, middle) if enough else (middle, high)
        anneals = state.anneals + 1
        done = anneals >= self.n_anneals(state)
        return replace(state, best=best, low=low, high=high, anneals=anneals, done=done)

    def _has_collapsed(self, solution: Solution) -> bool:
        """Whether most clusters are gone: too large a gamma can do that, and no clustering is unlike any other."""
        return 2 * solution.n_found <= self.n_clusters

    def _is_different(self, solution: Solution) -> bool:
        return solution.likeness < DIFFERENT and not (self._has_collapsed(solution) and self.n_clusters > 1)

    def _rank(self, solution: Solution) -> tuple[float, ...]:
        """What makes a solution better: where gamma is sought, that it is another clustering, with less of it."""
        if self.is_given:
            return solution.n_found, solution.objective
        if not self._is_different(solution):
            return 0, not self._has_collapsed(solution), -solution.likeness, solution.objective
        return 1, -solution.gamma, solution.n_found, solution.objective

    def n_anneals(self, state: CMBCState) -> int:
        """How many there will be: those that find gamma, one of which is the first start there, and the others."""
        finding = 0 if self.is_given else int(np.ceil(np.log2(len(self.gammas) + 1)))
        return max(finding, 1) + self.n_init - 1

    def _fraction(self, state: CMBCState) -> float:
        if state.done:
            return 1.0
        within = 0.0
        if not state.current.finished:
            next_temperature = self.anneal_rate * state.current.temperature
            span = np.log(state.first_temperature / self.last_temperature) - np.log(self.anneal_rate)
            within = min(np.log(state.first_temperature / next_temperature) / span, 0.95)
        return float((state.anneals + within) / self.n_anneals(state))
