"""BagSpectralClustering as a whole: what it finds, what it promises as an estimator, what it refuses."""

import copy
import warnings
from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from tercet_algorithms import BagSpectralClustering, SpectralState
from tercet_algorithms.bags import graph as graph_module
from tercet_algorithms.bags import spectrum
from tercet_algorithms.bags.methods import METHODS
from tercet_algorithms.common.links import ItemLinks
from tests.tercet_algorithms.bags.data import bagged
from tests.tercet_algorithms.callbacks import StopAt

X, Y, BAGS, LABELS = bagged()
GIVEN = {"bags": BAGS, "bag_labels": LABELS}
GRAPHS = {"all pairs": {"n_neighbors": None}, "neighbours": {"n_neighbors": 12}}
every_method = pytest.mark.parametrize("method", METHODS)
every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def make(n_clusters=4, **parameters):
    return BagSpectralClustering(n_clusters, **{"n_init": 3, "random_state": 0, **parameters})


def same(one, two):
    return np.array_equal(one.labels_, two.labels_) and np.allclose(one.posterior_, two.posterior_)


# --- what it finds ---


@cache
def without_labels(seed, **graph):
    """Adjusted Rand index of what features alone show, the same for all methods."""
    features, y, _, _ = bagged(spread=1.2, seed=seed)
    return adjusted_rand_score(y, make(**graph).fit(features).labels_)


@pytest.mark.heavy(but="regularized")
@pytest.mark.uncounted
@every_graph
@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("spectral", "links-additive")])
def test_bag_labels_help(method, graph):
    """Over several data sets every method finds more of the classes than features alone show."""
    gains = []
    for seed in range(6):
        features, y, bags, labels = bagged(spread=1.2, seed=seed)
        model = make(method=method, **graph).fit(features, bags=bags, bag_labels=labels)
        gains.append(adjusted_rand_score(y, model.labels_) - without_labels(seed, **graph))
    assert np.mean(gains) > (0.05 if method != "regularized" else 0.01)


@every_graph
@every_method
def test_results_are_what_they_are_called(method, graph):
    model = make(method=method, **graph).fit(X, **GIVEN)
    assert model.labels_.shape == (len(X),)
    assert np.issubdtype(model.labels_.dtype, np.integer)
    assert set(model.labels_) == set(range(4))
    assert model.posterior_.shape == (len(X), 4)
    assert np.allclose(model.posterior_.sum(axis=1), 1)
    assert np.array_equal(model.posterior_.argmax(axis=1), model.labels_)
    assert np.allclose(np.linalg.norm(model.embedding_, axis=1), 1)
    assert np.all(np.diff(model.eigenvalues_) <= 0)
    centres = np.stack([model.embedding_[model.labels_ == k].mean(axis=0) for k in range(4)])
    assert np.allclose(model.cluster_centers_, centres, atol=1e-3)
    assert model.inertia_ == pytest.approx(np.square(model.embedding_ - centres[model.labels_]).sum(), rel=1e-3)
    assert model.label_names_ == (0, 1, 2, 3)
    assert np.allclose(model.cluster_label_affinity_.sum(axis=1), 1)
    assert model.n_features_in_ == X.shape[1]
    assert model.n_iter_ >= 1
    assert model.converged_


@every_graph
def test_items_of_high_confidence_are_right_more_often(graph):
    sure, unsure, confidence, accuracy = [], [], [], []
    for seed in range(6):
        features, y, bags, labels = bagged(spread=1.6, seed=seed)
        model = make(**graph).fit(features, bags=bags, bag_labels=labels)
        commonest = np.array([np.bincount(y[model.labels_ == k]).argmax() for k in range(4)])
        correct, most = commonest[model.labels_] == y, model.posterior_.max(axis=1)
        upper = most > np.median(most)
        sure.append(correct[upper].mean())
        unsure.append(correct[~upper].mean())
        confidence.append(most.mean())
        accuracy.append(correct.mean())
    assert np.mean(sure) > np.mean(unsure) + 0.1
    assert np.mean(confidence) == pytest.approx(np.mean(accuracy), abs=0.15)


