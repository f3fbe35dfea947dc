"""The eight ways to put bag labels into spectral clustering: which matrix each takes the eigenvectors of.

All of them add to a graph W something that bag labels say, edit W by it, or both, and differ in how the result is
normalised. What they give is one form, a normalised graph plus sparse factors plus a diagonal, so that one search
for eigenvectors serves all.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, eigsh

from algorithms.bag_constraints import Center, Factors, bag_factors, clique_columns, edit_graph, no_factors
from algorithms.bag_graph import Graph, degrees
from algorithms.bag_labels import Bags, is_sparse
from algorithms.patterns import Array

Scale = Literal["absolute", "relative"]

# How strongly "regularized" holds must-linked items together: the paper's beta.
BETA = 20.0
# Constraints whose largest eigenvalue is below this say nothing; a single bag leaves only rounding.
_TINY = 1e-10
# Of fewer items all eigenvalues are as quickly found.
_FEW = 100
# A degree is at least so many times an item's tie to itself: an item cut off from all others would otherwise be a
# cluster of its own, with the largest eigenvalue there is, and many of them would hide what the graph is like.
_LEAST = 2.0


@dataclass(frozen=True)
class Method:
    """What a method takes from the bags."""

    paper: str  # what the paper calls it
    rewards: bool = False  # alpha Q
    rewards_links: bool = True  # also in Q's entries of must-linked pairs
    cannot: bool = False  # entries of cannot-linked pairs become 0
    must: bool = False  # entries of must-linked pairs become 1
    additive: bool = False  # normalised by what is missing to the largest degree
    regularized: bool = False  # differences between must-linked items are penalised


METHODS = {
    "bag": Method("CSP", rewards=True),
    "bag-without-links": Method("CSP w.o.clml", rewards=True, rewards_links=False),
    "spectral": Method("SP"),
    "links": Method("SpLearn, symmetric", cannot=True, must=True),
    "links-additive": Method("SpLearn", cannot=True, must=True, additive=True),
    "regularized": Method("SpReg", regularized=True),
    "cannot-link": Method("-", cannot=True),
    "both": Method("-", rewards=True, cannot=True),
}


@dataclass(frozen=True, eq=False)
class Similarity:
    """The symmetric matrix graph + factors + diag(diagonal), known by its products with vectors."""

    graph: Graph
    factors: Factors
    diagonal: Array  # (N,)

    def __matmul__(self, v: Array) -> Array:
        """Product with a vector or with columns."""
        diagonal = self.diagonal.reshape(-1, *[1] * (v.ndim - 1))
        product: Array = self.graph @ v + self.factors @ v + diagonal * v
        return product

    def __len__(self) -> int:
        return len(self.diagonal)

    def operator(self) -> LinearOperator:
        shape = len(self), len(self)
        return LinearOperator(shape, matvec=self.__matmul__, matmat=self.__matmul__, dtype=np.float64)

    def toarray(self) -> Array:
        """The whole matrix: for few items."""
        graph = self.graph.toarray() if is_sparse(self.graph) else self.graph
        dense: Array = graph + self.factors.toarray() + np.diag(self.diagonal)
        return dense


@dataclass(frozen=True)
class Recipe:
    """An estimator's parameters as far as they concern the matrix."""

    method: Method
    alpha: float
    scale: Scale
    center: Center

    def similarity(self, W: Graph, bags: Bags, n_clusters: int) -> tuple[Similarity, float]:
        """The normalised matrix of a graph, which may be overwritten, and the alpha that Q was multiplied by.

        With more clusters than labels two items of one label need not be in one cluster, so nothing is must-linked.
        """
        method = self.method
        must = method.must and n_clusters <= len(bags.names)
        factors, missing, alpha = no_factors(W.shape[0]), np.zeros(W.shape[0]), 0.0
        if method.cannot:
            W, factors = edit_graph(W, bags, must=must)
        d = np.maximum(degrees(W) + factors @ np.ones(W.shape[0]), _LEAST * W.diagonal())
        if method.regularized and n_clusters <= len(bags.names):
            factors, missing = _clique_penalty(bags)
        if method.additive:
            most = max(float(d.max()), np.finfo(float).tiny)
            return Similarity(W / most, factors.scaled(1 / most), 1 - d / most), 0.0
        h = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0.0)
        factors = factors.between(h)
        if method.rewards:
            Q = bag_factors(bags, self.center, links=method.rewards_links).between(h)
            alpha = self.alpha if self.scale == "absolute" else relative_alpha(Q, self.alpha)
            factors = Q.scaled(alpha)
        return Similarity(_between(W, h), factors, missing * h**2), alpha


def relative_alpha(Q: Factors, share: float) -> float:
    """The alpha with which Q, already normalised, has the largest eigenvalue share / (1 - share).

    The normalised graph's is 1, so that constraints and graph weigh share to 1 - share whatever the size of the
    data and the number of neighbours; with alpha itself constraints drown a sparse graph.
    """
    largest = _largest_eigenvalue(Q)
    return share / (1 - share) / largest if largest > _TINY else 0.0


def _largest_eigenvalue(Q: Factors) -> float:
    n_items = Q.columns.shape[0]
    if n_items < _FEW:
        return float(np.linalg.eigvalsh(Q.toarray())[-1])
    start = np.random.RandomState(0).uniform(size=n_items)
    if np.linalg.norm(Q @ start) <= _TINY * np.linalg.norm(start):
        return 0.0  # Lanczos has nothing to begin with
    operator = LinearOperator((n_items, n_items), matvec=Q.__matmul__, dtype=np.float64)
    return float(eigsh(operator, 1, which="LA", v0=start, tol=1e-6, return_eigenvectors=False)[0])


def _clique_penalty(bags: Bags) -> tuple[Factors, Array]:
    """-BETA times the sum of (z_p - z_q)^2 over must-linked pairs, as factors and a diagonal."""
    cliques = clique_columns(bags)
    sizes = np.asarray(cliques.sum(axis=0)).ravel()
    return Factors(cliques, np.full(cliques.shape[1], BETA)), -BETA * (cliques @ sizes)


def _between(W: Graph, h: Array) -> Graph:
    """diag(h) W diag(h); a dense W is overwritten."""
    if is_sparse(W):
        scaling = sparse.diags_array(h)
        return csr_array(scaling @ W @ scaling)
    W *= h[:, None]
    W *= h
    return W
