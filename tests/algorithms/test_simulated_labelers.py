"""Simulated labelers and the measures that judge clusterings."""

import numpy as np
import pytest

from algorithms.metrics import answers_satisfied, pairwise_f
from algorithms.simulate import TABLE_IV, noisy_answers, random_triplets, true_answers

Y = np.array([0, 0, 1, 1, 2])


def test_right_answers_follow_the_classes():
    triplets = np.array([[0, 1, 2], [0, 2, 1], [0, 2, 3], [0, 2, 4]])
    assert true_answers(Y, triplets).tolist() == [1, -1, 0, 0]
    assert true_answers(Y, triplets, "outlier").tolist() == [3, 2, 1, 0]


def test_people_err_as_in_table_iv():
    rng = np.random.default_rng(0)
    triplets = np.tile([[0, 1, 2], [0, 2, 1], [0, 2, 4]], (20_000, 1))
    answers = noisy_answers(Y, triplets, TABLE_IV, rng).reshape(-1, 3)
    shares = [[np.mean(answers[:, right] == answer) for answer in (1, -1, 0)] for right in range(3)]
    assert np.allclose(shares, TABLE_IV, atol=0.01)


def test_random_triplets_are_different_questions():
    rng = np.random.default_rng(0)
    every = random_triplets(6, 60, rng)  # all there are
    assert len(np.unique(every, axis=0)) == 60
    assert (every[:, 1] < every[:, 2]).all()
    assert all(len(set(row)) == 3 for row in every.tolist())
    with pytest.raises(ValueError, match="only 60"):
        random_triplets(6, 61, rng)


def test_pairwise_f():
    assert pairwise_f(Y, Y + 7) == 1
    # True pairs 01, 23; found pairs 01, 02, 12: one right of three, one of two found.
    assert pairwise_f(Y, [0, 0, 0, 1, 2]) == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))
    assert pairwise_f([0, 1], [0, 1]) == 0


def test_answers_satisfied_counts_repeated_answers_and_both_kinds():
    triplets, answers = [[0, 1, 2], [0, 1, 2], [0, 2, 1], [0, 2, 3]], ["yes", "no", "no", "dnk"]
    assert answers_satisfied(Y, triplets, answers) == 0.75
    assert answers_satisfied(Y, triplets[:1], [3], "outlier") == 1
    assert answers_satisfied(Y, [], []) == 0
