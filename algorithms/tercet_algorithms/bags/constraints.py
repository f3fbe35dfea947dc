"""Constraints on pairs of items from bag labels, as sparse factors and as edits of a graph; never an N x N matrix.

Q = B(Y'Y - mu I)B' (Eq 12) rewards pairs whose bags share labels. It is U diag(w) U' with a few sparse columns for
each label and each bag, as is everything else that a method adds to the graph. All items of single-label bags of one
label belong together (must-link); no item of one bag belongs with an item of another without a common label
(cannot-link).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from tercet_algorithms.answers.bag_labels import Bags, Sparse, is_sparse
from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.bags.graph import Graph

Center = Literal["identity", "ones"]

_BLOCK = 512


@dataclass(frozen=True, eq=False)
class Factors:
    """The matrix U diag(w) U'."""

    columns: Sparse  # U (N, R)
    weights: Array  # w (R,)

    def __matmul__(self, v: Array) -> Array:
        """Return the product with a vector or a matrix."""
        inner = self.columns.T @ v
        product: Array = self.columns @ (self.weights.reshape(-1, *[1] * (v.ndim - 1)) * inner)
        return product

    def scaled(self, factor: float) -> "Factors":
        """Return the matrix times a number."""
        return Factors(self.columns, factor * self.weights)

    def between(self, h: Array) -> "Factors":
        """Return diag(h) U diag(w) U' diag(h)."""
        return Factors(csr_array(sparse.diags_array(h) @ self.columns), self.weights)

    def diagonal(self) -> Array:
        """Return the diagonal, (N,)."""
        entries: Array = self.columns.multiply(self.columns) @ self.weights
        return entries

    def toarray(self) -> Array:
        """Return the dense matrix (N, N)."""
        dense: Array = self @ np.eye(self.columns.shape[0])
        return dense


def no_factors(n_items: int) -> Factors:
    """Return the zero matrix."""
    return Factors(csr_array((n_items, 0)), np.empty(0))


def mu(bags: Bags) -> float:
    """Return the mean of y_i'y_j over all pairs of bags (i, j), each bag with itself included (Eq 12)."""
    n_bags = len(bags.n_labels)
    return float(np.square(bags.shares.sum(axis=0)).sum()) / n_bags**2 if n_bags else 0.0


def bag_factors(bags: Bags, center: Center = "identity", *, links: bool = True) -> Factors:
    """Return Q of Eq 12 or, with `center` "ones", B(Y'Y - mu 11')B', which Eq 9 amounts to.

    Without `links` the entries of must-linked pairs are 0; those of cannot-linked pairs always are.
    """
    parts: list[tuple[Sparse, float]] = [(csr_array(bags.members @ bags.shares), 1.0)]
    if not links:
        parts.append((clique_columns(bags), -1.0))
    if center == "ones":
        parts.append((csr_array(bags.members.sum(axis=1)[:, None]), -mu(bags)))
    else:
        centered = np.ones(len(bags.n_labels), dtype=bool) if links else bags.n_labels != 1
        parts.append((csr_array(bags.members[:, centered]), -mu(bags)))
    columns = csr_array(sparse.hstack([part for part, _ in parts]))
    return Factors(columns, np.concatenate([np.full(part.shape[1], weight) for part, weight in parts]))


def clique_columns(bags: Bags) -> Sparse:
    """Return s_c of every label c, (N, C): 1 for the items of bags that have this label alone."""
    alone = sparse.diags_array((bags.n_labels == 1).astype(np.float64))
    return csr_array(bags.members @ (alone @ bags.labels))


def edit_graph(W: Graph, bags: Bags, *, must: bool) -> tuple[Graph, Factors]:
    """Return W with the entries of cannot-linked pairs set to 0, and factors that set must-linked ones to 1 if `must`.

    The edited graph is 0 where the factors are 1. A dense W is changed in place.
    """
    cliques = clique_columns(bags)
    edited = _edit_sparse(W, bags, cliques, must) if is_sparse(W) else _edit_dense(W, bags, cliques, must)
    return edited, Factors(cliques, np.ones(cliques.shape[1])) if must else no_factors(W.shape[0])


def _edit_dense(W: Array, bags: Bags, cliques: Sparse, must: bool) -> Array:
    labels = bags.labels_of_items.toarray().astype(np.float32)
    labelled, linked = labels.any(axis=1), cliques.toarray().astype(np.float32)
    for start in range(0, len(W), _BLOCK):
        rows = slice(start, start + _BLOCK)
        apart = labels[rows] @ labels.T == 0
        apart &= labelled[rows, None] & labelled
        if must:
            apart |= linked[rows] @ linked.T > 0
        W[rows][apart] = 0
    return W


def _edit_sparse(W: Sparse, bags: Bags, cliques: Sparse, must: bool) -> Sparse:
    edges = W.tocoo()
    p, q = edges.coords
    labelled = bags.labels_of_items.sum(axis=1) > 0
    connected = ~(labelled[p] & labelled[q] & (_inner(bags.labels_of_items, p, q) == 0))
    if must:
        connected &= _inner(cliques, p, q) == 0
    return csr_array((edges.data[connected], (p[connected], q[connected])), shape=W.shape)


def _inner(rows: Sparse, p: Array, q: Array) -> Array:
    """Return the inner product of row p and row q for each pair."""
    product: Array = np.asarray(rows[p].multiply(rows[q]).sum(axis=1)).ravel()
    return product
