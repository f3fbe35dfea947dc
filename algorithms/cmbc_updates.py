"""CMBC's M-step: for given responsibilities the theta that maximises the expected objective.

The function is concave (the penalty is, see `coefficients`), so there is one maximum. `maximise` goes there by
Newton steps over all of theta at once; `sweep` improves one coordinate after another, each with the newest others,
as the paper's batch update must be read: all from old values at once, the objective would fall.
"""

import numpy as np

from algorithms.cmbc_penalty import Penalty
from algorithms.patterns import Array

LOWEST, HIGHEST = 1e-6, 1 - 1e-6

# Newton steps and halvings of one; both end much earlier but for rounding.
_MOST_STEPS, _MOST_HALVINGS = 50, 30
# Newton's estimate of twice what its step will win, relative to the weight of the likelihood, in nats an item: after
# a step that was to win less than this the next would win about the square of it.
_DECREMENT = 1e-5
# A step may bring a coordinate so much nearer to a bound, as a share of its distance: log theta is steep there.
_REACH = 0.9
# What an empty cluster's curvature is taken for, so that its penalty alone places it.
_LEAST_CURVATURE = 1e-9


def expected(theta: Array, S: Array, N: Array, penalty: Penalty) -> float:
    """The M-step's objective: w sum_kj [S log theta + (N - S) log(1 - theta)] + gamma times the penalty."""
    inner = np.sum(S * np.log(theta) + (N[:, None] - S) * np.log1p(-theta))
    return float((1 - penalty.gamma) * inner) + penalty.value(penalty.project(theta))


def maximise(theta: Array, S: Array, N: Array, penalty: Penalty) -> Array:
    """The maximum over theta (K, m) in its bounds; S (K, m) and N (K,) are means over the items."""
    if penalty.pull == 0 or not len(penalty.root):
        share = np.divide(S, N[:, None], out=theta.copy(), where=N[:, None] > 0)
        return np.clip(share, LOWEST, HIGHEST)
    value = expected(theta, S, N, penalty)
    for _ in range(_MOST_STEPS):
        step, decrement = newton_step(theta, S, N, penalty)
        moved, found = _climb(theta, step, decrement, value, S, N, penalty)
        if found <= value:
            break
        theta, value = moved, found
        if decrement <= _DECREMENT * (1 - penalty.gamma):
            break
    return theta


def newton_step(theta: Array, S: Array, N: Array, penalty: Penalty) -> tuple[Array, float]:
    """The Newton step (K, m) of the coordinates that bounds leave free, and its inner product with the gradient.

    The Hessian is a diagonal, a block of rank r for each cluster and a term of rank r that couples them, so that
    Woodbury's formula needs K systems of r equations and one more.
    """
    w, R = 1 - penalty.gamma, penalty.root
    missing = N[:, None] - S
    gradient = w * (S / theta - missing / (1 - theta)) + penalty.gradient(penalty.project(theta))
    curvature = w * np.maximum(S / theta**2 + missing / (1 - theta) ** 2, _LEAST_CURVATURE)
    held = ((theta <= LOWEST) & (gradient < 0)) | ((theta >= HIGHEST) & (gradient > 0))
    inverse = np.where(held, 0.0, 1 / curvature)
    W = np.matmul(R * inverse[:, None, :], R.T)
    t = (inverse * gradient) @ R.T
    one = np.eye(len(R))
    solved = np.linalg.solve(one + penalty.pull * W, np.concatenate([W, t[:, :, None]], axis=2))
    coupling = penalty.push / penalty.n_clusters
    common = np.linalg.solve(one - coupling * solved[:, :, :-1].sum(axis=0), solved[:, :, -1].sum(axis=0)) * coupling
    inner = solved[:, :, -1] + solved[:, :, :-1] @ common
    step = inverse * (gradient + (common - penalty.pull * inner) @ R)
    return step, float(np.sum(step * gradient * ~held))


