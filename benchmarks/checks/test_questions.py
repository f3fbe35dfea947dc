"""Questions that are suggested teach more than random ones, in the mean of seeds and data sets."""

import numpy as np
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score

from tercet_algorithms import DCRC
from tercet_algorithms.answers.patterns import answer_table
from tercet_algorithms.answers.questions import suggest
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers

TABLE = answer_table("relative", 0.05)


def answers_help(X, y, suggested, seed, batch=10, rounds=4):
    """Mean ARI over the rounds of asking and refitting."""
    rng = np.random.default_rng(seed)
    triplets = np.empty((0, 3), dtype=np.int64)
    model = DCRC(int(y.max()) + 1, n_init=4, n_moves=2, random_state=seed).fit(X)
    scores = []
    for _ in range(rounds):
        if suggested:
            asked, _ = suggest(model.posterior_, TABLE, batch, asked=triplets, X=X, random_state=rng)
        else:
            asked = random_triplets(len(y), batch, rng)
        triplets = np.concatenate([triplets, asked])
        model.fit(X, triplets=triplets, answers=true_answers(y, triplets))
        scores.append(adjusted_rand_score(y, model.labels_))
    return np.mean(scores)


def test_suggested_questions_teach_more_than_random_ones():
    gains = []
    blobs = make_blobs(200, n_features=5, centers=4, cluster_std=1.6, center_box=(-3, 3), random_state=1)
    for X, y in (load_iris(return_X_y=True), load_wine(return_X_y=True), blobs):
        gains.append(np.mean([answers_help(X, y, True, s) - answers_help(X, y, False, s) for s in range(2)]))
    assert np.mean(gains) > 0.02
    assert min(gains) > -0.03
