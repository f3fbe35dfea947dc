"""Patterns learned from patches without labels: spherical k-means of whitened patches.

Coates and Ng, "Learning feature representations with k-means" (2012), and Stowell and Plumbley, "Automatic
large-scale classification of bird sounds is strongly improved by unsupervised feature learning" (2014), showed that
this simple method learns features as good as those of far larger models.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]

N_PATTERNS = 128
ITERATIONS = 12
VARIANCE = 0.99  # share of the patches' variance that is used
DAMPING = 0.05  # of the mean variance; keeps directions with little variance, mostly noise, from being amplified
MOST_DIRECTIONS = 64


@dataclass(frozen=True)
class Codebook:
    """Patterns (K, R) of unit length in the space of whitened patches, (patch - mean) @ whiten."""

    mean: Rows  # (D,)
    whiten: Rows  # (D, R)
    patterns: Rows  # (K, R)

    def activations(self, patches: Rows, *, signed: bool = True) -> Rows:
        """Return the similarity of each patch to each pattern, (P, K): what exceeds the mean over all patterns.

        With signed=False the negative of a pattern is as similar as the pattern.
        """
        likeness = ((patches - self.mean) @ self.whiten) @ self.patterns.T
        if not signed:
            np.abs(likeness, out=likeness)
        likeness -= likeness.mean(axis=1, keepdims=True)
        return np.maximum(likeness, 0.0, out=likeness)

    def arrays(self) -> dict[str, Rows]:
        """Return the patterns as plain arrays."""
        return {"patch_mean": self.mean, "whiten": self.whiten, "patterns": self.patterns}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Rows]) -> "Codebook | None":
        """Read what `arrays` returned; None where no patterns could be learned."""
        return cls(arrays["patch_mean"], arrays["whiten"], arrays["patterns"]) if "patterns" in arrays else None


class PatchCodes:
    """Codes by patterns learned from patches of all items; subclasses define the patches and the pooling."""

    n_pools: int  # columns for each pattern

    def __init__(self, seed: int, codebook: Codebook | None = None) -> None:
        self._seed = seed
        self._patches: list[Rows] = []
        self.codebook = codebook

    @property
    def width(self) -> int:
        """Return the number of columns; there are none before patterns are learned."""
        return 0 if self.codebook is None else self.n_pools * len(self.codebook.patterns)

    def learn(self) -> None:
        """Learn the patterns from the patches that were collected."""
        if self._patches:
            patches = np.concatenate(self._patches)
            self.codebook = learn_codebook(patches.reshape(len(patches), -1), N_PATTERNS, self._seed)
        self._patches = []


def learn_codebook(patches: Rows, n_patterns: int, seed: int) -> Codebook | None:
    """Return patterns learned from patches (P, D); None where the patches are all equal, or too few."""
    mean = patches.mean(axis=0)
    whiten = _whitening(patches - mean)
    if len(patches) < 2 or whiten.shape[1] == 0:
        return None
    white = (patches - mean) @ whiten
    rng = np.random.default_rng(seed)
    return Codebook(mean, whiten, _spherical_k_means(white, min(n_patterns, len(white)), rng))


def _whitening(centred: Rows) -> Rows:
    """Return the matrix (D, R) that scales the main directions of variance to about the same variance."""
    covariance = (centred.T @ centred).astype(np.float64) / max(1, len(centred))
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    if values[0] < 1e-12:
        return np.zeros((len(values), 0), dtype=np.float32)
    enough = int(np.searchsorted(np.cumsum(values), VARIANCE * values.sum())) + 1
    rank = min(enough, MOST_DIRECTIONS)
    scaled = vectors[:, :rank] / np.sqrt(values[:rank] + DAMPING * values[:rank].mean())
    return np.asarray(scaled, dtype=np.float32)


def _spherical_k_means(white: Rows, n_patterns: int, rng: np.random.Generator) -> Rows:
    """Return unit vectors such that each row is close to a multiple of one of them."""
    patterns = _unit(white[rng.choice(len(white), n_patterns, replace=False)])
    for _ in range(ITERATIONS):
        likeness = white @ patterns.T
        nearest = np.abs(likeness).argmax(axis=1)
        strength = np.take_along_axis(likeness, nearest[:, None], axis=1)
        sums = np.zeros_like(patterns)
        np.add.at(sums, nearest, strength * white)
        unused = np.flatnonzero(~sums.any(axis=1))
        sums[unused] = white[rng.choice(len(white), len(unused))]
        patterns = _unit(sums + patterns)
    return patterns


def _unit(rows: Rows) -> Rows:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-8), dtype=np.float32)
