"""Suggestions: what they are worth, how they are spread and drawn, and that they beat random questions."""

from collections import Counter

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score

from tercet_algorithms import DCRC
from tercet_algorithms.answers.patterns import answer_table, expected_information
from tercet_algorithms.answers.questions import draw_pool, expected_information_of_pool, suggest
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers

TABLE = answer_table("relative", 0.05)


def posteriors(n_items=40, n_clusters=3, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(n_clusters, 0.5), size=n_items)


def as_set(triplets):
    return set(map(tuple, triplets.tolist()))


@pytest.mark.parametrize("kind", ["relative", "outlier"])
def test_the_best_of_all_triplets_are_found(kind):
    P, table = posteriors(9), answer_table(kind, 0.1)
    every = np.array([(a, b, c) for a in range(9) for b in range(9) for c in range(b + 1, 9) if a not in (b, c)])
    best = np.sort(expected_information(P, every, table))[::-1]
    triplets, information = suggest(P, table, 3, kind=kind, most_per_item=9, power=np.inf)
    assert np.allclose(information, expected_information(P, triplets, table))
    # Each outlier question stands three times in the list of anchors and pairs.
    assert np.allclose(information, best[:3] if kind == "relative" else best[:9:3])


def test_a_pool_of_few_items_is_every_question_once():
    for kind, expected in (("relative", 7 * 15), ("outlier", 35)):
        pool = draw_pool(posteriors(7), 1000, kind, np.random.default_rng(0))
        assert len(pool) == len(as_set(pool)) == expected


@pytest.mark.parametrize("n_items", [30, 5000])
@pytest.mark.parametrize("kind", ["relative", "outlier"])
def test_suggestions_are_questions(kind, n_items):
    P = posteriors(n_items)
    triplets, information = suggest(P, answer_table(kind, 0.05), 8, 5000, kind=kind, random_state=1)
    assert triplets.shape == (8, 3)
    assert len(as_set(triplets)) == 8
    assert all(len(set(triplet)) == 3 for triplet in triplets.tolist())
    ascending = triplets if kind == "outlier" else triplets[:, 1:]
    assert (np.diff(ascending, axis=1) > 0).all()
    assert (np.diff(information) <= 0).all()


def test_items_are_asked_about_no_more_often_than_wanted_while_others_are_left():
    P = posteriors(60)
    for most in (1, 2):
        triplets, _ = suggest(P, TABLE, 15, most_per_item=most, random_state=0)
        assert max(Counter(triplets.ravel().tolist()).values()) <= most
    assert len(suggest(posteriors(5), TABLE, 30)[0]) == 30  # all there are, however often an item comes
    assert len(suggest(posteriors(5), TABLE, 40)[0]) == 30


def test_what_is_excluded_is_never_suggested():
    P = posteriors(8)
    first, _ = suggest(P, TABLE, 100, random_state=0)
    turned = first[:, [0, 2, 1]]
    remaining, _ = suggest(P, TABLE, 1000, exclude=turned, random_state=1)
    assert not as_set(first) & as_set(remaining)
    assert len(first) + len(remaining) == 8 * 21


def test_only_given_candidates_are_suggested():
    candidates = np.array([[0, 2, 1], [3, 4, 5], [0, 1, 2]])
    triplets, _ = suggest(posteriors(), TABLE, 10, candidates=candidates)
    assert as_set(triplets) == {(0, 1, 2), (3, 4, 5)}


def test_questions_are_drawn_by_their_information():
    """One draw at a time follows information ** power; power 0 is uniform."""
    P = posteriors(4)
    candidates = draw_pool(P, 100, "relative", np.random.default_rng(0))
    information = expected_information(P, candidates, TABLE)
    for power in (0.0, 1.0, 2.0):
        drawn = Counter(tuple(suggest(P, TABLE, 1, power=power, random_state=i)[0][0].tolist()) for i in range(1200))
        expected = information**power / (information**power).sum()
        shares = np.array([drawn[tuple(row)] for row in candidates.tolist()]) / 1200
        assert np.abs(shares - expected).max() < 4 * np.sqrt(expected.max() / 1200)


def test_the_uncertain_are_found_among_many():
    """Two uncertain items in 20,000: random triplets hardly ever hold one."""
    P = np.eye(3)[np.arange(20_000) % 3]
    P[[5, 17]] = [0.5, 0.5, 0]
    triplets, information = suggest(P, TABLE, 2, 2000, random_state=0)
    assert set(triplets[:, 0].tolist()) == {5, 17}
    assert (information > 0.3).all()


