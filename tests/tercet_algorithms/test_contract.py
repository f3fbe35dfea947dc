"""What every estimator that learns from answers promises, whichever it is: one set of tests over all of them."""

import copy
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score

from tercet_algorithms.answers.metrics import answers_satisfied
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers, random_triplets
from tests.tercet_algorithms.callbacks import StopAt
from tests.tercet_algorithms.estimators import (
    GIVEN,
    N_ANSWERS,
    N_FEATURES,
    N_ITEMS,
    OF_ALL,
    X,
    Y,
    assert_usable,
    every,
    every_saving,
    first,
    fitted,
    hidden,
    questions,
    through_npz,
    watched,
)

pytestmark = OF_ALL


def same(first_fit, two):
    return np.array_equal(first_fit.labels_, two.labels_) and np.array_equal(first_fit.posterior_, two.posterior_)


# --- what a fit depends on ---


@every
def test_answers_of_either_kind_show_what_features_do_not(variant):
    without = variant.make().fit(X)
    assert_usable(without)
    assert adjusted_rand_score(Y, without.labels_) < 0.5
    for kind in ("relative", "outlier"):
        model = fitted(variant, kind)
        assert_usable(model)
        assert adjusted_rand_score(Y, model.labels_) == 1
        assert adjusted_rand_score(Y, model.predict(X)) > 0.9


@every
def test_same_seed_same_result(variant):
    assert same(fitted(variant), variant.make().fit(X, **GIVEN))
    by_state = [variant.make(random_state=np.random.RandomState(3)).fit(X, **GIVEN) for _ in range(2)]
    assert same(*by_state)


@every
def test_a_refit_forgets_the_fit_before(variant):
    model = variant.make().fit(X[:40] * 3, **questions(Y[:40], 10, kind="outlier"))
    assert same(model.fit(X, **GIVEN), fitted(variant))


@every
def test_permuting_items_permutes_labels(variant):
    order = np.random.default_rng(1).permutation(N_ITEMS)
    moved = {**GIVEN, "triplets": np.argsort(order)[GIVEN["triplets"]]}
    first_fit, two = fitted(variant), variant.make().fit(X[order], **moved)
    assert adjusted_rand_score(first_fit.labels_[order], two.labels_) == 1


@every
def test_order_and_sides_of_the_answers_change_no_cluster(variant):
    order = np.random.default_rng(1).permutation(len(GIVEN["answers"]))
    turned = {"triplets": GIVEN["triplets"][order][:, [0, 2, 1]], "answers": -GIVEN["answers"][order]}
    first_fit, two = fitted(variant), variant.make().fit(X, **turned)
    assert adjusted_rand_score(first_fit.labels_, two.labels_) == 1


@every
@pytest.mark.parametrize("kind", ["relative", "outlier"])
def test_words_and_numbers_say_the_same(variant, kind):
    answered = questions(Y, N_ANSWERS, kind=kind)
    words = {1: "yes", -1: "no", 0: "dnk"} if kind == "relative" else {1: "1", 2: "2", 3: "3", 0: "dnk"}
    words_of_answers = [words[answer] for answer in answered["answers"].tolist()]
    listed = {"triplets": answered["triplets"].tolist(), "answers": words_of_answers, "kinds": [kind] * N_ANSWERS}
    assert same(fitted(variant, kind), variant.make().fit(X.tolist(), **listed))


