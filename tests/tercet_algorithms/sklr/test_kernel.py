"""The kernel that SKLR starts from: its bandwidths, its low-rank forms, and where they put items."""

import numpy as np
import pytest

from tercet_algorithms.sklr import kernel as module
from tercet_algorithms.sklr.kernel import AdaptiveKernel, Factor, adaptive_kernel, factorise, neighbor_distances


def test_bandwidths_are_distances_to_the_nth_nearest_other_item():
    points = np.array([[0.0], [1.0], [3.0], [7.0]])
    assert neighbor_distances(points, points, 1).tolist() == [1, 1, 2, 4]
    assert neighbor_distances(points, points, 2).tolist() == [3, 2, 3, 6]
    assert neighbor_distances(points, points, 99).tolist() == [7, 6, 4, 7]
    assert neighbor_distances(np.array([[2.0]]), points, 2).tolist() == [1]


@pytest.mark.parametrize("n_neighbors", [1, 7, 40, 300])
def test_bandwidths_are_those_of_all_distances_sorted(n_neighbors):
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(size=(280, 3)), np.zeros((9, 3)), rng.normal(size=(20, 3)) + 50])
    references = points[rng.permutation(len(points))[:200]]
    distances = np.sort(np.linalg.norm(points[:, None] - references, axis=2), axis=1)
    place = np.minimum(n_neighbors - (distances[:, 0] > 0), len(references) - 1)
    expected = np.take_along_axis(distances, place[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(neighbor_distances(points, references, n_neighbors), expected, rtol=1e-6, atol=1e-6)


def test_many_equal_items_do_not_make_a_bandwidth_of_nothing():
    points = np.concatenate([np.zeros((9, 2)), [[1.0, 0], [5, 0]]])
    kernel, rows = adaptive_kernel(points, 3, np.random.RandomState(0))
    assert kernel.floor > 0
    np.testing.assert_array_equal(kernel.with_bandwidths(points), rows)
    K = kernel(rows, rows)
    assert np.isfinite(K).all()
    np.testing.assert_allclose(K, K.T)
    np.testing.assert_allclose(np.diag(K), kernel.diagonal(rows))
    assert K[9, 10] == pytest.approx(np.exp(-16 / (rows[9, -1] * rows[10, -1])))


def kernel_rows(n=70):
    rng = np.random.RandomState(0)
    points = rng.normal(size=(n, 3))
    return adaptive_kernel(points, 10, rng)


def made(method, criterion="trace", share=0.99, max_rank=None) -> tuple[Factor, np.ndarray, AdaptiveKernel, np.ndarray]:
    kernel, rows = kernel_rows()
    factor = factorise(
        kernel, rows, method, criterion=criterion, share=share, max_rank=max_rank, rng=np.random.RandomState(0)
    )
    return factor, kernel(rows, rows), kernel, rows


@pytest.mark.parametrize("method", ["eigen", "cholesky"])
def test_a_factor_keeps_the_asked_share_and_no_more(method):
    ranks = []
    for share in (0.9, 0.99, 1.0):
        factor, K, _, _ = made(method, share=share)
        values = np.linalg.eigvalsh(K)
        retained = np.trace(factor.Z @ factor.Z.T) / values[values > 0].sum()
        assert retained >= share - 0.01
        ranks.append(factor.Z.shape[1])
    assert ranks == sorted(set(ranks))
    factor, K, _, _ = made(method, "frobenius")
    assert np.linalg.norm(factor.Z @ factor.Z.T) >= 0.98 * np.linalg.norm(K)
    assert factor.Z.shape[1] < ranks[1]
    assert made(method, max_rank=5)[0].Z.shape[1] == 5


@pytest.mark.parametrize("criterion", ["trace", "frobenius"])
def test_a_factor_of_many_items_is_that_of_few(criterion, monkeypatch):
    """Whether columns of the kernel are computed one by one or all at once changes nothing."""
    tabled = made("cholesky", criterion)[0]
    monkeypatch.setattr(module, "MOST_TABLED", 10)
    by_columns = made("cholesky", criterion)[0]
    np.testing.assert_array_equal(tabled.base, by_columns.base)
    np.testing.assert_allclose(tabled.Z, by_columns.Z, atol=1e-7)


@pytest.mark.parametrize(("method", "bound"), [("eigen", 1e-2), ("cholesky", 0.1), ("nystroem", 0.1)])
def test_every_factor_approximates_the_kernel_and_places_its_items(method, bound):
    factor, K, kernel, rows = made(method, max_rank=60)
    assert np.linalg.norm(factor.Z @ factor.Z.T - K) < bound * np.linalg.norm(K)
    np.testing.assert_allclose(kernel(rows, rows[factor.base]) @ factor.weights, factor.Z, atol=1e-6)


def test_of_more_columns_than_dimensions_the_widest_axes_are_kept():
    """They approximate the kernel better than as many columns, and no better than as many eigenvectors can."""
    factor, K, kernel, rows = made("cholesky", share=1.0, max_rank=12)
    columns = made("cholesky", share=1.0, max_rank=20)[0]
    assert factor.Z.shape == (70, 12)
    assert len(factor.base) == 20
    np.testing.assert_array_equal(columns.base[:20], factor.base)
    values = np.linalg.eigvalsh(K)
    missing = np.square(np.linalg.eigvalsh(K - factor.Z @ factor.Z.T)).sum()
    pivoted = kernel(rows, rows[factor.base[:12]])
    of_columns = pivoted @ np.linalg.solve(pivoted[factor.base[:12]], pivoted.T)
    assert np.square(values[:-12]).sum() <= missing < np.square(K - of_columns).sum()
    products = factor.Z.T @ factor.Z  # axes, from the widest on
    np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-9)
    assert (np.diff(np.diag(products)) <= 0).all()
