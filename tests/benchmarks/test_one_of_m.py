"""The factor of a one-of-m question against all its cases, and the labelers that answer it."""

from itertools import product

import numpy as np
import pytest

from benchmarks.one_of_m import (
    ChoiceField,
    expected_information,
    log_table,
    pair_odds,
    picks,
    probabilities,
    settle_choices,
)
from tercet_algorithms.answers.simulated_labelers import TABLE_IV

K, M, N_ITEMS, N_CHOICES = 3, 3, 6, 5


def choices(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(N_ITEMS)[: M + 1] for _ in range(N_CHOICES)]), rng.integers(M + 1, size=N_CHOICES)


def field(seed: int = 0) -> ChoiceField:
    return ChoiceField(*choices(seed), log_table(M, "people"), np.float64)


def posteriors(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(K), n)


def log_probability(labels: tuple[int, ...], choice: np.ndarray, pick: int) -> float:
    """Of one answer, every item's cluster being known."""
    table = log_table(M, "people")
    fits = [labels[choice[0]] == labels[exemplar] for exemplar in choice[1:]]
    if pick == M:
        return float(table[2, sum(fits)])
    return float(table[0, sum(fits) - 1] if fits[pick] else table[1, sum(fits)])


@pytest.mark.parametrize("setting", ["people", "right"])
@pytest.mark.parametrize("m", [2, 4, 6])
def test_probabilities_of_answers_sum_to_one_whatever_fits(m: int, setting: str) -> None:
    table = np.exp(log_table(m, setting))
    for fits in range(m + 1):
        total = fits * table[0, fits - 1] + (m - fits) * table[1, fits] + table[2, fits]
        assert total == pytest.approx(1, abs=1e-6)
    hit, none = probabilities(m, setting)
    assert hit[0] + (m - 1) * hit[1] + hit[2] == pytest.approx(1)
    assert m * none[1] + none[2] == pytest.approx(1)


def test_two_exemplars_are_answered_as_two_items_are() -> None:
    hit, none = probabilities(2, "people")
    np.testing.assert_allclose(hit, TABLE_IV[0])
    assert none[2] == pytest.approx(TABLE_IV[2, 2])


@pytest.mark.parametrize("seed", range(4))
def test_the_expected_log_likelihood_is_the_sum_over_all_clusterings(seed: int) -> None:
    about = field(seed)
    q = posteriors(len(about.items), seed)
    expected = sum(
        np.prod(q[np.arange(len(q)), labels])
        * sum(log_probability(labels, choice, pick) for choice, pick in zip(about.choices, about.picked, strict=True))
        for labels in product(range(K), repeat=len(q))
    )
    assert about.expected_log_likelihood(q) == pytest.approx(expected, abs=1e-12)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(4))
def test_an_update_is_the_best_posterior_of_an_item_while_the_others_stay(seed: int) -> None:
    """The expected log likelihood is linear in a posterior: its slopes there are the messages."""
    about = field(seed)
    q = posteriors(len(about.items), seed)
    log_p = np.log(posteriors(len(q), seed + 9))
    before, after = q.copy(), q.copy()
    about.settle(after, log_p, tol=0.0, max_sweeps=1)
    for item in range(len(q)):
        slopes = np.empty(K)
        for k in range(K):
            certain = np.vstack([after[:item], np.eye(K)[k], before[item + 1 :]])
            slopes[k] = about.expected_log_likelihood(certain)
        logits = log_p[item] + slopes - slopes.max()
        np.testing.assert_allclose(after[item], np.exp(logits) / np.exp(logits).sum(), atol=1e-10)


def test_the_bound_never_drops_and_comes_to_rest() -> None:
    about = field(1)
    q = posteriors(len(about.items), 1)
    log_p = np.log(posteriors(len(q), 3))
    bounds = []
    for _ in range(30):
        parts = (about.choices, about.picked, about.table, about._begin, about._of, about._role)
        settle_choices(q, log_p, *parts, 0.0, 1)
        bounds.append(about.expected_log_likelihood(q) + np.sum(q * (log_p - np.log(q))))
    assert np.all(np.diff(bounds) >= -1e-12)
    assert about.settle(q.copy(), log_p, tol=1e-6, max_sweeps=5) == 1


def test_labelers_answer_as_often_as_they_are_said_to() -> None:
    y = np.array([0, 0, 1, 2, 3, 0])
    rng = np.random.default_rng(0)
    fitting, strange = np.tile([0, 2, 1, 3], (20_000, 1)), np.tile([0, 2, 3, 4], (20_000, 1))
    hit, none = probabilities(3, "people")
    seen = np.bincount(picks(y, fitting, "people", rng), minlength=4) / 20_000
    np.testing.assert_allclose(seen, [hit[1], hit[0], hit[1], hit[2]], atol=0.015)
    seen = np.bincount(picks(y, strange, "people", rng), minlength=4) / 20_000
    np.testing.assert_allclose(seen, [none[1]] * 3 + [none[2]], atol=0.015)
    twice = picks(y, np.tile([0, 1, 5, 2], (2000, 1)), "right", rng)
    assert set(twice) == {0, 1}


def test_what_is_known_tells_nothing_and_doubt_does() -> None:
    weights = np.array([[1.0, 0, 0], [0.4, 0.3, 0.2], [0.5, 0.5, 0]])
    known, three, two = expected_information(weights, log_table(3, "right"))
    assert known == pytest.approx(0, abs=1e-9)
    assert three > two > 0.4


def test_a_picked_exemplar_speaks_for_its_pair_and_against_the_others() -> None:
    odds = pair_odds(np.array([1, 3]), log_table(3, "people"), 8)
    assert odds[0, 1] > 1
    assert odds[0, 0] < 0
    assert np.all(odds[1] < 0)
