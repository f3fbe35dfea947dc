"""Data that hold several clusterings at once, each item's clusters drawn independently of one another."""

import numpy as np

METHODS = ["cmbc", "em", "dibws", "regress-out"]
SIZES = (6, 5, 4, 3)


def crossed_bits(p_noise, n_items=1000, seed=0):
    """The paper's synthetic sets: four clusterings in two, of 6, 5, 4 and 3 features; bits (N, 18), groups (N, 4)."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(2, size=(n_items, len(SIZES)))
    bits = np.repeat(groups, SIZES, axis=1) ^ (rng.random((n_items, sum(SIZES))) < p_noise)
    return bits.astype(float), groups


def crossed_numbers(seed=0, n_items=400):
    """Two clusterings in two, in four and three of seven dimensions."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(2, size=(n_items, 2))
    return np.repeat(groups, (4, 3), axis=1) * 2.5 + rng.normal(size=(n_items, 7)), groups


def three_by_three(seed=0, n_items=600):
    """Two clusterings in three, rotated: the first is the stronger."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(3, size=(n_items, 2))
    places = np.hstack([4.0 * np.eye(3)[groups[:, 0]], 3.0 * np.eye(3)[groups[:, 1]]])
    rotation = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    return (places + rng.normal(size=places.shape)) @ rotation, groups
