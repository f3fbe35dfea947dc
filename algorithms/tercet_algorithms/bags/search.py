"""The steps of a fit after the eigenvectors: starts of k-means in the embedding, and the state between them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from joblib import effective_n_jobs
from sklearn.cluster import KMeans
from sklearn.utils.parallel import Parallel, delayed

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.bags.spectrum import Spectrum
from tercet_algorithms.common.search import ArrayRecord


@dataclass(frozen=True)
class SpectralState(ArrayRecord):
    """Everything needed to resume a fit of the same items, bags and parameters."""

    values: Array  # (K,) eigenvalues
    vectors: Array  # (N, K) eigenvectors
    spectrum_converged: bool
    alpha: float  # factor of Q
    sigma: Array  # (N,) bandwidths of the items
    seeds: Array  # (n_init,) of the starts of k-means
    start: int  # number of finished starts
    centers: Array  # (K, K) of the best of these
    inertia: float
    steps: int  # iterations of the best start
    kmeans_converged: bool  # in the best start
    made_of: Array  # (16,) fingerprint of the items, bags and parameters

    @property
    def iteration(self) -> int:
        return self.start

    @property
    def converged(self) -> bool:
        return self.spectrum_converged and self.kmeans_converged

    @property
    def done(self) -> bool:
        return self.start == len(self.seeds)

    @property
    def lower_bound(self) -> float:
        """The objective of the eigenvectors (Eq 13): the sum of their eigenvalues."""
        return float(self.values.sum())

    @property
    def fraction(self) -> float:
        """Progress in [0, 1]; the eigenvectors count as much as all starts of k-means together."""
        return (1 + self.start / len(self.seeds)) / 2


Callback = Callable[[SpectralState], object]


def first_state(spectrum: Spectrum, alpha: float, sigma: Array, seeds: Array, made_of: Array) -> SpectralState:
    """Return the state after the eigenvectors and before the first start of k-means."""
    return SpectralState(
        values=spectrum.values,
        vectors=spectrum.vectors,
        spectrum_converged=spectrum.converged,
        alpha=alpha,
        sigma=sigma,
        seeds=seeds,
        start=0,
        centers=np.zeros((len(spectrum.values), len(spectrum.values))),
        inertia=np.inf,
        steps=0,
        kmeans_converged=False,
        made_of=made_of,
    )


def advance(state: SpectralState, n_jobs: int | None = None) -> SpectralState:
    """Return the state one start of k-means further, or one start for each of several jobs."""
    seeds = state.seeds[state.start : state.start + max(effective_n_jobs(n_jobs), 1)]
    rows = unit_rows(state.vectors)
    fits = Parallel(n_jobs=min(len(seeds), effective_n_jobs(n_jobs)), prefer="threads")(
        delayed(_kmeans)(rows, len(state.values), int(seed)) for seed in seeds
    )
    for fit in fits:
        state = _with_start(state, fit)
    return state


def _kmeans(rows: Array, n_clusters: int, seed: int) -> KMeans:
    return KMeans(n_clusters, n_init=1, random_state=seed).fit(rows)


def _with_start(state: SpectralState, fit: KMeans) -> SpectralState:
    """Return the state with one more finished start."""
    state = replace(state, start=state.start + 1)
    if fit.inertia_ >= state.inertia:
        return state
    return replace(
        state,
        centers=fit.cluster_centers_,
        inertia=float(fit.inertia_),
        steps=int(fit.n_iter_),
        kmeans_converged=fit.n_iter_ < fit.max_iter,
    )


def unit_rows(vectors: Array) -> Array:
    """Return rows of length 1 (step 5 of Algorithm 1); a row of zeros, an item without neighbours, stays one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows: Array = vectors / np.where(lengths > 0, lengths, 1)
    return rows