def test_clusters_are_named_by_their_labels():
    names = np.array(["crow", "jay", "thrush", "wren"])
    bag_labels = {bag: names[row.astype(bool)] for bag, row in enumerate(LABELS)}
    model = make(method="both").fit(X, bags=BAGS, bag_labels=bag_labels)
    assert model.label_names_ == tuple(names)
    label_names = np.array(model.label_names_)[model.cluster_label_affinity_.argmax(axis=1)]
    assert np.mean(label_names[model.labels_] == names[Y]) > 0.85
    assert same(model, make(method="both").fit(X, **GIVEN))


@every_graph
def test_no_weight_and_no_labels_are_plain_spectral_clustering(graph):
    plain = make(method="spectral", **graph).fit(X)
    assert same(plain, make(method="bag", alpha=0, **graph).fit(X, **GIVEN))
    silent = {"bags": BAGS, "bag_labels": {}}
    for method in METHODS:
        if method != "links-additive":  # that one is normalised differently from the start
            assert same(plain, make(method=method, **graph).fit(X, **silent)), method
            assert same(plain, make(method=method, **graph).fit(X)), method


def test_one_bag_is_plain_spectral_clustering():
    for graph in GRAPHS.values():
        plain = make(method="spectral", **graph).fit(X)
        assert same(plain, make(**graph).fit(X, bags=["all"] * len(X), bag_labels={"all": ["a", "b"]}))


@every_method
def test_names_and_order_of_labels_and_bags_change_nothing(method):
    order = np.random.default_rng(0).permutation(4)
    bag_order = np.random.default_rng(1).permutation(len(LABELS))
    turned = {"bags": np.argsort(bag_order)[BAGS], "bag_labels": LABELS[bag_order][:, order]}
    straight, mirrored = make(method=method).fit(X, **GIVEN), make(method=method).fit(X, **turned)
    assert adjusted_rand_score(straight.labels_, mirrored.labels_) == 1
    assert np.allclose(straight.eigenvalues_, mirrored.eigenvalues_)
    cluster = [mirrored.labels_[straight.labels_ == k][0] for k in range(4)]
    assert np.allclose(straight.cluster_label_affinity_[:, order], mirrored.cluster_label_affinity_[cluster], atol=1e-4)


@every_graph
@every_method
def test_permuting_items_permutes_labels(method, graph):
    order = np.random.default_rng(1).permutation(len(X))
    reference = make(method=method, **graph).fit(X, **GIVEN)
    two = make(method=method, **graph).fit(X[order], bags=BAGS[order], bag_labels=LABELS)
    assert adjusted_rand_score(reference.labels_[order], two.labels_) > 0.98


def test_all_neighbours_and_all_pairs_are_one_graph():
    everybody = {"n_neighbors": len(X) - 1, "alpha_scale": "absolute"}
    for method in METHODS:
        pairs = make(method=method, n_neighbors=None).fit(X, **GIVEN)
        neighbors = make(method=method, **everybody).fit(X, **GIVEN)
        assert np.allclose(pairs.eigenvalues_, neighbors.eigenvalues_, atol=1e-5), method
        assert adjusted_rand_score(pairs.labels_, neighbors.labels_) == 1, method


def test_many_items_are_tied_to_neighbours_alone(monkeypatch):
    monkeypatch.setattr(graph_module, "MOST_DENSE", len(X) - 1)
    many = make(n_neighbors=None).fit(X, **GIVEN)
    assert same(many, make(n_neighbors=graph_module.AUTO_NEIGHBORS).fit(X, **GIVEN))


