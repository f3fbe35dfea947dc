"""Patterns from points and tables from numbers: against sums over partitions, and the gradient by differences."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import check_grad

from tercet_algorithms.answers.patterns import ANSWERS, KINDS, patterns_of, right_answers
from tercet_algorithms.answers.reading import Constraints, read_constraints
from tercet_algorithms.answers.simulated_labelers import random_triplets
from tercet_algorithms.embedding.pattern_model import PRIOR_MEANS, PatternModel, answer_table, pattern_logs

N_ITEMS, DIMENSION = 9, 2
PARTITIONS = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 1, 2]])  # of three items


def some_answers(rng: np.random.Generator, n: int = 60) -> Constraints:
    triplets, kinds = random_triplets(N_ITEMS, n, rng), np.arange(n) % 2
    answers = np.array([rng.integers(len(ANSWERS[KINDS[kind]])) for kind in kinds])
    return Constraints(np.sort(triplets, axis=1), answers, kinds, weights=rng.uniform(0.5, 2, n))


def some_parameters(rng: np.random.Generator) -> np.ndarray:
    return np.concatenate([rng.normal(size=N_ITEMS * DIMENSION), PRIOR_MEANS + rng.normal(size=len(PRIOR_MEANS))])


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_that_of_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = PatternModel.of(some_answers(rng), N_ITEMS, 0.3)
    parameters = some_parameters(rng)
    error = check_grad(lambda x: model.bound(x)[0], lambda x: model.bound(x)[1], parameters)
    assert error < 1e-5 * np.linalg.norm(model.bound(parameters)[1])


@pytest.mark.parametrize("relative", [True, False])
def test_patterns_are_partitions_weighted_by_the_odds_of_their_pairs(relative: bool) -> None:
    rng = np.random.default_rng(0)
    points, numbers = rng.normal(size=(3, 2)), rng.normal(size=6)
    weights = np.zeros(5)
    for partition, pattern in zip(
        PARTITIONS, patterns_of(PARTITIONS.ravel(), np.arange(15).reshape(5, 3)), strict=True
    ):
        alike = [pair for pair in combinations(range(3), 2) if partition[pair[0]] == partition[pair[1]]]
        odds = np.prod([1 / (1 + np.sum((points[i] - points[j]) ** 2)) for i, j in alike])
        offset = {0: numbers[1], 3: numbers[0]}.get(len(alike), numbers[2] * relative if alike == [(1, 2)] else 0.0)
        weights[pattern] = odds * np.exp(offset)
    logs, _ = pattern_logs(points, np.array([[0, 1, 2]]), np.array([relative]), numbers)
    assert np.exp(logs[:, 0]) == pytest.approx(weights / weights.sum())


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_has_rows_of_probabilities_and_the_right_answers_lead_at_first(kind: str) -> None:
    table = answer_table(kind, PRIOR_MEANS)
    assert table.shape == (5, len(ANSWERS[kind]))
    assert table.sum(axis=1) == pytest.approx(np.ones(5))
    assert np.array_equal(table.argmax(axis=1), right_answers(kind))
    never = answer_table(kind, np.array([0, 0, 0, -2, -40, -40]))
    assert never[:, -1] == pytest.approx(np.zeros(5)), "people who never say that they do not know"
    assert never[0, :-1] == pytest.approx(np.full(len(ANSWERS[kind]) - 1, 1 / (len(ANSWERS[kind]) - 1)))


def test_the_bound_sees_distances_only_and_counts_answers() -> None:
    rng = np.random.default_rng(4)
    answers = some_answers(rng)
    parameters = some_parameters(rng)
    turn = np.linalg.qr(rng.normal(size=(DIMENSION, DIMENSION)))[0]
    model = PatternModel.of(answers, N_ITEMS, 0.1)
    points, coefficients = model.split(parameters)
    assert model.bound(np.append(points @ turn, coefficients))[0] == pytest.approx(model.bound(parameters)[0])
    twice = answers.select(np.tile(np.arange(len(answers)), 2))
    empty = PatternModel.of(answers.select(np.arange(0)), N_ITEMS, 0.1).bound(parameters)[0]
    gained = model.bound(parameters)[0] - empty
    assert PatternModel.of(twice, N_ITEMS, 0.1).bound(parameters)[0] - empty == pytest.approx(2 * gained)


def test_a_question_turned_round_with_its_answer_is_as_likely() -> None:
    rng = np.random.default_rng(5)
    triplets = random_triplets(N_ITEMS, 40, rng)
    columns = rng.integers(3, size=40)
    words, mirrored = np.array(["yes", "no", "dnk"])[columns], np.array(["no", "yes", "dnk"])[columns]
    parameters = some_parameters(rng)
    there = read_constraints(triplets, words, n_items=N_ITEMS)
    back = read_constraints(triplets[:, [0, 2, 1]], mirrored, n_items=N_ITEMS)
    bounds = [PatternModel.of(answers, N_ITEMS, 0.1).bound(parameters)[0] for answers in (there, back)]
    assert bounds[0] == pytest.approx(bounds[1])
