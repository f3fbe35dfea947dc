"""Newton's method for SKLR's dual: every step maximises a quadratic model of it in the box of the multipliers.

The dual is self-concordant: the length of a step, measured by the model's own curvature, bounds how far the model is
off where the step ends. The last step therefore proves itself, and the kernel there need not be looked at.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from algorithms.patterns import Array
from algorithms.sklr_dual import UNBOUNDED, Point, Problem
from algorithms.sklr_loops import fill_curvature

# A constraint is left out of a step while it is at a bound and so far from leaving it, or so many times as far as
# any constraint is from where it should be: the nearer the optimum, the fewer are looked at. Near it steps reach
# farther than any single constraint is off, and to prove that the others stay where they are more are looked at.
_FAR = 0.25
_FARTHER = 0.5
_NEAR = 0.04
_NEARER = 20.0
# A model's maximum is found to this share of its slope, or closer where the point itself is.
_INEXACT = 0.05
_ARMIJO = 1e-4
# A gain of so much of what the gradient alone promises: the dual bends less than its model, which says half.
_STRAIGHT = 0.6


@dataclass(frozen=True)
class Foreseen:
    """Where a step ends, as far as its model can tell."""

    lam: Array  # (m,)
    value: float  # f(lam) or less, by at most the cube of the step's length
    residual: float  # the most that any constraint can be from optimal there


def newton_step(problem: Problem, point: Point, tol: float = 0.0) -> Point | Foreseen:
    """The next point of a sequential quadratic program: a model of f maximised in the box, then a line search.

    Where all of the model's maximum is certain to be within `tol` of optimal, that is the answer.
    """
    work = working_set(problem, point)
    gradient = problem.gradient(point.p, point.q)[work]
    lam, low, high = point.lam[work], problem.low[work], problem.high[work]
    H = curvature(problem, point, work)
    move = box_maximum(H, gradient, low - lam, high - lam, min(_INEXACT, problem.residual(point)))

    def trial(step: float) -> Array:
        moved = point.lam.copy()
        moved[work] = np.clip(lam + step * move, low, high)
        return moved

    there = trial(1.0)
    foreseen = _foreseen(problem, point, work, there, move, gradient - linalg.blas.dsymv(1.0, H, move, lower=1))
    if foreseen.residual <= tol:
        return foreseen

    promised, step = float(gradient @ move), 1.0
    value, root = problem.value(there)
    while root is None or value < point.value + _ARMIJO * step * promised:
        step /= 2
        if step < 1e-10:
            return point
        value, root = problem.value(trial(step))
    # Without caps the maximum may lie at infinity, which unit steps would take for ever to show.
    far = promised > 0.5 and value - point.value > _STRAIGHT * promised and np.isinf(problem.high).any()
    while far and step < UNBOUNDED:
        further, its_root = problem.value(trial(2 * step))
        if its_root is None or further <= value + 0.1:
            break
        value, root, step = further, its_root, 2 * step
    return problem.complete(trial(step), value, root)


def _foreseen(problem: Problem, point: Point, work: Array, lam: Array, move: Array, slope: Array) -> Foreseen:
    """What is certain of the point that a step leads to, where the model has this slope.

    With E the step of M^-1 seen from M (Frobenius norm `length`) the kernel there is M^(1/2) (I + E)^-1 M^(1/2). So
    no gradient is off the model's by more than length^2 / (1 - length) times the larger of its two terms, nor has
    any constraint's size shrunk by more than 1 + length. The gradients of those left out of the step have moved by
    length / (1 - length) times their size at most, and f is off the model by length^3 / 3 / (1 - length) at most.
    """
    margin = _margin(problem, point)
    gradient = problem.gradient(point.p, point.q)[work]
    length = float(np.sqrt(max(move @ (gradient - slope), 0.0)))
    if length >= margin * (1 - length):
        return Foreseen(lam, -np.inf, np.inf)
    value = point.value + float(gradient @ move) - length**2 / 2 - length**3 / (3 * (1 - length))
    off = np.zeros(len(problem))
    off[work] = slope / problem.size(point.p, point.q)[work]
    share = (1 + max(margin, problem.residual(point))) / 2  # of the larger term in the size
    return Foreseen(lam, value, (1 + length) * (problem.slack(lam, off) + share * length**2 / (1 - length)))


def _margin(problem: Problem, point: Point) -> float:
    """How far a constraint at a bound must be from leaving it to be left out of a step."""
    residual = problem.residual(point)
    return max(min(_FAR, _FARTHER * residual), min(_NEAR, _NEARER * residual))


def working_set(problem: Problem, point: Point) -> Array:
    """Constraints that a step may move: strictly inside the box, or near to leaving a bound."""
    relative, margin = problem.relative(point.p, point.q), _margin(problem, point)
    resting = (point.lam <= problem.low) & (relative <= -margin)
    pressed = (point.lam >= problem.high) & (relative >= margin)
    return np.flatnonzero(~resting & ~pressed)


def curvature(problem: Problem, point: Point, work: Array) -> Array:
    """The lower triangle of -Hessian of f on the working set, tr(K C_c K C_d), (w, w)."""
    used, places = np.unique(problem.places[work], return_inverse=True)
    H = np.empty((len(work), len(work)))
    K = point.kernel.between_items(used)
    fill_curvature(K, places.reshape(-1, 3), problem.g[work], problem.h[work], H)
    return H.T


def box_maximum(
    H: Array, gradient: Array, low: Array, high: Array, accuracy: float = 1e-10, max_iter: int = 50
) -> Array:
    """The d in the box that maximises gradient'd - d'Hd / 2, by projected Newton, to a share of the gradient.

    Of H only the lower triangle is read; its diagonal may change.
    """
    d = np.clip(np.zeros(len(H)), low, high)
    if not len(H):
        return d
    H[np.diag_indices_from(H)] += 1e-10 * max(float(np.mean(np.diag(H))), 1e-300)
    slope = gradient - linalg.blas.dsymv(1.0, H, d, lower=1)
    tolerance = accuracy * max(float(np.abs(gradient).max()), 1e-300)
    for _ in range(max_iter):
        held = ((d <= low) & (slope <= 0)) | ((d >= high) & (slope >= 0))
        free = np.flatnonzero(~held)
        if np.abs(slope[free]).max(initial=0.0) <= tolerance:
            break
        change, bend, gain = _climb(H, d, slope, low, high, free)
        if gain <= 0:
            # What lies at a bound has turned the step downhill, and is held there for this time.
            inside = free[(d[free] > low[free]) & (d[free] < high[free])]
            if len(inside):
                change, bend, gain = _climb(H, d, slope, low, high, inside)
        if gain <= 0:
            break
        d, slope = d + change, slope - bend
    return d


def _climb(H: Array, d: Array, slope: Array, low: Array, high: Array, free: Array) -> tuple[Array, Array, float]:
    """A Newton step of the free ones, halved until it gains: the step in the box, H times it, and the gain."""
    newton = _solution(H, free, slope[free])
    step, gain = 1.0, 0.0
    change = bend = np.zeros(len(H))
    while gain <= 0 and step > 1e-12:
        change = np.zeros(len(H))
        change[free] = np.clip(d[free] + step * newton, low[free], high[free]) - d[free]
        bend = linalg.blas.dsymv(1.0, H, change, lower=1)
        gain = float(slope @ change - change @ bend / 2)
        step /= 2
    return change, bend, gain


def _solution(H: Array, free: Array, right: Array) -> Array:
    """The solution of the rows and columns `free` of a system of which the lower triangle is given."""
    part = H.T.take(free, axis=0).take(free, axis=1).T
    root, failed = linalg.lapack.dpotrf(part, lower=1, overwrite_a=1)
    if failed:
        raise linalg.LinAlgError(f"row {failed} of a quadratic model is not positive definite")
    solution: Array = linalg.lapack.dpotrs(root, right, lower=1)[0]
    return solution
