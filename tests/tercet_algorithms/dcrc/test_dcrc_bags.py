"""Bag labels in DCRC: what they and answers make of data together, and what users of both meet."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from tercet_algorithms import DCRC, DCRCCV, FitState
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers
from tercet_algorithms.dcrc import sampling
from tercet_algorithms.dcrc.search import BAGS, HEAVY, INIT, KMEANS, LIGHT, MOVE, WARM, plan_starts
from tests.tercet_algorithms.dcrc.test_dcrc import overlapping, questions, saved_and_loaded


def bagged(seed=0, n_bags=60, **options):
    """Overlapping classes in bags of four, labelled with the classes that are in them."""
    X, y = overlapping(seed, **options)
    bags = np.random.default_rng(seed).permutation(len(y)) % n_bags
    return X, y, {"bags": bags, "bag_labels": {bag: [f"class {c}" for c in y[bags == bag]] for bag in range(n_bags)}}


# --- what it makes of data ---


def mean_score(seeds=range(5), n=0, with_bags=True, score=adjusted_rand_score, **parameters):
    result = []
    for seed in seeds:
        X, y, bags = bagged(seed)
        answered = questions(y, n, seed)
        answered["answers"] = noisy_answers(y, answered["triplets"], TABLE_IV, np.random.default_rng(seed))
        settings = {"epsilon": 0.15, "random_state": 0, "n_init": 2, "n_moves": 0, **parameters}
        model = DCRC(settings.pop("n_clusters", 4), **settings).fit(X, **answered, **(bags if with_bags else {}))
        result.append(score(y, model.labels_))
    return np.mean(result)


@pytest.fixture(scope="module")
def by_labels():
    return mean_score()


@pytest.mark.heavy
def test_answers_and_bag_labels_together_beat_either_alone(by_labels):
    together = mean_score(n=300)
    assert together > by_labels + 0.02
    assert together > mean_score(n=300, with_bags=False, n_init=4) + 0.02
    assert by_labels > mean_score(with_bags=False) + 0.1


@pytest.mark.heavy(but="paper")
@pytest.mark.parametrize("parameters", [{"balance": False}, {"solver": "em"}, {"weight": "paper"}], ids=str)
def test_labels_help_in_every_variant(parameters):
    seeds = range(3)
    assert mean_score(seeds, 60, **parameters) > mean_score(seeds, 60, with_bags=False, **parameters) + 0.1


@pytest.mark.heavy(but="5")
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
        result = []
        for seed in range(4):
            X, y, bags = bagged(seed, spread=1.2)
            rng = np.random.default_rng(seed)
            labels = {bag: [n for n in names if rng.random() > 0.3] for bag, names in bags["bag_labels"].items()}
            model = DCRC(4, bag_epsilon=bag_epsilon, n_init=1, n_moves=0, random_state=0)
            model.fit(X, bags=bags["bags"], bag_labels=labels)
            result.append(adjusted_rand_score(y, model.labels_))
        return np.mean(result)

    assert spoiled(0.2) > spoiled(1e-6) + 0.03


# --- as users meet it ---


@pytest.mark.filterwarnings("ignore:DCRC stopped after")
@pytest.mark.parametrize("solver", ["profile", "em"])
@pytest.mark.parametrize("n_clusters", [3, 4, 6])
def test_the_bound_never_drops(solver, n_clusters):
    X, y, bags = bagged()
    states = []
    answered = {**questions(y, 100), **bags}
    model = DCRC(n_clusters, epsilon=0.05, solver=solver, n_init=2, n_moves=1, random_state=0, max_iter=40)
    model.fit(X, **answered, callback=states.append)
    for start in {state.start for state in states}:
        bounds = [state.lower_bound for state in states if state.start == start]
        assert np.all(np.diff(bounds) > -2e-5)


def test_clusters_are_named_by_the_labels_that_they_go_with():
    X, y, bags = bagged(spread=1.0)
    model = DCRC(4, random_state=0).fit(X, **bags)
    assert model.label_names_ == tuple(f"class {c}" for c in range(4))
    named = model.cluster_label_affinity_.argmax(axis=1)[model.labels_]
    assert np.mean(named == y) > 0.9


@pytest.mark.heavy(but="no bags")
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
    answered = questions(y, 60)
    model = DCRC(4, epsilon=0.05, n_init=2, n_moves=1, random_state=0)
    coef, posterior = model.fit(X, **answered).coef_, model.posterior_
    assert np.array_equal(model.fit(X, **answered, **bags).coef_, coef)
    assert np.array_equal(model.posterior_, posterior)


@pytest.mark.heavy(but="80-3")
@pytest.mark.parametrize("n_clusters", [3, 4, 6])
@pytest.mark.parametrize("n", [0, 80])
def test_a_resumed_fit_ends_like_one_that_ran_through(n_clusters, n, tmp_path):
    X, y, bags = bagged()
    answered, states = {**questions(y, n), **bags}, []
    options = {"epsilon": 0.05, "n_init": 3, "n_moves": 1}
    straight = DCRC(n_clusters, random_state=0, **options).fit(X, **answered, callback=states.append)
    for at in (0, len(states) // 2, len(states) - 1):
        state = FitState.from_arrays(saved_and_loaded(states[at].to_arrays(), tmp_path))
        resumed = DCRC(n_clusters, random_state=7, **options).fit(X, **answered, resume=state)
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


@pytest.mark.heavy
@pytest.mark.parametrize("n", [0, 150])
def test_fits_that_begin_with_samples_are_as_good(n, monkeypatch):
    def mean():
        result = []
        for seed in range(3):
            X, y, bags = bagged(seed, n_items=2400, n_bags=600)
            model = DCRC(4, n_init=1, n_moves=0, random_state=0).fit(X, **questions(y, n), **bags)
            result.append(adjusted_rand_score(y, model.labels_))
        return np.mean(result)

    all_bags = mean()
    monkeypatch.setattr(sampling, "_FEWEST", 500)
    assert mean() > all_bags - 0.02


def test_bags_go_through_cross_validation():
    X, y, bags = bagged()
    search = DCRCCV(4, tau=1.0, lam=(2**-8, 2**-4), epsilon=0.05, cv=2, n_init=1, n_moves=0, random_state=0)
    alone = search.fit(X, **questions(y, 60)).labels_
    both = search.fit(X, **questions(y, 60), **bags)
    assert both.best_estimator_.label_names_ == tuple(f"class {c}" for c in range(4))
    assert adjusted_rand_score(y, both.labels_) > adjusted_rand_score(y, alone) + 0.1


def test_items_in_any_order_give_the_same_clusters():
    X, y, bags = bagged(spread=1.0)
    order = np.random.default_rng(1).permutation(len(y))
    first = DCRC(4, n_init=1, n_moves=0, random_state=0).fit(X, **bags)
    two = DCRC(4, n_init=1, n_moves=0, random_state=0).fit(
        X[order], bags=bags["bags"][order], bag_labels=bags["bag_labels"]
    )
    assert np.mean(first.labels_[order] == two.labels_) > 0.99, "clusters are numbered by labels"


def test_starts_from_elsewhere_are_planned_first():
    def kinds(*arguments):
        return plan_starts(*arguments[:-1], np.random.RandomState(0), arguments[-1])[0].tolist()

    assert kinds(1, 0, False, [INIT, BAGS]) == [INIT]
    assert kinds(1, 1, True, [INIT]) == [WARM, MOVE]
    assert kinds(4, 0, False, [BAGS]) == [BAGS, KMEANS, LIGHT, HEAVY]


@pytest.mark.heavy
def test_a_given_start_is_taken_where_it_is_best():
    X, y = overlapping()
    answered = questions(y, 240)
    poor = DCRC(4, epsilon=0.05, n_init=1, n_moves=0, random_state=0).fit(X, **answered, init=np.arange(240) % 4)
    good = DCRC(4, epsilon=0.05, n_init=1, n_moves=0, random_state=0).fit(X, **answered, init=y)
    assert good.lower_bound_ > poor.lower_bound_
    assert np.mean(good.labels_ == y) > 0.8, "it keeps its numbers"
    several = DCRC(4, epsilon=0.05, n_init=4, n_moves=0, random_state=0).fit(X, **answered, init=np.arange(240) % 4)
    assert several.lower_bound_ > poor.lower_bound_


@pytest.mark.parametrize(
    ("answered", "message"),
    [
        ({"init": [0, 1]}, r"init must have one cluster for each of the 240 items, got shape \(2,\)"),
        ({"init": [0] * 239 + [4]}, "init row 239 is 4: expected a cluster from 0 to 3"),
        ({"init": [0.5] + [0] * 239}, "init row 0 is 0.5"),
        ({"bags": [1]}, "bags has 1 rows, X has 240"),
        ({"bag_labels": {1: ["a"]}}, "bag_labels are given without bags"),
    ],
)
def test_bad_input_is_named(answered, message):
    with pytest.raises(ValueError, match=message):
        DCRC(4).fit(overlapping()[0], **answered)


@pytest.mark.parametrize("value", [0, 0.5, -1])
def test_bad_epsilons_are_named(value):
    with pytest.raises(ValueError, match=r"'bag_epsilon' parameter of DCRC must be a float in the range \(0.0, 0.5\)"):
        DCRC(4, bag_epsilon=value).fit(overlapping()[0])


@pytest.mark.heavy(but="6-{'labeler")
@pytest.mark.parametrize("parameters", [{"epsilon": 0}, {"kernel": "rbf"}, {"labeler_tables": "learn"}], ids=str)
@pytest.mark.parametrize("labels", [["a"], ["a", "b", "c", "d", "e", "f"]], ids=len)
def test_odd_labels_give_finite_clusters(labels, parameters):
    X, y = overlapping(n_items=60)
    answered = {"bags": np.arange(60) % 6, "bag_labels": {bag: labels[: bag + 1] for bag in range(5)}}
    model = DCRC(3, n_init=2, n_moves=1, random_state=0, **parameters).fit(X, **questions(y, 20), **answered)
    assert np.isfinite(model.posterior_).all()
    assert np.isfinite(model.lower_bound_)
    assert np.allclose(model.posterior_.sum(axis=1), 1, atol=1e-5)
    assert set(model.labels_) <= {0, 1, 2}


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_constant_features_and_one_cluster_survive():
    answered = {"bags": np.arange(30) % 6, "bag_labels": {bag: ["a", "b"][: bag % 3] for bag in range(6)}}
    for n_clusters in (1, 2, 3):
        assert np.isfinite(
            DCRC(n_clusters, n_init=2, random_state=0).fit(np.ones((30, 2)), **answered).posterior_
        ).all()
