"""Bag labels in DCRC: one objective with the answers, its bound and gradient, and what it makes of data."""

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from algorithms import DCRC, FitState, sampling
from algorithms.bag_evidence import _NO_ITEM, BagEvidence, are_told, evidence_of
from algorithms.bag_labels import read_bags
from algorithms.discriminative import LowerBound
from algorithms.fitting import BAGS, BEST_KMEANS, GIVEN, KMEANS, MOVE, WARM, plan_starts
from algorithms.mean_field import MeanField
from algorithms.patterns import patterns_of
from algorithms.simulate import TABLE_IV, noisy_answers, random_triplets
from algorithms.validation import Constraints
from tests.algorithms.test_dcrc import overlapping, questions, saved_and_loaded
from tests.algorithms.test_lower_bound import slope

EPSILON = 0.1


def bagged(seed=0, n_bags=60, **options):
    """Overlapping classes in bags of four, labelled with the classes that are in them."""
    X, y = overlapping(seed, **options)
    bags = np.random.default_rng(seed).permutation(len(y)) % n_bags
    return X, y, {"bags": bags, "bag_labels": {bag: [f"class {c}" for c in y[bags == bag]] for bag in range(n_bags)}}


def evidence(n_items, n_labels=3, seed=0, last_silent=0):
    """Bags of about three items with any labels; the last items are in bags without labels."""
    rng = np.random.default_rng(seed)
    sets = np.vstack([np.array(list(product([0, 1], repeat=n_labels)))[1:], np.zeros(n_labels)]).astype(float)
    bag = rng.integers(1 + n_items // 3, size=n_items)
    place = rng.integers(len(sets) - 1, size=n_items)[bag]
    place[n_items - last_silent :] = len(sets) - 1
    bag[n_items - last_silent :] = n_items
    return BagEvidence(sets, place, bag, EPSILON)


def problem(n=6, n_items=14, seed=0, last_silent=3, witnesses=True, **terms):
    """A bound with answered items, items with bag labels alone and items with nothing."""
    rng = np.random.default_rng(seed)
    triplets = random_triplets(max(n_items - 6, 3), n, rng)
    given = Constraints(triplets, rng.integers(3, size=n), np.zeros(n, dtype=int))
    field = MeanField(triplets, np.log(given.likelihoods(0.1)), 3)
    X = np.column_stack([rng.normal(size=(n_items, 2)), np.ones(n_items)])
    order = np.concatenate([field.items, np.setdiff1d(np.arange(n_items), field.items)])
    bags = evidence(n_items, seed=seed, last_silent=last_silent).of(order)
    bound = LowerBound(X, field, **{"tau": 1.0, "lam": 0.01, "balance": True, "weight": 0.3, **terms}, bags=bags)
    bound.use_labels(np.eye(3))
    W = rng.normal(size=(3, 3))
    bound.expect_posteriors(W)
    called = bound.call_witnesses(W) if witnesses else []
    return bound, W, called


def labels_of(bags, item):
    return set(np.flatnonzero(bags.sets[bags.place[item]]))


def pairs_of(bags):
    """Every label of every bag, label by label as witnesses are: (label, items of the bag)."""
    bag_labels = [(label, bag) for item, bag in enumerate(bags.bag) for label in labels_of(bags, item)]
    return [(label, np.flatnonzero(bags.bag == bag)) for label, bag in sorted(set(bag_labels))]


def factors_by_hand(bags, witnesses=()):
    """P(label set | cluster) of every item, (N, K), cluster k going with label k, and a witness's for its label."""
    factors = np.ones((len(bags.place), 3))
    for item in range(len(factors)):
        labels = labels_of(bags, item)
        if labels:
            factors[item] = [1 - EPSILON if k in labels else EPSILON for k in range(3)]
    for (label, _), witness in zip(pairs_of(bags), witnesses, strict=len(witnesses) > 0):
        factors[witness, label] /= _NO_ITEM
    return factors


# --- the objective ---


@pytest.mark.parametrize("witnesses", [True, False])
@pytest.mark.parametrize(("balance", "tau"), [(True, 1.0), (False, 1.0), (True, 0.3)])
def test_bound_is_the_formula(balance, tau, witnesses):
    bound, W, called = problem(balance=balance, tau=tau, witnesses=witnesses)
    p = np.exp(bound.X @ W.T)
    p /= p.sum(axis=1, keepdims=True)
    n, m, q = bound.n_constrained, bound.n_evident, bound.field.q
    r = factors_by_hand(bound.bags, called)
    value = bound.field.expected_log_likelihood() + (q * np.log(p[:n] * r[:n] / q)).sum()
    value += np.log((p * r)[n:m].sum(axis=1)).sum() + len(called) * np.log(_NO_ITEM)
    value = bound.weight * value - bound.lam * (W[:, :-1] ** 2).sum()
    value += tau * (p[m:] * np.log(p[m:])).sum(axis=1).mean()
    share = p.mean(axis=0)
    value -= balance * tau * (share * np.log(share)).sum()
    assert 0 < n < m < len(p)
    assert bound.at_fixed_q(W)[0] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("last_silent", [0, 3])  # 0: everybody has evidence, so there is no entropy term
@pytest.mark.parametrize("n", [2, 6, 30])
def test_gradient_equals_finite_differences(n, last_silent):
    bound, W, _ = problem(n=n, last_silent=last_silent)
    assert np.allclose(bound.at_fixed_q(W)[1], slope(bound.at_fixed_q, W), atol=1e-7)


def test_profile_gradient_equals_finite_differences_of_the_settled_bound():
    bound, W, _ = problem()

    def settled(W):
        bound.refresh(bound.log_posteriors(W)[1], tol=1e-12)
        return bound.at_fixed_q(W)

    assert np.allclose(settled(W)[1], slope(settled, W), atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_bound_stays_below_the_exact_log_likelihood_of_answers_and_labels(seed):
    bound, W, called = problem(n=3, n_items=8, last_silent=0, seed=seed, tau=0.0, lam=0.0, balance=False, weight=1.0)
    rng, triplets = np.random.default_rng(seed), bound.field.triplets
    logs = np.log(np.where(rng.random((len(triplets), 5)) < 0.5, 0.9, 0.05))
    bound.field.set_log_likelihoods(logs)
    log_joint = bound.log_posteriors(W)[1].T + np.log(factors_by_hand(bound.bags))
    terms = []
    for clusters in product(range(3), repeat=8):
        labels = np.array(clusters)  # cluster k goes with label k
        unmet = sum(label not in labels[items] for label, items in pairs_of(bound.bags))
        answers = logs[np.arange(len(logs)), patterns_of(labels, triplets)].sum()
        terms.append(log_joint[np.arange(8), labels].sum() + answers + unmet * np.log(_NO_ITEM))
    exact, bounds = np.logaddexp.reduce(terms), []
    for _ in range(4):
        bound.refresh(bound.log_posteriors(W)[1], tol=1e-10)
        bounds.append(bound.at_fixed_q(W)[0])
        called = bound.call_witnesses(W)
        bounds.append(bound.at_fixed_q(W)[0])
    assert np.all(np.diff(bounds) > -1e-9), "better posteriors, better witnesses"
    assert exact - 4 < bounds[-1] <= exact + 1e-9
    assert len(called) == len(pairs_of(bound.bags))


def test_witnesses_are_the_likeliest_items():
    bound, W, called = problem(witnesses=False)
    posterior = bound.posterior(W)
    called = bound.bags.witnesses(posterior, np.eye(3))
    for (label, items), witness in zip(pairs_of(bound.bags), called, strict=True):
        assert witness in items
        assert posterior[label, witness] == posterior[label, items].max()


def test_posterior_of_an_item_without_answers_is_bayes_rule():
    bound, W, called = problem()
    P = bound.log_posteriors(W)[0].copy()
    joint = P * factors_by_hand(bound.bags, called).T
    posterior, n = bound.posterior(W), bound.n_constrained
    assert np.allclose(posterior[:, n:], (joint / joint.sum(axis=0))[:, n:])
    assert np.allclose(posterior[:, bound.n_evident :], P[:, bound.n_evident :]), "nothing is said of these"
    assert np.allclose(posterior[:, :n], bound.field.q.T)


def test_labels_that_say_nothing_leave_answers_as_they_are():
    bound, W, _ = problem(witnesses=False)
    plain = LowerBound(bound.X, bound.field, tau=1.0, lam=0.01, balance=True, weight=0.3)
    bound.use_labels(np.ones((3, 3)))  # every cluster goes with everything: one factor for all clusters
    log_p = bound.log_posteriors(W)[1].copy()
    bound.refresh(log_p, tol=1e-10)
    q = bound.field.q.copy()
    plain.refresh(log_p, tol=1e-10)
    assert np.allclose(q, bound.field.q, atol=1e-8)


@pytest.mark.filterwarnings("ignore:DCRC stopped after")
@pytest.mark.parametrize("solver", ["profile", "em"])
@pytest.mark.parametrize("n_clusters", [3, 4, 6])
def test_the_bound_never_drops(solver, n_clusters):
    X, y, bags = bagged()
    states = []
    given = {**questions(y, 100), **bags}
    model = DCRC(n_clusters, solver=solver, n_init=3, n_moves=1, random_state=0, max_iter=40)
    model.fit(X, **given, callback=states.append)
    for start in {state.start for state in states}:
        bounds = [state.lower_bound for state in states if state.start == start]
        assert np.all(np.diff(bounds) > -2e-5)


# --- labels and clusters ---


def test_evidence_reads_bags_and_drops_labels_that_no_bag_has():
    read = read_bags([0, 2, None, 2, 1], np.array([[1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1]]), n_items=5)
    assert are_told(read).tolist() == [True, True, False, True, False]
    found = evidence_of(read, np.array([4, 3, 2, 1, 0]), 0.1)
    assert found.sets[found.place].tolist() == [[0, 0], [0, 1], [0, 0], [0, 1], [1, 1]]
    assert found.told.tolist() == [False, True, False, True, True]


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_matching_covers_every_cluster_and_label_and_is_best_where_it_can_be(n_clusters):
    for seed in range(5):
        bags = evidence(40, seed=seed, last_silent=4)
        posterior = np.random.default_rng(seed).dirichlet(np.full(n_clusters, 0.2), size=40).T
        goes = bags.match(posterior)
        assert goes.any(axis=0).all()
        assert goes.any(axis=1).all()
        if n_clusters > 3:
            every = [np.eye(3)[list(labels)] for labels in product(range(3), repeat=5) if len(set(labels)) == 3]
            values = [(posterior * bags.log_factors(one)[:, bags.place]).sum() for one in every]
            value = (posterior * bags.log_factors(goes)[:, bags.place]).sum()
            assert value == pytest.approx(max(values))
        if n_clusters == 3:
            every = [
                np.eye(3)[list(order)] for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
            ]
            values = [(posterior * bags.log_factors(one)[:, bags.place]).sum() for one in every]
            assert np.array_equal(goes, every[int(np.argmax(values))])
            assert np.array_equal(np.eye(3)[bags.order(posterior, np.eye(3))].T, goes), (
                "the same, seen from the labels"
            )


def test_clusters_are_named_by_the_labels_that_they_go_with():
    X, y, bags = bagged(spread=1.0)
    model = DCRC(4, random_state=0).fit(X, **bags)
    assert model.label_names_ == tuple(f"class {c}" for c in range(4))
    named = model.cluster_label_affinity_.argmax(axis=1)[model.labels_]
    assert np.mean(named == y) > 0.9


# --- what it makes of data ---


def mean_score(seeds=range(5), n=0, with_bags=True, score=adjusted_rand_score, **parameters):
    found = []
    for seed in seeds:
        X, y, bags = bagged(seed)
        given = questions(y, n, seed)
        given["answers"] = noisy_answers(y, given["triplets"], TABLE_IV, np.random.default_rng(seed))
        settings = {"epsilon": 0.15, "random_state": 0, "n_init": 2, "n_moves": 0, **parameters}
        model = DCRC(settings.pop("n_clusters", 4), **settings).fit(X, **given, **(bags if with_bags else {}))
        found.append(score(y, model.labels_))
    return np.mean(found)


@pytest.fixture(scope="module")
def by_labels():
    return mean_score()


def test_answers_and_bag_labels_together_beat_either_alone(by_labels):
    together = mean_score(n=300)
    assert together > by_labels + 0.02
    assert together > mean_score(n=300, with_bags=False, n_init=4) + 0.02
    assert by_labels > mean_score(with_bags=False) + 0.1


@pytest.mark.parametrize("parameters", [{"balance": False}, {"solver": "em"}, {"weight": "paper"}], ids=str)
def test_labels_help_in_every_variant(parameters):
    seeds = range(3)
    assert mean_score(seeds, 60, **parameters) > mean_score(seeds, 60, with_bags=False, **parameters) + 0.1


@pytest.mark.parametrize("n_clusters", [3, 5, 8])
def test_labels_help_with_fewer_and_with_more_clusters_than_labels(n_clusters):
    options = {"n_clusters": n_clusters, "n_init": 1, "balance": False, "score": normalized_mutual_info_score}
    assert mean_score(**options) > mean_score(**options, with_bags=False) + 0.1


def test_more_labelled_bags_make_better_clusters(by_labels):
    few = []
    for seed in range(5):
        X, y, bags = bagged(seed)
        labels = {bag: names for bag, names in bags["bag_labels"].items() if bag < 30}
        model = DCRC(4, random_state=0, n_init=2, n_moves=0).fit(X, bags=bags["bags"], bag_labels=labels)
        few.append(adjusted_rand_score(y, model.labels_))
    assert mean_score(with_bags=False) < np.mean(few) < by_labels


def test_missing_labels_do_less_harm_the_larger_epsilon():
    def spoiled(bag_epsilon):
        found = []
        for seed in range(4):
            X, y, bags = bagged(seed, spread=1.2)
            rng = np.random.default_rng(seed)
            labels = {bag: [n for n in names if rng.random() > 0.3] for bag, names in bags["bag_labels"].items()}
            model = DCRC(4, bag_epsilon=bag_epsilon, n_init=1, n_moves=0, random_state=0)
            model.fit(X, bags=bags["bags"], bag_labels=labels)
            found.append(adjusted_rand_score(y, model.labels_))
        return np.mean(found)

    assert spoiled(0.2) > spoiled(1e-6) + 0.03


# --- as users meet it ---


@pytest.mark.parametrize(
    "bags",
    [
        {"bags": None},
        {"bags": [None] * 240},
        {"bags": np.arange(240) % 9, "bag_labels": {}},
        {"bags": np.arange(240) % 9, "bag_labels": {77: ["of a bag that is not there"]}},
    ],
    ids=["none", "no bags", "no labels", "labels of other bags"],
)
def test_without_labelled_bags_nothing_changes(bags):
    X, y = overlapping()
    given = questions(y, 60)
    model = DCRC(4, n_init=2, n_moves=1, random_state=0)
    coef, posterior = model.fit(X, **given).coef_, model.posterior_
    assert np.array_equal(model.fit(X, **given, **bags).coef_, coef)
    assert np.array_equal(model.posterior_, posterior)


@pytest.mark.parametrize("n_clusters", [3, 4, 6])
@pytest.mark.parametrize("n", [0, 80])
def test_a_resumed_fit_ends_like_one_that_ran_through(n_clusters, n, tmp_path):
    X, y, bags = bagged()
    given, states = {**questions(y, n), **bags}, []
    options = {"n_init": 3, "n_moves": 1}
    straight = DCRC(n_clusters, random_state=0, **options).fit(X, **given, callback=states.append)
    for at in (0, len(states) // 2, len(states) - 1):
        state = FitState.from_arrays(saved_and_loaded(states[at].to_arrays(), tmp_path))
        resumed = DCRC(n_clusters, random_state=7, **options).fit(X, **given, resume=state)
        assert np.array_equal(resumed.labels_, straight.labels_)
        assert resumed.lower_bound_ == pytest.approx(straight.lower_bound_, abs=1e-6)


@pytest.mark.parametrize("n_clusters", [3, 4, 6])
def test_a_warm_refit_in_another_process_keeps_its_clusters(n_clusters, tmp_path):
    X, y, bags = bagged()
    first = DCRC(n_clusters, n_init=2, n_moves=0, random_state=0).fit(X, **questions(y, 100), **bags)
    loaded = DCRC(n_clusters, n_init=1, n_moves=0, warm_start=True)
    loaded.set_state_arrays(saved_and_loaded(first.state_arrays(), tmp_path))
    warm = loaded.fit(X, **questions(y, 110), **bags)
    assert np.mean(warm.labels_ == first.labels_) > 0.85
    assert warm.n_iter_ < 10


def test_labels_may_come_after_answers_and_the_other_way_round():
    X, y, bags = bagged()
    model = DCRC(4, n_init=1, n_moves=0, warm_start=True, random_state=0)
    alone = model.fit(X, **questions(y, 60)).labels_
    both = model.fit(X, **questions(y, 60), **bags).labels_
    assert adjusted_rand_score(y, both) > adjusted_rand_score(y, alone) + 0.1
    assert model.fit(X, **questions(y, 60)).labels_.shape == (240,)


@pytest.mark.parametrize("n", [0, 150])
def test_fits_that_begin_with_samples_are_as_good(n, monkeypatch):
    def mean():
        found = []
        for seed in range(3):
            X, y, bags = bagged(seed, n_items=2400, n_bags=600)
            model = DCRC(4, n_init=1, n_moves=0, random_state=0).fit(X, **questions(y, n), **bags)
            found.append(adjusted_rand_score(y, model.labels_))
        return np.mean(found)

    whole = mean()
    monkeypatch.setattr(sampling, "_FEWEST", 500)
    assert mean() > whole - 0.02


def test_a_sample_weighs_every_term_as_the_whole_does():
    rng = np.random.default_rng(0)
    n_items, W = 4000, rng.normal(size=(3, 3))
    X = np.column_stack([rng.normal(size=(n_items, 2)), np.ones(n_items)])
    terms = {"tau": 0.7, "lam": 0.01, "balance": True, "weight": 3 / (n_items - 1000)}
    whole = LowerBound(X, None, **terms, bags=evidence(n_items, last_silent=1000))
    parts = [sampling.sample(whole, np.empty((0, 5)), 3, 0.25, np.random.RandomState(seed)) for seed in range(20)]
    for bound in (whole, *parts):
        bound.use_labels(np.eye(3))
    assert np.mean([part.at_fixed_q(W)[0] for part in parts]) == pytest.approx(whole.at_fixed_q(W)[0], abs=0.02)
    assert {len(part.X) for part in parts} == {1000}


def test_items_in_any_order_give_the_same_clusters():
    X, y, bags = bagged(spread=1.0)
    order = np.random.default_rng(1).permutation(len(y))
    one = DCRC(4, n_init=1, n_moves=0, random_state=0).fit(X, **bags)
    two = DCRC(4, n_init=1, n_moves=0, random_state=0).fit(
        X[order], bags=bags["bags"][order], bag_labels=bags["bag_labels"]
    )
    assert np.mean(one.labels_[order] == two.labels_) > 0.99, "clusters are numbered by labels"


def test_starts_from_elsewhere_are_planned_first():
    def kinds(*arguments):
        return plan_starts(*arguments[:-1], np.random.RandomState(0), arguments[-1])[0].tolist()

    assert kinds(1, 0, False, 9, [GIVEN, BAGS]) == [GIVEN]
    assert kinds(1, 1, True, 9, [GIVEN]) == [WARM, MOVE]
    assert kinds(4, 0, False, 9, [BAGS]) == [BAGS, BEST_KMEANS, KMEANS, KMEANS]


def test_a_given_start_is_taken_where_it_is_best():
    X, y = overlapping()
    given = questions(y, 240)
    poor = DCRC(4, n_init=1, n_moves=0, random_state=0).fit(X, **given, init=np.arange(240) % 4)
    good = DCRC(4, n_init=1, n_moves=0, random_state=0).fit(X, **given, init=y)
    assert good.lower_bound_ > poor.lower_bound_
    assert np.mean(good.labels_ == y) > 0.8, "it keeps its numbers"
    several = DCRC(4, n_init=4, n_moves=0, random_state=0).fit(X, **given, init=np.arange(240) % 4)
    assert several.lower_bound_ > poor.lower_bound_


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"init": [0, 1]}, r"init must have one cluster for each of the 240 items, got shape \(2,\)"),
        ({"init": [0] * 239 + [4]}, "init row 239 is 4: expected a cluster from 0 to 3"),
        ({"init": [0.5] + [0] * 239}, "init row 0 is 0.5"),
        ({"bags": [1]}, "bags has 1 rows, X has 240"),
        ({"bag_labels": {1: ["a"]}}, "bag_labels are given without bags"),
    ],
)
def test_bad_input_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        DCRC(4).fit(overlapping()[0], **given)


