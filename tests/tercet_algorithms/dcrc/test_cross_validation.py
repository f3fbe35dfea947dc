"""Parameters chosen by answers held out: fair folds, the search against all combinations, and what it leaves."""

from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score

from tercet_algorithms import DCRC, DCRCCV, SearchState, StopFit
from tercet_algorithms.answers.metrics import answers_satisfied
from tercet_algorithms.answers.reading import read_constraints
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers, random_triplets, true_answers
from tercet_algorithms.common.model_selection import answer_folds
from tercet_algorithms.dcrc.held_out import HeldOutSearch
from tests.tercet_algorithms.bags.data import bagged
from tests.tercet_algorithms.estimators import through_npz

SMALL = {"n_init": 2, "n_moves": 0, "random_state": 0}


def overlapping(seed=0, n_items=150, n_clusters=3):
    return make_blobs(n_items, n_features=4, centers=n_clusters, cluster_std=1.5, center_box=(-4, 4), random_state=seed)


def questions(y, n, seed=0, kind="relative"):
    triplets = random_triplets(len(y), n, np.random.default_rng(seed))
    return {"triplets": triplets, "answers": true_answers(y, triplets, kind), "kinds": kind}


def fitted(n=90, n_clusters=3, **parameters):
    X, y = overlapping()
    return DCRCCV(n_clusters, **{**SMALL, **parameters}).fit(X, **questions(y, n))


def test_folds_are_a_partition_that_keeps_triplets_together_and_answers_even():
    rng = np.random.default_rng(0)
    triplets = random_triplets(30, 100, rng)
    turned = triplets[:20][:, [0, 2, 1]]
    places = np.concatenate([triplets, turned, triplets[:10]])
    answers = rng.choice(["yes", "no", "dnk"], len(places), p=[0.2, 0.2, 0.6])
    constraints = read_constraints(places, answers, labelers=range(len(places)), n_items=30)
    folds = answer_folds(constraints, 5, np.random.RandomState(0))
    assert sorted(np.concatenate(folds).tolist()) == list(range(len(places)))
    in_fold = [set(map(tuple, constraints.triplets[rows].tolist())) for rows in folds]
    assert sum(map(len, in_fold)) == len(set.union(*in_fold)) == 100
    shares = [np.mean(constraints.answers[rows] == 2) for rows in folds]
    assert max(shares) - min(shares) < 0.2


def test_an_outlier_question_has_no_anchor_and_a_relative_one_has():
    same = np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]])
    for kind, n_folds in (("outlier", 0), ("relative", 3)):
        answers = ["1", "2", "3"] if kind == "outlier" else ["yes", "no", "dnk"]
        constraints = read_constraints(same, answers, kind, n_items=3)
        assert len(answer_folds(constraints, 3, np.random.RandomState(0))) == n_folds


def test_the_score_is_that_of_answers_held_out():
    """One candidate, so every fit of a fold is a plain DCRC."""
    X, y = overlapping()
    answered = questions(y, 60)
    single = {"tau": 1.0, "lam": 2**-8, "epsilon": 0.1}
    for scoring in ("log_score", "accuracy"):
        model = DCRCCV(3, **SMALL, **single, cv=3, scoring=scoring).fit(X, **answered)
        rows = read_constraints(**answered, n_items=len(X))
        # The seed of the fits comes before that of the folds, from one generator.
        rng = np.random.RandomState(0)
        seed = rng.randint(np.iinfo(np.int32).max)
        expected = []
        for held_out in answer_folds(rows, 3, rng):
            train = np.ones(len(rows), dtype=bool)
            train[held_out] = False
            words = np.array(["yes", "no", "dnk"])[rows.answers]
            plain = DCRC(3, candidates="features", **{**SMALL, "random_state": seed}, **single)
            plain.fit(X, triplets=rows.triplets[train], answers=words[train])
            asked = rows.triplets[held_out], words[held_out]
            result = plain.score_answers(X, *asked) if scoring == "log_score" else None
            expected.append(answers_satisfied(plain.predict(X), *asked) if result is None else result)
        splits = [model.cv_results_[f"split{k}_test_score"][0] for k in range(3)]
        assert np.allclose(splits, expected)
        assert model.best_score_ == pytest.approx(np.mean(expected))


