"""What every estimator does at the edges: odd answers, odd numbers of clusters, input that is wrong."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from tests.tercet_algorithms.estimators import (
    GIVEN,
    N_ANSWERS,
    N_ITEMS,
    OF_ALL,
    X,
    Y,
    assert_usable,
    every,
    fitted,
    questions,
)

pytestmark = OF_ALL

EVERY = [[a, b, c] for a in range(5) for b in range(5) for c in range(b + 1, 5) if len({a, b, c}) == 3]
ODD_ANSWERS = {
    "none": (None, None),
    "empty": ([], []),
    "one": ([[0, 1, 2]], ["yes"]),
    "all dnk": (EVERY, ["dnk"] * 30),
    "contradictory": ([[0, 1, 2], [0, 2, 1], [0, 1, 2]], ["yes", "yes", "dnk"]),
    "repeated": ([[0, 1, 2]] * 20, ["yes"] * 20),
    "one item in all": ([[0, k, k + 1] for k in range(1, 58)], ["yes", "no", "dnk"] * 19),
    "few items": (EVERY, ["yes", "no", "dnk"] * 10),
}


@every
@pytest.mark.parametrize("odd", ODD_ANSWERS)
def test_odd_answers(variant, odd):
    triplets, answers = ODD_ANSWERS[odd]
    labelers = None if triplets is None else range(len(triplets))
    assert_usable(variant.make().fit(X, triplets=triplets, answers=answers, labelers=labelers))


@every
@pytest.mark.parametrize("n_clusters", [1, 2, 7])
def test_odd_numbers_of_clusters(variant, n_clusters):
    y = Y % 2
    model = variant.make(n_clusters).fit(X, **questions(y, 30))
    assert_usable(model, n_clusters=n_clusters)
    assert model.predict_answers(X, [[0, 1, 2]]).shape == (1, 3)
    if n_clusters == 1:
        assert set(model.predict(X)) == {0}


@every
def test_as_many_clusters_as_items_but_not_more(variant):
    assert_usable(variant.make(5).fit(X[:5], **questions(Y[:5], 8)), n_items=5, n_clusters=5)
    with pytest.raises(ValueError, match=r"n_clusters=6.*5"):
        variant.make(6).fit(X[:5])
    with pytest.raises(ValueError, match="n_clusters"):
        variant.make(0).fit(X)


@every
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_constant_features_say_nothing(variant):
    padded = X.copy()
    padded[:, -1] = 7.1  # one of several columns that say the same
    assert adjusted_rand_score(Y, variant.make().fit(padded, **GIVEN).labels_) == 1
    assert_usable(variant.make().fit(np.ones_like(X)))


@every
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.where(np.arange(X.shape[1]) == 2, np.nan, X)}, "X row 0, column 2 is nan"),
        ({"X": np.where(np.arange(X.shape[1]) == 1, np.inf, X)}, "X row 0, column 1 is inf"),
        ({"X": X[:, 0]}, "2D array"),
        ({"triplets": [[0, 1, N_ITEMS]] * N_ANSWERS}, f"triplets row 0 .* from 0 to {N_ITEMS - 1}"),
        ({"triplets": [[0, 1, 2]] * (N_ANSWERS - 1) + [[0, 1, 1]]}, "triplets row 99 .* three different items"),
        ({"answers": [1] * (N_ANSWERS - 1) + [2]}, "answers row 99 is 2"),
        ({"answers": [1] * 99}, "answers has 99 rows, triplets has 100"),
        ({"kinds": ["relative"] * (N_ANSWERS - 1) + ["odd"]}, "kinds row 99 is 'odd'"),
        ({"labelers": ["a"]}, "labelers has 1 rows, triplets has 100"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_bad_input_is_named(variant, change, message):
    with pytest.raises(ValueError, match=message):
        variant.make().fit(**{"X": X, **GIVEN, **change})


@every
def test_features_of_another_number_are_refused_by_name(variant):
    model = fitted(variant)
    message = rf"X has 2 features, but \w+ is expecting {X.shape[1]}"
    for ask in (model.predict, lambda X: model.predict_answers(X, [[0, 1, 2]])):
        with pytest.raises(ValueError, match=message):
            ask(X[:, :2])
    with pytest.raises(ValueError, match="triplets row 0"):
        model.predict_answers(X, [[0, 1, N_ITEMS]])
