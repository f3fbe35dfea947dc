"""The eigenvectors that spectral clustering needs: those of the K largest eigenvalues, of a matrix never formed.

Lanczos iteration finds them from products with vectors alone. Penalised must-links give the matrix a large negative
spectrum on which Lanczos would spend itself; there a block method (LOBPCG) with the penalty's exact inverse for a
preconditioner sees only the graph.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh, lobpcg

from algorithms.bag_methods import Similarity
from algorithms.patterns import Array

# Up to so many items the whole spectrum by LAPACK is as fast and needs no iteration.
_FEW = 200
_TOL = 1e-6
# Enough to see whether there is an eigenvalue that was missed.
_ROUGH = 1e-2
# A graph in many pieces has its largest eigenvalue many times over, which neither method can separate quickly.
_MOST_RESTARTS, _MOST_BLOCK_STEPS = 500, 300


@dataclass(frozen=True)
class Spectrum:
    """The K largest eigenvalues, descending, and their unit eigenvectors."""

    values: Array  # (K,)
    vectors: Array  # (N, K)
    converged: bool


def largest(S: Similarity, k: int, rng: np.random.RandomState) -> Spectrum:
    """The k largest (not largest in size) eigenvalues of S with their vectors, k at most its size."""
    starts = rng.uniform(size=(len(S), k + 1))  # drawn in any case, so that what follows does not depend on the way
    if len(S) <= _FEW or 3 * k >= len(S):
        values, vectors = linalg.eigh(S.toarray(), subset_by_index=(len(S) - k, len(S) - 1))
        return _tidy(values, vectors, converged=True)
    if (S.diagonal < 0).any():
        return _by_blocks(S, starts[:, 1:])
    return _by_lanczos(S, starts[:, 0], starts[:, 1:])


def _by_lanczos(S: Similarity, first: Array, others: Array) -> Spectrum:
    """Lanczos, and again beside what it found: of an eigenvalue that comes several times it may have seen one vector.

    A graph in pieces, or nearly so, has its largest eigenvalue once for each; just that is a graph of clear clusters.
    """
    k, converged = others.shape[1], True
    try:
        values, vectors = eigsh(S.operator(), k, which="LA", v0=first, tol=_TOL, maxiter=_MOST_RESTARTS)
    except ArpackNoConvergence as error:
        values, vectors = error.eigenvalues, error.eigenvectors
    except ArpackError:  # so few different eigenvalues that it has nothing to go on with
        values, vectors = np.empty(0), np.empty((len(S), 0))
    for start in others.T:  # the first one sees no more than it saw
        least = float(values.min()) if len(values) == k else -np.inf
        value, vector = _next_beside(S, values, vectors, start, least)
        if len(values) < k:
            converged &= np.isfinite(value)
            values, vectors = np.append(values, value), np.column_stack([vectors, vector])
        elif value > least + _TOL * max(1, abs(value)):
            place = values.argmin()
            values[place], vectors[:, place] = value, vector
        else:
            break
    # Rayleigh and Ritz: the best eigenvectors that these span.
    basis = linalg.qr(vectors, mode="economic")[0]
    values, turned = linalg.eigh(basis.T @ (S @ basis))
    return _tidy(values, basis @ turned, converged=converged)


def _next_beside(S: Similarity, values: Array, vectors: Array, start: Array, least: float) -> tuple[float, Array]:
    """The largest eigenvalue, and its vector, among vectors at right angles to the given ones.

    Only roughly where it is no larger than `least`. Where none is found, minus infinity and the start.
    """
    known = np.isfinite(values)
    values, vectors = values[known], vectors[:, known]
    lowered = values - (values.min(initial=0.0) - 1)

    def product(v: Array) -> Array:
        out: Array = S @ v - vectors @ (lowered * (vectors.T @ v))
        return out

    operator = LinearOperator((len(S), len(S)), matvec=product, dtype=np.float64)
    try:
        value, vector = eigsh(operator, 1, which="LA", v0=start, tol=_ROUGH, maxiter=_MOST_RESTARTS)
        if value[0] > least + _TOL:
            value, vector = eigsh(operator, 1, which="LA", v0=vector[:, 0], tol=_TOL, maxiter=_MOST_RESTARTS)
    except ArpackError:
        return -np.inf, start
    return float(value[0]), vector[:, 0]


def _by_blocks(S: Similarity, start: Array) -> Spectrum:
    """The smallest of I - S, which has no negative ones, preconditioned by I minus everything but the graph."""
    identity = LinearOperator((len(S), len(S)), matvec=lambda v: v - S @ v, matmat=lambda V: V - S @ V, dtype=float)
    inverse = penalty_inverse(S)
    with warnings.catch_warnings():
        # It warns of a tolerance missed by ever so little; what is missed is judged below.
        warnings.simplefilter("ignore", UserWarning)
        values, vectors = lobpcg(identity, start, M=inverse, largest=False, tol=1e-6, maxiter=_MOST_BLOCK_STEPS)
    residual = np.linalg.norm(vectors - S @ vectors - vectors * values, axis=0)
    return _tidy(1 - values, vectors, converged=bool(residual.max() < 1e-4))


def penalty_inverse(S: Similarity) -> LinearOperator:
    """(I - diagonal - factors)^-1 by Woodbury's formula; R x R is the largest matrix it needs."""
    inverse = 1 / (1 - S.diagonal)
    U, w = S.factors.columns, S.factors.weights
    scaled = sparse.diags_array(inverse) @ U
    core = linalg.inv(np.diag(1 / w) - (U.T @ scaled).toarray())

    def solve(V: Array) -> Array:
        Z = (inverse * V.T).T
        found: Array = Z + scaled @ (core @ (U.T @ Z))
        return found

    return LinearOperator(S.operator().shape, matvec=solve, matmat=solve, dtype=float)


def _tidy(values: Array, vectors: Array, *, converged: bool) -> Spectrum:
    """Descending, and every vector with its largest entry positive: a sign is anyone's otherwise."""
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], vectors[:, order]
    largest_entries = vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))]
    return Spectrum(values, vectors * np.where(largest_entries < 0, -1.0, 1.0), converged)