def test_the_best_estimator_is_what_a_fresh_one_finds():
    X, y = overlapping()
    model = fitted()
    fresh = clone(model.best_estimator_).fit(X, **questions(y, 90))
    assert model.best_params_.items() <= fresh.get_params().items()
    for name in ("labels_", "posterior_"):
        assert np.array_equal(getattr(model, name), getattr(fresh, name))
    assert np.array_equal(model.predict(X), fresh.predict(X))
    assert np.array_equal(model.predict_proba(X), fresh.predict_proba(X))
    asked = random_triplets(len(X), 20, np.random.default_rng(5))
    assert np.allclose(model.predict_answers(X, asked).sum(axis=1), 1)
    assert model.score_answers(X, asked, true_answers(y, asked)) == fresh.score_answers(
        X, asked, true_answers(y, asked)
    )
    assert np.array_equal(model.suggest(3, random_state=0)[0], fresh.suggest(3, random_state=0)[0])


def test_results_are_a_table_of_candidates():
    results = fitted(balance=(True, False)).cv_results_
    n = len(results["params"])
    assert n == 1 + 3 + 3 + 1 + 1  # the centre, and what each of the four changes
    splits = np.array([results[f"split{k}_test_score"] for k in range(5)])
    assert np.allclose(splits.mean(axis=0), results["mean_test_score"])
    assert np.allclose(splits.std(axis=0), results["std_test_score"])
    assert results["mean_test_score"][results["rank_test_score"] == 1][0] == results["mean_test_score"].max()
    assert [p["lam"] for p in results["params"]] == results["param_lam"].tolist()


@pytest.mark.heavy
def test_one_after_the_other_scores_nearly_as_well_as_all_combinations():
    short = []
    for seed in range(2):
        X, y = overlapping(seed)
        values = {"tau": (0.5, 1.0), "lam": (2**-8, 2**-4), "epsilon": (0.05, 0.15)}
        result = DCRCCV(3, **values, **SMALL, refit=False).fit(X, **questions(y, 90, seed))
        every = [
            DCRCCV(3, tau=tau, lam=lam, epsilon=epsilon, **SMALL, refit=False).fit(X, **questions(y, 90, seed))
            for tau in values["tau"]
            for lam in values["lam"]
            for epsilon in values["epsilon"]
        ]
        short.append(max(model.best_score_ for model in every) - result.best_score_)
    assert np.mean(short) < 0.06


