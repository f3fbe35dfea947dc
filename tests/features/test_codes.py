"""Patterns learned from patches: planted ones are recovered, and activations are what the definition says."""

import numpy as np

from tercet.features.codes import learn_codebook


def planted(n: int = 2_000, n_patterns: int = 5, size: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Patches that are each a multiple of one of some orthogonal patterns, with a little noise."""
    rng = np.random.default_rng(seed)
    patterns = np.linalg.qr(rng.normal(size=(size, n_patterns)))[0].T
    strength = rng.uniform(1, 2, (n, 1)) * rng.choice([-1, 1], (n, 1))
    patches = strength * patterns[rng.integers(n_patterns, size=n)] + rng.normal(0, 0.02, (n, size))
    return patches.astype(np.float32), patterns


def test_planted_patterns_are_recovered():
    patches, patterns = planted()
    book = learn_codebook(patches, 20, seed=0)
    assert book is not None
    white = (patterns - book.mean) @ book.whiten
    white /= np.linalg.norm(white, axis=1, keepdims=True)
    assert np.abs(white @ book.patterns.T).max(axis=1).min() > 0.95


def test_patterns_have_unit_length_and_the_same_seed_learns_the_same():
    patches, _ = planted()
    first, second, another_seed = (learn_codebook(patches, 8, seed=seed) for seed in (3, 3, 4))
    assert first is not None
    assert second is not None
    assert another_seed is not None
    np.testing.assert_allclose(np.linalg.norm(first.patterns, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(first.patterns, second.patterns)
    assert not np.array_equal(first.patterns, another_seed.patterns)


def test_activations_by_definition():
    patches, _ = planted(200)
    book = learn_codebook(patches, 6, seed=0)
    assert book is not None
    for signed in (True, False):
        codes = book.activations(patches, signed=signed)
        for patch, code in zip(patches[:20], codes, strict=False):
            likeness = np.array([((patch - book.mean) @ book.whiten) @ pattern for pattern in book.patterns])
            likeness = likeness if signed else np.abs(likeness)
            np.testing.assert_allclose(code, np.maximum(likeness - likeness.mean(), 0), atol=1e-4)


def test_patches_that_are_all_alike_teach_nothing():
    assert learn_codebook(np.ones((50, 4), dtype=np.float32), 8, seed=0) is None
    assert learn_codebook(np.ones((1, 4), dtype=np.float32), 8, seed=0) is None


def test_more_patterns_than_patches():
    patches, _ = planted(5)
    book = learn_codebook(patches, 100, seed=0)
    assert book is not None
    assert len(book.patterns) == 5
