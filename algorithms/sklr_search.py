"""SKLR's learning, step by step: what happens between two callbacks, and the state that carries a fit elsewhere.

Hard answers may contradict each other. The dual then grows without end along a direction that proves it; the
answers in that direction are kept as those to blame, and learning begins again with every answer's say capped.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np

from algorithms.fitting import StopFit
from algorithms.patterns import Array
from algorithms.sklr_dual import Point, Problem
from algorithms.sklr_newton import Foreseen, newton_step
from algorithms.sklr_projection import sweeps

Solver = Literal["newton", "projection", "paper"]

# Corrected sweeps before the first Newton step find most of the constraints that will matter: at most so many, each
# over those that are off by so much, until none is by more than that. After an earlier fit these are known already.
_SWEEPS = 6
_ROUGH = 0.01
_WARM_ROUGH = 0.05
_ENOUGH = 0.09
# Sweeps between two callbacks of the solvers that make nothing else. They leave no constraint that is off by the
# tolerance, nor by a rounding error less.
_ROUND = 10
_WITHIN = 1 - 1e-6
# Where hard answers do not hold after all iterations and a direction of the kernel has shrunk by so much, they are
# taken to contradict each other: a collapsed kernel is no use. Soft answers then get further steps.
_COLLAPSING = 1e4
_FALLBACK_STEPS = 50
# A share of the largest multiplier below which an answer has no part in a contradiction.
_BLAMED = 1e-3


@dataclass(frozen=True)
class LearningState:
    """Everything needed to continue learning from the same items, answers and parameters."""

    lam: Array  # (m,) multipliers of the constraints
    bounds: Array  # dual objective after every iteration; with "paper" it is no bound
    seed: int  # of the sweeps' random orders
    blame: Array  # (m,) shares in a contradiction; all 0 unless hard answers were found to contradict each other
    residual: float  # how far from optimal; with "paper" the largest violation
    converged: bool
    finished: bool

    @property
    def iteration(self) -> int:
        return len(self.bounds)

    @property
    def lower_bound(self) -> float:
        """A lower bound of the divergence that the optimal kernel will have from the first one."""
        return float(self.bounds[-1]) if len(self.bounds) else 0.0

    @property
    def done(self) -> bool:
        return self.finished

    @property
    def fraction(self) -> float:
        """Progress in [0, 1]: a guess, since nobody knows how many iterations it will take."""
        return 1.0 if self.finished else self.iteration / (self.iteration + 4)

    def to_arrays(self) -> dict[str, Array]:
        """Plain arrays for `numpy.savez`; no pickle."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> "LearningState":
        lam, bounds, seed, blame, residual, converged, finished = (arrays[field.name] for field in fields(cls))
        return cls(lam, bounds, int(seed), blame, float(residual), bool(converged), bool(finished))


Callback = Callable[[LearningState], object]


@dataclass(frozen=True)
class Learning:
    """The fixed part of a fit: the problem, what to solve when it has no solution, and how."""

    problem: Problem
    softened: Problem
    solver: Solver
    max_iter: int
    tol: float

    def first_state(self, lam: Array, seed: int) -> LearningState:
        """The state before anything was done, from multipliers that may be an earlier fit's."""
        lam = np.clip(lam, self.problem.low, self.problem.high)
        return LearningState(lam, np.empty(0), seed, np.zeros(len(lam)), np.inf, converged=False, finished=False)

    def check_resumable(self, state: LearningState) -> None:
        """Raise ValueError where a state cannot belong to this fit."""
        if len(state.lam) != len(self.problem):
            found, expected = len(state.lam), len(self.problem)
            raise ValueError(f"resume is the state of another fit: {found} constraints, expected {expected}")

    def run(
        self, state: LearningState, callback: Callback | None, point: Point | None = None
    ) -> tuple[LearningState, bool]:
        """The last state, and whether a callback stopped the fit there; `point` is the first state's, if known."""
        problem = self._problem(state)
        point = point or problem.point(state.lam) or self._origin(problem)
        while not state.done:
            state, point = self.advance(state, point)
            if callback is not None:
                try:
                    callback(state)
                except StopFit:
                    return state, True
        return state, False

    def advance(self, state: LearningState, point: Point) -> tuple[LearningState, Point]:
        """One Newton step or one round of sweeps further."""
        problem, solver, soft = self._problem(state), self._solver(state), state.blame.any()
        found = self._step(problem, solver, state, point)
        residual = found.residual if isinstance(found, Foreseen) else _residual(problem, solver, found)
        converged = residual <= self.tol
        last = state.iteration + 1 >= self.max_iter + (_FALLBACK_STEPS if soft else 0)
        if not soft and self._is_hopeless(found.lam, gives_up=last and not converged):
            return self._soften(state, found.lam)
        moved = replace(
            state,
            lam=found.lam,
            bounds=np.append(state.bounds, found.value),
            residual=residual,
            converged=converged,
            finished=converged or found is point or last,
        )
        return moved, point if isinstance(found, Foreseen) else found

    def _is_hopeless(self, lam: Array, gives_up: bool) -> bool:
        """Whether the answers contradict each other; where nothing more is tried, whether they begin to look so."""
        if self.problem.is_unbounded(lam):
            return True
        hard = np.isinf(self.problem.high).any()
        return bool(gives_up and hard and self.problem.shrinkage(lam) > _COLLAPSING)

    def _step(self, problem: Problem, solver: Solver, state: LearningState, point: Point) -> Point | Foreseen:
        if _residual(problem, solver, point) <= self.tol:
            return point
        # Each sweep has its own order, the same one when a fit is resumed there.
        rng = np.random.RandomState((state.seed + state.iteration) % 2**32)
        if solver != "newton":
            corrected = solver != "paper"
            return sweeps(problem, point, rng, n_sweeps=_ROUND, corrected=corrected, tol=_WITHIN * self.tol)
        if state.iteration == 0 or not point.lam.any():
            rough = _WARM_ROUGH if point.lam.any() else _ROUGH
            point = sweeps(problem, point, rng, n_sweeps=_SWEEPS, corrected=True, tol=rough, enough=_ENOUGH)
            if problem.residual(point) <= self.tol or problem.is_unbounded(point.lam):
                return point
        return newton_step(problem, point, self.tol)

    def _solver(self, state: LearningState) -> Solver:
        return "newton" if state.blame.any() else self.solver

    def _problem(self, state: LearningState) -> Problem:
        return self.softened if state.blame.any() else self.problem

    def _soften(self, state: LearningState, lam: Array) -> tuple[LearningState, Point]:
        share = np.abs(lam) / np.abs(lam).max()
        blame = np.where(share >= _BLAMED, share, 0.0)
        origin = self._origin(self.softened)
        again = replace(state, lam=origin.lam, blame=blame, bounds=np.append(state.bounds, origin.value))
        return again, origin

    def _origin(self, problem: Problem) -> Point:
        point = problem.point(np.zeros(len(problem)))
        assert point is not None, "the identity is positive definite"
        return point


def _residual(problem: Problem, solver: Solver, point: Point) -> float:
    if solver != "paper":
        return problem.residual(point)
    relative = problem.relative(point.p, point.q)
    return float(np.max(np.where(problem.low < 0, np.abs(relative), relative), initial=0.0))
