"""Simulated labelers: the shares of their answers are those that their matrix or their curve says."""

import numpy as np
import pytest

from tercet_algorithms.answers.patterns import ANSWERS
from tercet_algorithms.answers.simulated_labelers import (
    TABLE_IV,
    crowd_answers,
    distance_answers,
    habit_matrix,
    noisy_answers,
    random_triplets,
    true_answers,
)

Y = np.array([0, 0, 1, 1, 2])


def test_right_answers_follow_the_classes():
    triplets = np.array([[0, 1, 2], [0, 2, 1], [0, 2, 3], [0, 2, 4]])
    assert true_answers(Y, triplets).tolist() == [1, -1, 0, 0]
    assert true_answers(Y, triplets, "outlier").tolist() == [3, 2, 1, 0]


def test_people_err_as_in_table_iv():
    rng = np.random.default_rng(0)
    triplets = np.tile([[0, 1, 2], [0, 2, 1], [0, 2, 4]], (20_000, 1))
    answers = noisy_answers(Y, triplets, TABLE_IV, rng).reshape(-1, 3)
    shares = [[np.mean(answers[:, correct] == answer) for answer in (1, -1, 0)] for correct in range(3)]
    assert np.allclose(shares, TABLE_IV, atol=0.01)


def test_random_triplets_are_different_questions():
    rng = np.random.default_rng(0)
    every = random_triplets(6, 60, rng)  # all there are
    assert len(np.unique(every, axis=0)) == 60
    assert (every[:, 1] < every[:, 2]).all()
    assert all(len(set(row)) == 3 for row in every.tolist())
    with pytest.raises(ValueError, match="only 60"):
        random_triplets(6, 61, rng)


# --- confusion matrices ---

KINDS = ["relative", "outlier"]
HABITS = ["careful", "spammer", "lazy", "inverted"]
# One triplet for each right answer, in the order of the answers' numbers.
RIGHT = {"relative": [[0, 1, 2], [0, 2, 1], [0, 2, 4]], "outlier": [[2, 0, 1], [0, 2, 1], [0, 1, 2], [0, 2, 4]]}
NUMBERS = {"relative": [1, -1, 0], "outlier": [1, 2, 3, 0]}


def shares(answers, kind):
    """Share of each answer among (repetitions, questions) answers, shape (questions, answers)."""
    return np.stack([np.mean(answers == number, axis=0) for number in NUMBERS[kind]], axis=1)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_follow_any_confusion_matrix(kind):
    rng = np.random.default_rng(0)
    confusion = rng.dirichlet(np.ones(len(ANSWERS[kind])), size=len(ANSWERS[kind]))
    triplets = np.tile(RIGHT[kind], (20_000, 1))
    answers = noisy_answers(Y, triplets, confusion, rng, kind).reshape(-1, len(confusion))
    assert np.allclose(shares(answers, kind), confusion, atol=0.012)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("habit", HABITS)
