"""The steps of a fit after the eigenvectors: starts of k-means in the embedding, and the state between them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from joblib import effective_n_jobs
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.utils.parallel import Parallel, delayed

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.bags.spectrum import Spectrum
from tercet_algorithms.common.kernel_kmeans import soft_assignments
from tercet_algorithms.common.linked_kmeans import (
    KMeansFit,
    centers_of,
    linked_assignments,
    linked_kmeans,
    scaled_links,
)
from tercet_algorithms.common.links import ItemLinks
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
    inertia: float  # of the best start, less what the links that it keeps are worth
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


@dataclass(frozen=True)
class EmbeddedClusters:
    """How k-means in the embedding begins and what it heeds."""

    links: ItemLinks | None = None  # whose unit is the embedding's mean squared distance from its mean
    start: Array | None = None  # (N,) clusters to go on from

    def in_embedding(self, rows: Array) -> ItemLinks | None:
        """Return the links in squared distances of these rows."""
        return None if self.links is None else scaled_links(self.links, rows)

    def fit(self, rows: Array, n_clusters: int, seed: int) -> KMeansFit:
        """Run one start."""
        links = self.in_embedding(rows)
        if self.start is None and links is None:
            return _of_sklearn(KMeans(n_clusters, n_init=1, random_state=seed).fit(rows))
        if self.start is None:
            centers = kmeans_plusplus(rows, n_clusters, random_state=seed)[0]
        else:
            centers = centers_of(rows, self.start, n_clusters)
        if links is None:
            return _of_sklearn(KMeans(n_clusters, init=centers, n_init=1).fit(rows))
        return linked_kmeans(rows, centers, links, self.start)

    def posterior(self, rows: Array, centers: Array, variance: float) -> Array:
        """Return the probability of every cluster, (N, K), were clusters round and of one width."""
        links = self.in_embedding(rows)
        if links is None:
            return soft_assignments(rows, centers, variance)
        return linked_assignments(rows, centers, variance, links, self.start)


def _of_sklearn(fit: KMeans) -> KMeansFit:
    return KMeansFit(
        fit.labels_, fit.cluster_centers_, float(fit.inertia_), int(fit.n_iter_), fit.n_iter_ < fit.max_iter
    )


def advance(
    state: SpectralState, n_jobs: int | None = None, clusters: EmbeddedClusters = EmbeddedClusters()
) -> SpectralState:
    """Return the state one start of k-means further, or one start for each of several jobs."""
    seeds = state.seeds[state.start : state.start + max(effective_n_jobs(n_jobs), 1)]
    rows = unit_rows(state.vectors)
    fits = Parallel(n_jobs=min(len(seeds), effective_n_jobs(n_jobs)), prefer="threads")(
        delayed(clusters.fit)(rows, len(state.values), int(seed)) for seed in seeds
    )
    for fit in fits:
        state = _with_start(state, fit)
    return state


def _with_start(state: SpectralState, fit: KMeansFit) -> SpectralState:
    """Return the state with one more finished start."""
    state = replace(state, start=state.start + 1)
    if fit.value >= state.inertia:
        return state
    return replace(
        state,
        centers=fit.centers,
        inertia=fit.value,
        steps=fit.n_iter,
        kmeans_converged=fit.converged,
    )


def unit_rows(vectors: Array) -> Array:
    """Return rows of length 1 (step 5 of Algorithm 1); a row of zeros, an item without neighbours, stays one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows: Array = vectors / np.where(lengths > 0, lengths, 1)
    return rows
