"""Newton's method for SKLR's dual: every step maximises a quadratic model of it in the box of the multipliers."""

import numpy as np
from scipy import linalg

from algorithms.patterns import Array
from algorithms.sklr_dual import UNBOUNDED, Point, Problem

# A constraint is left out of a step while it is at a bound and so far from leaving it, or so many times as far as
# any constraint is from where it should be: the nearer the optimum, the fewer are looked at.
_FAR = 0.25
_FARTHER = 2.0
_ARMIJO = 1e-4
# A gain of so much of what the gradient alone promises: the dual bends less than its model, which says half.
_STRAIGHT = 0.6
# Rows of the Hessian that are made at a time: few enough to stay in the processor's cache.
_ROWS = 24


def newton_step(problem: Problem, point: Point) -> Point:
    """The next point of a sequential quadratic program: a model of f maximised in the box, then a line search."""
    work = working_set(problem, point)
    gradient = problem.gradient(point.p, point.q)[work]
    lam, low, high = point.lam[work], problem.low[work], problem.high[work]
    move = box_maximum(curvature(problem, point, work), gradient, low - lam, high - lam)

    def trial(step: float) -> Array:
        moved = point.lam.copy()
        moved[work] = np.clip(lam + step * move, low, high)
        return moved

    promised, step = float(gradient @ move), 1.0
    value, root = problem.value(trial(step))
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


def working_set(problem: Problem, point: Point) -> Array:
    """Constraints that a step may move: strictly inside the box, or near to leaving a bound."""
    relative = problem.relative(point.p, point.q)
    far = min(_FAR, _FARTHER * problem.residual(point))
    resting = (point.lam <= problem.low) & (relative <= -far)
    pressed = (point.lam >= problem.high) & (relative >= far)
    return np.flatnonzero(~resting & ~pressed)


def curvature(problem: Problem, point: Point, work: Array) -> Array:
    """-Hessian of f on the working set, tr(K C_c K C_d), (w, w).

    C_c is g times one pair's squared difference less h times another's, so that all follows from the squared inner
    products of the differences of pairs.
    """
    pairs, which = problem.pairs
    used, local = np.unique(which[work], return_inverse=True)
    near, far = local.reshape(-1, 2).T
    squares = point.kernel.between_pairs(*divmod(pairs[used], len(problem.items)))
    np.square(squares, out=squares)
    g, h = problem.g[work], problem.h[work]
    H = np.empty((len(work), len(work)))
    for start in range(0, len(work), _ROWS):
        rows = slice(start, start + _ROWS)
        part = squares[near[rows]] * g[rows, None] - squares[far[rows]] * h[rows, None]
        np.subtract(part.take(near, axis=1) * g, part.take(far, axis=1) * h, out=H[rows])
    return H.T


def box_maximum(H: Array, gradient: Array, low: Array, high: Array, max_iter: int = 50) -> Array:
    """The d in the box that maximises gradient'd - d'Hd / 2, by projected Newton.

    Of H only the lower triangle is read; its diagonal may change.
    """
    d = np.clip(np.zeros(len(H)), low, high)
    if not len(H):
        return d
    H[np.diag_indices_from(H)] += 1e-10 * max(float(np.mean(np.diag(H))), 1e-300)
    slope = gradient - linalg.blas.dsymv(1.0, H, d, lower=1)
    tolerance = 1e-10 * max(float(np.abs(gradient).max()), 1e-300)
    for _ in range(max_iter):
        held = ((d <= low) & (slope <= 0)) | ((d >= high) & (slope >= 0))
        free = np.flatnonzero(~held)
        if np.abs(slope[free]).max(initial=0.0) <= tolerance:
            break
        newton = _solution(H, free, slope[free])
        step, gain = 1.0, 0.0
        while gain <= 0 and step > 1e-12:
            change = np.zeros(len(H))
            change[free] = np.clip(d[free] + step * newton, low[free], high[free]) - d[free]
            bend = linalg.blas.dsymv(1.0, H, change, lower=1)
            gain = float(slope @ change - change @ bend / 2)
            step /= 2
        if gain <= 0:
            break
        d, slope = d + change, slope - bend
    return d


def _solution(H: Array, free: Array, right: Array) -> Array:
    """The solution of the rows and columns `free` of a system of which the lower triangle is given."""
    part = H.T[np.ix_(free, free)].T
    root, failed = linalg.lapack.dpotrf(part, lower=1, overwrite_a=1)
    if failed:
        raise linalg.LinAlgError(f"row {failed} of a quadratic model is not positive definite")
    solution: Array = linalg.lapack.dpotrs(root, right, lower=1)[0]
    return solution