@pytest.mark.heavy
def test_a_given_affinity_is_the_same_as_features():
    dense, _ = graph_module.dense_graph(X, 7)
    sparse, _ = graph_module.neighbor_graph(X, 12, 7)
    copied = dense.copy()
    for method in METHODS:
        precomputed = make(method=method, affinity="precomputed").fit(dense, **GIVEN)
        assert same(precomputed, make(method=method, n_neighbors=None).fit(X, **GIVEN)), method
        precomputed = make(method=method, affinity="precomputed").fit(sparse, **GIVEN)
        assert same(precomputed, make(method=method, n_neighbors=12).fit(X, **GIVEN)), method
    assert np.array_equal(dense, copied)
    assert adjusted_rand_score(precomputed.labels_, precomputed.predict(dense)) > 0.6


def test_more_clusters_than_labels_refine_them():
    model = make(8, method="both").fit(X, **GIVEN)
    assert len(set(model.labels_)) == 8
    commonest = np.array([np.bincount(Y[model.labels_ == k]).argmax() for k in range(8)])
    assert np.mean(commonest[model.labels_] == Y) > 0.85


def test_the_relative_scale_does_not_grow_with_the_number_of_items():
    """alpha as it is drowns a graph of neighbours the more, the more items there are."""
    features, y, bags, labels = bagged(n_bags=300, spread=1.2, seed=3)
    scores = {}
    for scale in ("absolute", "relative"):
        model = make(n_neighbors=10, alpha_scale=scale).fit(features, bags=bags, bag_labels=labels)
        scores[scale] = adjusted_rand_score(y, model.labels_), model.eigenvalues_[0]
    assert scores["relative"][0] > scores["absolute"][0]
    assert scores["relative"][1] < 4 < 20 < scores["absolute"][1]


# --- new items ---


def test_new_items_join_their_neighbours():
    model = make(method="both").fit(X, **GIVEN)
    rng = np.random.default_rng(0)
    nearby = X + 1e-3 * rng.normal(size=X.shape)
    assert np.mean(model.predict(nearby) == model.labels_) > 0.8
    assert np.array_equal(model.predict(nearby[:3]), model.predict(nearby)[:3])
    far = model.predict(np.full((2, X.shape[1]), 1e8))
    assert set(far) <= set(range(4))


def test_a_new_item_among_duplicates_is_one_of_them():
    twice = np.concatenate([np.zeros((20, 2)), np.ones((20, 2))])
    model = make(2).fit(twice, bags=[0] * 20 + [1] * 20, bag_labels=[[1, 0], [0, 1]])
    assert adjusted_rand_score(np.repeat([0, 1], 20), model.labels_) == 1
    assert np.array_equal(model.predict(twice), model.labels_)


# --- as an estimator ---


@every_graph
def test_same_seed_same_result_and_nothing_is_kept_from_the_fit_before(graph):
    model = make(**graph).fit(X, **GIVEN)
    assert same(model, make(**graph).fit(X[:50] * 3).fit(X, **GIVEN))
    assert same(model.fit(X, **GIVEN), make(**graph).fit(X, **GIVEN))


def test_parameters_and_inputs_are_left_alone():
    model, features, labels = make(), X.copy(), LABELS.copy()
    before = copy.deepcopy(model.get_params())
    for array in (features, labels):
        array.flags.writeable = False
    assert model.fit(features, bags=BAGS, bag_labels=labels) is model
    assert model.get_params() == clone(model).get_params() == before
    assert np.array_equal(model.fit_predict(X, **GIVEN), model.labels_)
    assert same(model, make().fit(X.tolist(), bags=BAGS.tolist(), bag_labels=LABELS.tolist()))
    single = make().fit(X.astype(np.float32), **GIVEN)
    assert adjusted_rand_score(single.labels_, model.labels_) > 0.98


