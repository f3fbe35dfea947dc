"""Answers in every accepted form become the same arrays; anything else is refused with its row and value."""

import numpy as np
import pytest

from algorithms.validation import check_features, read_constraints

FORMS = [
    ["yes", "no", "dnk"],
    [1, -1, 0],
    np.array([1.0, -1.0, 0.0]),
    ["1", "no", 0],
    np.array(["yes", -1, 0], object),
]


@pytest.mark.parametrize("answers", FORMS)
def test_all_forms_of_an_answer_are_the_same(answers):
    found = read_constraints([[0, 1, 2], [1, 2, 3], [2, 3, 4]], answers, n_items=5)
    assert found.answers.tolist() == [0, 1, 2]
    assert found.is_dnk().tolist() == [False, False, True]


def test_left_and_right_are_ordered_and_the_answer_turned_round():
    triplets = [[0, 2, 1], [0, 2, 1], [0, 2, 1], [3, 1, 2]]
    found = read_constraints(triplets, ["yes", "no", "dnk", "yes"], n_items=4)
    assert found.triplets.tolist() == [[0, 1, 2]] * 3 + [[3, 1, 2]]
    assert found.answers.tolist() == [1, 0, 2, 0]
    outlier = read_constraints([*triplets[:3], [0, 2, 3]], [1, 2, 3, 0], "outlier", n_items=4)
    assert outlier.answers.tolist() == [0, 2, 1, 3]


def test_identical_rows_of_one_labeler_count_once_and_those_of_others_stay():
    triplets = [[0, 1, 2], [0, 2, 1], [0, 1, 2], [0, 1, 2]]
    answers = ["yes", "no", "yes", "no"]
    assert len(read_constraints(triplets, answers, n_items=3)) == 2
    assert len(read_constraints(triplets, answers, labelers=["ann", "ann", None, "ann"], n_items=3)) == 3


def test_both_kinds_may_be_mixed():
    found = read_constraints([[0, 1, 2], [0, 1, 2]], ["yes", "1"], ["relative", "outlier"], n_items=3)
    assert found.kinds.tolist() == [0, 1]
    assert np.allclose(found.likelihoods(0.1)[0], [0.05, 0.05, 0.05, 0.9, 0.05])
    assert np.allclose(found.likelihoods(0.3)[1], [0.1, 0.7, 0.1, 0.1, 0.1])


def test_no_answers_in_any_form():
    for empty in (None, [], np.empty((0, 3))):
        assert len(read_constraints(empty, None, n_items=3)) == 0


@pytest.mark.parametrize(
    ("triplets", "answers", "kinds", "message"),
    [
        ([[0, 1, 2], [0, 1, 1]], [1, 1], None, r"triplets row 1 is \[0, 1, 1\]: expected three different items"),
        ([[0, 1, 9]], [1], None, r"triplets row 0 is \[0, 1, 9\]: expected positions from 0 to 4"),
        ([[0, -1, 2]], [1], None, "triplets row 0"),
        ([[0, 1]], [1], None, r"shape \(M, 3\)"),
        ([[0.0, 1.0, 2.0]], [1], None, "integer"),
        ([[0, 1, 2]], ["maybe"], None, "answers row 0 is 'maybe': expected 'yes'"),
        ([[0, 1, 2], [1, 2, 3]], [1, 2], None, "answers row 1 is 2: expected 'yes'"),
        ([[0, 1, 2], [1, 2, 3]], [1, -1], "outlier", "answers row 1 is -1: expected 1, 2, 3"),
        ([[0, 1, 2]], [np.nan], None, "answers row 0 is nan"),
        ([[0, 1, 2]], [True], None, "answers row 0 is True"),
        ([[0, 1, 2]], [1, 1], None, "answers has 2 rows, triplets has 1"),
        ([[0, 1, 2]], [1], ["odd"], "kinds row 0 is 'odd'"),
        ([[0, 1, 2]], [1], ["relative"] * 2, "kinds has 2 rows"),
    ],
)
def test_bad_input_is_named(triplets, answers, kinds, message):
    with pytest.raises(ValueError, match=message):
        read_constraints(triplets, answers, kinds, n_items=5)


def test_bad_features_are_named():
    X = np.zeros((3, 2))
    X[1, 1] = np.nan
    with pytest.raises(ValueError, match="X row 1, column 1 is nan"):
        check_features(X)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        check_features(np.zeros(3))