@pytest.mark.parametrize("value", [0, 0.5, -1])
def test_bad_epsilons_are_named(value):
    with pytest.raises(ValueError, match=r"bag_epsilon must be in \(0, 1/2\)"):
        DCRC(4, bag_epsilon=value).fit(overlapping()[0])


@pytest.mark.parametrize("parameters", [{"epsilon": 0}, {"kernel": "rbf"}, {"labeler_tables": "learn"}], ids=str)
@pytest.mark.parametrize("labels", [["a"], ["a", "b", "c", "d", "e", "f"]], ids=len)
def test_odd_labels_give_finite_clusters(labels, parameters):
    X, y = overlapping(n_items=60)
    given = {"bags": np.arange(60) % 6, "bag_labels": {bag: labels[: bag + 1] for bag in range(5)}}
    model = DCRC(3, n_init=2, n_moves=1, random_state=0, **parameters).fit(X, **questions(y, 20), **given)
    assert np.isfinite(model.posterior_).all()
    assert np.isfinite(model.lower_bound_)
    assert np.allclose(model.posterior_.sum(axis=1), 1, atol=1e-5)
    assert set(model.labels_) <= {0, 1, 2}


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_constant_features_and_one_cluster_survive():
    given = {"bags": np.arange(30) % 6, "bag_labels": {bag: ["a", "b"][: bag % 3] for bag in range(6)}}
    for n_clusters in (1, 2, 3):
        assert np.isfinite(DCRC(n_clusters, n_init=2, random_state=0).fit(np.ones((30, 2)), **given).posterior_).all()