def test_progress_is_told_and_grows():
    states = []
    watched = make().fit(X, **GIVEN, callback=states.append)
    assert same(watched, make().fit(X, **GIVEN))
    fractions = [state.fraction for state in states]
    assert fractions == sorted(fractions)
    assert [state.iteration for state in states] == [1, 2, 3]
    assert fractions[-1] == 1
    assert [state.done for state in states] == [False, False, True]
    assert [state.inertia for state in states] == sorted((state.inertia for state in states), reverse=True)
    assert states[-1].lower_bound == pytest.approx(watched.eigenvalues_.sum())


def test_several_jobs_find_the_same(capsys):
    states = []
    model = make(n_init=5, n_jobs=2, verbose=1).fit(X, **GIVEN, callback=states.append)
    assert capsys.readouterr().out.count("done, iteration") == len(states)
    assert same(model, make(n_init=5).fit(X, **GIVEN))
    assert [state.start for state in states] == [2, 4, 5]


def test_a_target_is_refused():
    with pytest.raises(ValueError, match="y is not used"):
        make().fit(X, LABELS)


def test_a_callback_stops_the_fit_and_leaves_a_usable_model():
    stop = StopAt()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make().fit(X, **GIVEN, callback=stop)
    assert [state.start for state in stop.states] == [1]
    assert model.inertia_ == stop.states[0].inertia
    assert adjusted_rand_score(model.labels_, make().fit(X, **GIVEN).labels_) > 0.9

    def broken(state):
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        make().fit(X, **GIVEN, callback=broken)


def test_a_fit_that_was_stopped_goes_on_elsewhere(tmp_path):
    states = []
    straight = make().fit(X, **GIVEN, callback=states.append)
    for state in states:
        np.savez(tmp_path / "state.npz", **state.to_arrays())
        with np.load(tmp_path / "state.npz", allow_pickle=False) as arrays:
            resumed = make().fit(X, **GIVEN, resume=SpectralState.from_arrays(dict(arrays)))
        assert same(straight, resumed)
        assert resumed.n_iter_ == straight.n_iter_


def test_a_state_of_other_items_bags_or_parameters_is_refused():
    states = []
    make().fit(X, **GIVEN, callback=states.append)
    relabelled = LABELS.copy()
    relabelled[0] = 1 - relabelled[0]
    others = [
        (make(), X + 1e-6, GIVEN),
        (make(), X, GIVEN | {"bag_labels": relabelled}),
        (make(), X, GIVEN | {"bags": np.roll(BAGS, 1)}),
        (make(3), X, GIVEN),
        (make(alpha=0.6), X, GIVEN),
    ]
    for model, features, labelled in others:
        with pytest.raises(ValueError, match="state of another fit"):
            model.fit(features, **labelled, resume=states[0])
    # Seeds are the state's own; more threads take the same starts.
    resumed = make(random_state=9, n_jobs=2).fit(X, **GIVEN, resume=states[0])
    assert same(resumed, make().fit(X, **GIVEN))
    dense, _ = graph_module.dense_graph(X, 7)
    precomputed = make(affinity="precomputed").fit(csr_array(dense), **GIVEN, callback=states.append)
    assert same(precomputed, make(affinity="precomputed").fit(csr_array(dense), **GIVEN, resume=states[-2]))
    with pytest.raises(ValueError, match="state of another fit"):
        make(affinity="precomputed").fit(csr_array(dense**2), **GIVEN, resume=states[-1])


