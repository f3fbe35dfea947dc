"""Eigenvectors of the K largest eigenvalues, of a matrix that is never formed.

Lanczos iteration needs only products of the matrix with vectors. Penalised must-links give the matrix a large negative
spectrum, on which Lanczos converges slowly; there a block method (LOBPCG) is used, preconditioned by the exact inverse
of the penalty so that only the graph is left.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh, lobpcg

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.bags.methods import Similarity

# Up to this many items LAPACK computes the whole spectrum as fast, without iteration.
_MAX_LAPACK = 200
_TOL = 1e-6
# Tolerance that suffices to tell whether an eigenvalue was missed.
_ROUGH_TOL = 1e-2
# Limits on iterations: a graph of many components has its largest eigenvalue many times, which converges slowly.
_MAX_RESTARTS, _MAX_BLOCK_STEPS = 500, 300


@dataclass(frozen=True)
class Spectrum:
    """The K largest eigenvalues, descending, and their unit eigenvectors."""

    values: Array  # (K,)
    vectors: Array  # (N, K)
    converged: bool


def largest(S: Similarity, k: int, rng: np.random.RandomState) -> Spectrum:
    """Return the k algebraically largest eigenvalues of S with their vectors; k is at most its size."""
    starts = rng.uniform(size=(len(S), k + 1))  # always drawn, so that later random numbers do not depend on the path
    if len(S) <= _MAX_LAPACK or 3 * k >= len(S):
        values, vectors = linalg.eigh(S.toarray(), subset_by_index=(len(S) - k, len(S) - 1))
        return _sorted_spectrum(values, vectors, converged=True)
    if (S.diagonal < 0).any():
        return _by_blocks(S, starts[:, 1:])
    return _by_lanczos(S, starts[:, 0], starts[:, 1:])


def _by_lanczos(S: Similarity, first: Array, starts: Array) -> Spectrum:
    """Return the spectrum by Lanczos iteration, repeated for eigenvalues that the first run has missed.

    Lanczos may see only one vector of a multiple eigenvalue. A graph of several components, or nearly so, has its
    largest eigenvalue once for each: that is a graph of clear clusters.
    """
    k, converged = starts.shape[1], True
    try:
        values, vectors = eigsh(S.operator(), k, which="LA", v0=first, tol=_TOL, maxiter=_MAX_RESTARTS)
    except ArpackNoConvergence as error:
        values, vectors = error.eigenvalues, error.eigenvectors
    except ArpackError:  # too few distinct eigenvalues for the iteration
        values, vectors = np.empty(0), np.empty((len(S), 0))
    for start in starts.T:  # vectors other than the first, from which the same would be found again
        smallest = float(values.min()) if len(values) == k else -np.inf
        value, vector = _next_orthogonal(S, values, vectors, start, smallest)
        if len(values) < k:
            converged &= np.isfinite(value)
            values, vectors = np.append(values, value), np.column_stack([vectors, vector])
        elif value > smallest + _TOL * max(1, abs(value)):
            place = values.argmin()
            values[place], vectors[:, place] = value, vector
        else:
            break
    # Rayleigh-Ritz: the best eigenvectors in the span of these.
    basis = linalg.qr(vectors, mode="economic")[0]
    values, rotation = linalg.eigh(basis.T @ (S @ basis))
    return _sorted_spectrum(values, basis @ rotation, converged=converged)


def _next_orthogonal(
    S: Similarity, values: Array, vectors: Array, start: Array, smallest: float
) -> tuple[float, Array]:
    """Return the largest eigenvalue, and its vector, among vectors orthogonal to `vectors`.

    It is only approximate where it is no larger than `smallest`. Where the iteration fails, return -inf and the start.
    """
    finite = np.isfinite(values)
    values, vectors = values[finite], vectors[:, finite]
    lowered = values - (values.min(initial=0.0) - 1)

    def product(v: Array) -> Array:
        deflated: Array = S @ v - vectors @ (lowered * (vectors.T @ v))
        return deflated

    operator = LinearOperator((len(S), len(S)), matvec=product, dtype=np.float64)
    try:
        value, vector = eigsh(operator, 1, which="LA", v0=start, tol=_ROUGH_TOL, maxiter=_MAX_RESTARTS)
        if value[0] > smallest + _TOL:
            value, vector = eigsh(operator, 1, which="LA", v0=vector[:, 0], tol=_TOL, maxiter=_MAX_RESTARTS)
    except ArpackError:
        return -np.inf, start
    return float(value[0]), vector[:, 0]


def _by_blocks(S: Similarity, start: Array) -> Spectrum:
    """Return the spectrum from the smallest eigenvalues of I - S, preconditioned by its part without the graph."""
    identity = LinearOperator((len(S), len(S)), matvec=lambda v: v - S @ v, matmat=lambda V: V - S @ V, dtype=float)
    inverse = penalty_inverse(S)
    with warnings.catch_warnings():
        # LOBPCG warns of the slightest miss of its tolerance; the residual is judged below.
        warnings.simplefilter("ignore", UserWarning)
        values, vectors = lobpcg(identity, start, M=inverse, largest=False, tol=1e-6, maxiter=_MAX_BLOCK_STEPS)
    residual = np.linalg.norm(vectors - S @ vectors - vectors * values, axis=0)
    return _sorted_spectrum(1 - values, vectors, converged=bool(residual.max() < 1e-4))


def penalty_inverse(S: Similarity) -> LinearOperator:
    """Return (I - diagonal - factors)^-1 by Woodbury's formula, whose largest matrix is R x R."""
    inverse = 1 / (1 - S.diagonal)
    U, w = S.factors.columns, S.factors.weights
    scaled = sparse.diags_array(inverse) @ U
    core = linalg.inv(np.diag(1 / w) - (U.T @ scaled).toarray())

    def solve(V: Array) -> Array:
        Z = (inverse * V.T).T
        solution: Array = Z + scaled @ (core @ (U.T @ Z))
        return solution

    return LinearOperator(S.operator().shape, matvec=solve, matmat=solve, dtype=float)


def _sorted_spectrum(values: Array, vectors: Array, *, converged: bool) -> Spectrum:
    """Return eigenvalues descending, and every vector with its largest entry positive, which fixes the sign."""
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], vectors[:, order]
    largest_entries = vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))]
    return Spectrum(values, vectors * np.where(largest_entries < 0, -1.0, 1.0), converged)