@every
def test_both_kinds_of_question_in_one_fit(variant):
    half = N_ANSWERS // 2
    relative, outlier = questions(Y, half, seed=1), questions(Y, half, seed=2, kind="outlier")
    both = {name: np.concatenate([relative[name], outlier[name]]) for name in ("triplets", "answers")}
    kinds = ["relative"] * half + ["outlier"] * half
    model = variant.make().fit(X, **both, kinds=kinds, labelers=["a", ("b", 2), None, 4.5, 7] * (N_ANSWERS // 5))
    assert_usable(model)
    assert adjusted_rand_score(Y, model.labels_) == 1


@every
def test_identical_answers_of_one_labeler_count_once(variant):
    twice = {name: np.concatenate([GIVEN[name]] * 2) for name in ("triplets", "answers")}
    assert same(fitted(variant), variant.make().fit(X, **twice))


@every
def test_bools_say_yes_and_no(variant):
    asked = GIVEN["triplets"][GIVEN["answers"] != 0]
    numbers = GIVEN["answers"][GIVEN["answers"] != 0]
    bools, words = ([answer > 0 for answer in numbers.tolist()], np.where(numbers > 0, "yes", "no"))
    fits = [variant.make().fit(X, triplets=asked, answers=answers) for answers in (bools, np.array(bools), words)]
    assert same(fits[0], fits[2])
    assert same(fits[1], fits[2])


@every
def test_an_answer_of_weight_0_is_left_out(variant):
    some = np.arange(N_ANSWERS) % 4 > 0
    fewer = {"triplets": GIVEN["triplets"][some], "answers": GIVEN["answers"][some]}
    assert same(variant.make().fit(X, **GIVEN, weights=some), variant.make().fit(X, **fewer))
    with pytest.raises(ValueError, match="weights row 3 is -1"):
        variant.make().fit(X, **GIVEN, weights=np.where(np.arange(N_ANSWERS) == 3, -1, 1))


@every
def test_a_target_is_not_ignored_in_silence(variant):
    with pytest.raises(ValueError, match="y is not used"):
        variant.make().fit(X, GIVEN["triplets"], answers=GIVEN["answers"])
    with pytest.warns(UserWarning, match="y is not used"):
        model = variant.make().fit(X, Y)
    with pytest.raises(ValueError, match="y is not used"):
        model.score(X, GIVEN["triplets"], answers=GIVEN["answers"])
    with pytest.warns(UserWarning, match="y is not used"):
        model.score(X, Y, **GIVEN)


@every
def test_the_score_is_the_share_of_answers_that_predicted_clusters_satisfy(variant):
    model = variant.make().fit(X, **first(GIVEN, 30))
    assert model.score(X, **GIVEN) == answers_satisfied(model.predict(X), **GIVEN)


# --- what a fit leaves alone ---


@every
def test_parameters_are_stored_untouched(variant):
    model = variant.make()
    before = copy.deepcopy(model.get_params())
    assert clone(model).get_params() == before
    assert model.fit(X, **GIVEN) is model
    assert model.get_params() == before
    learned = {name for name in vars(model) if name.endswith("_")}
    assert learned
    assert not learned & set(vars(clone(model)))


@every
def test_inputs_are_neither_changed_nor_need_be_writeable(variant, tmp_path):
    plain = fitted(variant)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    frozen = {name: value if isinstance(value, str) else value.copy() for name, value in GIVEN.items()}
    for array in (frozen["triplets"], frozen["answers"]):
        array.flags.writeable = False
    model = variant.make().fit(mapped, **frozen)
    assert same(plain, model)
    assert np.array_equal(model.predict(mapped), plain.predict(X))
    assert np.array_equal(mapped, X)
    assert np.allclose(model.predict_answers(mapped, frozen["triplets"]).sum(axis=1), 1, atol=1e-5)
    fortran = variant.make().fit(np.asfortranarray(X), **GIVEN)
    assert adjusted_rand_score(plain.labels_, fortran.labels_) == 1


@every
def test_single_precision_finds_the_same(variant):
    model = variant.make().fit(X.astype(np.float32), **GIVEN)
    assert_usable(model)
    assert adjusted_rand_score(Y, model.labels_) == 1
    assert np.array_equal(model.predict(X.astype(np.float32)), model.predict(X))
    if variant.keeps_single:
        assert model.posterior_.dtype == model.predict_proba(X.astype(np.float32)).dtype == np.float32
        assert model.predict_proba(X).dtype == np.float64


@every
def test_what_is_refused_changes_nothing(variant):
    model = fitted(variant)
    labels, predicted = model.labels_.copy(), model.predict(X)
    broken = X.copy()
    broken[3, 2] = np.nan
    for features, answered in (
        (broken, GIVEN),
        (X[:, :2], {**GIVEN, "answers": ["maybe"] * N_ANSWERS}),
        (X[:20], GIVEN),
    ):
        with pytest.raises(ValueError, match="row"):
            model.fit(features, **answered)
    assert np.array_equal(model.labels_, labels)
    assert np.array_equal(model.predict(X), predicted)


# --- stopping, saving, going on ---


@every
def test_progress_is_told_and_grows(variant):
    model, states = watched(variant)
    assert same(model, fitted(variant))
    fractions = [state.fraction for state in states]
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] <= fractions[-1] == 1
    if variant.saves:
        assert states[-1].done
        assert all(fraction < 1 for fraction in fractions[:-1])


@every
def test_a_callback_stops_the_fit_and_leaves_a_usable_model(variant):
    stop = StopAt()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # who stops a fit knows that it did not converge
        model = variant.make().fit(X, **GIVEN, callback=stop)
    assert len(stop.states) == 1
    assert_usable(model)
    assert model.predict(X).shape == (N_ITEMS,)
    assert np.isfinite(model.score_answers(X, **GIVEN))
    assert np.allclose(model.predict_answers(X, GIVEN["triplets"]).sum(axis=1), 1, atol=1e-5)
    if variant.saves:
        assert adjusted_rand_score(Y, model.set_params(warm_start=True).fit(X, **GIVEN).labels_) == 1


@every
def test_other_errors_of_a_callback_are_not_swallowed(variant):
    def broken(state):
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        variant.make().fit(X, **GIVEN, callback=broken)


@every_saving
def test_a_fit_that_was_stopped_goes_on_elsewhere(variant, tmp_path):
    straight, states = watched(variant)
    middle = states[len(states) // 2]
    arrays = through_npz(middle.to_arrays(), tmp_path)
    resumed = variant.make().fit(X, **GIVEN, resume=type(middle).from_arrays(arrays))
    assert np.array_equal(resumed.labels_, straight.labels_)
    assert np.allclose(resumed.posterior_, straight.posterior_, atol=1e-5)


@every_saving
def test_a_saved_model_is_the_same_model_elsewhere(variant, tmp_path):
    model = fitted(variant)
    arrays = through_npz(model.state_arrays(), tmp_path)
    loaded = variant.make().set_state_arrays(arrays)
    rng = np.random.default_rng(0)
    fresh = X[:20] + rng.normal(scale=0.3, size=(20, N_FEATURES))
    asked = random_triplets(20, 30, rng)
    assert np.array_equal(loaded.labels_, model.labels_)
    assert np.allclose(loaded.posterior_, model.posterior_)
    assert np.array_equal(loaded.predict(fresh), model.predict(fresh))
    assert np.allclose(loaded.predict_answers(fresh, asked), model.predict_answers(fresh, asked))
    again = through_npz(loaded.state_arrays(), tmp_path)
    assert set(again) == set(arrays)
    for name in arrays:
        np.testing.assert_array_equal(again[name], arrays[name])


@every_saving
def test_a_warm_refit_ends_where_a_cold_one_does(variant, tmp_path):
    before, after = first(GIVEN, N_ANSWERS - 10), GIVEN
    earlier = variant.make().fit(X, **before)
    arrays = through_npz(earlier.state_arrays(), tmp_path)
    warm = variant.make(warm_start=True).set_state_arrays(arrays).fit(X, **after)
    cold = fitted(variant)
    assert_usable(warm)
    assert adjusted_rand_score(warm.labels_, cold.labels_) == 1
    # Algorithm 1 ends at another kernel for each order of its projections.
    if hasattr(cold, "lower_bound_") and variant.parameters.get("solver") != "paper":
        assert warm.lower_bound_ > cold.lower_bound_ - 0.02
    same_object = earlier.set_params(warm_start=True).fit(X, **after)
    assert adjusted_rand_score(same_object.labels_, cold.labels_) == 1


@every
def test_more_answers_never_crash(variant):
    """One model is refitted warm as wrong and right answers of both kinds come in, from none to many."""
    rng = np.random.default_rng(0)
    triplets = random_triplets(N_ITEMS, 120, rng)
    kinds = np.array(["relative", "outlier"])[rng.integers(2, size=120)]
    answers = np.where(kinds == "relative", noisy_answers(Y, triplets, TABLE_IV, rng), rng.integers(4, size=120))
    model = variant.make_warm()
    for n in (0, 1, 3, 30, 120):
        model.fit(X, triplets=triplets[:n], answers=answers[:n], kinds=kinds[:n], labelers=np.arange(n) % 3)
        assert_usable(model)
        assert np.isfinite(model.score_answers(X, triplets[:n], answers[:n], kinds[:n]))


# --- what a fitted model tells ---


@every
def test_an_unfitted_model_says_so(variant):
    asks = [lambda m: m.predict(X), lambda m: m.predict_answers(X, [[0, 1, 2]])]
    if variant.saves:
        asks.append(lambda m: m.state_arrays())
    for ask in asks:
        with pytest.raises(NotFittedError):
            ask(variant.make())


@every
def test_fit_predict_gives_the_labels(variant):
    model = variant.make()
    assert np.array_equal(model.fit_predict(X, **GIVEN), model.labels_)


@every
@pytest.mark.parametrize(("kind", "n_answers"), [("relative", 3), ("outlier", 4)])
def test_predicted_answers_are_probabilities(variant, kind, n_answers):
    answered, model = questions(Y, N_ANSWERS, kind=kind), fitted(variant, kind)
    chances = model.predict_answers(X, answered["triplets"], kind)
    assert chances.shape == (N_ANSWERS, n_answers)
    assert np.allclose(chances.sum(axis=1), 1, atol=1e-5)
    assert chances.min() >= 0
    column = np.array([2, 0, 1] if kind == "relative" else [3, 0, 1, 2])[answered["answers"]]
    assert np.mean(chances.argmax(axis=1) == column) > 0.9
    picked = np.maximum(chances[np.arange(N_ANSWERS), column], 1e-300)
    assert model.score_answers(X, **answered) == pytest.approx(np.log(picked).mean(), abs=1e-4)
    assert model.predict_answers(X, []).shape == (0, 3)


@every
def test_a_question_turned_round_is_answered_the_other_way(variant):
    model = fitted(variant)
    asked = GIVEN["triplets"]
    there, back = model.predict_answers(X, asked), model.predict_answers(X, asked[:, [0, 2, 1]])
    assert np.allclose(there[:, [1, 0, 2]], back, atol=1e-5)


@every
def test_new_items_join_the_clusters_they_lie_in(variant):
    model = fitted(variant)
    fresh, truth = hidden(seed=5)
    assert adjusted_rand_score(truth, model.predict(fresh)) > 0.8
    assert np.array_equal(model.predict(fresh[:1]), model.predict(fresh)[:1])
