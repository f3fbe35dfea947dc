"""What DCRC and SKLR are compared with: clusterings of the same answers by older methods.

Metric learners give a linear map, and K-means (50 starts, as in the DCRC paper) clusters the mapped items. They learn
from yes and no only, as comparisons (anchor nearer to one than to the other) or as one must-link and one cannot-link
pair an answer, as in the paper.
"""

import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.optimize import linprog, minimize
from sklearn.cluster import KMeans
from sklearn.kernel_approximation import Nystroem
from sklearn.neighbors import NearestNeighbors

N_STARTS = 50
IN_PROCESS = ("sparseLP", "SVaD-like")
METRIC_LEARN = ("itml-0.1", "itml-1", "itml-1-short", "lsml", "lsml-scaled", "mmc")


def comparisons(triplets: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """(T, 3) anchor, nearer, farther of every yes and no."""
    no = answers == -1
    turned = np.where(no[:, None], triplets[:, [0, 2, 1]], triplets)
    definite: np.ndarray = turned[answers != 0]
    return definite


def cluster(
    method: str, X: np.ndarray, n_clusters: int, given: np.ndarray, python: str | None, seed: int
) -> np.ndarray:
    """Labels by one of the methods above from comparisons (T, 3)."""
    if not len(given):
        raise ValueError("no yes and no answers to learn from")
    if method == "SVaD-like":
        return local_weights(X, n_clusters, given, seed)
    components = sparse_lp(X, given) if method == "sparseLP" else metric_learn(python, method, X, given)
    return kmeans(X @ components.T, n_clusters, seed)


def kmeans(X: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    labels: np.ndarray = KMeans(n_clusters, n_init=N_STARTS, random_state=seed).fit(X).labels_
    return labels


def kernel_kmeans(X: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """K-means in the space of a Gaussian kernel (of 300 Nystroem points at most), its width the median distance."""
    sample = X[np.random.default_rng(seed).permutation(len(X))[:500]]
    width = np.median(NearestNeighbors(n_neighbors=len(sample) // 2).fit(sample).kneighbors(sample)[0][:, -1])
    features = Nystroem(gamma=1 / width**2, n_components=min(300, len(X)), random_state=seed).fit_transform(X)
    return kmeans(features, n_clusters, seed)


def metric_learn(python: str | None, method: str, X: np.ndarray, given: np.ndarray) -> np.ndarray:
    """The linear map that a learner of the metric-learn package finds; `python` runs baselines_metric.py."""
    if python is None:
        raise ValueError(f"{method} needs --metric-python, an interpreter that has metric-learn")
    anchor, near, far = given.T
    pairs = np.concatenate([np.column_stack([anchor, near]), np.column_stack([anchor, far])])
    signs = np.repeat([1, -1], len(given))
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.npz"), Path(folder, "out.npz")
        np.savez(source, X=X, pairs=pairs, signs=signs, comparisons=given)
        learner = _learner(python)
        assert learner.stdin is not None
        assert learner.stdout is not None
        learner.stdin.write(f"{method}\t{source}\t{target}\n")
        learner.stdin.flush()
        line = learner.stdout.readline().strip()
        if line != "ok":
            raise ValueError(line or "the learner ended")
        with np.load(target) as arrays:
            components: np.ndarray = arrays["components"]
    return components


@lru_cache
def _learner(python: str) -> "subprocess.Popen[str]":
    """One learner for each process that asks; it ends when the pipe to it is closed."""
    script = Path(__file__).with_name("baselines_metric.py")
    return subprocess.Popen([python, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def sparse_lp(X: np.ndarray, given: np.ndarray, price: float = 0.1) -> np.ndarray:
    """The map of Rosales and Fung's sparse metric (KDD 2006).

    Minimises the mean slack of d(anchor, far) - d(anchor, near) >= 1 plus `price` times the sum of |A|, where the
    diagonal of A dominates its rows, which makes A positive semidefinite and all of it a linear program.
    """
    T, D = len(given), X.shape[1]
    rows, columns = np.triu_indices(D, 1)
    anchor, near, far = (X[place] for place in given.T)

    def products(difference: np.ndarray) -> np.ndarray:
        return np.hstack([difference**2, 2 * difference[:, rows] * difference[:, columns]])

    gaps = products(anchor - far) - products(anchor - near)
    n_off = len(rows)
    # Unknowns: the diagonal, the positive and the negative part of what is above it, the slacks.
    separated = sparse.hstack([-gaps[:, :D], -gaps[:, D:], gaps[:, D:], -sparse.eye(T)])
    ends = np.concatenate([rows, columns])
    touching = sparse.csr_matrix((np.ones(2 * n_off), (ends, np.tile(np.arange(n_off), 2))), shape=(D, n_off))
    dominated = sparse.hstack([-sparse.eye(D), touching, touching, sparse.csr_matrix((D, T))])
    cost = np.concatenate([np.full(D, price), np.full(2 * n_off, 2 * price), np.full(T, 1 / T)])
    limits = np.concatenate([-np.ones(T), np.zeros(D)])
    solution = linprog(cost, A_ub=sparse.vstack([separated, dominated]).tocsc(), b_ub=limits, method="highs")
    if solution.x is None:
        raise RuntimeError(solution.message)
    A = np.diag(solution.x[:D])
    A[rows, columns] = A[columns, rows] = solution.x[D : D + n_off] - solution.x[D + n_off : D + 2 * n_off]
    values, vectors = np.linalg.eigh(A)
    if values.max() <= 0:
        raise ValueError("the sparse metric is zero")
    components: np.ndarray = np.sqrt(values.clip(0))[:, None] * vectors.T
    return components


def local_weights(X: np.ndarray, n_clusters: int, given: np.ndarray, seed: int, rounds: int = 30) -> np.ndarray:
    """K-means whose clusters weigh the features each in its own way, learned from comparisons as it goes.

    This is what the abstract of SSSVaD (Kumar and Kummamuru, 2008) describes; its formulas were not at hand, so
    the cost is ours: compactness, a squared hinge on the comparisons whose anchor is in the cluster, and nearness
    to equal weights.
    """
    labels: np.ndarray = KMeans(n_clusters, n_init=10, random_state=seed).fit(X).labels_
    anchor, near, far = (X[place] for place in given.T)
    gaps = (anchor - far) ** 2 - (anchor - near) ** 2
    centres, weights = np.zeros((n_clusters, X.shape[1])), np.ones((n_clusters, X.shape[1]))
    for _ in range(rounds):
        for k in np.unique(labels):
            centres[k] = X[labels == k].mean(axis=0)
            weights[k] = _weights((X[labels == k] - centres[k]) ** 2, gaps[labels[given[:, 0]] == k])
        distances = (X**2) @ weights.T - 2 * X @ (weights * centres).T + (weights * centres**2).sum(axis=1)
        fresh = distances.argmin(axis=1)
        if np.array_equal(fresh, labels):
            break
        labels = fresh
    return labels


def _weights(scatter: np.ndarray, gaps: np.ndarray, strength: float = 10.0) -> np.ndarray:
    """Weights of the features in one cluster, at least 0, of mean 1."""
    spread = scatter.mean(axis=0)

    def cost(w: np.ndarray) -> tuple[float, np.ndarray]:
        short = np.maximum(1 - gaps @ w, 0)
        share = strength / max(len(gaps), 1)
        value = spread @ w + ((w - 1) ** 2).sum() / 2 + share * (short**2).sum()
        return float(value), spread + (w - 1) - 2 * share * gaps.T @ short

    solution = minimize(cost, np.ones(len(spread)), jac=True, method="L-BFGS-B", bounds=[(1e-3, None)] * len(spread))
    weights: np.ndarray = solution.x / solution.x.mean()
    return weights
