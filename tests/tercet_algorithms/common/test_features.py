"""X, its column names and y: what is wrong is named, and a refused X leaves no trace."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tercet_algorithms import CMBC, DCRC, DCRCCV, SKLR, BagSpectralClustering
from tercet_algorithms.common.features import check_features, check_no_target, row_names


def test_bad_features_are_named():
    X = np.zeros((3, 2))
    X[1, 1] = np.nan
    with pytest.raises(ValueError, match="X row 1, column 1 is nan"):
        check_features(X)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        check_features(np.zeros(3))


@pytest.mark.parametrize("cls", [DCRC, DCRCCV, SKLR, CMBC, BagSpectralClustering])
def test_sparse_features_are_refused_with_what_to_do(cls):
    with pytest.raises(TypeError, match=rf"X is sparse, which {cls.__name__} does not take.*TruncatedSVD"):
        cls(2).fit(csr_array(np.eye(4)))


def test_a_fitted_model_refuses_sparse_features_in_the_same_words():
    model = DCRC(2, n_init=1, n_moves=0, random_state=0).fit(np.eye(4))
    for ask in (model.predict, lambda X: model.score(X, triplets=[[0, 1, 2]], answers=["yes"])):
        with pytest.raises(TypeError, match="X is sparse, which DCRC does not take"):
            ask(csr_array(np.eye(4)))


def test_more_clusters_than_items_are_refused():
    with pytest.raises(ValueError, match="n_clusters=4 is more than the number of items, 3"):
        check_features(np.zeros((3, 2)), n_clusters=4)


def test_only_data_frames_name_their_rows():
    assert row_names([[1, 2]]) is None
    assert row_names(np.zeros((1, 2))) is None


def test_a_target_for_each_item_is_not_used_and_anything_else_is_refused():
    check_no_target(None, 4)
    with pytest.warns(UserWarning, match="y is not used"):
        check_no_target([0, 1, 0, 1], 4)
    with pytest.raises(ValueError, match=r"y is not used, got shape \(1, 3\): pass triplets="):
        DCRC(2).fit(np.eye(4), [[0, 1, 2]])
