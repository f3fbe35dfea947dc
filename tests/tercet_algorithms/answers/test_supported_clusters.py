"""Clusters that no answer tells apart are one; those that answers do tell apart stay, however small."""

from itertools import combinations

import numpy as np
import pytest

from tercet_algorithms.answers.independence import left_out
from tercet_algorithms.answers.patterns import answer_table, pattern_probabilities
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers, random_triplets
from tercet_algorithms.answers.supported_clusters import supported_clusters

N, CLASSES = 120, 4
TABLE = answer_table("relative", "people")
COLUMN = np.array([2, 0, 1])  # of the answers 0, 1 and -1


def groups_of(posterior: np.ndarray, y: np.ndarray, n_answers: int, seed: int = 0) -> list[list[int]]:
    """What answers of people who err support, for items of classes y."""
    rng = np.random.default_rng(seed)
    triplets = random_triplets(len(y), n_answers, rng)
    columns = COLUMN[noisy_answers(y, triplets, TABLE_IV, rng)]
    return supported_clusters(posterior, triplets, columns, TABLE, np.full(n_answers, 0.5), np.ones(n_answers))


def sure_of(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    return 0.9 * np.eye(n_clusters)[labels] + 0.1 / n_clusters


@pytest.mark.parametrize("seed", range(8))
def test_a_class_in_two_clusters_is_one_and_classes_stay_apart(seed: int) -> None:
    y = np.arange(N) % CLASSES
    assert groups_of(sure_of(y, CLASSES), y, 400, seed) == [[0], [1], [2], [3]]
    halved = np.where((y == 3) & (np.arange(N) % 8 == 7), 4, y)
    assert groups_of(sure_of(halved, 5), y, 400, seed) == [[0], [1], [2], [3, 4]]


@pytest.mark.parametrize("seed", range(8))
def test_too_few_answers_merge_nothing(seed: int) -> None:
    y = np.arange(N) % CLASSES
    halved = np.where((y == 3) & (np.arange(N) % 8 == 7), 4, y)
    assert groups_of(sure_of(halved, 5), y, 5, seed) == [[0], [1], [2], [3], [4]]


def test_empty_clusters_are_not_supported_but_a_small_class_is() -> None:
    """Two items that answers tell from all others are a cluster; two that none asked about are not."""
    y = np.arange(N) % CLASSES
    posterior = np.column_stack([sure_of(y, CLASSES), np.zeros((N, 2))])
    assert len(groups_of(posterior, y, 400)) == CLASSES

    small = y.copy()
    small[:2] = 4
    posterior = sure_of(small, 5)
    triplets = np.array([[0, 1, other] for other in range(2, 32)] + [[2, 6, 0]] * 5 + [[3, 7, 1]] * 5 + [[5, 9, 0]] * 5)
    columns = np.zeros(len(triplets), dtype=int)
    arguments = TABLE, np.full(len(triplets), 0.5), np.ones(len(triplets))
    assert [4] in supported_clusters(posterior, triplets, columns, *arguments)
    nothing = np.empty((0, 3), dtype=int), np.empty(0, dtype=int), TABLE, np.empty(0), np.empty(0)
    assert [4] not in supported_clusters(posterior, *nothing)


def test_two_clusters_are_never_merged() -> None:
    y = np.zeros(N, dtype=int)
    assert groups_of(sure_of(np.arange(N) % 2, 2), y, 400) == [[0], [1]]


def test_answers_that_count_nothing_say_nothing() -> None:
    y = np.arange(N) % CLASSES
    halved = np.where((y == 3) & (np.arange(N) % 8 == 7), 4, y)
    triplets = random_triplets(N, 400, np.random.default_rng(0))
    columns = COLUMN[noisy_answers(y, triplets, TABLE_IV, np.random.default_rng(0))]
    groups = supported_clusters(sure_of(halved, 5), triplets, columns, TABLE, np.zeros(400), np.zeros(400))
    assert len(groups) == 5


def gain_of_merging(posterior: np.ndarray, a: int, b: int, *answers: np.ndarray) -> float:
    """The gain by the definition: all probabilities anew, with one column less."""
    triplets, columns, weights, counts = answers
    merged = np.delete(posterior, b, axis=1)
    merged[:, a] += posterior[:, b]
    scores = []
    for P in (posterior, merged):
        patterns = left_out(pattern_probabilities(P, triplets), columns, TABLE, weights)
        scores.append(counts @ np.log((patterns @ TABLE)[np.arange(len(columns)), columns]))
    return float(scores[1] - scores[0])


@pytest.mark.parametrize("seed", range(10))
def test_the_first_pair_is_that_of_the_largest_gain_by_the_definition(seed: int) -> None:
    """Of three clusters one pair is merged, or none: that of the largest gain, if it is strong evidence."""
    rng = np.random.default_rng(seed)
    y = np.arange(N) % 2
    labels = np.where(y == 1, 1 + np.arange(N) // 2 % 2, 0)
    posterior = 0.6 * np.eye(3)[labels] + 0.4 * rng.dirichlet(np.ones(3), N)
    n_answers = 40 + 20 * seed
    triplets = random_triplets(N, n_answers, rng)
    columns = COLUMN[noisy_answers(y, triplets, TABLE_IV, rng)]
    weights, counts = rng.uniform(0.2, 1, (2, n_answers))
    pairs = list(combinations(range(3), 2))
    gains = [gain_of_merging(posterior, *pair, triplets, columns, weights, counts) for pair in pairs]
    best = pairs[int(np.argmax(gains))] if max(gains) >= np.log(20) else ()
    rest = [[cluster] for cluster in range(3) if cluster not in best]
    expected = sorted([*rest, list(best)] if best else rest)
    assert sorted(supported_clusters(posterior, triplets, columns, TABLE, weights, counts)) == expected
