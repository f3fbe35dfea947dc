"""Data with several clusterings at once, and the values that the CMBC paper prints, for `benchmarks.papers_cmbc`.

The paper's synthetic sets have four clusterings in two, told by 6, 5, 4 and 3 of 18 bits. The sets of numbers are
stand-ins for data that could not be had: a stronger clustering that is known, and a weaker one that is sought.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

SIZES = (6, 5, 4, 3)
NOISES = (0.1, 0.2, 0.3)
SESSIONS = (1, 2, 3)
N_ITEMS = 1000

# NMI with the target, for p_noise .1, .2, .3 in each session: Tables 2 and 3 of the paper.
PRINTED = {
    "clusterings": {
        "CMBCbu": ((0.8653, 0.6136, 0.2546), (0.8336, 0.4782, 0.1958), (0.8176, 0.5220, 0.2107)),
        "CMBCpm": ((0.9297, 0.6599, 0.2796), (0.8300, 0.5007, 0.1520), (0.7997, 0.4351, 0.1160)),
        "dIBwS": ((0.9072, 0.6595, 0.0008), (0.8235, 0.0833, 0.0008), (0.8068, 0.0006, 0.0006)),
        "EM": ((0.1217, 0.0429, 0.0430), (0.0007, 0.0012, 0.0022), (0.0008, 0.0015, 0.0015)),
    },
    "features": {
        "CMBCbu": ((0.8923, 0.6554, 0.3064), (0.8302, 0.5104, 0.2115), (0.8175, 0.5026, 0.1221)),
        "CMBCpm": ((0.9012, 0.6473, 0.2148), (0.8115, 0.4453, 0.1367), (0.6931, 0.3017, 0.0578)),
        "dIBwS": ((0.9289, 0.6799, 0.3245), (0.8224, 0.5269, 0.1153), (0.8047, 0.5100, 0.1488)),
    },
}


@dataclass(frozen=True)
class Crossed:
    """Features, and two clusterings or more of the same items."""

    X: np.ndarray
    groups: np.ndarray  # (N, clusterings), strongest first
    n_clusters: int = 2
    columns: np.ndarray | None = None  # of bits: the clustering that each column tells


def bits(p_noise: float, seed: int) -> Crossed:
    """One synthetic set of the paper: the two representatives of a clustering differ in each of its bits."""
    rng = np.random.default_rng([seed, round(100 * p_noise)])
    groups = rng.integers(2, size=(N_ITEMS, len(SIZES)))
    flips = rng.random((N_ITEMS, sum(SIZES))) < p_noise
    columns = np.repeat(np.arange(len(SIZES)), SIZES)
    return Crossed((groups[:, columns] ^ flips).astype(float), groups, columns=columns)


def split(data: Crossed, session: int) -> tuple[np.ndarray, np.ndarray]:
    """Table 3's bits and negative features: half of the bits of each known clustering are negative."""
    assert data.columns is not None, "only bits are told apart by clustering"
    first = np.cumsum([0, *SIZES])
    negative = np.concatenate([first[clustering] + np.arange(SIZES[clustering] // 2) for clustering in range(session)])
    positive = np.setdiff1d(np.arange(sum(SIZES)), negative)
    return data.X[:, positive], data.X[:, negative]


def gaussians(
    seed: int, *, n_clusters: int = 2, known: float = 5.5, target: float = 3.9, rotated: bool = True
) -> Crossed:
    """Two clusterings in six dimensions each, `known` and `target` standard deviations from centre to centre."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_clusters, size=(N_ITEMS, 2))
    places = []
    for number, distance in enumerate((known, target)):
        corners = rng.normal(size=(n_clusters, 6))
        corners -= corners.mean(axis=0)
        gaps = np.linalg.norm(corners[:, None] - corners, axis=2)
        places.append((distance * corners / gaps[gaps > 0].mean())[groups[:, number]])
    X = np.hstack(places) + rng.normal(size=(N_ITEMS, 12))
    if rotated:
        X = X @ np.linalg.qr(rng.normal(size=(12, 12)))[0]
    return Crossed(X, groups, n_clusters)


def digit_pairs(seed: int, n_clusters: int) -> Crossed:
    """Pictures of two handwritten digits side by side, the second dimmed to .7: each side's digit is a clustering."""
    rng = np.random.default_rng(seed)
    images, digits = load_digits(return_X_y=True)
    chosen = rng.permutation(10)[: 2 * n_clusters].reshape(2, n_clusters)
    groups = rng.integers(n_clusters, size=(N_ITEMS, 2))
    halves = []
    for side, light in enumerate((1.0, 0.7)):
        rows = [np.flatnonzero(digits == chosen[side, group]) for group in range(n_clusters)]
        halves.append(light * images[[rng.choice(rows[group]) for group in groups[:, side]]])
    return Crossed(np.hstack(halves), groups, n_clusters)


def words(seed: int) -> Crossed:
    """800 texts of 1000 rare words: a stronger and a weaker clustering by topic, each of which makes 120 frequent."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(2, size=(800, 2))
    chances = np.tile(rng.gamma(0.5, 0.04, size=1000), (800, 1))
    for clustering, factor in enumerate((5.0, 4.0)):
        for group in range(2):
            chosen = rng.choice(1000, 120, replace=False)
            chances[np.ix_(groups[:, clustering] == group, chosen)] *= factor
    return Crossed((rng.random(chances.shape) < chances).astype(float), groups)


def numbers(name: str, seed: int) -> Crossed:
    """The set of that name."""
    if name == "Gaussians along the axes":
        return gaussians(seed, rotated=False)
    if name == "Gaussians":
        return gaussians(seed)
    if name == "Gaussians, weak target":
        return gaussians(seed, target=2.7)
    if name == "Gaussians, K = 3":
        return gaussians(seed, n_clusters=3, known=5.0, target=4.5)
    if name == "words, sparse":
        return words(seed)
    return digit_pairs(seed, 3 if name == "digit pairs, K = 3" else 2)


# Sets that are not the paper's, of numbers but for the last.
NUMBERS = (
    "Gaussians along the axes",
    "Gaussians",
    "Gaussians, weak target",
    "Gaussians, K = 3",
    "digit pairs",
    "digit pairs, K = 3",
    "words, sparse",
)
