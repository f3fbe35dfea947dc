"""The eight ways to use bag labels in spectral clustering: of which matrix each takes the eigenvectors.

All of them add a term to the graph W, edit W, or both, and differ in how the result is normalised. Every result is a
normalised graph plus sparse factors plus a diagonal, so that one eigensolver serves all.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, eigsh

from tercet_algorithms.answers.bag_labels import Bags, is_sparse
from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.bags.constraints import Center, Factors, bag_factors, clique_columns, edit_graph, no_factors
from tercet_algorithms.bags.graph import Graph, degrees

Scale = Literal["absolute", "relative"]

# How strongly "regularized" holds must-linked items together: the paper's beta.
BETA = 20.0
# Constraints whose largest eigenvalue is below this are rounding, as those of a single bag are.
_TINY = 1e-10
# Below this many items all eigenvalues are computed, which takes no longer.
_MAX_DENSE_EIGEN = 100
# A degree is at least this many times an item's affinity to itself. An item without neighbours would otherwise be a
# cluster of its own with the largest eigenvalue, and many of them would hide the structure of the graph.
_MIN_DEGREE = 2.0


@dataclass(frozen=True)
class BagMethod:
    """How a method uses the bags."""

    paper: str  # its name in the paper
    rewards: bool = False  # alpha Q
    rewards_links: bool = True  # also in Q's entries of must-linked pairs
    cannot: bool = False  # entries of cannot-linked pairs become 0
    must: bool = False  # entries of must-linked pairs become 1
    additive: bool = False  # the diagonal fills degrees up to the largest instead of dividing by them
    regularized: bool = False  # differences between must-linked items are penalised


METHODS = {
    "bag": BagMethod("CSP", rewards=True),
    "bag-without-links": BagMethod("CSP w.o.clml", rewards=True, rewards_links=False),
    "spectral": BagMethod("SP"),
    "links": BagMethod("SpLearn, symmetric", cannot=True, must=True),
    "links-additive": BagMethod("SpLearn", cannot=True, must=True, additive=True),
    "regularized": BagMethod("SpReg", regularized=True),
    "cannot-link": BagMethod("-", cannot=True),
    "both": BagMethod("-", rewards=True, cannot=True),
}


@dataclass(frozen=True, eq=False)
class Similarity:
    """The symmetric matrix graph + factors + diag(diagonal), used through its products with vectors."""

    graph: Graph
    factors: Factors
    diagonal: Array  # (N,)

    def __matmul__(self, v: Array) -> Array:
        """Return the product with a vector or a matrix."""
        diagonal = self.diagonal.reshape(-1, *[1] * (v.ndim - 1))
        product: Array = self.graph @ v + self.factors @ v + diagonal * v
        return product

    def __len__(self) -> int:
        return len(self.diagonal)

    def operator(self) -> LinearOperator:
        """Return the matrix as a linear operator."""
        shape = len(self), len(self)
        return LinearOperator(shape, matvec=self.__matmul__, matmat=self.__matmul__, dtype=np.float64)

    def toarray(self) -> Array:
        """Return the dense matrix, for few items."""
        graph = self.graph.toarray() if is_sparse(self.graph) else self.graph
        dense: Array = graph + self.factors.toarray() + np.diag(self.diagonal)
        return dense


@dataclass(frozen=True)
class SimilarityRecipe:
    """The parameters of the estimator that determine the matrix."""

    method: BagMethod
    alpha: float
    scale: Scale
    center: Center

    def similarity(self, W: Graph, bags: Bags, n_clusters: int) -> tuple[Similarity, float]:
        """Return the normalised matrix of a graph, which may be overwritten, and the factor alpha of Q.

        With more clusters than labels two items of one label may belong to different clusters: nothing is must-linked.
        """
        method = self.method
        must = method.must and n_clusters <= len(bags.names)
        factors, diagonal, alpha = no_factors(W.shape[0]), np.zeros(W.shape[0]), 0.0
        if method.cannot:
            W, factors = edit_graph(W, bags, must=must)
        d = np.maximum(degrees(W) + factors @ np.ones(W.shape[0]), _MIN_DEGREE * W.diagonal())
        if method.regularized and n_clusters <= len(bags.names):
            factors, diagonal = _clique_penalty(bags)
        if method.additive:
            largest = max(float(d.max()), np.finfo(float).tiny)
            return Similarity(W / largest, factors.scaled(1 / largest), 1 - d / largest), 0.0
        h = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0.0)
        factors = factors.between(h)
        if method.rewards:
            Q = bag_factors(bags, self.center, links=method.rewards_links).between(h)
            alpha = self.alpha if self.scale == "absolute" else relative_alpha(Q, self.alpha)
            factors = Q.scaled(alpha)
        return Similarity(_between(W, h), factors, diagonal * h**2), alpha


def relative_alpha(Q: Factors, share: float) -> float:
    """Return the alpha with which the largest eigenvalue of the normalised Q is share / (1 - share).

    That of the normalised graph is 1, so constraints and graph have weights share and 1 - share whatever the number of
    items and neighbours; an absolute alpha would let the constraints outweigh a sparse graph.
    """
    largest = _largest_eigenvalue(Q)
    return share / (1 - share) / largest if largest > _TINY else 0.0


def _largest_eigenvalue(Q: Factors) -> float:
    n_items = Q.columns.shape[0]
    if n_items < _MAX_DENSE_EIGEN:
        return float(np.linalg.eigvalsh(Q.toarray())[-1])
    start = np.random.RandomState(0).uniform(size=n_items)
    if np.linalg.norm(Q @ start) <= _TINY * np.linalg.norm(start):
        return 0.0  # Lanczos has nothing to begin with
    operator = LinearOperator((n_items, n_items), matvec=Q.__matmul__, dtype=np.float64)
    return float(eigsh(operator, 1, which="LA", v0=start, tol=1e-6, return_eigenvectors=False)[0])


def _clique_penalty(bags: Bags) -> tuple[Factors, Array]:
    """Return -BETA times the sum of (z_p - z_q)^2 over must-linked pairs, as factors and a diagonal."""
    cliques = clique_columns(bags)
    sizes = np.asarray(cliques.sum(axis=0)).ravel()
    return Factors(cliques, np.full(cliques.shape[1], BETA)), -BETA * (cliques @ sizes)


def _between(W: Graph, h: Array) -> Graph:
    """Return diag(h) W diag(h); a dense W is overwritten."""
    if is_sparse(W):
        scaling = sparse.diags_array(h)
        return csr_array(scaling @ W @ scaling)
    W *= h[:, None]
    W *= h
    return W
