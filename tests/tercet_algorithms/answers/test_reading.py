"""Answers in every accepted form become the same arrays; anything else is refused with its row and value."""

import numpy as np
import pytest

from tercet_algorithms.answers.reading import read_constraints, read_pairs

FORMS = [
    ["yes", "no", "dnk"],
    [1, -1, 0],
    np.array([1.0, -1.0, 0.0]),
    ["1", "no", 0],
    np.array(["yes", -1, 0], object),
    [True, False, 0],
    [np.True_, np.False_, "dnk"],
]


@pytest.mark.parametrize("answers", FORMS)
def test_all_forms_of_an_answer_are_the_same(answers):
    read = read_constraints([[0, 1, 2], [1, 2, 3], [2, 3, 4]], answers, n_items=5)
    assert read.answers.tolist() == [0, 1, 2]
    assert read.is_dnk().tolist() == [False, False, True]


def test_left_and_right_are_ordered_and_the_answer_turned_round():
    triplets = [[0, 2, 1], [0, 2, 1], [0, 2, 1], [3, 1, 2]]
    read = read_constraints(triplets, ["yes", "no", "dnk", "yes"], n_items=4)
    assert read.triplets.tolist() == [[0, 1, 2]] * 3 + [[3, 1, 2]]
    assert read.answers.tolist() == [1, 0, 2, 0]
    outlier = read_constraints([*triplets[:3], [0, 2, 3]], [1, 2, 3, 0], "outlier", n_items=4)
    assert outlier.answers.tolist() == [0, 2, 1, 3]


def test_identical_rows_of_one_labeler_count_once_and_those_of_others_stay():
    triplets = [[0, 1, 2], [0, 2, 1], [0, 1, 2], [0, 1, 2]]
    answers = ["yes", "no", "yes", "no"]
    assert len(read_constraints(triplets, answers, n_items=3)) == 2
    assert len(read_constraints(triplets, answers, labelers=["ann", "ann", None, "ann"], n_items=3)) == 3


def test_both_kinds_may_be_mixed():
    read = read_constraints([[0, 1, 2], [0, 1, 2]], ["yes", "1"], ["relative", "outlier"], n_items=3)
    assert read.kinds.tolist() == [0, 1]
    assert np.allclose(read.likelihoods(0.1)[0], [0.05, 0.05, 0.05, 0.9, 0.05])
    assert np.allclose(read.likelihoods(0.3)[1], [0.1, 0.7, 0.1, 0.1, 0.1])


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
        ([[0, 1, 2]], [True], "outlier", "answers row 0 is 'True'"),
        ([[0, 1, 2]], np.array([True]), "outlier", "answers row 0 is True"),
        ([[0, 1, 2]], [1, 1], None, "answers has 2 rows, triplets has 1"),
        ([[0, 1, 2]], [1], ["odd"], "kinds row 0 is 'odd'"),
        ([[0, 1, 2]], [1], ["relative"] * 2, "kinds has 2 rows"),
    ],
)
def test_bad_input_is_named(triplets, answers, kinds, message):
    with pytest.raises(ValueError, match=message):
        read_constraints(triplets, answers, kinds, n_items=5)


def test_bools_are_yes_and_no():
    for answers in ([True, False], np.array([True, False]), (True, -1)):
        assert read_constraints([[0, 1, 2], [1, 2, 3]], answers, n_items=4).answers.tolist() == [0, 1]


def test_items_may_be_called_by_name():
    names = np.array(["ant", "bee", "cat", "dog"])
    read = read_constraints([["bee", "dog", "ant"]], ["yes"], n_items=4, item_names=names)
    assert read.triplets.tolist() == [[1, 0, 3]]
    assert read.answers.tolist() == [1]
    positions = read_constraints([[1, 3, 0]], ["yes"], n_items=4, item_names=np.array([7, 8, 9, 10]))
    assert positions.triplets.tolist() == [[1, 0, 3]], "integers are positions all the same"
    with pytest.raises(ValueError, match=r"triplets row 1 is \['ant', 'bee', 'emu'\]: expected names from the index"):
        read_constraints([["ant", "bee", "cat"], ["ant", "bee", "emu"]], [1, 1], n_items=4, item_names=names)
    with pytest.raises(ValueError, match="two items are named 'ant'"):
        read_constraints([["ant", "bee", "cat"]], [1], n_items=4, item_names=np.array(["ant", "bee", "cat", "ant"]))
    with pytest.raises(ValueError, match="triplets must be integer item positions"):
        read_constraints([["ant", "bee", "cat"]], [1], n_items=4)


def test_weights_of_identical_rows_are_the_largest_and_rows_of_weight_0_are_left_out():
    triplets, answers = [[0, 1, 2], [0, 2, 1], [0, 1, 3], [0, 1, 2]], ["yes", "no", "yes", "no"]
    read = read_constraints(triplets, answers, weights=[1, 3, 0, 2], n_items=4)
    assert read.triplets.tolist() == [[0, 1, 2]] * 2
    assert read.answers.tolist() == [0, 1]
    assert read.weights.tolist() == [3, 2]
    rows = read_constraints(triplets, answers, weights=[1, 3, 0, 2], n_items=4, merge=False)
    assert len(rows) == 4
    assert rows.counts().tolist() == [1, 3, 0, 2]
    assert rows.counted_once().tolist() == [3, 0, 0, 2]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -0.5], "weights row 1 is -0.5: expected a finite number of at least 0"),
        ([np.inf, 1], "weights row 0 is inf"),
        ([1], r"one number for each of the 2 answers, got shape \(1,\)"),
    ],
)
def test_bad_weights_are_named(weights, message):
    with pytest.raises(ValueError, match=message):
        read_constraints([[0, 1, 2], [1, 2, 3]], [1, 1], weights=weights, n_items=4)


def test_pairs_are_ordered_and_count_once():
    assert read_pairs("must_link", [[2, 1], [0, 3], [1, 2]], 4).tolist() == [[0, 3], [1, 2]]
    assert read_pairs("must_link", [["b", "a"]], 2, np.array(["a", "b"])).tolist() == [[0, 1]]
    assert read_pairs("must_link", None, 4).shape == (0, 2)
    for pairs, message in (
        ([[0, 0]], r"must_link row 0 is \[0, 0\]: expected two different items"),
        ([[0, 4]], r"must_link row 0 is \[0, 4\]: expected positions from 0 to 3"),
        ([[0, 1, 2]], r"must_link must have shape \(M, 2\)"),
    ):
        with pytest.raises(ValueError, match=message):
            read_pairs("must_link", pairs, 4)
