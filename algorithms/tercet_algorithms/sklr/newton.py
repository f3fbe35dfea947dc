"""Newton's method for SKLR's dual: every step maximises a quadratic model of it in the box of the multipliers.

The dual is self-concordant: the length of a step, measured by the curvature of the model, bounds the error of the
model where the step ends. The last step is therefore certified without computing the kernel that it leads to.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.sklr.dual import UNBOUNDED, DualPoint, DualProblem
from tercet_algorithms.sklr.loops import fill_curvature

# A constraint at a bound is left out of a step while its relative gradient points outwards by more than a margin:
# _FAR_MARGIN, or _FAR_FACTOR times the residual where that is less, so that fewer constraints take part near the
# optimum. Close to it the margin is _NEAR_MARGIN or _NEAR_FACTOR times the residual, whichever is less: steps are
# then longer than the residual, and the certificate needs the constraints that they may reach.
_FAR_MARGIN = 0.25
_FAR_FACTOR = 0.5
_NEAR_MARGIN = 0.04
_NEAR_FACTOR = 20.0
# The quadratic model is maximised to this share of its gradient, or to the residual of the point where that is less.
_INEXACT = 0.05
_ARMIJO = 1e-4
# The quadratic model gains half of what the gradient alone predicts. A step that gains more than this share shows
# that the dual bends less than its model, so that longer steps are tried.
_STRAIGHT = 0.6
# A coordinate of the quadratic model is at a bound up to this share of the usual step.
_AT_BOUND = 1e-9


@dataclass(frozen=True)
class CertifiedStep:
    """The end of a Newton step with bounds that hold there without computing the kernel."""

    lam: Array  # (m,)
    value: float  # lower bound of f(lam), short of it by at most about the cube of the step's length
    residual: float  # upper bound of the residual


def newton_step(problem: DualProblem, point: DualPoint, tol: float = 0.0) -> DualPoint | CertifiedStep:
    """Return the next point of a sequential quadratic program: a model of f maximised in the box, then a line search.

    Where the maximum of the model is certain to be within `tol` of the optimum, return it without computing its kernel.
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

    full_step = trial(1.0)
    slope = gradient - linalg.blas.dsymv(1.0, H, move, lower=1)
    certified = _certify(problem, point, work, full_step, move, slope)
    if certified.residual <= tol:
        return certified

    predicted_gain, step = float(gradient @ move), 1.0
    value, root = problem.value(full_step)
    while root is None or value < point.value + _ARMIJO * step * predicted_gain:
        step /= 2
        if step < 1e-10:
            return point
        value, root = problem.value(trial(step))
    # Without caps the maximum may lie at infinity, which steps of length 1 would reach too slowly.
    is_straight = predicted_gain > 0.5 and value - point.value > _STRAIGHT * predicted_gain
    extends = is_straight and np.isinf(problem.high).any()
    while extends and step < UNBOUNDED:
        longer_value, longer_root = problem.value(trial(2 * step))
        if longer_root is None or longer_value <= value + 0.1:
            break
        value, root, step = longer_value, longer_root, 2 * step
    return problem.point_of_root(trial(step), value, root)


def _certify(
    problem: DualProblem, point: DualPoint, work: Array, lam: Array, move: Array, slope: Array
) -> CertifiedStep:
    """Return bounds that hold at `lam`, where the full step `move` ends and the model has the gradient `slope`.

    Let E = M^(1/2) D M^(1/2) for the change D of M^-1, and `length` its Frobenius norm. The new M is then
    M^(1/2) (I + E)^-1 M^(1/2). So no gradient differs from the model's by more than length^2 / (1 - length) times the
    larger of its two terms, and no constraint's term sizes shrink by more than the factor 1 + length. Gradients of
    constraints left out of the step change by at most length / (1 - length) times their term sizes, and f differs
    from the model by at most length^3 / 3 / (1 - length).
    """
    margin = _margin(problem, point)
    gradient = problem.gradient(point.p, point.q)[work]
    length = float(np.sqrt(max(move @ (gradient - slope), 0.0)))
    if length >= margin * (1 - length):
        return CertifiedStep(lam, -np.inf, np.inf)
    value = point.value + float(gradient @ move) - length**2 / 2 - length**3 / (3 * (1 - length))
    relative = np.zeros(len(problem))
    relative[work] = slope / problem.term_sizes(point.p, point.q)[work]
    share = (1 + max(margin, problem.residual(point))) / 2  # of the larger term in the term sizes
    largest = problem.largest_free_gradient(lam, relative)
    return CertifiedStep(lam, value, (1 + length) * (largest + share * length**2 / (1 - length)))


def _margin(problem: DualProblem, point: DualPoint) -> float:
    """Return the relative gradient above which a constraint at a bound is left out of a step."""
    residual = problem.residual(point)
    return max(min(_FAR_MARGIN, _FAR_FACTOR * residual), min(_NEAR_MARGIN, _NEAR_FACTOR * residual))


