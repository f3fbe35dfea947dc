"""How CMBC reads features as bits and known clusterings as combinations, and how alike clusterings are."""

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from tercet_algorithms.cmbc.coding import make_coding
from tercet_algorithms.cmbc.known_clusterings import likeness, nmi, read_known

X = np.column_stack([np.arange(8), [0, 1] * 4, np.full(8, 3.5), np.ones(8)]).astype(float)


def test_a_thermometer_asks_for_the_quartiles_and_leaves_bits_alone():
    coding = make_coding(X, "thermometer")
    assert coding.columns.tolist() == [0, 0, 0, 1, 3]
    assert np.array_equal(coding.bits(X)[:, 3], X[:, 1])
    assert coding.bits(X)[:, :3].sum(axis=1).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert coding.bits(X)[:, :3].tolist() == [sorted(row, reverse=True) for row in coding.bits(X)[:, :3].tolist()]
    beyond = np.array([[-100.0, 0, 0, 0], [100.0, 1, 9, 1]])
    assert coding.bits(beyond).tolist() == [[0, 0, 0, 0, 0], [1, 1, 1, 1, 1]]


def test_ties_make_fewer_bits_and_constants_one_that_says_nothing():
    tied = np.array([0.0] * 7 + [2.0])[:, None]
    assert make_coding(tied, "thermometer").bits(tied).T.tolist() == [[0] * 7 + [1]]
    constant = np.full((5, 2), 7.1)
    assert make_coding(constant, "thermometer").bits(constant).tolist() == [[0]] * 5


def test_only_bits_where_nothing_is_coded():
    assert len(make_coding(X[:, [1, 3]], None)) == 2
    with pytest.raises(ValueError, match=r"features row 2, column 0 is 2\.0: expected 0 or 1"):
        make_coding(X[:, :2], None, "features")


def test_combinations_are_what_occurs_together():
    clusterings = read_known([[5, 0], [5, 0], [2, 0], [2, 9], [5, -1]], [[1], [1], [1], [0], [0]], 5)
    assert clusterings.codes.tolist() == [[1, 0], [1, 0], [0, 0], [0, 1], [1, -1]]
    first, second, third, fourth, unknown = clusterings.combinations()
    assert first == second
    assert sorted({first, third, fourth}) == [0, 1, 2]
    assert unknown == -1
    assert [n_values for _, n_values in clusterings.parts()] == [2, 2, 2]


def test_too_many_combinations_are_taken_part_by_part():
    codes = np.column_stack([np.arange(60) % 5, np.arange(60) % 4])
    clusterings = read_known(codes, (np.arange(60) % 3 == 0)[:, None], 60)
    (combinations,) = clusterings.combinations_or_parts(60)
    assert len(np.unique(combinations)) == 40
    parts = clusterings.combinations_or_parts(39)
    assert [len(np.unique(part)) for part in parts] == [5, 4, 2]
    incomplete = codes.copy()
    incomplete[0, 1] = -1
    assert [part.min() for part in read_known(incomplete, None, 60).combinations_or_parts(64)] == [0, -1]
    assert len(read_known(incomplete[:, 1], None, 60).combinations_or_parts(64)) == 1
    assert not read_known(None, None, 60).combinations_or_parts(64)[0].any()


def test_indicators_are_one_column_a_value():
    clusterings = read_known([3, 7, -1], None, 3)
    assert clusterings.indicators()[:2].tolist() == [[1, 0], [0, 1]]
    assert np.isnan(clusterings.indicators()[2]).all()
    assert read_known(None, None, 3).indicators().shape == (3, 0)


def test_codes_may_be_booleans_and_whole_numbers():
    for codes in ([True, False, True], [1.0, 0.0, 1.0], np.array([1, 0, 1], dtype=np.uint8)):
        assert read_known(codes, None, 3).codes.ravel().tolist() == [1, 0, 1]


def test_other_items_are_read_with_the_same_codes():
    clusterings = read_known([4, 8, 8], None, 3)
    assert clusterings.read_new_items([8, 4, 6, -1], None, 4).codes.ravel().tolist() == [1, 0, -1, -1]
    with pytest.raises(ValueError, match="they have 1 and 1 columns, expected 1 and 0"):
        clusterings.read_new_items([8], [[1]], 1)


def test_a_clustering_of_one_cluster_is_ignored_with_a_warning():
    with pytest.warns(UserWarning, match="known column 1 has fewer than two clusters"):
        clusterings = read_known([[0, 3], [1, 3], [1, -1]], None, 3)
    assert len(clusterings.parts()) == 1
    assert -1 not in clusterings.combinations()


def test_nmi_is_the_share_of_the_known_entropy():
    labels, codes = np.array([0, 0, 1, 1, 1, 0]), np.array([0, 0, 1, 1, 2, 2])
    expected = mutual_info_score(labels, codes) / np.log(3)
    assert nmi(labels, codes) == pytest.approx(expected)
    assert nmi(codes, codes) == pytest.approx(1)
    assert nmi(np.zeros(6, dtype=int), codes) == 0
    assert nmi(labels, np.zeros(6, dtype=int)) == 0
    partly = np.where(np.arange(6) < 4, codes, -1)
    assert nmi(labels, partly) == pytest.approx(1)


@pytest.mark.heavy
def test_clusterings_at_random_are_not_alike():
    rng = np.random.default_rng(0)
    codes = rng.integers(4, size=300)
    drawn = [rng.integers(5, size=300) for _ in range(200)]
    entropy = np.log(4)
    beyond = [mutual_info_score(codes, labels) / entropy - 12 / 600 / entropy for labels in drawn]
    assert abs(np.mean(beyond)) < 0.003
    assert [likeness(labels, codes) for labels in drawn] == pytest.approx(np.maximum(beyond, 0), abs=1e-3)
    assert likeness(codes, np.zeros(300, dtype=int)) == likeness(np.zeros(300, dtype=int), codes) == 0


def test_a_coarse_picture_of_a_clustering_is_like_it():
    codes = np.repeat(np.arange(8), 100)
    coarse = codes // 4
    assert likeness(coarse, codes) == pytest.approx(1 - 7 / 1600 / np.log(2))
    assert nmi(coarse, codes) == pytest.approx(1 / 3)
    partly = np.where(np.arange(800) % 2 == 0, codes, -1)
    assert likeness(coarse, partly) == likeness(coarse[::2], codes[::2])


def test_negative_features_are_unwanted_together():
    bits = np.random.default_rng(0).integers(2, size=(200, 3))
    clusterings = read_known(np.column_stack([np.arange(200) % 3, np.arange(200) % 2]), bits, 200)
    first, second, negative = clusterings.clusterings_to_avoid()
    assert (len(np.unique(first)), len(np.unique(second)), len(np.unique(negative))) == (3, 2, 8)
    many = np.random.default_rng(0).integers(2, size=(200, 12))
    assert len(np.unique(read_known(None, many, 200).clusterings_to_avoid()[0])) < 5
