"""Bregman projections, one constraint at a time: SKLR's Algorithm 1 and the corrected form that finds the optimum.

Projecting on one constraint has a closed form in p = d(a, b), q = d(a, e) and the inner product of the two
differences, so a sweep needs no eigenvalues. Constraints are taken in blocks: within a block only the small matrix
of inner products between its differences is kept up to date, and the large matrix follows once at its end.
"""

import numpy as np
from scipy import linalg

from algorithms.patterns import Array
from algorithms.sklr_dual import Point, Problem

_BLOCK = 32
# Where nothing stops a multiplier (the answer cannot hold) it grows by so much, which ends the fit as infeasible.
_ENDLESS = 1e12


def sweep(problem: Problem, point: Point, rng: np.random.RandomState, *, corrected: bool, tol: float) -> Array:
    """Multipliers after projecting once on each constraint that needs it, in random order.

    Corrected (Hildreth, Dykstra), a multiplier may move back as far as its bound, and satisfied constraints are
    visited while theirs is not zero. Uncorrected, only violated ones are visited, and what was done stays done:
    a feasible kernel, but neither the nearest nor independent of the order (the paper's Algorithm 1).
    """
    relative = problem.relative(point)
    violated = np.where(problem.low < 0, np.abs(relative), relative) > tol
    queue = rng.permutation(np.flatnonzero(violated | (corrected & (point.lam != 0))))
    lam = point.lam.copy()
    M, _ = linalg.lapack.dpotri(point.root, lower=1)
    M = np.tril(M) + np.tril(M, -1).T
    for start in range(0, len(queue), _BLOCK):
        block = queue[start : start + _BLOCK]
        a, b, e = (problem.coordinates[problem.places[block, role]] for role in range(3))
        D = np.stack([a - b, a - e], axis=1).reshape(2 * len(block), -1)
        MD = M @ D.T
        G = D @ MD
        before = lam[block]
        _project_block(problem, lam, block, G.copy(), corrected)
        change = lam[block] - before
        weights = np.stack([change * problem.g[block], -change * problem.h[block]], axis=1).ravel()
        middle = np.linalg.solve(np.eye(len(G)) + weights[:, None] * G, np.diag(weights))
        M -= MD @ middle @ MD.T
    return lam


def _project_block(problem: Problem, lam: Array, block: Array, G: Array, corrected: bool) -> None:
    """Project on each constraint of the block; G (2k, 2k) holds the inner products of its differences x, y."""
    for place, c in enumerate(block.tolist()):
        g, h, t = float(problem.g[c]), float(problem.h[c]), float(problem.t[c])
        x, y = 2 * place, 2 * place + 1
        p, q, s = float(G[x, x]), float(G[y, y]), float(G[x, y])
        low, high = (problem.low[c], problem.high[c]) if corrected else (-np.inf, np.inf)
        if not corrected and problem.low[c] == 0 and g * p - h * q <= t:
            continue  # an earlier projection of this block has mended it
        alpha = float(min(max(lam[c] + _best_step(g, h, t, p, q, s), low), high) - lam[c])
        if alpha == 0:
            continue
        lam[c] += alpha
        area = g * h * (p * q - s * s)
        determinant = 1 + alpha * (g * p - h * q) - alpha * alpha * area
        mixed = alpha * alpha * g * h * s
        T = np.array([[alpha * g * (1 - alpha * h * q), mixed], [mixed, -alpha * h * (1 + alpha * g * p)]])
        pair = G[:, x : y + 1]
        G -= pair @ (T / determinant) @ pair.T


def _best_step(g: float, h: float, t: float, p: float, q: float, s: float) -> float:
    """How far a multiplier must move for its constraint to hold with equality."""
    if h == 0:  # g p / (1 + alpha g p) = t
        return 1 / t - 1 / (g * p) if p > 0 else 0.0
    area = 2 * g * h * (p * q - s * s)
    excess = g * p - h * q
    if area <= abs(excess) / _ENDLESS:
        return float(np.sign(excess)) * _ENDLESS
    return excess / area
