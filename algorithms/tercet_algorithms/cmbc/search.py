"""CMBC's search: the choice of gamma, anneals from several starts, and the state of a fit that can be resumed.

Every method of CMBC is a `Model`: something with a position (parameters or responsibilities) that settles at a
temperature. One step of the search lets one anneal settle at its next temperature. Gamma is chosen by halving a list
of values: the larger it is, the less a clustering has in common with the known ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.cmbc.known_clusterings import likeness
from tercet_algorithms.common.search import ArrayRecord, check_resumable, run_search

# The lowest temperature: items between two clusters may keep an anneal from ever becoming hard.
COLDEST = 1e-3
# A clustering is another one when its likeness with every known one is below this.
DIFFERENT = 0.05


class Model(Protocol):
    """What is annealed, at one gamma."""

    def initial_temperature(self) -> float:
        """Return the temperature at which annealing begins."""

    def initial_position(self, rng: np.random.RandomState) -> Array:
        """Return a random position to begin from."""

    def position_of(self, labels: Array) -> Array:
        """Return the position of clusters (N,), from which a fit goes on."""

    def perturbed(self, position: Array, rng: np.random.RandomState) -> Array:
        """Return the position with its symmetry broken, for the next temperature."""

    def settle(self, position: Array, temperature: float, tol: float, max_iter: int) -> tuple[Array, list[float], bool]:
        """Iterate at a temperature; return the position, the objective before each iteration, whether it converged."""

    def is_hard(self, position: Array, temperature: float) -> bool:
        """Return whether a lower temperature would change nothing."""

    def settle_on_all_items(
        self, position: Array, temperature: float, tol: float, max_iter: int
    ) -> tuple[Array, list[float], bool]:
        """Do the same as `settle` with all items where that uses a sample; else return the position as it is."""

    def objective(self, position: Array) -> float:
        """Return the value by which starts at one gamma are compared; larger is better."""

    def labels(self, position: Array) -> Array:
        """Return the cluster of every item."""

    def posterior(self, position: Array) -> Array:
        """Return the probability of every cluster for every item, (N, K), links included."""


@dataclass(frozen=True)
class CMBCSolution(ArrayRecord):
    """The position that one anneal has reached."""

    gamma: float
    position: Array
    temperature: float
    values: Array  # objective before every iteration, each at its temperature
    converged: bool  # at the last temperature
    finished: bool
    objective: float = -np.inf  # this and what follows are computed when the anneal is finished
    n_nonempty: int = 0  # clusters that have items
    likeness: float = np.inf  # the largest with a known clustering


@dataclass(frozen=True)
class CMBCState(ArrayRecord):
    """Everything needed to resume a fit of the same data and parameters."""

    seed: int
    low: int  # position of the largest gamma that was too small, -1 if none was
    high: int  # position of the smallest gamma that was large enough, or one past the last
    anneals: int  # number of finished anneals
    first_temperature: float
    current: CMBCSolution
    best: CMBCSolution | None  # of the finished anneals
    fraction: float  # progress in [0, 1], partly a guess
    done: bool

    @property
    def start(self) -> int:
        """Number of finished anneals."""
        return self.anneals

    @property
    def iteration(self) -> int:
        """Iterations of the present anneal."""
        return len(self.current.values)

    @property
    def lower_bound(self) -> float:
        """The objective at the present temperature."""
        return float(self.current.values[-1]) if len(self.current.values) else -np.inf


Callback = Callable[[CMBCState], object]


@dataclass(frozen=True)
class CMBCSearch:
    """What does not change during a fit: the model at every gamma, how to anneal it and what to differ from."""

    model_at: Callable[[float], Model]
    gammas: Sequence[float]  # those to choose from, ascending; or a single one
    to_avoid: Sequence[Array]  # (N,) codes of every clustering to differ from, -1 where not known
    n_clusters: int
    n_init: int
    anneal_rate: float
    first_temperature: float | None  # None: the model's
    last_temperature: float
    tol: float
    max_iter: int
    n_jobs: int | None = None
    start: Array | None = None  # (N,) clusters that every anneal goes on from, at the last temperature

    def first_state(self, seed: int) -> CMBCState:
        """Return the state before the first step."""
        low, high = (-1, 0) if self.has_one_gamma else (-1, len(self.gammas))
        gamma = self.gammas[self._middle(low, high)]
        temperature = max(self.first_temperature or self.model_at(gamma).initial_temperature(), self.last_temperature)
        current = self._start_anneal(gamma, seed, 0, temperature)
        return CMBCState(seed, low, high, 0, temperature, current, None, 0.0, done=False)

    @property
    def has_one_gamma(self) -> bool:
        """Whether there is no gamma to be chosen."""
        return len(self.gammas) == 1

    def check_resumable(self, state: CMBCState) -> None:
        """Raise ValueError where a state cannot belong to this fit."""
        position = self.model_at(self.gammas[0]).initial_position(np.random.RandomState(0))
        check_resumable(state.current.position.shape, position.shape)

    def run(self, state: CMBCState, callback: Callback | None, verbose: int | bool = 0) -> tuple[CMBCState, bool]:
        """Return the last state, and whether the callback has stopped the fit there."""
        return run_search(state, self.advance, callback, verbose)

    def best(self, state: CMBCState) -> CMBCSolution:
        """Return the best finished anneal, settled on all items; the unfinished first one where none is finished."""
        best = state.current if state.best is None else state.best
        model = self.model_at(best.gamma)
        position, new_values, converged = model.settle_on_all_items(
            best.position, best.temperature, self.tol, self.max_iter
        )
        values = np.concatenate([best.values, new_values])
        return self._evaluated(replace(best, position=position, values=values, converged=best.converged and converged))

    def advance(self, state: CMBCState) -> CMBCState:
        """Return the state one temperature further, in the next anneal where the present one is finished.

        Once gamma is chosen the anneals are independent: several jobs then take one whole anneal each.
        """
        n_parallel = min(effective_n_jobs(self.n_jobs), self.n_anneals() - state.anneals)
        if n_parallel > 1 and state.high - state.low <= 1 and (state.current.finished or not state.iteration):
            state = self._anneal_in_parallel(state, n_parallel)
        else:
            current = state.current
            if current.finished:
                current = self._start_anneal(
                    self._next_gamma(state), state.seed, state.anneals, state.first_temperature
                )
            state = replace(state, current=self._cool(current, state.seed, state.anneals))
            if state.current.finished:
                state = self._count_anneal(state)
        return replace(state, fraction=max(state.fraction, self._fraction(state)))

    def _anneal_in_parallel(self, state: CMBCState, n_anneals: int) -> CMBCState:
        """Return the state after so many whole anneals."""
        gamma, numbers = self._next_gamma(state), range(state.anneals, state.anneals + n_anneals)
        anneal = delayed(self._anneal)
        jobs = (anneal(gamma, state.seed, number, state.first_temperature) for number in numbers)
        for solution in Parallel(n_jobs=self.n_jobs)(jobs):
            state = self._count_anneal(replace(state, current=solution))
        return state

    def _anneal(self, gamma: float, seed: int, number: int, temperature: float) -> CMBCSolution:
        """Return one anneal from its start to its end."""
        solution = self._start_anneal(gamma, seed, number, temperature)
        while not solution.finished:
            solution = self._cool(solution, seed, number)
        return solution

    def _next_gamma(self, state: CMBCState) -> float:
        if state.high - state.low > 1:
            return self.gammas[self._middle(state.low, state.high)]
        return state.current.gamma if state.best is None else state.best.gamma

    def _middle(self, low: int, high: int) -> int:
        return max((low + high) // 2, 0)

    def _start_anneal(self, gamma: float, seed: int, number: int, temperature: float) -> CMBCSolution:
        model = self.model_at(gamma)
        if self.start is not None:
            position = model.position_of(self.start)
        else:
            position = model.initial_position(np.random.RandomState([seed, number]))
        return CMBCSolution(gamma, position, temperature, np.empty(0), converged=False, finished=False)

    def _cool(self, solution: CMBCSolution, seed: int, number: int) -> CMBCSolution:
        """Return the anneal settled at its next temperature."""
        model, temperature, position = self.model_at(solution.gamma), solution.temperature, solution.position
        if len(solution.values):
            temperature = max(temperature * self.anneal_rate, self.last_temperature)
            position = model.perturbed(position, np.random.RandomState([seed, number, len(solution.values)]))
        position, new_values, converged = model.settle(position, temperature, self.tol, self.max_iter)
        finished = temperature <= self.last_temperature or model.is_hard(position, temperature)
        values = np.concatenate([solution.values, new_values])
        cooled = CMBCSolution(solution.gamma, position, temperature, values, converged, finished)
        return self._evaluated(cooled) if finished else cooled

    def _evaluated(self, solution: CMBCSolution) -> CMBCSolution:
        """Return the solution with the values by which solutions are compared."""
        model = self.model_at(solution.gamma)
        labels = model.labels(solution.position)
        return replace(
            solution,
            objective=model.objective(solution.position),
            n_nonempty=len(np.unique(labels)),
            likeness=max([likeness(labels, codes) for codes in self.to_avoid], default=0.0),
        )

    def _count_anneal(self, state: CMBCState) -> CMBCState:
        """Return the state after its present anneal, which is finished: the best so far, and the gammas left."""
        current, best, low, high = state.current, state.best, state.low, state.high
        if best is None or self._rank(current) > self._rank(best):
            best = current
        if high - low > 1:
            middle = self._middle(low, high)
            large_enough = self._is_different(current) or self._has_collapsed(current)
            low, high = (low, middle) if large_enough else (middle, high)
        anneals = state.anneals + 1
        done = anneals >= self.n_anneals()
        return replace(state, best=best, low=low, high=high, anneals=anneals, done=done)

    def _has_collapsed(self, solution: CMBCSolution) -> bool:
        """Return whether most clusters are empty, which too large a gamma causes: a low likeness then means nothing."""
        return 2 * solution.n_nonempty <= self.n_clusters

    def _is_different(self, solution: CMBCSolution) -> bool:
        return solution.likeness < DIFFERENT and not (self._has_collapsed(solution) and self.n_clusters > 1)

    def _rank(self, solution: CMBCSolution) -> tuple[float, ...]:
        """Return the sort key of a solution; where gamma is chosen, one that differs at a small gamma comes first."""
        if self.has_one_gamma:
            return solution.n_nonempty, solution.objective
        if not self._is_different(solution):
            return 0, not self._has_collapsed(solution), -solution.likeness, solution.objective
        return 1, -solution.gamma, solution.n_nonempty, solution.objective

    def n_anneals(self) -> int:
        """Return the number of anneals: those that choose gamma, one of which is a start, and the other starts."""
        n_choosing = 0 if self.has_one_gamma else int(np.ceil(np.log2(len(self.gammas) + 1)))
        return max(n_choosing, 1) + self.n_init - 1

    def _fraction(self, state: CMBCState) -> float:
        if state.done:
            return 1.0
        within = 0.0
        if not state.current.finished:
            next_temperature = self.anneal_rate * state.current.temperature
            span = np.log(state.first_temperature / self.last_temperature) - np.log(self.anneal_rate)
            within = min(np.log(state.first_temperature / next_temperature) / span, 0.95)
        return float((state.anneals + within) / self.n_anneals())
