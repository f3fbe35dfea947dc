"""Weights of groups by answers: what answers follow gains, what they ignore loses, and no answer changes nothing."""

import numpy as np
import pytest

from tercet.features.weighing import group_differences, weigh_groups

GROUPS = ["signal"] * 3 + ["noise"] * 3


def drawn(n_answers: int, seed: int, share_wrong: float = 0.1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, triplets, and answers by the distance in the first group alone."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 6))
    triplets = np.array([rng.choice(80, 3, replace=False) for _ in range(n_answers)])
    head, near, far = X[:, :3][triplets.T]
    answers = np.sign(((head - far) ** 2).sum(axis=1) - ((head - near) ** 2).sum(axis=1)).astype(int)
    answers[rng.random(n_answers) < share_wrong] *= -1
    return X, triplets, answers


@pytest.mark.parametrize("seed", range(3))
def test_the_group_that_answers_follow_counts_more(seed):
    X, triplets, answers = drawn(400, seed)
    weights = weigh_groups(X, GROUPS, triplets, answers)
    assert weights["signal"] > 4 * weights["noise"]
    assert np.mean(list(weights.values())) == pytest.approx(1)


def test_held_out_answers_are_predicted_better_on_average():
    gains = []
    for seed in range(5):
        X, triplets, answers = drawn(600, seed)
        weights = weigh_groups(X, GROUPS, triplets[:300], answers[:300])
        differences = group_differences(X, GROUPS, triplets[300:]) * answers[300:, None]
        agrees = [(differences @ factors > 0).mean() for factors in (np.array([*weights.values()]), np.ones(2))]
        gains.append(agrees[0] - agrees[1])
    assert np.mean(gains) > 0.05


def test_answers_of_chance_leave_all_weights_equal_mostly():
    rng = np.random.default_rng(0)
    equal = 0
    for seed in range(10):
        X, triplets, _ = drawn(200, seed)
        weights = weigh_groups(X, GROUPS, triplets, rng.choice([-1, 1], 200))
        equal += weights == {"signal": 1.0, "noise": 1.0}
    assert equal >= 6


@pytest.mark.parametrize("answers", [np.zeros(100, dtype=int), np.ones(5, dtype=int)])
def test_few_answers_and_dont_knows_change_nothing(answers):
    X, triplets, _ = drawn(len(answers), 0)
    assert weigh_groups(X, GROUPS, triplets, answers) == {"signal": 1.0, "noise": 1.0}


def test_turning_all_questions_round_changes_nothing():
    X, triplets, answers = drawn(200, 1)
    turned = weigh_groups(X, GROUPS, triplets[:, [0, 2, 1]], -answers)
    assert turned == pytest.approx(weigh_groups(X, GROUPS, triplets, answers), abs=1e-6)


def test_differences_by_brute_force():
    X, triplets, _ = drawn(10, 2)
    found = group_differences(X, GROUPS, triplets)
    for row, (head, near, far) in zip(found, triplets, strict=True):
        for place, part in enumerate((slice(0, 3), slice(3, 6))):
            expected = ((X[head, part] - X[far, part]) ** 2).sum() - ((X[head, part] - X[near, part]) ** 2).sum()
            assert row[place] == pytest.approx(expected)
