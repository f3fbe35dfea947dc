"""DCRC as its users meet it: better clusters by answers, the same fit by another road, and every edge."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from tercet_algorithms import DCRC, FitState
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers, random_triplets, true_answers
from tercet_algorithms.dcrc.search import HEAVY, KMEANS, LIGHT, MOVE, WARM, plan_starts
from tests.tercet_algorithms.callbacks import StopAt


def overlapping(seed=0, n_items=240, n_clusters=4, spread=2.2):
    X, y = make_blobs(
        n_items, n_features=6, centers=n_clusters, cluster_std=spread, center_box=(-3, 3), random_state=seed
    )
    return X, y


def questions(y, n, seed=0, kind="relative"):
    triplets = random_triplets(len(y), n, np.random.default_rng(seed))
    return {"triplets": triplets, "answers": true_answers(y, triplets, kind), "kinds": kind}


def mean_ari(seeds=range(5), n=120, kind="relative", noise=None, candidates="features", **parameters):
    result = []
    for seed in seeds:
        X, y = overlapping(seed)
        answered = questions(y, n, seed, kind)
        if noise is not None:
            answered["answers"] = noisy_answers(y, answered["triplets"], noise, np.random.default_rng(seed))
        # To choose a belief takes nine fits more.
        few = {"epsilon": 0.05, "n_init": 2, **parameters}
        model = DCRC(4, candidates=candidates, random_state=0, **few).fit(X, **answered)
        result.append(adjusted_rand_score(y, model.labels_))
    return np.mean(result)


@pytest.mark.parametrize(("columns", "penalty"), [(6, 2**-8), (24, 2**-8), (96, 2**-6)])
def test_the_penalty_grows_with_the_number_of_columns(columns, penalty):
    X = np.random.default_rng(0).normal(size=(200, columns))
    assert DCRC(4, n_init=1, n_moves=0, random_state=0).fit(X).lam_ == pytest.approx(penalty, rel=1e-5)
    assert DCRC(4, lam=0.3, n_init=1, n_moves=0, random_state=0).fit(X).lam_ == 0.3


@pytest.mark.heavy(but="another unit")
@pytest.mark.parametrize(
    "change", [lambda X: np.hstack([X, X, X]), lambda X: 4 * X], ids=["columns repeated", "another unit"]
)
def test_the_penalty_makes_the_fit_the_same_in_any_unit_and_with_columns_repeated(change):
    X, y = make_blobs(240, n_features=30, centers=4, cluster_std=6, random_state=0)
    # Two candidates that predict as well as each other number their clusters each in its way.
    same = {"candidates": "features", "standardize": False, "n_init": 1, "n_moves": 0, "tol": 1e-9, "random_state": 0}
    model = DCRC(4, **same).fit(X, **questions(y, 60))
    changed = DCRC(4, **same).fit(change(X), **questions(y, 60))
    assert changed.lower_bound_ == pytest.approx(model.lower_bound_, rel=1e-3)
    np.testing.assert_allclose(changed.posterior_, model.posterior_, atol=0.02)


@pytest.fixture(scope="module")
def without_answers():
    return mean_ari(n=0)


@pytest.mark.heavy(but="{}")
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"epsilon": "auto"},
        {"candidates": "auto"},
        {"balance": False},
        {"weight": "paper"},
        {"weight": "shrunk"},
        {"epsilon": 0, "n": 240},
        {"kind": "outlier"},
        {"noise": TABLE_IV, "epsilon": 0.15, "n": 360},
    ],
    ids=str,
)
@pytest.mark.uncounted
def test_answers_make_clusters_better_in_every_variant(parameters, without_answers):
    assert mean_ari(**parameters) > without_answers + 0.05


@pytest.mark.heavy
@pytest.mark.uncounted
def test_a_few_wrong_answers_move_fewer_items_where_their_weight_is_shrunk():
    moved = {"balanced": 0, "shrunk": 0}
    for seed in range(6):
        X, y = overlapping(seed)
        wrong = questions(y, 12, seed)
        wrong["answers"] = np.where(wrong["answers"] == 0, 1, -wrong["answers"])
        before = DCRC(4, candidates="features", n_init=2, n_moves=0, random_state=0).fit(X)
        for weight in moved:
            after = DCRC(4, n_init=1, n_moves=0, warm_start=True, weight=weight, transductive=False)
            after.set_state_arrays(before.state_arrays()).fit(X, **wrong)
            moved[weight] += np.count_nonzero(after.labels_ != before.labels_)
    assert 0 < moved["shrunk"] < moved["balanced"]


@pytest.mark.uncounted
def test_more_answers_make_better_clusters_and_dont_know_helps(without_answers):
    few, many, without_dnk = mean_ari(n=60), mean_ari(n=240), mean_ari(n=240, use_dnk=False)
    assert many > few
    assert many > without_dnk > without_answers + 0.05


@pytest.mark.uncounted
def test_profile_climbs_at_least_as_high_as_em():
    gains = []
    for seed in range(2):
        X, y = overlapping(seed)
        few = {"epsilon": 0.05, "candidates": "features", "n_init": 3, "n_moves": 2, "random_state": 0}
        profile, em = (DCRC(4, solver=s, **few).fit(X, **questions(y, 120)) for s in ("profile", "em"))
        gains.append(profile.lower_bound_ - em.lower_bound_)
    assert np.mean(gains) > -0.02


def test_attributes():
    X, y = overlapping()
    answered = questions(y, 30)
    model = DCRC(4, candidates="features", n_init=3, random_state=0).fit(X, **answered)
    constrained = np.unique(answered["triplets"])
    free = np.setdiff1d(np.arange(len(X)), constrained)
    P = model.predict_proba(X)
    assert np.array_equal(model.constrained_, constrained)
    assert np.allclose(model.posterior_.sum(axis=1), 1, atol=1e-5)
    assert np.allclose(model.posterior_[free], P[free], atol=1e-4)
    assert np.abs(model.posterior_[constrained] - P[constrained]).max() > 0.01
    assert np.array_equal(model.labels_, model.posterior_.argmax(axis=1))
    assert np.array_equal(model.predict(X), P.argmax(axis=1))
    assert model.coef_.shape == (4, 6)
    assert model.intercept_.shape == (4,)
    assert model.converged_
    assert model.n_iter_ == len(model.lower_bounds_)
    assert np.all(np.diff(model.lower_bounds_) > -1e-3)
    assert model.lower_bound_ == pytest.approx(model.lower_bounds_[-1], abs=1e-2)
    assert model.n_features_in_ == 6


def test_predicted_answers_are_probabilities_that_fit_the_given_ones():
    X, y = overlapping(spread=1.0)
    answered = questions(y, 200)
    model = DCRC(4, n_init=2, random_state=0).fit(X, **answered)
    chances = model.predict_answers(X, answered["triplets"])
    assert chances.shape == (200, 3)
    assert np.allclose(chances.sum(axis=1), 1)
    correct = np.array([2, 0, 1])[answered["answers"]]  # 0, 1, -1 to columns dnk, yes, no
    assert np.mean(chances.argmax(axis=1) == correct) > 0.9
    score = model.score_answers(X, answered["triplets"], answered["answers"])
    assert score == pytest.approx(np.log(chances[np.arange(200), correct]).mean())
    assert model.predict_answers(X, answered["triplets"], "outlier").shape == (200, 4)
    with pytest.raises(ValueError, match="must all be the same"):
        model.predict_answers(X, [[0, 1, 2], [0, 1, 3]], ["relative", "outlier"])


def test_turned_round_questions_give_the_same_fit():
    X, y = overlapping()
    answered = questions(y, 60)
    first = DCRC(4, n_init=2, random_state=0).fit(X, **answered)
    two = DCRC(4, n_init=2, random_state=0).fit(
        X, triplets=answered["triplets"][:, [0, 2, 1]], answers=-answered["answers"]
    )
    assert np.array_equal(first.labels_, two.labels_)
    assert first.lower_bound_ == two.lower_bound_


@pytest.mark.heavy
def test_repeated_answers_of_one_labeler_change_nothing_those_of_several_do():
    X, y = overlapping()
    answered = questions(y, 60)
    thrice = {name: np.concatenate([answered[name]] * 3) for name in ("triplets", "answers")}
    model = DCRC(4, epsilon=0.05, n_init=1, random_state=0)
    once = model.fit(X, **answered).lower_bound_
    assert clone(model).fit(X, **thrice).lower_bound_ == once
    assert clone(model).fit(X, **thrice, labelers=np.repeat(["a", "b", "c"], 60)).lower_bound_ != once


@pytest.mark.heavy
def test_reordered_items_give_reordered_labels():
    X, y = overlapping(spread=1.0)
    answered = questions(y, 150)
    order = np.random.default_rng(1).permutation(len(X))
    moved = np.argsort(order)[answered["triplets"]]
    first = DCRC(4, epsilon=0.05, random_state=0).fit(X, **answered)
    two = DCRC(4, epsilon=0.05, random_state=0).fit(X[order], triplets=moved, answers=answered["answers"])
    assert adjusted_rand_score(first.labels_[order], two.labels_) > 0.9


def test_scikit_learn_conventions():
    model = DCRC(3, epsilon=0.1, random_state=5)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    X, y = overlapping(n_clusters=3)
    answered = questions(y, 40)
    assert np.array_equal(model.fit_predict(X, **answered), copy.fit(X, **answered).labels_)
    assert "coef_" not in vars(clone(model))


# --- stopping, resuming, refitting ---


def saved_and_loaded(arrays, tmp_path):
    np.savez(tmp_path / "state.npz", **arrays)
    with np.load(tmp_path / "state.npz", allow_pickle=False) as saved:
        return {name: saved[name] for name in saved.files}


@pytest.mark.heavy(but="{}")
@pytest.mark.parametrize("parameters", [{}, {"epsilon": 0}, {"epsilon": 0.05, "solver": "em"}], ids=str)
def test_a_resumed_fit_ends_like_one_that_ran_through(parameters, tmp_path):
    X, y = overlapping()
    answered = questions(y, 80)
    states = []
    straight = DCRC(4, candidates="features", n_init=3, random_state=0, **parameters).fit(
        X, **answered, callback=states.append
    )
    fractions = [state.fraction for state in states]
    assert fractions == sorted(fractions)
    assert 0 < fractions[0] < fractions[-1] == 1
    for at in (0, len(states) // 2, len(states) - 1):
        state = FitState.from_arrays(saved_and_loaded(states[at].to_arrays(), tmp_path))
        resumed = DCRC(4, candidates="features", n_init=3, random_state=7, **parameters).fit(
            X, **answered, resume=state
        )
        assert np.array_equal(resumed.labels_, straight.labels_)
        assert resumed.lower_bound_ == pytest.approx(straight.lower_bound_, abs=1e-6)


def test_a_callback_stops_the_fit_cleanly_with_the_best_so_far():
    X, y = overlapping()
    answered = questions(y, 80)
    stop = StopAt(lambda state: state.start == 2)  # the third start
    model = DCRC(4, n_init=10, random_state=0).fit(X, **answered, callback=stop)
    assert stop.states[-1].start == 2
    finished = [state.lower_bound for state in stop.states if state.current.finished]
    assert model.lower_bound_ == pytest.approx(max(finished), abs=1e-2)
    assert DCRC(4, random_state=0).fit(X, **answered, callback=StopAt()).labels_.shape == (240,)


def test_other_errors_of_a_callback_are_not_swallowed():
    X, _ = overlapping()

    def broken(state):
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        DCRC(4, n_init=1, random_state=0).fit(X, callback=broken)


def test_resuming_another_fit_is_refused():
    X, y = overlapping()
    states = []
    DCRC(4, n_init=1, random_state=0).fit(X, **questions(y, 20), callback=states.append)
    with pytest.raises(ValueError, match="another fit"):
        DCRC(4, n_init=1, random_state=0).fit(X, **questions(y, 30), resume=states[0])


@pytest.mark.heavy
def test_a_warm_refit_in_another_process_is_as_good_as_a_cold_one(tmp_path):
    X, y = overlapping()
    before, after = questions(y, 120), questions(y, 130)
    kept = []
    for seed in range(5):
        first = DCRC(4, random_state=seed).fit(X, **before)
        arrays = saved_and_loaded(first.state_arrays(), tmp_path)
        loaded = DCRC(4, n_init=1, n_moves=0, warm_start=True).set_state_arrays(arrays)
        assert np.array_equal(loaded.predict(X), first.predict(X))
        warm = loaded.fit(X, **after)
        cold = DCRC(4, random_state=seed).fit(X, **after)
        assert warm.lower_bound_ > cold.lower_bound_ - 0.02
        assert warm.n_iter_ < 10
        kept.append(adjusted_rand_score(warm.labels_, first.labels_))
    assert np.mean(kept) > 0.8


def test_a_warm_start_survives_new_items_and_a_new_scale():
    X, y = overlapping()
    answered = questions(y[:200], 100)
    model = DCRC(4, n_init=1, n_moves=0, warm_start=True, random_state=0).fit(X[:200], **answered)
    before = model.predict(X)
    model.fit(X, **answered)
    assert model.labels_.shape == (240,)
    assert adjusted_rand_score(model.predict(X), before) > 0.8


def test_a_warm_fit_may_try_fresh_starts_too():
    X, y = overlapping()
    model = DCRC(4, n_init=3, n_moves=2, warm_start=True, random_state=0).fit(X, **questions(y, 40))
    starts = []
    model.fit(X, **questions(y, 50), callback=lambda state: starts.append(state.start))
    assert set(starts) == {0, 1, 2, 3, 4}


def test_a_warm_start_with_other_clusters_or_features_is_refused():
    X, _ = overlapping()
    model = DCRC(4, n_init=1, warm_start=True, random_state=0).fit(X)
    with pytest.raises(ValueError, match="same clusters and features"):
        model.fit(X[:, :5])
    with pytest.raises(ValueError, match="same clusters and features"):
        model.set_params(n_clusters=3).fit(X)


def test_starts_are_planned_by_number():
    def kinds(*arguments):
        return plan_starts(*arguments, np.random.RandomState(0))[0].tolist()

    assert kinds(1, 0, False) == [KMEANS]
    assert kinds(1, 2, True) == [WARM, MOVE, MOVE]
    assert kinds(5, 1, False) == [KMEANS, LIGHT, HEAVY, LIGHT, HEAVY, MOVE]
    assert kinds(5, 0, True) == [WARM, LIGHT, HEAVY, KMEANS, LIGHT]


# --- edges ---


def finite(model):
    return np.isfinite(model.posterior_).all() and np.isfinite(model.lower_bound_) and np.isfinite(model.coef_).all()


EVERY = [[a, b, c] for a in range(5) for b in range(5) for c in range(b + 1, 5) if len({a, b, c}) == 3]


@pytest.mark.heavy(but="{}")
@pytest.mark.parametrize(
    ("triplets", "answers"),
    [
        (None, None),
        ([], []),
        (EVERY, ["dnk"] * 30),
        ([[0, 1, 2]] * 3, ["yes", "no", "dnk"]),
        ([[0, k, k + 1] for k in range(1, 60)], ["yes"] * 59),
        (EVERY, ["yes", "no", "dnk"] * 10),
    ],
    ids=["none", "empty", "all dnk", "contradictory", "one item in all", "few items"],
)
@pytest.mark.parametrize("parameters", [{}, {"use_dnk": False}, {"epsilon": 0}, {"balance": False}], ids=str)
def test_odd_answers_give_finite_clusters(triplets, answers, parameters):
    X, _ = overlapping(n_items=80)
    assert finite(DCRC(3, n_init=2, random_state=0, **parameters).fit(X, triplets=triplets, answers=answers))


@pytest.mark.parametrize("n_clusters", [1, 2, 5])
def test_odd_numbers_of_clusters(n_clusters):
    X, y = overlapping(n_items=5)
    model = DCRC(n_clusters, n_init=3, random_state=0).fit(X, **questions(y, 10))
    assert finite(model)
    assert set(model.labels_) <= set(range(n_clusters))


def test_two_clusters_are_found():
    X, y = overlapping(n_clusters=2, spread=1.0)
    assert adjusted_rand_score(y, DCRC(2, random_state=0).fit(X, **questions(y, 60)).labels_) > 0.75


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_constant_features_are_ignored():
    X, y = overlapping()
    answered = questions(y, 60)
    # Without moves: a rounding error may decide between two of them.
    first = DCRC(4, candidates="features", n_init=1, n_moves=0, random_state=0).fit(X, **answered)
    two = DCRC(4, candidates="features", n_init=1, n_moves=0, random_state=0).fit(
        np.column_stack([X, np.full(240, 7.1)]), **answered
    )
    assert adjusted_rand_score(first.labels_, two.labels_) > 0.97
    np.testing.assert_allclose(two.lower_bound_, first.lower_bound_, atol=1e-5)
    np.testing.assert_allclose(two.coef_[:, -1], 0, atol=1e-9)
    assert finite(DCRC(4, n_init=2, random_state=0).fit(np.ones((240, 2)), **answered))


def test_few_iterations_warn():
    X, y = overlapping()
    with pytest.warns(ConvergenceWarning, match="1 iterations"):
        model = DCRC(4, n_init=1, max_iter=1, tol=0, random_state=0).fit(X, **questions(y, 60))
    assert not model.converged_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 300}, "n_clusters=300 is more than the number of items, 240"),
        ({"n_clusters": 0}, r"'n_clusters' parameter of DCRC must be an int in the range \[1, inf\). Got 0"),
        ({"epsilon": 0.7}, r"'epsilon' parameter of DCRC must be a float in the range \[0.0, 0.66\d+\) or .* Got 0.7"),
        ({"solver": "adam"}, r"'solver' parameter of DCRC must be a str among .*'profile'.* Got 'adam'"),
        ({"weight": "none"}, "weight"),
        ({"n_init": 0}, "n_init"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        DCRC(**parameters).fit(overlapping()[0])


def test_bad_data_is_named():
    X, _ = overlapping()
    with pytest.raises(ValueError, match="triplets row 0"):
        DCRC(4).fit(X, triplets=[[0, 1, 999]], answers=[1])
    with pytest.raises(ValueError, match="5 features, but DCRC is expecting 6"):
        DCRC(4, n_init=1).fit(X).predict(X[:, :5])
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="X row 3, column 2 is nan"):
        DCRC(4).fit(X)
