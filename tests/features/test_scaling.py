"""Groups on one scale: variances, principal components against the singular value decomposition."""

import numpy as np
import pytest

from tercet.features import row_file, scaling
from tercet.features.row_file import RowFile
from tercet.features.scaling import side_by_side, standardised, to_components, total_variance


def rows(n: int = 60, d: int = 7, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)).astype(np.float32)


def principal_components(X, readable, numbers):
    return to_components(X, readable, numbers).rows(X, readable)


def test_principal_components_are_those_of_the_svd(monkeypatch):
    monkeypatch.setattr(scaling, "ROWS_AT_ONCE", 16)  # several blocks
    X = rows()
    components = principal_components(X, np.ones(len(X), dtype=bool), 4)
    U, S, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(np.abs(components), np.abs((U * S)[:, :4]), atol=1e-3)


def test_rows_in_a_file_give_what_rows_in_memory_give(monkeypatch):
    monkeypatch.setattr(row_file, "MOST_IN_MEMORY", 200)  # bytes
    for block in (16, 60, 100):
        monkeypatch.setattr(row_file, "ROWS_AT_ONCE", block)
        monkeypatch.setattr(scaling, "ROWS_AT_ONCE", block)
        X, readable, stored = rows(), np.arange(60) % 7 > 0, RowFile(7)
        for row in X:
            stored.append(row)
        np.testing.assert_array_equal(stored.to_array(), X)
        assert (len(stored), stored.width) == X.shape
        expected = principal_components(X, readable, 3)
        np.testing.assert_array_equal(principal_components(stored, readable, 3), expected)
        assert expected[readable].any(axis=1).all()


def test_no_rows_and_no_columns():
    assert RowFile(5).to_array().shape == (0, 5)
    for shape in ((0, 5), (5, 0)):
        assert principal_components(np.zeros(shape, dtype=np.float32), np.ones(shape[0], dtype=bool), 3).size == 0


def test_all_components_keep_all_distances():
    X = rows()
    components = principal_components(X, np.ones(len(X), dtype=bool), 100)
    assert components.shape == X.shape
    np.testing.assert_allclose(((components[3] - components[9]) ** 2).sum(), ((X[3] - X[9]) ** 2).sum(), rtol=1e-4)


def test_unreadable_rows_are_the_average_and_change_no_other():
    X = rows()
    readable = np.ones(len(X), dtype=bool)
    readable[[2, 5]] = False
    for reduce in (standardised, lambda X, good: principal_components(X, good, 3)):
        spoiled = X.copy()
        spoiled[[2, 5]] = 1e6
        reduced = reduce(spoiled, readable)
        assert not reduced[[2, 5]].any()
        np.testing.assert_array_equal(reduced[readable], reduce(X, readable)[readable])


def test_no_readable_row_gives_no_component():
    X = rows()
    assert not principal_components(X, np.zeros(len(X), dtype=bool), 3).any()
    assert not standardised(X, np.zeros(len(X), dtype=bool)).any()


def test_constant_columns_become_zero():
    X = np.column_stack([np.full(20, 3e5), np.arange(20)]).astype(np.float32)
    scaled = standardised(X, np.ones(20, dtype=bool))
    assert not scaled[:, 0].any()
    assert scaled[:, 1].std() == pytest.approx(1, abs=1e-5)


def test_each_group_has_the_share_of_variance_that_its_weight_says():
    groups = [rows(), 1e3 * rows(d=2, seed=1), np.zeros((60, 3), dtype=np.float32)]
    joined = side_by_side(groups, [1.0, 3.0, 5.0])
    assert total_variance(joined) == pytest.approx(12, rel=1e-4)  # as of so many standardised columns
    assert total_variance(joined[:, 7:9]) == pytest.approx(3 * total_variance(joined[:, :7]), rel=1e-4)
    assert not joined[:, 9:].any()