@pytest.mark.parametrize("method", ["bag", "regularized"])
def test_eigenvectors_that_were_not_found_are_told_and_still_make_clusters(method, monkeypatch):
    """A chain: its largest eigenvalues lie as near to each other as can be."""
    monkeypatch.setattr(spectrum, "_MAX_RESTARTS", 1)
    monkeypatch.setattr(spectrum, "_MAX_BLOCK_STEPS", 1)
    chain = csr_array(np.eye(400) + np.eye(400, k=1) + np.eye(400, k=-1))
    labelled = {"bags": np.arange(400) // 40, "bag_labels": np.eye(10, dtype=int)[:, :5]}
    with pytest.warns(ConvergenceWarning, match="the search for eigenvectors"):
        model = make(4, method=method, alpha=0.01, affinity="precomputed").fit(chain, **labelled)
    assert not model.converged_
    assert np.allclose(model.posterior_.sum(axis=1), 1)
    assert model.eigenvalues_.max() <= 1.1


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_clusters": 0}, "'n_clusters' parameter .* Got 0"),
        ({"n_clusters": 1000}, "n_clusters=1000 is more than the number of items, 240"),
        ({"alpha": -1}, "'alpha' parameter .* Got -1"),
        ({"alpha": 1, "n_neighbors": 5}, "alpha must be below 1"),
        ({"alpha": 1.5, "alpha_scale": "relative"}, "alpha must be below 1"),
        ({"alpha_scale": "huge"}, "'alpha_scale' parameter"),
        ({"method": "csp"}, "'method' parameter .*'bag'.* Got 'csp'"),
        ({"affinity": "rbf"}, "'affinity' parameter"),
        ({"n_neighbors": 0}, "'n_neighbors' parameter .* or None. Got 0"),
        ({"local_k": 0}, "'local_k' parameter"),
        ({"center": "mean"}, "'center' parameter"),
        ({"center": "ones", "method": "bag-without-links"}, "center='ones' has no zeros"),
        ({"n_init": 0}, "'n_init' parameter"),
        ({"n_clusters": True}, "'n_clusters' parameter .* must not be a bool. Got True"),
        ({"n_clusters": "4"}, "'n_clusters' parameter .* must be an int .* Got '4'"),
        ({"n_clusters": 2.5}, "'n_clusters' parameter .* must be an int .* Got 2.5"),
        ({"alpha": "much"}, "'alpha' parameter .* must be a float .* Got 'much'"),
        ({"n_neighbors": 2.5}, "'n_neighbors' parameter .* must be an int .* Got 2.5"),
        ({"random_state": "today"}, "'random_state' parameter"),
    ],
)
def test_wrong_parameters_are_named(parameters, words):
    with pytest.raises(ValueError, match=words):
        make(**parameters).fit(X, **GIVEN)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"bags": 7}, "bags is 7: expected the bag of each of 240 items"),
        ({"bags": [[1]] * 240}, r"bags row 0 is \[1\]: expected a hashable name"),
        ({"bags": [np.inf] * 240, "bag_labels": LABELS}, "bags row 0 is inf: expected a row of bag_labels"),
        ({"bags": BAGS, "bag_labels": 7}, "bag_labels must be a mapping or have shape"),
        ({"bags": BAGS, "bag_labels": {0: 7}}, "bag_labels of bag 0 is 7: expected several labels"),
        ({"bags": BAGS, "bag_labels": {0: [{}]}}, "expected hashable labels"),
        ({"bag_labels": LABELS}, "bag_labels are given without bags"),
        ({"callback": 7}, "callback must be a function of a SpectralState, got 7"),
        ({"resume": {"start": 1}}, "resume must be a SpectralState, as callbacks get them, got dict"),
    ],
)
def test_arguments_of_wrong_types_are_named(wrong, words):
    with pytest.raises(ValueError, match=words):
        make().fit(X, **wrong)


@pytest.mark.heavy(but="regularized")
@every_graph
@every_method
def test_where_items_lie_and_in_what_unit_changes_nothing(method, graph):
    """Not even where squares of the numbers are too large or too small for any."""
    reference = make(method=method, **graph).fit(X, **GIVEN)
    for factor, offset in ((1, 1e7), (1, -1e8), (1e-13, 0), (1e-250, 0), (1e200, 0), (1e200, 3e204)):
        moved = factor * X + offset
        model = make(method=method, **graph).fit(moved, **GIVEN)
        # So far from the origin the numbers themselves are rounded, which may turn an item at a border.
        assert adjusted_rand_score(reference.labels_, model.labels_) > 0.98, (factor, offset)
        assert np.allclose(model.sigma_, factor * reference.sigma_, rtol=1e-6, atol=0)
        if offset == 0:
            assert np.array_equal(model.predict(moved), reference.predict(X))


