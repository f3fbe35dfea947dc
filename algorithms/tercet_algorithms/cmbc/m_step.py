"""CMBC's M-step: the theta that maximises the expected objective for given responsibilities.

The objective is concave (since the penalty is, see `coefficients`), so there is one maximum. `maximise` finds it by
Newton steps in all of theta; `sweep` improves one coordinate after another, each with the newest values of the others.
The paper's batch update must be read this way: with all coordinates updated from old values the objective falls.
"""

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.cmbc.penalty import Penalty

LOWEST, HIGHEST = 1e-6, 1 - 1e-6

# Limits on Newton steps and on halvings of a step; only rounding reaches them.
_MOST_STEPS, _MOST_HALVINGS = 50, 30
# Newton's estimate of twice the gain of its step, relative to the weight of the likelihood, in nats per item. After
# a step with a smaller estimate the next one would gain about its square.
_DECREMENT = 1e-5
# The share of the distance to 0 or 1 that one step may cover: log theta is steep there.
_REACH = 0.9
# Curvature assumed for an empty cluster, whose theta is then determined by the penalty alone.
_LEAST_CURVATURE = 1e-9


def expected(theta: Array, S: Array, N: Array, penalty: Penalty) -> float:
    """Return the M-step's objective: w sum_kj [S log theta + (N - S) log(1 - theta)] + gamma times the penalty."""
    inner = np.sum(S * np.log(theta) + (N[:, None] - S) * np.log1p(-theta))
    return float((1 - penalty.gamma) * inner) + penalty.value(penalty.project(theta))


def maximise(theta: Array, S: Array, N: Array, penalty: Penalty) -> Array:
    """Return the maximum over theta (K, m) in its bounds; S (K, m) and N (K,) are means over the items."""
    if penalty.pull == 0 or not len(penalty.root):
        share = np.divide(S, N[:, None], out=theta.copy(), where=N[:, None] > 0)
        return np.clip(share, LOWEST, HIGHEST)
    value = expected(theta, S, N, penalty)
    for _ in range(_MOST_STEPS):
        step, decrement = newton_step(theta, S, N, penalty)
        new_theta, new_value = _line_search(theta, step, decrement, value, S, N, penalty)
        if new_value <= value:
            break
        theta, value = new_theta, new_value
        if decrement <= _DECREMENT * (1 - penalty.gamma):
            break
    return theta


def newton_step(theta: Array, S: Array, N: Array, penalty: Penalty) -> tuple[Array, float]:
    """Return the Newton step (K, m) of coordinates not blocked by a bound, and its inner product with the gradient.

    The Hessian is a diagonal plus a block of rank r for each cluster plus a term of rank r that couples the clusters,
    so Woodbury's formula needs K + 1 systems of r equations.
    """
    w, R = 1 - penalty.gamma, penalty.root
    missing = N[:, None] - S
    gradient = w * (S / theta - missing / (1 - theta)) + penalty.gradient(penalty.project(theta))
    curvature = w * np.maximum(S / theta**2 + missing / (1 - theta) ** 2, _LEAST_CURVATURE)
    blocked = ((theta <= LOWEST) & (gradient < 0)) | ((theta >= HIGHEST) & (gradient > 0))
    inverse = np.where(blocked, 0.0, 1 / curvature)
    W = np.matmul(R * inverse[:, None, :], R.T)
    t = (inverse * gradient) @ R.T
    identity = np.eye(len(R))
    solved = np.linalg.solve(identity + penalty.pull * W, np.concatenate([W, t[:, :, None]], axis=2))
    coupling = penalty.push / penalty.n_clusters
    summed = solved.sum(axis=0)
    common = np.linalg.solve(identity - coupling * summed[:, :-1], summed[:, -1]) * coupling
    inner = solved[:, :, -1] + solved[:, :, :-1] @ common
    step = inverse * (gradient + (common - penalty.pull * inner) @ R)
    return step, float(np.sum(step * gradient * ~blocked))


def _line_search(
    theta: Array, step: Array, decrement: float, value: float, S: Array, N: Array, penalty: Penalty
) -> tuple[Array, float]:
    """Return theta after the longest halved step that gains enough, and the objective there."""
    low = np.maximum(theta * (1 - _REACH), LOWEST)
    high = np.minimum(theta + _REACH * (1 - theta), HIGHEST)
    length = 1.0
    for _ in range(_MOST_HALVINGS):
        new_theta = np.clip(theta + length * step, low, high)
        new_value = expected(new_theta, S, N, penalty)
        if new_value >= value + 1e-4 * length * decrement or (new_value > value and length < 1e-3):
            return new_theta, new_value
        length /= 2
    return theta, value


def sweep(theta: Array, S: Array, N: Array, penalty: Penalty) -> Array:
    """Return theta with each coordinate maximised in turn (4.18), feature by feature, cluster by cluster."""
    theta = theta.copy()
    ascent = CoordinateAscent(theta, penalty)
    for j in range(theta.shape[1]):
        ascent.update_feature(j, S[:, j].tolist(), N.tolist())
    return theta


class CoordinateAscent:
    """Updates of single coordinates of a theta in place. They also update u_k, which costs O(r) each."""

    def __init__(self, theta: Array, penalty: Penalty):
        """Begin at theta, which later calls change."""
        self.theta, self.penalty = theta, penalty
        self.U = penalty.project(theta)
        self.directions = np.ascontiguousarray(penalty.root.T)
        self.lengths = np.sum(self.directions**2, axis=1).tolist()

    def update_feature(self, j: int, S: list[float], N: list[float]) -> None:
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

    def update_coordinate(self, k: int, j: int, S: float, N: float) -> float:
        """Update theta_kj alone and return its new value."""
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
    """Return the root in (0, 1) of w (S - N x) + x (1 - x) (G1 + G2 x), G2 <= 0, by Newton kept in a shrinking bracket.

    The cubic is positive below its only root there and negative above it. The root is clipped to the bounds of theta.
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
