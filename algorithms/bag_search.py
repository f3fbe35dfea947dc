"""From eigenvectors to clusters, start by start: what happens between two callbacks, and the state in between."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from algorithms.bag_spectrum import Spectrum
from algorithms.fitting import StopFit
from algorithms.patterns import Array


@dataclass(frozen=True)
class SpectralState:
    """Everything needed to continue a fit of the same items, bags and parameters."""

    values: Array  # (K,) eigenvalues
    vectors: Array  # (N, K) eigenvectors
    found: bool  # whether the eigenvectors converged
    alpha: float  # what Q was multiplied by
    sigma: Array  # (N,) bandwidths of the items
    seeds: Array  # (n_init,) of the starts of k-means
    start: int  # how many starts are done
    centers: Array  # (K, K) of the best of these
    inertia: float
    steps: int  # iterations of the best start
    settled: bool  # whether it converged

    @property
    def iteration(self) -> int:
        return self.start

    @property
    def converged(self) -> bool:
        return self.found and self.settled

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

    def to_arrays(self) -> dict[str, Array]:
        """Plain arrays for `numpy.savez`; no pickle."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> "SpectralState":
        plain: dict[str, Any] = {field.name: arrays[field.name] for field in fields(cls)}
        return cls(**{name: value if value.ndim else value.item() for name, value in plain.items()})


Callback = Callable[[SpectralState], object]


def first_state(spectrum: Spectrum, alpha: float, sigma: Array, seeds: Array) -> SpectralState:
    """The state once the eigenvectors are known and before the first start."""
    return SpectralState(
        values=spectrum.values,
        vectors=spectrum.vectors,
        found=spectrum.converged,
        alpha=alpha,
        sigma=sigma,
        seeds=seeds,
        start=0,
        centers=np.zeros((len(spectrum.values), len(spectrum.values))),
        inertia=np.inf,
        steps=0,
        settled=False,
    )


def run(state: SpectralState, callback: Callback | None) -> tuple[SpectralState, bool]:
    """The last state, and whether the callback stopped the fit there."""
    while not state.done:
        state = advance(state)
        if callback is not None:
            try:
                callback(state)
            except StopFit:
                return state, True
    return state, False


def advance(state: SpectralState) -> SpectralState:
    """One start of k-means further."""
    seed = int(state.seeds[state.start])
    fit = KMeans(len(state.values), n_init=1, random_state=seed).fit(unit_rows(state.vectors))
    state = replace(state, start=state.start + 1)
    if fit.inertia_ >= state.inertia:
        return state
    settled = fit.n_iter_ < fit.max_iter
    return replace(
        state, centers=fit.cluster_centers_, inertia=float(fit.inertia_), steps=int(fit.n_iter_), settled=settled
    )


def unit_rows(vectors: Array) -> Array:
    """Rows of length 1 (step 5 of Algorithm 1); a row of zeros, an item tied to nothing, stays one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows: Array = vectors / np.where(lengths > 0, lengths, 1)
    return rows