def test_an_item_far_from_all_others_leaves_them_apart():
    far = X.copy()
    far[0] = 1e12
    for graph in GRAPHS.values():
        model = make(**graph).fit(far, **GIVEN)
        assert adjusted_rand_score(Y[1:], model.labels_[1:]) > 0.9
        assert np.all(np.isfinite(model.predict(X)))


@pytest.mark.heavy(but="regularized")
@every_graph
@every_method
def test_no_number_is_computed_that_floating_point_cannot_hold(method, graph):
    twice = np.concatenate([X[:60], X[:60], 1e3 * X[:30]])
    bags = np.arange(150) // 5
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for features in (X, 1e200 * X, 1e-200 * X, X + 1e9):
            model = make(method=method, **graph).fit(features, **GIVEN)
            model.predict(features)
            model.predict(1e300 * X)
        make(method=method, **graph).fit(twice, bags=bags, bag_labels=LABELS[:30]).predict(twice)
        make(2, method=method, **graph).fit(np.ones((2, 3))).predict(np.ones((1, 3)))


def test_what_is_refused_changes_nothing():
    model = make().fit(X, **GIVEN)
    before = copy.deepcopy(vars(model))
    broken = X.copy()
    broken[3, 2] = np.nan
    for features, labelled in (
        (broken, GIVEN),
        (X, {"bags": BAGS[1:], "bag_labels": LABELS}),
        (X, {"bags": BAGS, "bag_labels": LABELS[:-1]}),
    ):
        with pytest.raises(ValueError, match="row"):
            model.fit(features, **labelled)
    assert vars(model).keys() == before.keys()
    assert np.array_equal(model.labels_, before["labels_"])
    assert model.n_features_in_ == before["n_features_in_"]


def test_an_unfitted_model_and_other_columns_say_so():
    with pytest.raises(NotFittedError):
        make().predict(X)
    with pytest.raises(ValueError, match="expecting 6 features"):
        make().fit(X).predict(X[:, :4])


@pytest.mark.parametrize("n_items", [1, 2, 3, 8])
@every_graph
def test_very_few_items(n_items, graph):
    for method in METHODS:
        for K in (1, n_items):
            model = make(K, method=method, **graph).fit(X[:n_items], bags=BAGS[:n_items], bag_labels=LABELS)
            assert model.labels_.max() < K
            assert np.all(np.isfinite(model.posterior_))
            assert model.predict(X[:5]).shape == (5,)


@every_method
def test_items_that_are_all_the_same(method):
    bags = np.arange(30) // 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = make(3, method=method, n_neighbors=None)
        model.fit(np.ones((30, 2)), bags=bags, bag_labels=np.eye(3, dtype=int))
    assert np.all(np.isfinite(model.posterior_))
    if method in ("bag", "links", "cannot-link", "both"):  # the bags alone tell them apart
        assert adjusted_rand_score(bags, model.labels_) == 1


def test_a_graph_in_pieces_is_cut_where_it_is():
    blocks = csr_array(np.kron(np.eye(3), np.ones((80, 80))))
    model = make(3, affinity="precomputed").fit(blocks)
    assert adjusted_rand_score(np.repeat([0, 1, 2], 80), model.labels_) == 1


class Bagged(BagSpectralClustering):
    """With bags that follow from X alone, so that checks which know only X meet them too."""

    def fit(self, X, y=None):
        points = np.asarray(X) if isinstance(X, np.ndarray | list) else np.empty(0)
        if points.ndim != 2 or points.dtype.kind not in "iuf" or not np.isfinite(points).all() or not points.size:
            return super().fit(X)
        bags = np.argsort(np.argsort(points[:, 0], kind="stable")) // 5
        return super().fit(X, bags=bags, bag_labels={bag: {bag % 3, bag % 2} for bag in bags.tolist()})


