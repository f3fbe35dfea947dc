"""The steps of SKLR's learning, and the state of a fit that can be resumed.

Hard answers may contradict each other. The dual is then unbounded along a direction that proves it: the answers in
that direction are remembered as the contradiction, and learning begins again with every multiplier capped.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.common.search import ArrayRecord, run_search
from tercet_algorithms.sklr.dual import DualPoint, DualProblem
from tercet_algorithms.sklr.newton import CertifiedStep, newton_step, working_set
from tercet_algorithms.sklr.projection import sweeps

Solver = Literal["newton", "projection", "paper"]

# Corrected sweeps before the first Newton step find most of the constraints that will be active: at most _SWEEPS of
# them, each over the constraints violated by more than _SWEEP_TOL, until none is violated by more than _SUFFICIENT.
# After an earlier fit most active constraints are known already, and a coarser tolerance will do.
_SWEEPS = 6
_SWEEP_TOL = 0.01
_WARM_SWEEP_TOL = 0.05
_SUFFICIENT = 0.09
# The time of a Newton step grows with the cube of the number of constraints that it may move, that of a sweep with the
# number of all. So while soft answers leave more than _MOST_IN_STEP constraints to move, sweeps are made, in which each
# multiplier moves _RELAXATION times as far as to its optimum and constraints violated by less than _SKIPPED times `tol`
# are skipped.
_MOST_IN_STEP = 1500
_RELAXATION = 1.6
_SKIPPED = 0.2
# Sweeps between two callbacks of the solvers by projection. Their tolerance is a rounding error smaller than `tol`.
_SWEEPS_PER_STEP = 10
_STRICTER = 1 - 1e-6
# Where hard answers do not hold after all iterations and a direction of the kernel has shrunk by this factor, they are
# taken to contradict each other, since a collapsed kernel is of no use. Soft answers then get further steps.
_COLLAPSED = 1e4
_FALLBACK_STEPS = 50
# An answer with less than this share of the largest multiplier has no part in a contradiction.
_MIN_BLAME = 1e-3


@dataclass(frozen=True)
class LearningState(ArrayRecord):
    """Everything needed to resume learning from the same items, answers and parameters."""

    lam: Array  # (m,) multipliers of the constraints
    bounds: Array  # dual objective after every iteration; with "paper" it is not a bound
    seed: int  # of the random orders of the sweeps
    blame: Array  # (m,) shares in a contradiction; all 0 unless hard answers were found to contradict each other
    residual: float  # distance from the optimum; with "paper" the largest violation
    converged: bool
    finished: bool
    made_of: Array  # fingerprint of the items, answers and parameters

    @property
    def iteration(self) -> int:
        return len(self.bounds)

    @property
    def lower_bound(self) -> float:
        """A lower bound of the divergence between the optimal kernel and the first one."""
        return float(self.bounds[-1]) if len(self.bounds) else 0.0

    @property
    def done(self) -> bool:
        return self.finished

    @property
    def fraction(self) -> float:
        """Progress in [0, 1], a guess: the number of iterations is not known beforehand."""
        return 1.0 if self.finished else self.iteration / (self.iteration + 4)


Callback = Callable[[LearningState], object]


@dataclass(frozen=True)
class Learning:
    """What does not change during a fit: the problem, the one to solve when it has no solution, and how."""

    problem: DualProblem
    softened: DualProblem
    solver: Solver
    max_iter: int
    tol: float
    made_of: Array = field(default_factory=lambda: np.zeros(0, np.uint8))  # fingerprint for the states

    def first_state(self, lam: Array, seed: int) -> LearningState:
        """Return the state before the first step, from multipliers that may be those of an earlier fit."""
        lam = np.clip(lam, self.problem.low, self.problem.high)
        bounds, blame = np.empty(0), np.zeros(len(lam))
        return LearningState(lam, bounds, seed, blame, np.inf, converged=False, finished=False, made_of=self.made_of)

    def run(
        self,
        state: LearningState,
        callback: Callback | None,
        point: DualPoint | None = None,
        verbose: int | bool = 0,
    ) -> tuple[LearningState, bool]:
        """Return the last state, and whether the callback has stopped the fit; `point` is that of `state`, if known."""
        problem = self._problem(state)
        point = point or problem.point(state.lam) or self._origin(problem)

        def step(state: LearningState) -> LearningState:
            nonlocal point
            assert point is not None, "a state has a kernel"
            state, point = self.advance(state, point)
            return state

        return run_search(state, step, callback, verbose)

    def advance(self, state: LearningState, point: DualPoint) -> tuple[LearningState, DualPoint]:
        """Return the state and point after one Newton step or a number of sweeps."""
        problem, solver, soft = self._problem(state), self._solver(state), state.blame.any()
        end = self._step(problem, solver, state, point)
        residual = end.residual if isinstance(end, CertifiedStep) else _residual(problem, solver, end)
        converged = residual <= self.tol
        last = state.iteration + 1 >= self.max_iter + (_FALLBACK_STEPS if soft else 0)
        if not soft and self._is_contradictory(end.lam, gives_up=last and not converged):
            return self._soften(state, end.lam)
        new_state = replace(
            state,
            lam=end.lam,
            bounds=np.append(state.bounds, end.value),
            residual=residual,
            converged=converged,
            finished=converged or end is point or last,
        )
        return new_state, point if isinstance(end, CertifiedStep) else end

    def _is_contradictory(self, lam: Array, gives_up: bool) -> bool:
        """Return whether the answers contradict each other; after the last iteration, whether the kernel collapses."""
        if self.problem.is_unbounded(lam):
            return True
        hard = np.isinf(self.problem.high).any()
        return bool(gives_up and hard and self.problem.shrinkage(lam) > _COLLAPSED)

    def _step(
        self, problem: DualProblem, solver: Solver, state: LearningState, point: DualPoint
    ) -> DualPoint | CertifiedStep:
        if _residual(problem, solver, point) <= self.tol:
            return point
        # Each iteration has its own order, the same one when a fit is resumed there.
        rng = np.random.RandomState((state.seed + state.iteration) % 2**32)
        if solver != "newton":
            corrected = solver != "paper"
            return sweeps(problem, point, rng, n_sweeps=_SWEEPS_PER_STEP, corrected=corrected, tol=_STRICTER * self.tol)
        if state.iteration == 0 or not point.lam.any():
            tol = _WARM_SWEEP_TOL if point.lam.any() else _SWEEP_TOL
            point = sweeps(problem, point, rng, n_sweeps=_SWEEPS, corrected=True, tol=tol, sufficient=_SUFFICIENT)
            if problem.residual(point) <= self.tol or problem.is_unbounded(point.lam):
                return point
        if np.isfinite(problem.high).all() and len(working_set(problem, point)) > _MOST_IN_STEP:
            return sweeps(
                problem,
                point,
                rng,
                n_sweeps=_SWEEPS_PER_STEP,
                corrected=True,
                tol=_SKIPPED * self.tol,
                sufficient=self.tol,
                relaxation=_RELAXATION,
            )
        return newton_step(problem, point, self.tol)

    def _solver(self, state: LearningState) -> Solver:
        return "newton" if state.blame.any() else self.solver

    def _problem(self, state: LearningState) -> DualProblem:
        return self.softened if state.blame.any() else self.problem

    def _soften(self, state: LearningState, lam: Array) -> tuple[LearningState, DualPoint]:
        """Return the state in which soft answers are learned from anew, and the shares in the contradiction."""
        share = np.abs(lam) / np.abs(lam).max()
        blame = np.where(share >= _MIN_BLAME, share, 0.0)
        origin = self._origin(self.softened)
        restarted = replace(state, lam=origin.lam, blame=blame, bounds=np.append(state.bounds, origin.value))
        return restarted, origin

    def _origin(self, problem: DualProblem) -> DualPoint:
        point = problem.point(np.zeros(len(problem)))
        assert point is not None, "the identity is positive definite"
        return point


def _residual(problem: DualProblem, solver: Solver, point: DualPoint) -> float:
    if solver != "paper":
        return problem.residual(point)
    relative = problem.relative(point.p, point.q)
    return float(np.max(np.where(problem.low < 0, np.abs(relative), relative), initial=0.0))