def _climb(
    theta: Array, step: Array, decrement: float, value: float, S: Array, N: Array, penalty: Penalty
) -> tuple[Array, float]:
    """Where the longest of the halved steps leads that gains enough, and the value there."""
    low = np.maximum(theta * (1 - _REACH), LOWEST)
    high = np.minimum(theta + _REACH * (1 - theta), HIGHEST)
    length = 1.0
    for _ in range(_MOST_HALVINGS):
        moved = np.clip(theta + length * step, low, high)
        found = expected(moved, S, N, penalty)
        if found >= value + 1e-4 * length * decrement or (found > value and length < 1e-3):
            return moved, found
        length /= 2
    return theta, value


def sweep(theta: Array, S: Array, N: Array, penalty: Penalty) -> Array:
    """Each coordinate's best value in turn (4.18), feature by feature, cluster by cluster; a new theta."""
    theta = theta.copy()
    walk = Walk(theta, penalty)
    for j in range(theta.shape[1]):
        walk.feature(j, S[:, j].tolist(), N.tolist())
    return theta


class Walk:
    """Coordinate updates of one theta in place, with u_k kept up to date: O(r) each."""

    def __init__(self, theta: Array, penalty: Penalty):
        """Begin where theta is."""
        self.theta, self.penalty = theta, penalty
        self.U = penalty.project(theta)
        self.directions = np.ascontiguousarray(penalty.root.T)
        self.lengths = np.sum(self.directions**2, axis=1).tolist()

    def feature(self, j: int, S: list[float], N: list[float]) -> None:
        """Update theta_kj for all k, one after the other."""
        d, length, penalty = self.directions[j], self.lengths[j], self.penalty
        along = (self.U @ d).tolist()
        middle = sum(along) / len(along)
        old = self.theta[:, j].tolist()
        moves = []
        for k, x in enumerate(old):
            slope = penalty.push * middle - penalty.pull * along[k]
            move = self._best(x, slope, length, S[k], N[k]) - x
            along[k] += move * length
            middle += move * length / len(along)
            moves.append(move)
        self.theta[:, j] = [x + move for x, move in zip(old, moves, strict=True)]
        self.U += np.outer(moves, d)

    def coordinate(self, k: int, j: int, S: float, N: float) -> float:
        """Update theta_kj alone; its new value."""
        d, length, penalty = self.directions[j], self.lengths[j], self.penalty
        slope = float((penalty.push * self.U.mean(axis=0) - penalty.pull * self.U[k]) @ d)
        x = float(self.theta[k, j])
        best = self._best(x, slope, length, S, N)
        self.theta[k, j] = best
        self.U[k] += (best - x) * d
        return best

    def _best(self, x: float, slope: float, length: float, S: float, N: float) -> float:
        penalty = self.penalty
        G2 = -(penalty.pull - penalty.push / penalty.n_clusters) * length
        return best_coordinate(x, slope - G2 * x, G2, S, N, 1 - penalty.gamma)


def best_coordinate(x: float, G1: float, G2: float, S: float, N: float, w: float) -> float:
    """The root in (0, 1) of w (S - N x) + x (1 - x) (G1 + G2 x), G2 <= 0, by Newton kept in a shrinking bracket.

    The cubic is positive left of its only root there and negative right of it. Clipped to the bounds of theta.
    """
    low, high = LOWEST, HIGHEST
    for _ in range(100):
        slope = G1 + G2 * x
        value = w * (S - N * x) + x * (1 - x) * slope
        if value > 0:
            low = x
        else:
            high = x
        derivative = -w * N + (1 - 2 * x) * slope + x * (1 - x) * G2
        moved = x - value / derivative if derivative < 0 else low
        if not low < moved < high:
            moved = (low + high) / 2
        if abs(moved - x) <= 1e-14 or high - low <= 1e-14:
            return moved
        x = moved
    return x
