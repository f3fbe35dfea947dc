"""CMBC as its users meet it: another clustering is found, whatever the known ones are called, and edges behave."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from tercet_algorithms import CMBC, CMBCState
from tercet_algorithms.cmbc.known_clusterings import nmi
from tests.tercet_algorithms.callbacks import StopAt
from tests.tercet_algorithms.cmbc.data import METHODS, crossed_bits, crossed_numbers, three_by_three

X, Q = crossed_bits(0.1, n_items=300, seed=0)
NUMBERS, GROUPS = crossed_numbers(seed=0)
every = pytest.mark.parametrize("method", METHODS)


def make(n_clusters=2, **parameters):
    return CMBC(n_clusters, **{"n_init": 2, "random_state": 0, **parameters})


def same(one, two):
    return np.array_equal(one.labels_, two.labels_) and np.array_equal(one.posterior_, two.posterior_)


# --- another clustering ---


@pytest.mark.heavy(but="1-")
@pytest.mark.parametrize("method", [method for method in METHODS if method != "em"])
@pytest.mark.parametrize("n_known", [0, 1, 2])
def test_the_next_clustering_is_found_over_several_seeds(method, n_known):
    similarities = []
    for seed in range(4):
        bits, groups = crossed_bits(0.1, n_items=500, seed=seed)
        model = make(method=method, random_state=seed).fit(bits, known=groups[:, :n_known] if n_known else None)
        similarities.append([nmi(model.labels_, column) for column in groups.T])
    means = np.mean(similarities, axis=0)
    assert means[n_known] > 0.75
    assert means[:n_known].max(initial=0) < 0.02


def test_em_finds_the_strongest_whatever_is_known():
    model = make(method="em").fit(X, known=Q[:, 0])
    assert model.gamma_ == 0
    assert model.known_nmi_[0] > 0.8
    assert np.array_equal(model.labels_, make(gamma=0.0).fit(X, known=Q[:, 0]).labels_)


@pytest.mark.parametrize("update", ["exact", "batch", "partial"])
@pytest.mark.parametrize("bound", ["joint", "variance"])
def test_every_update_and_bound_finds_it(update, bound):
    model = make(update=update, bound=bound, gamma=0.98).fit(X, known=Q[:, :2])
    assert nmi(model.labels_, Q[:, 2]) > 0.7
    assert model.known_nmi_.max() < 0.05
    assert model.gamma_ == 0.98


def test_the_gamma_that_is_sought_is_no_larger_than_it_has_to_be():
    model = make().fit(X, known=Q[:, 0])
    assert 0 < model.gamma_ < 0.999
    smaller = 1 - (1 - model.gamma_) * 10**0.5
    assert make(gamma=smaller).fit(X, known=Q[:, 0]).known_nmi_[0] > 0.05


@pytest.mark.parametrize("method", ["cmbc", "regress-out"])
def test_numbers_are_clustered_another_way(method):
    free = make(method=method).fit(NUMBERS)
    assert nmi(free.labels_, GROUPS[:, 0]) > 0.8
    model = make(method=method).fit(NUMBERS, known=GROUPS[:, 0])
    assert nmi(model.labels_, GROUPS[:, 1]) > 0.6
    assert model.known_nmi_[0] < 0.05


@pytest.mark.parametrize("method", ["cmbc", "regress-out"])
def test_three_clusters_do_not_collapse(method):
    similarities = []
    for seed in range(3):
        points, groups = three_by_three(seed)
        model = make(3, method=method, random_state=seed).fit(points, known=groups[:, 0])
        assert model.n_clusters_ == 3
        assert model.known_nmi_[0] < 0.06
        similarities.append(nmi(model.labels_, groups[:, 1]))
    assert np.mean(similarities) > 0.5


@pytest.mark.parametrize("method", ["cmbc", "regress-out"])
def test_negative_features_are_avoided_like_clusterings(method):
    negative = X[:, [0, 1, 2]]
    model = make(method=method, gamma="auto").fit(X[:, 3:], negative_features=negative)
    assert nmi(model.labels_, Q[:, 1]) > 0.7
    assert nmi(model.labels_, Q[:, 0]) < 0.05
    assert model.known_nmi_.shape == (0,)


# --- what does not matter, and what is equal ---


@every
def test_codes_are_only_names(method):
    codes = Q[:, :2]
    renamed = np.column_stack([codes[:, 1] * 5 + 3, 9 - codes[:, 0], codes[:, 1]])
    original, recoded = (make(method=method).fit(X, known=clusterings) for clusterings in (codes, renamed))
    assert nmi(original.labels_, recoded.labels_) > 0.99
    joint = codes @ [2, 1]
    if method == "cmbc":  # which a regression on each clustering by itself tells apart
        assert nmi(original.labels_, make(method=method, gamma=original.gamma_).fit(X, known=joint).labels_) > 0.99


@every
def test_one_known_cluster_is_no_knowledge(method):
    with pytest.warns(UserWarning, match="known column 0 has fewer than two clusters and is ignored"):
        model = make(method=method).fit(X, known=np.full(len(X), 4))
    assert same(model, make(method=method).fit(X))
    assert model.known_nmi_.tolist() == [0.0]


@every
def test_a_constant_feature_changes_nothing(method):
    padded = np.column_stack([X, np.ones(len(X))])
    plain = make(method=method, gamma=0.9).fit(X, known=Q[:, 0])
    model = make(method=method, gamma=0.9).fit(padded, known=Q[:, 0])
    assert np.mean(plain.labels_ == model.labels_) in (0, 1) or nmi(model.labels_, plain.labels_) > 0.95
    assert np.isfinite(model.posterior_).all()


@every
def test_items_of_unknown_cluster_are_clustered_like_the_others(method):
    some = Q[:, 0].copy()
    some[::5] = -1
    model = make(method=method).fit(X, known=some)
    assert model.labels_.shape == (len(X),)
    if method != "em":
        assert nmi(model.labels_, Q[:, 1]) > 0.7
        assert model.known_nmi_[0] < 0.05
    with pytest.warns(UserWarning, match="known column 1 has fewer"):
        nobody = make(method=method).fit(X, known=np.column_stack([Q[:, 0], np.full(len(X), -1)]))
    assert np.array_equal(nobody.labels_, make(method=method).fit(X, known=Q[:, 0]).labels_)


# --- what a fit leaves ---


@every
def test_what_a_fit_leaves(method):
    model = make(method=method)
    parameters = model.get_params()
    assert model.fit(X, known=Q[:, 0]) is model
    assert model.get_params() == clone(model).get_params() == parameters
    assert model.posterior_ is model.responsibilities_
    assert model.posterior_.shape == (len(X), 2)
    assert np.allclose(model.posterior_.sum(axis=1), 1)
    assert np.array_equal(model.labels_, model.posterior_.argmax(axis=1))
    assert model.theta_.shape == (2, X.shape[1])
    assert model.n_iter_ == len(model.objective_trace_) > 0
    assert model.known_nmi_ == pytest.approx([nmi(model.labels_, Q[:, 0])])
    assert (model.n_clusters_, model.n_features_in_) == (2, X.shape[1])
    assert same(model, make(method=method).fit(X, known=Q[:, 0]))
    assert np.array_equal(make(method=method).fit_predict(X, known=Q[:, 0]), model.labels_)


@every
def test_other_items_are_placed_as_the_fitted_ones_were(method):
    model = make(method=method).fit(X, known=Q[:, :2])
    fresh, groups = crossed_bits(0.1, n_items=200, seed=0)  # the same clusters, other draws of items
    assert np.array_equal(model.predict(X, known=Q[:, :2]), model.labels_)
    assert np.allclose(model.predict_proba(X, known=Q[:, :2]), model.posterior_)
    if method in ("cmbc", "em"):
        assert np.array_equal(model.predict(X), model.labels_)
    else:
        with pytest.raises(ValueError, match="as in fit: they have 0 and 0 columns, expected 2 and 0"):
            model.predict(fresh)
        strange = np.where(groups[:, :2] == 0, 77, groups[:, :2])
        assert model.predict(fresh, known=strange).shape == (200,)
    assert make(method=method).fit(X).predict(fresh).shape == (200,)


# --- progress, stopping, going on ---


@every
@pytest.mark.parametrize("gamma", ["auto", 0.9])
def test_progress_is_told_and_a_stopped_fit_goes_on(method, gamma, tmp_path):
    states = []
    straight = make(method=method, gamma=gamma).fit(X, known=Q[:, 0], callback=states.append)
    fractions = [state.fraction for state in states]
    assert fractions == sorted(fractions)
    assert 0 < fractions[0] <= fractions[-1] == 1
    assert [state.done for state in states] == [False] * (len(states) - 1) + [True]
    for state in (states[0], states[len(states) // 2], states[-1]):
        np.savez(tmp_path / "state.npz", **state.to_arrays())
        with np.load(tmp_path / "state.npz", allow_pickle=False) as arrays:
            loaded = CMBCState.from_arrays(dict(arrays))
        assert loaded.fraction == state.fraction
        assert same(straight, make(method=method, gamma=gamma).fit(X, known=Q[:, 0], resume=loaded))


@every
def test_a_callback_stops_the_fit_with_the_best_so_far(method):
    stop = StopAt()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", "CMBC found . clusters")
        model = make(method=method).fit(X, known=Q[:, 0], callback=stop)
    assert len(stop.states) == 1
    assert model.labels_.shape == model.predict(X, known=Q[:, 0]).shape == (len(X),)


@pytest.mark.heavy
@pytest.mark.parametrize("method", ["cmbc", "dibws"])
def test_several_jobs_find_the_same(method):
    serial = make(method=method, n_init=4).fit(X, known=Q[:, 0])
    states = []
    model = make(method=method, n_init=4, n_jobs=2).fit(X, known=Q[:, 0], callback=states.append)
    assert same(serial, model)
    assert np.array_equal(serial.objective_trace_, model.objective_trace_)
    assert np.diff([0, *(state.anneals for state in states)]).max() == 2
    assert states[-1].fraction == 1
    assert same(serial, make(method=method, n_init=4, n_jobs=2).fit(X, known=Q[:, 0], resume=states[0]))


def test_verbose_prints_a_line_for_every_temperature(capsys):
    states = []
    make(verbose=1).fit(X, known=Q[:, 0], callback=states.append)
    assert capsys.readouterr().out.count("done, iteration") == len(states)


def test_errors_of_a_callback_and_states_of_other_fits_are_not_swallowed():
    def broken(state):
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        make().fit(X, callback=broken)
    states = []
    make().fit(X[:, :5], callback=states.append)
    with pytest.raises(ValueError, match="state of another fit"):
        make().fit(X, resume=states[0])


# --- wrong and odd input ---


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"known": Q[:10, 0]}, r"known must have shape \(N,\) or \(N, c\) with N=300 items, got \(10,\)"),
        ({"known": np.where(np.arange(300) == 7, -2, 0)}, "known row 7, column 0 is -2: expected an integer"),
        ({"known": np.where(np.arange(300) == 7, 0.5, 0)}, r"known row 7, column 0 is 0\.5"),
        ({"known": np.where(np.arange(300) == 7, np.nan, 0)}, "known row 7, column 0 is nan"),
        ({"known": ["a"] * 300}, "integer cluster codes"),
        ({"negative_features": X[:10]}, "negative_features has 10 rows, X has 300"),
        ({"negative_features": X + 1}, "negative_features row 0, column . is 2"),
        ({"X": np.where(np.arange(18) == 2, np.nan, X)}, "X row 0, column 2 is nan"),
    ],
)
def test_wrong_input_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        make().fit(**{"X": X, **change})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_clusters", 0),
        ("method", "kmeans"),
        ("gamma", 1.0),
        ("gamma", -0.1),
        ("gamma", "large"),
        ("update", "parallel"),
        ("bound", "upper"),
        ("binarize", "median"),
        ("n_init", 0),
        ("anneal_rate", 1.0),
        ("T0", 0),
        ("T_end", -1),
        ("tol", -1),
        ("max_iter", 0),
    ],
)
def test_wrong_parameters_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        make(**{name: value}).fit(X, known=Q[:, 0])


def test_a_target_is_refused():
    with pytest.raises(ValueError, match="y is not used"):
        make().fit(X, Q[:, :2])


def test_numbers_are_refused_where_only_bits_may_be():
    with pytest.raises(ValueError, match=r"X row 0, column 0 is .*: expected 0 or 1 \(binarize=None\)"):
        make(binarize=None).fit(NUMBERS)
    assert same(make(binarize=None).fit(X), make().fit(X))


@every
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_more_clusters_than_items_and_than_there_are(method):
    with pytest.raises(ValueError, match="n_clusters=6 is more than the number of items, 5"):
        make(6, method=method).fit(X[:5])
    with pytest.warns(ConvergenceWarning, match="CMBC found 2 clusters, not 4"):
        model = make(4, method=method).fit(np.repeat([[0.0, 0, 1], [1, 1, 0]], 20, axis=0))
    assert model.n_clusters_ == 2
    assert set(make(1, method=method).fit(X, known=Q[:, 0]).labels_) == {0}


@pytest.mark.parametrize("method", ["cmbc", "em", "regress-out"])
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_items_that_are_all_the_same(method):
    with pytest.warns(ConvergenceWarning, match="CMBC found 1 clusters, not 2"):
        model = make(method=method).fit(np.full((20, 3), 7.1), known=np.arange(20) % 2)
    assert np.isfinite(model.posterior_).all()


def test_each_half_of_the_items_may_be_known_another_way():
    first = np.arange(300) < 150
    codes = np.column_stack([np.where(first, Q[:, 0], -1), np.where(first, -1, Q[:, 1])])
    model = make().fit(X, known=codes)
    assert nmi(model.labels_, Q[:, 2]) > 0.7
    assert model.known_nmi_.max() < 0.06


def test_many_known_clusters_leave_room_for_others():
    rng = np.random.default_rng(0)
    codes = np.column_stack([Q[:, 0] + 2 * rng.integers(4, size=300), Q[:, 1] + 2 * rng.integers(5, size=300)])
    model = make().fit(X, known=codes)
    assert nmi(model.labels_, Q[:, 2]) > 0.7
    assert max(nmi(model.labels_, Q[:, 0]), nmi(model.labels_, Q[:, 1])) < 0.05


def test_many_items_are_clustered_through_some_of_them():
    bits, groups = crossed_bits(0.2, n_items=2500, seed=5)
    model = make().fit(bits, known=groups[:, 0])
    assert model.converged_
    assert model.labels_.shape == (2500,)
    assert nmi(model.labels_, groups[:, 1]) > 0.6
    q = model.posterior_
    assert q.T @ bits / q.sum(axis=0)[:, None] == pytest.approx(model.theta_, abs=0.1)


def test_colder_ends_with_hard_assignments():
    sure = [make(T_end=T_end, gamma=0.98).fit(X, known=Q[:, 0]).posterior_.max(axis=1).mean() for T_end in (2, 1, 0)]
    assert sure == sorted(sure)
    assert make(T_end=3.0, T0=0.5).fit(X, known=Q[:, 0]).converged_


def test_where_nothing_else_is_to_be_found_a_warning_says_so():
    bits = np.repeat(Q[:, [0]], 6, axis=1)
    with pytest.warns(UserWarning, match="no clustering that shares less than"):
        make().fit(bits, known=Q[:, 0])


def test_an_unfitted_model_says_so():
    with pytest.raises(NotFittedError):
        make().predict(X)


class Beside(CMBC):
    """Fits with a known clustering that follows from X alone, so that checks which know only X meet one."""

    def fit(self, X, y=None):
        points = np.asarray(X) if isinstance(X, np.ndarray | list) else np.empty(0)
        good = points.ndim == 2 and points.size and points.dtype.kind in "iuf" and np.isfinite(points).all()
        return super().fit(X, known=(points[:, 0] > np.median(points[:, 0])).astype(int) if good else None)


@pytest.mark.heavy(but="Beside")
@pytest.mark.uncounted
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([CMBC(n_init=2), Beside(n_init=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# --- links ---


@every
def test_items_stay_where_they_were_moved_and_the_others_where_they_are(method):
    known = Q[:, :1] if method != "em" else None
    before = make(method=method).fit(X, known=known)
    moved = np.flatnonzero(before.labels_ == 0)[:10]
    there = np.flatnonzero(before.labels_ == 1)[:20]
    must = [(item, other) for place, item in enumerate(moved) for other in there[place : place + 5]]
    start = before.labels_.copy()
    start[moved] = 1
    gamma = {"gamma": before.gamma_} if method in ("cmbc", "dibws") else {}
    after = make(method=method, **gamma).fit(X, known=known, must_link=must, start=start)
    assert np.all(after.labels_[moved] == 1)
    assert np.all(after.posterior_[moved, 1] > 0.9)
    others = np.setdiff1d(np.arange(len(X)), moved)
    assert np.mean(after.labels_[others] == before.labels_[others]) > 0.95
    by_features = after.predict(X[moved], None if known is None else known[moved])
    assert np.mean(by_features == 0) > 0.5, "the links alone have moved them"


@every
def test_links_without_a_start_are_kept_too(method):
    known = Q[:, :1] if method != "em" else None
    free = make(method=method).fit(X, known=known)
    must = np.array([np.flatnonzero(free.labels_ == cluster)[:8] for cluster in (0, 1)]).T
    cannot = np.array([np.flatnonzero(free.labels_ == 0)[20:28], np.flatnonzero(free.labels_ == 0)[30:38]]).T
    model = make(method=method).fit(X, known=known, must_link=must, cannot_link=cannot)
    kept = [model.labels_[pairs[:, 0]] == model.labels_[pairs[:, 1]] for pairs in (must, cannot)]
    assert np.mean([kept[0], ~kept[1]]) > 0.9


@every
def test_links_of_no_weight_and_none_fit_the_same(method):
    known = Q[:, :1] if method != "em" else None
    model = make(method=method).fit(X, known=known, must_link=[[0, 1]], must_weights=[0.0], cannot_link=[])
    assert same(model, make(method=method).fit(X, known=known))


def test_a_fit_with_links_goes_on_from_a_state():
    links = {"must_link": [[0, 1], [2, 3]], "cannot_link": [[0, 4]]}
    straight = make(method="em").fit(X, **links)
    states = []
    make(method="em").fit(X, **links, callback=states.append)
    resumed = make(method="em").fit(X, **links, resume=CMBCState.from_arrays(states[3].to_arrays()))
    assert same(straight, resumed)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"must_link": [[0, 999]]}, "must_link"),
        ({"start": [0, 1]}, "start must be"),
        ({"start": [2] * 300}, "from 0 to 1"),
    ],
)
def test_links_and_starts_that_cannot_be_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        make(method="em").fit(X, **given)
