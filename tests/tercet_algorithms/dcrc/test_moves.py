"""Split-and-merge moves: what one does to the labels, and what they repair."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from tercet_algorithms import DCRC
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tercet_algorithms.dcrc.moves import rearrange


def one_hot(labels, n_clusters):
    return np.eye(n_clusters)[labels]


def test_a_move_frees_one_cluster_and_splits_another():
    X, labels = make_blobs(200, n_features=3, centers=6, random_state=1)
    posterior = 0.9 * one_hot(labels, 6) + 0.1 / 6
    moves = [rearrange(X, posterior, seed) for seed in range(8)]
    for moved in moves:
        touched = {int(k) for k in labels[moved != labels]}
        assert len(touched) <= 2, "the items of the freed cluster and of the split one"
        assert set(np.unique(moved)) == set(range(6))
    assert sum(not np.array_equal(moved, labels) for moved in moves) >= 4
    assert np.array_equal(moves[3], rearrange(X, posterior, 3))
    assert np.array_equal(labels, posterior.argmax(axis=1)), "the posterior is left alone"


@pytest.mark.parametrize("n_clusters", [1, 2, 5])
def test_nothing_to_split_changes_nothing_that_matters(n_clusters):
    X = np.zeros((4, 2))
    moved = rearrange(X, np.full((4, n_clusters), 1 / n_clusters), 0)
    assert moved.shape == (4,)
    assert moved.min() >= 0
    assert moved.max() < n_clusters


def planted_mistake(seed):
    """Eight blobs, and an estimator whose previous fit put two in one cluster and cut another in two."""
    X, y = make_blobs(400, n_features=4, centers=8, cluster_std=1.0, center_box=(-9, 9), random_state=seed)
    wrong = np.where(y == 1, 0, y)
    wrong[(y == 2) & (X[:, 0] > np.median(X[y == 2, 0]))] = 1
    model = DCRC(8, n_init=1, n_moves=0, random_state=0).fit(X)
    scaled = (X - model.mean_) / model.scale_
    means = np.array([scaled[wrong == k].mean(axis=0) for k in range(8)])
    state = model.state_arrays()
    state |= {"coef_": 4 * means, "intercept_": -2 * np.sum(means**2, axis=1), "posterior_": one_hot(wrong, 8)}
    triplets = random_triplets(len(X), 150, np.random.default_rng(seed))
    return X, y, state, {"triplets": triplets, "answers": true_answers(y, triplets)}


def warm(X, state, questions, n_moves):
    model = DCRC(8, candidates="features", n_init=1, n_moves=n_moves, warm_start=True, random_state=0)
    return model.set_state_arrays(state).fit(X, **questions)


@pytest.mark.heavy
def test_moves_repair_what_a_warm_start_cannot():
    stuck, repaired = [], []
    for seed in range(4):
        X, y, state, questions = planted_mistake(seed)
        plain, moved = warm(X, state, questions, 0), warm(X, state, questions, 25)
        assert moved.lower_bound_ >= plain.lower_bound_ - 1e-6
        stuck.append(adjusted_rand_score(y, plain.labels_))
        repaired.append(adjusted_rand_score(y, moved.labels_))
    assert np.mean(repaired) > np.mean(stuck) + 0.05
    assert np.mean(repaired) > 0.95
