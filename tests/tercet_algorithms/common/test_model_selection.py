"""scikit-learn's model selection over answers: folds, grid search, and the scores it maximises."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, cross_val_score

from tercet_algorithms import DCRC, TripletEstimator, TripletSplit, answer_log_score
from tercet_algorithms.answers.metrics import answers_satisfied
from tercet_algorithms.answers.simulated_labelers import noisy_answers, random_triplets
from tests.tercet_algorithms.estimators import SMALL, X, Y, questions

TABLE = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
TRIPLETS = random_triplets(len(Y), 90, np.random.default_rng(0))
ANSWERS = noisy_answers(Y, TRIPLETS, TABLE, np.random.default_rng(1))


def test_folds_divide_the_questions_and_share_out_the_answers():
    triplets = np.concatenate([TRIPLETS, TRIPLETS[:30][:, [0, 2, 1]]])
    answers = np.concatenate([ANSWERS, -ANSWERS[:30]])
    folds = list(TripletSplit(3, random_state=0).split(triplets, answers))
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(120))
    for train, test in folds:
        assert not set(train) & set(test)
        assert len(train) + len(test) == 120
        asked, held_out = ({(a, *sorted(pair)) for a, *pair in triplets[rows].tolist()} for rows in (train, test))
        assert not asked & held_out
        assert abs(np.mean(answers[test] == 0) - np.mean(answers == 0)) < 0.1
    same = list(TripletSplit(3, random_state=0).split(triplets, answers))
    assert all(np.array_equal(first[1], two[1]) for first, two in zip(folds, same, strict=True))


def test_triplets_may_be_names_and_too_few_questions_are_refused():
    named = np.array([["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"]])
    assert len(list(TripletSplit(3).split(named, [1, -1, 0]))) == 3
    with pytest.raises(ValueError, match="n_splits=2 is more than the number of questions, 1"):
        list(TripletSplit(2, kind="outlier").split(named, [1, 2, 3]))
    with pytest.raises(ValueError, match="'n_splits' parameter of TripletSplit must be an int in the range"):
        list(TripletSplit(1).split(named, [1, -1, 0]))


@pytest.mark.heavy(but="None")
@pytest.mark.parametrize("scoring", [None, answer_log_score])
def test_grid_search_finds_how_far_answers_are_to_be_believed(scoring):
    model = TripletEstimator(DCRC(3, random_state=0, **SMALL), X)
    grid = {"estimator__epsilon": [0.2, 0.65], "estimator__tau": [1.0]}
    search = GridSearchCV(model, grid, cv=TripletSplit(3, random_state=0), scoring=scoring).fit(TRIPLETS, ANSWERS)
    assert search.best_params_["estimator__epsilon"] == 0.2
    best = DCRC(3, random_state=0, **SMALL, epsilon=0.2).fit(X, triplets=TRIPLETS, answers=ANSWERS)
    assert np.array_equal(search.best_estimator_.estimator_.labels_, best.labels_)
    train, test = next(TripletSplit(3, random_state=0).split(TRIPLETS, ANSWERS))
    fold = best.fit(X, triplets=TRIPLETS[train], answers=ANSWERS[train])
    judged = {"triplets": TRIPLETS[test], "answers": ANSWERS[test]}
    expected = fold.score(X, **judged) if scoring is None else fold.score_answers(X, **judged)
    assert np.isclose(search.cv_results_["split0_test_score"][0], expected)


@pytest.mark.heavy
def test_weights_and_labelers_are_divided_with_the_answers():
    model = TripletEstimator(DCRC(3, random_state=0, **SMALL), X)
    useless = np.arange(90) % 2 == 1
    wrong = np.where(useless, np.roll(ANSWERS, 1), ANSWERS)
    metadata = {"weights": np.where(useless, 0, 1), "labelers": np.arange(90) % 3}
    scores = cross_val_score(model, TRIPLETS, wrong, cv=TripletSplit(3, random_state=0), params=metadata)
    assert scores.shape == (3,)
    fitted = model.fit(TRIPLETS, wrong, **metadata).estimator_
    alone = DCRC(3, random_state=0, **SMALL)
    alone.fit(X, triplets=TRIPLETS[~useless], answers=ANSWERS[~useless], labelers=metadata["labelers"][~useless])
    assert np.array_equal(fitted.labels_, alone.labels_)


def test_weights_reach_fit_and_score_by_metadata_routing():
    weights = np.random.default_rng(2).integers(3, size=90)
    metadata = {"weights": weights}
    split = TripletSplit(2, random_state=0)
    train, test = next(split.split(TRIPLETS, ANSWERS))
    fitted = TripletEstimator(DCRC(3, random_state=0, **SMALL), X)
    fitted.fit(TRIPLETS[train], ANSWERS[train], weights=weights[train])
    judged = TRIPLETS[test], ANSWERS[test]
    assert answer_log_score(fitted, *judged, weights=weights[test]) != answer_log_score(fitted, *judged)
    with config_context(enable_metadata_routing=True):
        model = TripletEstimator(DCRC(3, random_state=0, **SMALL), X)
        model.set_fit_request(weights=True).set_score_request(weights=True)
        scores = cross_val_score(model, TRIPLETS, ANSWERS, cv=split, params=metadata)
    assert scores[0] == fitted.score(*judged, weights=weights[test]) != fitted.score(*judged)


def test_the_score_is_the_share_of_answers_that_the_clusters_satisfy():
    model = DCRC(3, random_state=0, **SMALL).fit(X, triplets=TRIPLETS, answers=ANSWERS)
    score = model.score(X, triplets=TRIPLETS, answers=ANSWERS)
    assert score == answers_satisfied(model.predict(X), TRIPLETS, ANSWERS)
    assert 0.5 < score < 1
    of_ten = model.score(X, triplets=TRIPLETS, answers=ANSWERS, weights=np.arange(90) < 10)
    assert of_ten == model.score(X, triplets=TRIPLETS[:10], answers=ANSWERS[:10])
    with pytest.warns(UserWarning, match="score counts answers, and got none"):
        assert model.score(X) == 0


def test_outlier_questions_work_too():
    asked = questions(Y, 60, kind="outlier")
    model = TripletEstimator(DCRC(3, random_state=0, **SMALL), X, kind="outlier")
    assert model.fit(asked["triplets"], asked["answers"]).score(asked["triplets"], asked["answers"]) > 0.9