def test_a_sure_fit_expects_nothing_and_an_unsure_one_much():
    rng = np.random.default_rng(0)
    sure = expected_information_of_pool(np.eye(3)[np.arange(30) % 3], TABLE, rng)
    assert sure.best == pytest.approx(0, abs=1e-9)
    even = expected_information_of_pool(np.full((30, 2), 0.5), answer_table("relative", 0.0), rng)
    assert even.mean == pytest.approx(even.best) == pytest.approx(1.5 * np.log(2))  # Eq 3, K = 2
    P = posteriors(200)
    some = expected_information_of_pool(P, TABLE, rng)
    assert some.quantiles[0.5] < some.quantiles[0.99] <= some.best
    noisier = expected_information_of_pool(P, answer_table("relative", 0.3), rng)
    assert noisier.mean < some.mean
    assert expected_information_of_pool(P[:2], TABLE, rng).best == 0


def test_edges():
    assert suggest(posteriors(2), TABLE)[0].shape == (0, 3)
    assert suggest(posteriors(40), TABLE, 0)[0].shape == (0, 3)
    one_cluster, information = suggest(np.ones((10, 1)), TABLE, 3)
    assert len(one_cluster) == 3
    assert np.allclose(information, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"posterior": np.ones((5, 2))}, "sum to 1"),
        ({"posterior": np.ones(5)}, "shape"),
        ({"posterior": np.full((5, 2), np.nan)}, "sum to 1"),
        ({"table": np.ones((5, 4))}, "table"),
        ({"kind": "triangle"}, "kind"),
        ({"n": -1}, "n must"),
        ({"most_per_item": 0}, "most_per_item"),
        ({"power": -1.0}, "power"),
        ({"power": np.nan}, "power"),
        ({"candidates": [[0, 1, 99]]}, "row 0"),
        ({"exclude": [[0, 1, 1]]}, "row 0"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        suggest(**{"posterior": posteriors(5), "table": TABLE, **arguments})


@pytest.mark.parametrize("kind", ["relative", "outlier"])
def test_a_fit_suggests_by_its_own_beliefs(kind):
    X, y = load_iris(return_X_y=True)
    triplets = random_triplets(len(y), 40, np.random.default_rng(0))
    model = DCRC(3, n_init=2, n_moves=0, random_state=0)
    model.fit(X, triplets=triplets, answers=true_answers(y, triplets, kind), kinds=kind)
    asked, information = model.suggest(5, 2000, kind=kind, exclude=triplets, random_state=3)
    expected = suggest(model.posterior_, answer_table(kind, 0.05), 5, 2000, kind=kind, exclude=triplets, random_state=3)
    assert np.array_equal(asked, expected[0])
    assert np.array_equal(information, expected[1])
    many = np.concatenate([triplets, random_triplets(len(y), 400, np.random.default_rng(1))])
    before = model.expected_information(kind=kind, random_state=0)
    after = model.fit(X, triplets=many, answers=true_answers(y, many, kind), kinds=kind).expected_information(kind=kind)
    assert after.mean < before.mean < before.best


def test_who_tells_nothing_is_worth_no_question():
    X, y = make_blobs(90, centers=3, cluster_std=2.0, random_state=0)
    triplets = random_triplets(len(y), 300, np.random.default_rng(0))
    answers = true_answers(y, triplets)
    labelers = np.where(np.arange(300) % 2, "lazy", "keen")
    answers[labelers == "lazy"] = 0
    model = DCRC(3, n_init=3, n_moves=0, labeler_tables="learn", random_state=0)
    model.fit(X, triplets=triplets, answers=answers, labelers=labelers.tolist())
    lazy, keen = (model.suggest(5, 5000, labeler=name, power=np.inf)[1].mean() for name in ("lazy", "keen"))
    assert lazy < 0.2 * keen


def answers_help(X, y, suggested, seed, batch=10, rounds=4):
    """Mean ARI over the rounds of asking and refitting."""
    rng = np.random.default_rng(seed)
    triplets = np.empty((0, 3), dtype=np.int64)
    model = DCRC(int(y.max()) + 1, n_init=4, n_moves=2, random_state=seed).fit(X)
    scores = []
    for _ in range(rounds):
        if suggested:
            asked, _ = suggest(model.posterior_, TABLE, batch, 10_000, exclude=triplets, random_state=rng)
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
        gains.append(np.mean([answers_help(X, y, True, s) - answers_help(X, y, False, s) for s in range(4)]))
    assert np.mean(gains) > 0.02
    assert min(gains) > -0.03