def test_habits_are_probabilities(habit, kind):
    for error in (0, 0.1, 0.6):
        matrix = habit_matrix(habit, kind, error)
        assert matrix.shape == (len(ANSWERS[kind]),) * 2
        assert np.allclose(matrix.sum(axis=1), 1)
        assert (matrix >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_habits_are_what_they_are_called(kind):
    rng, triplets = np.random.default_rng(0), np.array(RIGHT[kind])
    correct = true_answers(Y, triplets, kind)
    assert correct.tolist() == NUMBERS[kind]
    assert (noisy_answers(Y, triplets, habit_matrix("careful", kind), rng, kind) == correct).all()
    assert (noisy_answers(Y, triplets, habit_matrix("lazy", kind), rng, kind) == 0).all()
    inverted = noisy_answers(Y, triplets, habit_matrix("inverted", kind), rng, kind)
    assert (inverted[:-1] != correct[:-1]).all()
    assert (inverted[:-1] != 0).all()
    assert inverted[-1] == 0
    error = np.diag(habit_matrix("careful", kind, 0.2))
    assert np.allclose(error, 0.8)


@pytest.mark.parametrize(
    ("confusion", "kind"),
    [
        (np.eye(4), "relative"),
        (np.eye(3), "outlier"),
        (np.ones((3, 3)), "relative"),
        (2 * np.eye(3) - 1 / 3, "relative"),
    ],
)
def test_what_is_no_confusion_matrix_is_refused(confusion, kind):
    with pytest.raises(ValueError, match=f"confusion of {kind} questions"):
        noisy_answers(Y, np.array([[0, 1, 2]]), confusion, np.random.default_rng(0), kind)


def test_bad_habits_are_named():
    with pytest.raises(ValueError, match="'sloppy'"):
        habit_matrix("sloppy")
    with pytest.raises(ValueError, match=r"got 0\.7"):
        habit_matrix(error=0.7)


@pytest.mark.parametrize("kind", KINDS)
def test_a_crowd_shares_the_questions(kind):
    rng = np.random.default_rng(0)
    triplets = random_triplets(5, 30, rng)
    confusions = {
        "careful": habit_matrix("careful", kind),
        "lazy": habit_matrix("lazy", kind),
        "c": np.eye(len(NUMBERS[kind])),
    }
    answered = crowd_answers(Y, triplets, confusions, rng, kind=kind, redundancy=2)
    assert len(answered["answers"]) == 60
    assert np.array_equal(answered["triplets"][::2], triplets)
    assert all(
        first != second for first, second in zip(answered["labelers"][::2], answered["labelers"][1::2], strict=True)
    )
    correct = true_answers(Y, answered["triplets"], kind)
    lazy = np.array(answered["labelers"]) == "lazy"
    assert (answered["answers"][lazy] == 0).all()
    assert (answered["answers"][~lazy] == correct[~lazy]).all()
    with pytest.raises(ValueError, match="from 1 to the number of labelers, 3; got 4"):
        crowd_answers(Y, triplets, confusions, rng, redundancy=4)


# --- people who compare distances ---


def logistic(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("width", [0.0, 0.1])
def test_distance_answers_follow_the_psychometric_curve(width):
    X = np.array([[0.0], [1.0], [1.4], [-3.0]])
    triplets = np.array([[0, 1, 2], [0, 3, 1], [1, 2, 0]])
    lead = np.array([(1.4 - 1) / 2.4, (1 - 3) / 4, (1 - 0.4) / 1.4])
    rng = np.random.default_rng(0)
    answers = distance_answers(X, np.tile(triplets, (20_000, 1)), rng, sharpness=5, dnk_width=width).reshape(-1, 3)
    yes, no = logistic(5 * (lead - width)), logistic(5 * (-lead - width))
    assert np.allclose(shares(answers, "relative"), np.column_stack([yes, no, 1 - yes - no]), atol=0.012)


def test_distance_answers_to_outlier_questions_are_a_softmax_without_dont_know():
    X = np.array([[0.0], [1.0], [1.4]])
    distances = np.array([0.4, 1.4, 1.0])  # of the pair that stays when the first, second, third is named
    expected = np.exp(-5 * distances / 2.8)
    rng = np.random.default_rng(0)
    triplets = np.tile([[0, 1, 2]], (40_000, 1))
    answers = distance_answers(X, triplets, rng, sharpness=5, dnk_width=0, kind="outlier")[:, None]
    assert np.allclose(shares(answers, "outlier")[0], [*expected / expected.sum(), 0], atol=0.012)


@pytest.mark.parametrize("kind", KINDS)
def test_distance_answers_scale_order_and_limits(kind):
    rng = np.random.default_rng(3)
    X, triplets = rng.normal(size=(40, 3)), random_triplets(40, 500, rng)

    def answered(X, **curve):
        return distance_answers(X, triplets, np.random.default_rng(5), kind=kind, **curve)

    assert np.array_equal(answered(X), answered(10 * X))
    assert (answered(X, dnk_width=1.1, sharpness=1e9) == 0).all()
    assert (answered(np.ones_like(X), sharpness=1e9) == 0).all()
    sharp = answered(X, sharpness=1e9, dnk_width=0)
    pairs = [(0, 1), (0, 2)] if kind == "relative" else [(1, 2), (0, 2), (0, 1)]
    points = X[triplets]
    distances = np.stack([np.linalg.norm(points[:, a] - points[:, b], axis=1) for a, b in pairs], axis=1)
    assert np.array_equal(sharp, np.array(NUMBERS[kind])[distances.argmin(axis=1)])
    unsure = [np.mean(answered(X, dnk_width=width) == 0) for width in (0.05, 0.1, 0.2, 0.4)]
    assert (np.diff(unsure) > 0).all()
