"""Suggestions: what they are worth, and which are taken in which order."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs

from tercet_algorithms import DCRC
from tercet_algorithms.answers.exemplars import exemplars
from tercet_algorithms.answers.patterns import answer_table, expected_information, patterns_of
from tercet_algorithms.answers.pool import draw_pool
from tercet_algorithms.answers.questions import expected_information_of_pool, suggest
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers

TABLE = answer_table("relative", 0.05)


def posteriors(n_items=40, n_clusters=3, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(n_clusters, 0.5), size=n_items)


def as_set(triplets):
    return set(map(tuple, triplets.tolist()))


@pytest.mark.parametrize("kind", ["relative", "outlier"])
def test_the_first_question_is_the_best_of_all_by_enumeration(kind):
    """The information of every triplet is summed over all clusters that its items may be in."""
    P, table = posteriors(8), answer_table(kind, 0.1)
    triplets, information = suggest(P, table, 8 * 21, kind=kind)
    assert len(triplets) == (8 * 21 if kind == "relative" else 56)
    assert np.allclose(information, [enumerated(P[triplet], table) for triplet in triplets])
    assert information[0] == information.max()


def enumerated(P, table):
    """Mutual information of answer and the clusters of three items with posteriors P (3, K)."""
    joint = np.zeros((P.shape[1] ** 3, table.shape[1]))
    for row, clusters in enumerate(np.ndindex(*(P.shape[1],) * 3)):
        chance = np.prod([P[item, cluster] for item, cluster in enumerate(clusters)])
        joint[row] = chance * table[patterns_of(np.array(clusters), np.array([[0, 1, 2]]))[0]]
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    return np.sum(joint * np.log(joint / independent))


@pytest.mark.parametrize("n_items", [30, 5000])
@pytest.mark.parametrize("kind", ["relative", "outlier"])
def test_suggestions_are_questions(kind, n_items):
    P = posteriors(n_items)
    triplets, information = suggest(P, answer_table(kind, 0.05), 8, kind=kind, random_state=1)
    assert triplets.shape == (8, 3)
    assert len(as_set(triplets)) == 8
    assert all(len(set(triplet)) == 3 for triplet in triplets.tolist())
    ascending = triplets if kind == "outlier" else triplets[:, 1:]
    assert (np.diff(ascending, axis=1) > 0).all()
    again, _ = suggest(P, answer_table(kind, 0.05), 8, kind=kind, random_state=1)
    assert np.array_equal(triplets, again), "seeded"
    assert np.allclose(information, expected_information(P, triplets, answer_table(kind, 0.05)))


def test_questions_come_by_turns_from_what_tells_most_and_what_was_asked_least():
    P = posteriors(60, 6)
    asked = random_triplets(60, 200, np.random.default_rng(0))
    times = np.bincount(asked.ravel(), minlength=60)
    triplets, information = suggest(P, TABLE, 20, asked=asked, random_state=0)
    assert len(set(triplets[:, 0].tolist())) == 20, "one question for each item"
    informative, seldom = triplets[::2, 0], triplets[1::2, 0]
    assert (np.diff(information[::2]) <= 0).all()
    assert (np.diff(times[seldom]) >= 0).all()
    passed = np.setdiff1d(np.arange(60), triplets[:, 0])
    assert times[seldom].max() <= times[passed].min()
    clusters = np.bincount(P.argmax(axis=1)[informative], minlength=6)
    assert clusters.max() <= np.ceil(2 * 20 / 6)


def test_however_few_of_a_long_queue_are_asked_no_cluster_takes_much_more_than_its_part():
    """One cluster of twelve is far less sure than the others."""
    P = np.eye(12)[np.repeat(np.arange(12), 30)] * 0.9 + 0.1 / 12
    P[:30] = 0.55 * np.eye(12)[0] + 0.45 * np.eye(12)[1]
    triplets, _ = suggest(P, TABLE, 100, random_state=0)
    clusters = P[triplets[:, 0]].argmax(axis=1)
    for n in (12, 24, 48, 100):
        assert (clusters[:n:2] == 0).sum() <= np.ceil(2 * n / 12)
    assert (clusters[:24:2] == 0).sum() >= 2


@pytest.mark.parametrize("kind", ["relative", "outlier"])
def test_questions_may_be_about_some_items_only(kind):
    P, about = posteriors(40, 5), [3, 17, 18, 30]
    triplets, information = suggest(P, answer_table(kind, 0.1), 30, kind=kind, about=about, random_state=0)
    assert len(as_set(triplets)) == 30
    assert np.isin(triplets[:, :1] if kind == "relative" else triplets, about).any(axis=1).all()
    drawn = random_triplets(40, 4000, np.random.default_rng(0))
    drawn = drawn[np.isin(drawn[:, 0], about)]
    assert information.mean() > expected_information(P, drawn, answer_table(kind, 0.1)).mean()
    few = posteriors(12, 5)
    some = suggest(few, answer_table(kind, 0.1), 10**6, kind=kind, about=[3, 7])[0]
    everything = 2 * 11 * 10 // 2 if kind == "relative" else 12 * 11 * 10 // 6 - 10 * 9 * 8 // 6
    assert len(as_set(some)) == len(some) == everything
    assert np.array_equal(suggest(P, TABLE, 9, about=[], random_state=0)[0], suggest(P, TABLE, 9, random_state=0)[0])


def test_a_question_about_a_seldom_asked_item_puts_it_between_exemplars():
    P = posteriors(300, 5)
    asked = random_triplets(300, 50, np.random.default_rng(0))
    times = np.bincount(asked.ravel(), minlength=300)
    examples = exemplars(P, times)
    assert examples.shape == (5, 4)
    for anchor, left, right in suggest(P, TABLE, 30, asked=asked, random_state=0)[0][1::2]:
        standing_for = [set(np.flatnonzero((examples == example).any(axis=1))) for example in (left, right)]
        assert standing_for[0]
        assert standing_for[1]
        assert set.union(*standing_for) <= set(np.argsort(-P[anchor])[:4]), "of its four likeliest clusters"


def test_exemplars_are_the_surest_items_and_rather_those_asked_about():
    P = np.array([[0.95, 0.05], [0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.1, 0.9]])
    assert exemplars(P, np.zeros(5))[:, :2].tolist() == [[0, 1], [4, 3]]
    asked = np.array([0, 3, 1, 0, 0])
    assert exemplars(P, asked)[0, :3].tolist() == [1, 0, 2], "asked about and nearly as sure"
    assert exemplars(P, asked, np.array([2, 3]))[:, 0].tolist() == [2, 3], "typical ones stand for their own cluster"


def test_two_far_members_of_a_cluster_are_asked_about():
    X = np.concatenate([np.zeros((20, 2)), np.full((5, 2), 9.0), np.full((20, 2), -50.0)])
    P = np.eye(3)[np.repeat([0, 1], [25, 20])] * 0.97 + 0.01
    pool = draw_pool(P, exemplars(P, np.zeros(45)), X, np.arange(45), np.random.default_rng(0))
    cluster, other_cluster = P[pool[:, 0]].argmax(axis=1), P[pool[:, 1]].argmax(axis=1)
    splits = pool[(cluster == 0) & (other_cluster == 0)]
    far = np.abs(X[splits[:, 0], 0] - X[splits[:, 1], 0]) == 9
    assert far.sum() >= 20


def test_whether_two_clusters_are_one_is_asked_by_an_exemplar_of_each():
    P = np.eye(3)[np.arange(60) % 3] * 0.97 + 0.01
    examples = exemplars(P, np.zeros(60))
    pool = draw_pool(P, examples, None, np.arange(60), np.random.default_rng(0))
    clusters = P[pool].argmax(axis=2)
    merging = np.isin(pool, examples).all(axis=1) & (np.sort(clusters, axis=1) == [0, 1, 2]).all(axis=1)
    assert merging.any()


def test_what_was_asked_is_never_suggested():
    P = posteriors(8)
    first, _ = suggest(P, TABLE, 100, random_state=0)
    turned = first[:, [0, 2, 1]]
    remaining, _ = suggest(P, TABLE, 1000, asked=turned, random_state=1)
    assert not as_set(first) & as_set(remaining)
    assert len(first) + len(remaining) == 8 * 21
    outliers, _ = suggest(P, answer_table("outlier", 0.1), 40, kind="outlier")
    remaining, _ = suggest(P, answer_table("outlier", 0.1), 40, kind="outlier", asked=outliers[:, [2, 0, 1]])
    assert (len(outliers), len(remaining)) == (40, 16)


def test_items_on_screens_are_left_alone():
    P = posteriors(60, 4)
    first, _ = suggest(P, TABLE, 20, random_state=0)
    again, _ = suggest(P, TABLE, 20, pending=first, random_state=0)
    assert not set(first[:, 0].tolist()) & set(again[:, 0].tolist())
    answered, _ = suggest(P, TABLE, 20, asked=first, random_state=0)
    assert set(first[:, 0].tolist()) & set(answered[:, 0].tolist()), "once answered they may be asked about"
    outliers, _ = suggest(P, answer_table("outlier", 0.1), 3, kind="outlier", pending=first, random_state=0)
    assert not as_set(np.sort(first, axis=1)) & as_set(outliers)


def test_only_given_candidates_are_suggested():
    candidates = np.array([[0, 2, 1], [3, 4, 5], [0, 1, 2]])
    triplets, _ = suggest(posteriors(), TABLE, 10, candidates=candidates)
    assert as_set(triplets) == {(0, 1, 2), (3, 4, 5)}


def test_the_uncertain_are_found_among_many():
    """Two uncertain items in 20,000: random triplets hardly ever hold one."""
    P = np.eye(3)[np.arange(20_000) % 3]
    P[[5, 17]] = [0.5, 0.5, 0]
    triplets, information = suggest(P, TABLE, 2, random_state=0)
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


@pytest.mark.parametrize(("n_items", "n_clusters"), [(3, 2), (4, 2), (20, 2), (9, 7), (5, 9), (16, 1)])
@pytest.mark.parametrize("kind", ["relative", "outlier"])
def test_as_many_questions_come_as_there_are(n_items, n_clusters, kind):
    """Two clusters, more than half as many as items, more than items, one alone."""
    P, table = posteriors(n_items, n_clusters), answer_table(kind, 0.1)
    possible = n_items * (n_items - 1) * (n_items - 2) // (6 if kind == "outlier" else 2)
    X = np.random.default_rng(0).normal(size=(n_items, 3))
    for n in (1, 10, 2_000):
        triplets, _ = suggest(P, table, n, kind=kind, X=X)
        assert len(as_set(triplets)) == len(triplets) == min(n, possible)


def test_edges():
    assert suggest(posteriors(2), TABLE)[0].shape == (0, 3)
    assert suggest(posteriors(40), TABLE, 0)[0].shape == (0, 3)
    assert np.allclose(suggest(np.ones((10, 1)), TABLE, 3)[1], 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"posterior": np.ones((5, 2))}, "sum to 1"),
        ({"posterior": np.ones(5)}, "shape"),
        ({"posterior": np.full((5, 2), np.nan)}, "sum to 1"),
        ({"table": np.ones((5, 4))}, "table"),
        ({"kind": "triangle"}, "kind"),
        ({"n": -1}, "n must"),
        ({"X": np.zeros((4, 2))}, "X must have shape"),
        ({"candidates": [[0, 1, 99]]}, "row 0"),
        ({"asked": [[0, 1, 1]]}, "row 0"),
        ({"pending": [[0, 1, 99]]}, "row 0"),
        ({"about": [5]}, "about must hold item positions from 0 to 4"),
        ({"about": [0.5]}, "about must hold"),
        ({"typical": [-1]}, "typical must hold item positions from 0 to 4"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        suggest(**{"posterior": posteriors(5), "table": TABLE, **arguments})


@pytest.mark.heavy(but="relative")
@pytest.mark.parametrize("kind", ["relative", "outlier"])
def test_a_fit_suggests_by_its_own_beliefs(kind):
    X, y = load_iris(return_X_y=True)
    triplets = random_triplets(len(y), 40, np.random.default_rng(0))
    model = DCRC(3, n_init=2, n_moves=0, random_state=0)
    model.fit(X, triplets=triplets, answers=true_answers(y, triplets, kind), kinds=kind)
    asked, information = model.suggest(5, kind=kind, asked=triplets, X=X, random_state=3)
    expected = suggest(model.posterior_, answer_table(kind, 0.05), 5, kind=kind, asked=triplets, X=X, random_state=3)
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
    lazy, keen = (model.suggest(5, labeler=name)[1].mean() for name in ("lazy", "keen"))
    assert lazy < 0.2 * keen