def test_the_epsilon_of_the_answers_is_recognised():
    """The log score is proper: answers with mistakes make a larger epsilon win than answers without."""
    X, y = make_blobs(200, centers=3, random_state=0)
    triplets = random_triplets(200, 300, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    chosen = []
    for correct in (1.0, 0.7):
        confusion = np.full((3, 3), (1 - correct) / 2) + np.eye(3) * (1.5 * correct - 0.5)
        model = DCRCCV(3, epsilon=(0.01, 0.05, 0.3), tau=1.0, lam=2**-8, **SMALL)
        model.fit(X, triplets=triplets, answers=noisy_answers(y, triplets, confusion, rng))
        chosen.append(model.best_params_["epsilon"])
    assert chosen == [0.01, 0.3]


@pytest.mark.heavy(but="True")
@pytest.mark.parametrize("balance", [True, False])
def test_the_number_of_clusters_is_found(balance):
    for load in (load_iris, load_wine):
        X, y = load(return_X_y=True)
        model = DCRCCV(range(2, 6), tau=1.0, lam=2**-8, balance=balance, cv=4, **SMALL)
        model.fit(X, **questions(y, 100))
        assert model.best_params_["n_clusters"] == 3
        assert adjusted_rand_score(y, model.labels_) > 0.8
        curve = model.n_clusters_curve_
        assert curve.n_clusters.tolist() == [2, 3, 4, 5]
        assert curve.mean[0] < curve.mean[1] - curve.standard_error[1]
        assert (curve.standard_error > 0).all()


@pytest.mark.heavy
def test_chosen_parameters_predict_new_answers_better():
    """Better than any of the grid would on average, on answers that neither the fits nor the folds have seen."""
    grid = {"lam": (2**-10, 2**-1), "epsilon": (0.01, 0.4)}
    gains = []
    for seed in range(6):
        X, y = overlapping(seed)
        triplets = random_triplets(len(y), 500, np.random.default_rng(seed))
        answers = noisy_answers(y, triplets, TABLE_IV, np.random.default_rng(seed))
        answered = {"triplets": triplets[:150], "answers": answers[:150]}
        new = {"triplets": triplets[150:], "answers": answers[150:]}
        chosen = DCRCCV(3, tau=1.0, **grid, **SMALL).fit(X, **answered).score_answers(X, **new)
        others = [
            DCRC(3, candidates="features", tau=1.0, lam=lam, epsilon=epsilon, **SMALL)
            .fit(X, **answered)
            .score_answers(X, **new)
            for lam, epsilon in product(*grid.values())
        ]
        gains.append(chosen - np.mean(others))
    assert np.mean(gains) > 0, gains


def test_the_same_seed_finds_the_same():
    first, second = fitted(), fitted()
    assert first.best_params_ == second.best_params_
    assert np.array_equal(first.cv_results_["mean_test_score"], second.cv_results_["mean_test_score"])
    assert np.array_equal(first.labels_, second.labels_)


def test_other_parameters_come_from_the_estimator():
    X, y = overlapping()
    answered = questions(y, 60)
    base = DCRC(kernel="rbf", use_dnk=False, lam=2**-10, solver="em")
    model = DCRCCV(3, estimator=base, lam=(2**-10, 2**-4), tau=1.0, epsilon=0.05, **SMALL).fit(X, **answered)
    used = model.best_estimator_.get_params()
    assert (used["kernel"], used["use_dnk"], used["solver"]) == ("rbf", False, "em")
    assert model.cv_results_["param_lam"].tolist() == [2**-10, 2**-4]
    assert not hasattr(base, "coef_")


def test_labelers_keep_their_tables_in_the_folds():
    """Half of the answers are turned round; held-out answers are predicted well only by labeler."""
    X, y = make_blobs(150, centers=3, random_state=0)
    triplets = random_triplets(len(y), 300, np.random.default_rng(0))
    answers = true_answers(y, triplets)
    labelers = ["turned" if row % 2 else "right" for row in range(300)]
    answers[1::2] *= -1
    single = {"tau": 1.0, "lam": 2**-8, "epsilon": 0.1, **SMALL}
    scores = [
        DCRCCV(3, estimator=DCRC(labeler_tables=tables), **single)
        .fit(X, triplets=triplets, answers=answers, labelers=labelers)
        .best_score_
        for tables in ("learn", "fixed")
    ]
    assert scores[0] > scores[1] + 0.1


def test_both_kinds_of_questions_at_once():
    X, y = overlapping()
    single, second = questions(y, 40), questions(y, 40, seed=1, kind="outlier")
    answers = [*map(str, single["answers"].tolist()), *map(str, second["answers"].tolist())]
    triplets = np.concatenate([single["triplets"], second["triplets"]])
    kinds = ["relative"] * 40 + ["outlier"] * 40
    model = DCRCCV(3, **SMALL, cv=3).fit(X, triplets=triplets, answers=answers, kinds=kinds)
    assert adjusted_rand_score(y, model.labels_) > 0.5


def test_progress_is_told_and_the_search_can_be_stopped():
    progress = []
    X, y = overlapping()
    answered = questions(y, 60)
    model = DCRCCV(3, **SMALL, cv=3).fit(X, **answered, callback=progress.append)
    fractions = [state.fraction for state in progress]
    assert fractions == sorted(fractions)
    assert 0 < fractions[0] < fractions[-1] <= 1
    assert progress[-1].best_score == max(model.cv_results_["mean_test_score"])

    for after in (1, len(progress) // 2):
        seen = []

        def stop(state, after=after, seen=seen):
            seen.append(state)
            if len(seen) == after:
                raise StopFit

        stopped = DCRCCV(3, **SMALL, cv=3).fit(X, **answered, callback=stop)
        assert len(seen) == after
        assert len(stopped.cv_results_["params"]) == progress[after - 1].start // 3
        assert len(stopped.labels_) == len(X)
        assert stopped.best_estimator_.n_init == 1


SEARCHES = {
    "a range": {"n_clusters": (2, 3), "tau": (0.5, 1.0), "lam": 2**-8},
    "learned tables": {"estimator": DCRC(labeler_tables="learn"), "tau": 1.0, "lam": 2**-8},
    "kernel": {"estimator": DCRC(kernel="nystroem", n_components=20), "tau": 1.0, "balance": (True, False)},
    "nobody's seed": {"tau": (0.5, 1.0), "lam": 2**-8, "random_state": None},
}


@pytest.mark.heavy(but="kernel")
@pytest.mark.parametrize("searched", SEARCHES)
def test_a_search_that_was_stopped_goes_on_elsewhere(searched, tmp_path, monkeypatch):
    """Stopped within a fit of a fold, between two and within the last: every result is what it would have been."""
    X, y = overlapping(n_items=80)
    answered = questions(y, 60) | {"labelers": np.arange(60) % 2}
    parameters = {"n_clusters": 3, **SMALL, "cv": 2, **SEARCHES[searched]}
    states = []
    straight = DCRCCV(**parameters).fit(X, **answered, callback=states.append)
    judge, judged = HeldOutSearch._judge, []
    monkeypatch.setattr(HeldOutSearch, "_judge", lambda *answered: judged.append(1) or judge(*answered))
    assert states[-1].at_work.done
    within, between = ([s for s in states if (s.at_work is None) == step] for step in (False, True))
    for state in (within[0], within[len(within) // 2], between[len(between) // 2], between[-1], within[-2]):
        elsewhere = SearchState.from_arrays(through_npz(state.to_arrays(), tmp_path))
        assert (elsewhere.start, elsewhere.iteration) == (state.start, state.iteration)
        assert elsewhere.best_params == state.best_params
        judged.clear()
        resumed = DCRCCV(**parameters).fit(X, **answered, resume=elsewhere)
        assert len(judged) == len(between) - state.start, "what was scored is not fitted again"
        assert resumed.best_params_ == straight.best_params_
        for name in ("mean_test_score", "param_lam", "split1_test_score"):
            np.testing.assert_array_equal(resumed.cv_results_[name], straight.cv_results_[name])
        for name in ("labels_", "posterior_", "n_clusters_curve_"):
            np.testing.assert_array_equal(getattr(resumed, name), getattr(straight, name))
        assert resumed.best_estimator_.lower_bound_ == straight.best_estimator_.lower_bound_


def test_the_state_of_another_search_is_refused():
    X, y = overlapping()
    answered, states = questions(y, 30), []
    parameters = {**SMALL, "cv": 2, "tau": 1.0, "lam": 2**-8}
    DCRCCV(3, **parameters, epsilon=0.1, refit=False).fit(X, **answered, callback=states.append)
    with pytest.raises(ValueError, match=r"another search: it tried epsilon=0\.1"):
        DCRCCV(3, **parameters, epsilon=0.2).fit(X, **answered, resume=states[-1])
    with pytest.raises(ValueError, match="another search: it has 30 answers, expected 20"):
        DCRCCV(3, **parameters, epsilon=0.1).fit(X, **questions(y, 20), resume=states[-1])


def test_without_answers_it_is_dcrc():
    X, _ = overlapping()
    model = DCRCCV(3, **SMALL).fit(X)
    assert model.best_params_ == {"n_clusters": 3, "lam": 2**-8, "tau": 1.0, "epsilon": 0.05, "balance": True}
    assert (model.n_splits_, len(model.cv_results_["params"])) == (0, 0)
    assert np.isnan(model.best_score_)
    assert len(model.labels_) == len(X)
    with pytest.raises(ValueError, match="several n_clusters need answers"):
        DCRCCV((2, 3), **SMALL).fit(X)


def test_few_answers_make_few_folds():
    X, _ = overlapping()
    few = {"triplets": [[0, 1, 2], [3, 4, 5], [6, 7, 8]], "answers": ["yes", "no", "dnk"]}
    with pytest.warns(UserWarning, match="only 3 triplets: 3 folds, not 5"):
        model = DCRCCV(3, **SMALL).fit(X, **few)
    assert model.n_splits_ == 3
    single = {"triplets": [[0, 1, 2], [0, 2, 1]], "answers": ["yes", "no"]}
    with pytest.warns(UserWarning, match="no folds"):
        assert DCRCCV(3, **SMALL).fit(X, **single).n_splits_ == 0


def test_answers_that_are_not_used_are_not_scored():
    X, y = overlapping()
    answered = questions(y, 90)
    base = DCRC(use_dnk=False)
    model = DCRCCV(3, estimator=base, **SMALL).fit(X, **answered)
    decided = answered["answers"] != 0
    stored = {"triplets": answered["triplets"][decided], "answers": answered["answers"][decided]}
    assert model.best_score_ == DCRCCV(3, estimator=base, **SMALL).fit(X, **stored).best_score_
    nothing = {"triplets": answered["triplets"][~decided], "answers": answered["answers"][~decided]}
    assert DCRCCV(3, estimator=base, **SMALL).fit(X, **nothing).n_splits_ == 0


@pytest.mark.heavy
def test_bag_labels_are_learned_from_in_every_fold():
    better = []
    for seed in range(4):
        X, y, bags, labels = bagged(n_bags=20, size=5, spread=2.0, seed=seed)
        answered, bag_arguments = questions(y, 60, seed), {"bags": bags, "bag_labels": labels}
        alone, both = (DCRCCV(4, **SMALL).fit(X, **answered, **more) for more in ({}, bag_arguments))
        result = (adjusted_rand_score(y, model.labels_) for model in (both, alone))
        better.append((both.best_score_ - alone.best_score_, np.subtract(*result)))
    assert np.all(np.mean(better, axis=0) > (0.05, 0.1))


def test_without_refit_only_the_choice_is_made():
    model = fitted(refit=False)
    assert np.isfinite(model.best_score_)
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cv": 1}, r"'cv' parameter of DCRCCV must be an int in the range \[2, inf\)"),
        ({"scoring": "r2"}, "'scoring' parameter of DCRCCV must be a str among"),
        ({"tau": ()}, "tau must be a value or several"),
        ({"epsilon": (0.05, 0.9)}, "'epsilon' parameter of DCRC must be a float in"),
        ({"lam": -1.0}, r"'lam' parameter of DCRC must be a float in the range \[0"),
        ({"n_clusters": (2, 0)}, r"'n_clusters' parameter of DCRC must be an int in the range \[1"),
        ({"n_clusters": (2, 400)}, "n_clusters=400 is more than"),
        ({"n_init": 0}, r"'n_init' parameter of DCRCCV must be an int in the range \[1"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        fitted(**parameters)