def working_set(problem: DualProblem, point: DualPoint) -> Array:
    """Return the constraints that a step may move: strictly inside the box, or within the margin of leaving a bound."""
    relative, margin = problem.relative(point.p, point.q), _margin(problem, point)
    stays_low = (point.lam <= problem.low) & (relative <= -margin)
    stays_high = (point.lam >= problem.high) & (relative >= margin)
    return np.flatnonzero(~stays_low & ~stays_high)


def curvature(problem: DualProblem, point: DualPoint, work: Array) -> Array:
    """Return the lower triangle of minus the Hessian of f on the working set, tr(K C_c K C_d), (w, w)."""
    items, places = np.unique(problem.places[work], return_inverse=True)
    H = np.empty((len(work), len(work)))
    K = point.kernel.between_items(items)
    fill_curvature(K, places.reshape(-1, 3), problem.g[work], problem.h[work], H)
    return H.T


def box_maximum(
    H: Array, gradient: Array, low: Array, high: Array, accuracy: float = 1e-10, max_iter: int = 50
) -> Array:
    """Return the d in the box that maximises gradient'd - d'Hd / 2, by projected Newton steps.

    The search ends when no free slope exceeds `accuracy` times the largest gradient. Only the lower triangle of H is
    read; its diagonal is changed.
    """
    d = np.clip(np.zeros(len(H)), low, high)
    if not len(H):
        return d
    bend_of_one, largest = (max(float(size), 1e-300) for size in (np.mean(np.diag(H)), np.abs(gradient).max()))
    H[np.diag_indices_from(H)] += 1e-10 * bend_of_one
    slope = gradient - linalg.blas.dsymv(1.0, H, d, lower=1)
    tolerance = accuracy * largest
    # Rounding may have left a coordinate a little inside of its bound, where the box would stop every step at once.
    lowest, highest = low + _AT_BOUND * largest / bend_of_one, high - _AT_BOUND * largest / bend_of_one
    for _ in range(max_iter):
        at_low, at_high = (d <= lowest) & (slope <= 0), (d >= highest) & (slope >= 0)
        at_bound = np.where(at_low, low, np.where(at_high, high, d))
        if (at_bound != d).any():
            d, slope = at_bound, gradient - linalg.blas.dsymv(1.0, H, at_bound, lower=1)
        blocked = at_low | at_high
        free = np.flatnonzero(~blocked)
        if np.abs(slope[free]).max(initial=0.0) <= tolerance:
            break
        change, bend, gain = _climb(H, d, slope, low, high, free)
        if gain <= 0:
            # Coordinates that the box holds back have turned the step downhill; they stay there in this iteration.
            change, bend, gain = _climb(H, d, slope, low, high, _not_held_back(H, d, slope, lowest, highest, free))
        if gain <= 0:
            break
        d, slope = d + change, slope - bend
    return d


def _not_held_back(H: Array, d: Array, slope: Array, lowest: Array, highest: Array, free: Array) -> Array:
    """Return those free coordinates whose Newton step, of them alone, leaves every one of them inside the box at first.

    One is always left: the step goes uphill, so some coordinate moves along its slope, and that points into the box.
    """
    while True:
        newton = _solve_part(H, free, slope[free])
        held_back = ((d[free] <= lowest[free]) & (newton < 0)) | ((d[free] >= highest[free]) & (newton > 0))
        if not held_back.any():
            return free
        free = free[~held_back]


def _climb(H: Array, d: Array, slope: Array, low: Array, high: Array, free: Array) -> tuple[Array, Array, float]:
    """Take a Newton step of the free coordinates, halved until it gains.

    Return the step in the box, H times the step, and the gain.
    """
    newton = _solve_part(H, free, slope[free])
    step, gain = 1.0, 0.0
    change = bend = np.zeros(len(H))
    while gain <= 0 and step > 1e-12:
        change = np.zeros(len(H))
        change[free] = np.clip(d[free] + step * newton, low[free], high[free]) - d[free]
        bend = linalg.blas.dsymv(1.0, H, change, lower=1)
        gain = float(slope @ change - change @ bend / 2)
        step /= 2
    return change, bend, gain


def _solve_part(H: Array, free: Array, values: Array) -> Array:
    """Return the solution x of H x = values in the rows and columns `free`; only the lower triangle of H is read."""
    part = H.T.take(free, axis=0).take(free, axis=1).T
    root, failed = linalg.lapack.dpotrf(part, lower=1, overwrite_a=1)
    if failed:
        raise linalg.LinAlgError(f"row {failed} of a quadratic model is not positive definite")
    solution: Array = linalg.lapack.dpotrs(root, values, lower=1)[0]
    return solution
