"""Eigenvectors of a graph of neighbours as further features, for fitted items and for any others.

Where classes are curved or long, near neighbours tell more than distances. The leading eigenvectors of the random walk
over each item's nearest neighbours change slowly along such shapes, so that scores linear in them bend with the data.
They are harmonic: an item's value is the mean of its neighbours', divided by the eigenvalue. New items get theirs by
that rule (Nystroem's method), and fitted ones too, so that equal rows have equal features.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import ArpackError, eigsh

from tercet_algorithms.answers.patterns import Array

# Neighbours of an item, itself among them.
N_NEIGHBOURS = 10
# Largest number of items that the graph joins; all others get their features from their neighbours among these.
MOST_POINTS = 2000
# An eigenvector that decays faster than this over one step has nothing to do with shape.
_SMALLEST = 0.1
# Rows at a time: their distances to all points stay in the cache.
_BLOCK = 256


@dataclass(frozen=True, eq=False)
class GraphMap:
    """Columns of standardised rows, and beside them what their neighbours among the points are in each eigenvector."""

    points: Array  # (n, D) standardised rows
    vectors: Array  # (n, R) eigenvectors over their eigenvalues, of mean square 1 over the walk, then other columns
    n_others: int = 0  # columns of the vectors, the last ones, that are no eigenvectors

    def beside(self, columns: Array) -> "GraphMap":
        """Return the map with further columns (n, R) of the points that are no eigenvectors."""
        return GraphMap(self.points, np.column_stack([self.vectors, columns]), self.n_others + columns.shape[1])

    def without_eigenvectors(self) -> "GraphMap | None":
        """Return the map of the other columns alone; None where there are none."""
        return GraphMap(self.points, self.vectors[:, -self.n_others :], self.n_others) if self.n_others else None

    @property
    def width(self) -> int:
        return int(self.points.shape[1] + self.vectors.shape[1])

    def transform(self, Z: Array) -> Array:
        """Return features (n, D + R) of standardised rows (n, D)."""
        neighbours = nearest(Z, self.points).T
        total = np.zeros((len(Z), self.vectors.shape[1]))
        for points in neighbours:  # one after the other, as an array of all their vectors would be ten times as large
            total += self.vectors[points]
        return np.column_stack([Z, total / len(neighbours)])

    def to_arrays(self) -> dict[str, Array]:
        """Return plain arrays."""
        others = np.asarray(self.n_others)
        return {"graph_points": self.points, "graph_vectors": self.vectors, "graph_others": others}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "GraphMap":
        return cls(arrays["graph_points"], arrays["graph_vectors"], int(arrays.get("graph_others", np.asarray(0))))


def graph_map(Z: Array, n_vectors: int) -> GraphMap:
    """Return the map of so many eigenvectors, or of as many as so few rows have, over the standardised rows Z (n, D).

    The first eigenvector, which is constant, is left out.
    """
    neighbours = nearest(Z, Z)
    rows = np.repeat(np.arange(len(Z)), neighbours.shape[1])
    shape = len(Z), len(Z)
    directed = csr_array((np.full(len(rows), 0.5), (rows, neighbours.ravel())), shape)
    graph = (directed + directed.T).tocsr()
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    root = diags_array(1 / np.sqrt(degrees))
    values, vectors = _leading(root @ graph @ root, min(n_vectors + 1, len(Z)))
    order = np.argsort(-values, kind="stable")[1:]
    vectors = vectors[:, order] * np.sqrt(degrees.sum() / degrees)[:, None]
    largest = np.abs(vectors).argmax(axis=0)  # an eigenvector's sign is anyone's
    vectors *= np.sign(vectors[largest, np.arange(len(order))])
    return GraphMap(Z, vectors / np.maximum(values[order], _SMALLEST))


def nearest(A: Array, points: Array) -> Array:
    """Return the nearest points of each row of A, (n, 10) or as many as there are points."""
    n_neighbours = min(N_NEIGHBOURS, len(points))
    out = np.empty((len(A), n_neighbours), np.int64)
    centre = points.mean(axis=0)  # of which single precision is precise enough, and twice as fast
    near = (points - centre).astype(np.float32)
    half = np.square(near).sum(axis=1) / 2
    for start in range(0, len(A), _BLOCK):
        rows = slice(start, start + _BLOCK)
        far = half - (A[rows] - centre).astype(np.float32) @ near.T
        out[rows] = np.argpartition(far, n_neighbours - 1, axis=1)[:, :n_neighbours]
    return out


def _leading(matrix: csr_array, n_vectors: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of a symmetric matrix and their vectors."""
    n = matrix.shape[0]
    if 4 * n_vectors < n and n > 200:
        try:
            start = np.random.RandomState(0).standard_normal(n)
            values, vectors = eigsh(matrix, n_vectors, which="LA", v0=start)
        except ArpackError:
            pass  # many equal eigenvalues: the dense solver takes any
        else:
            return values, vectors
    values, vectors = eigh(matrix.toarray(), subset_by_index=(n - n_vectors, n - 1))
    return values, vectors