CHECKED = [
    BagSpectralClustering(3, n_init=2),
    Bagged(3, n_init=2),
    Bagged(3, n_init=2, method="both", n_neighbors=10),
    BagSpectralClustering(3, n_init=2, affinity="precomputed"),
]


def expected_to_fail(estimator):
    """Checks that do not hold, each with its reason."""
    if estimator.affinity == "local_scaling":
        return {}
    return {"check_clustering": "the check gives features whatever the tags say, not an affinity"}


@pytest.mark.heavy(but="BagSpectralClustering(n")
@pytest.mark.uncounted
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_to_fail)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# --- links ---


@every_graph
def test_items_stay_where_they_were_moved_and_the_others_where_they_are(graph):
    before = make(**graph).fit(X, **GIVEN)
    moved, there = (np.flatnonzero(before.labels_ == cluster)[:10] for cluster in (0, 1))
    must = [(item, other) for item in moved for other in there[:5]]
    cannot = [(item, other) for item in moved for other in np.flatnonzero(before.labels_ == 0)[-2:]]
    start = before.labels_.copy()
    start[moved] = 1
    after = make(**graph).fit(X, **GIVEN, must_link=must, cannot_link=cannot, start=start)
    assert np.all(after.labels_[moved] == 1)
    assert np.all(after.posterior_[moved, 1] > 0.9)
    others = np.setdiff1d(np.arange(len(X)), moved)
    assert np.mean(after.labels_[others] == before.labels_[others]) > 0.9
    anew = make(**graph).fit(X, **GIVEN, must_link=must, cannot_link=cannot)
    kept = [anew.labels_[one] == anew.labels_[other] for one, other in must]
    assert np.mean(kept) > 0.9, "links hold from any start"


def test_linked_pairs_are_fully_alike_or_not_at_all_in_the_graph():
    links = ItemLinks.of_pairs(np.array([[0, 1], [2, 3]]), np.array([[4, 5]]), np.array([1.0, 0.5]), np.array([2.0]), 8)
    W = np.random.default_rng(0).uniform(0.1, 0.9, size=(8, 8))
    W = (W + W.T) / 2
    linked = graph_module.linked_graph(W.copy(), links)
    assert (linked[0, 1], linked[1, 0], linked[4, 5], linked[5, 4]) == (1, 1, 0, 0)
    assert linked[2, 3] == linked[3, 2] == pytest.approx((1 + W[2, 3]) / 2)
    changed = {(0, 1), (1, 0), (2, 3), (3, 2), (4, 5), (5, 4)}
    same_as_before = [(p, q) for p in range(8) for q in range(8) if (p, q) not in changed]
    assert all(linked[place] == W[place] for place in same_as_before)
    sparse = graph_module.linked_graph(csr_array(W), links)
    np.testing.assert_allclose(sparse.toarray(), linked)


def test_links_of_no_weight_fit_the_same_and_a_start_keeps_its_numbers():
    plain = make().fit(X, **GIVEN)
    assert same(plain, make().fit(X, **GIVEN, must_link=[[0, 1]], must_weights=[0.0]))
    renumbered = (plain.labels_ + 1) % 4
    again = make().fit(X, **GIVEN, start=renumbered)
    assert np.mean(again.labels_ == renumbered) > 0.99


def test_a_fit_with_links_goes_on_from_a_state_and_not_from_one_with_others():
    links = {"must_link": [[0, 1], [2, 3]], "cannot_link": [[0, 4]]}
    states = []
    make().fit(X, **GIVEN, **links, callback=states.append)
    assert same(make().fit(X, **GIVEN, **links), make().fit(X, **GIVEN, **links, resume=states[0]))
    with pytest.raises(ValueError, match="state"):
        make().fit(X, **GIVEN, resume=states[0])
