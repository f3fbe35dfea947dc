"""AnswerEmbedding finds where items lie from answers alone, and keeps the conventions of the other estimators."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import cross_val_score
from sklearn.utils import estimator_checks

from tercet_algorithms import AnswerEmbedding, EmbeddingState, TripletSplit
from tercet_algorithms.answers.simulated_labelers import distance_answers, random_triplets, true_answers
from tests.tercet_algorithms.callbacks import StopAt

N_ITEMS = 24
CLASSES = np.arange(N_ITEMS) % 3
TRIPLETS = random_triplets(N_ITEMS, 400, np.random.default_rng(0))
WORDS = {"relative": {1: "yes", -1: "no", 0: "dnk"}, "outlier": {1: "1", 2: "2", 3: "3", 0: "dnk"}}


def answers_of(kind: str = "relative") -> np.ndarray:
    return true_answers(CLASSES, TRIPLETS, kind)


def make(dimension: int | str = 2, **parameters: object) -> AnswerEmbedding:
    return AnswerEmbedding(dimension, **{"random_state": 0, "n_items": N_ITEMS, **parameters})


def distances(model: AnswerEmbedding) -> np.ndarray:
    return np.linalg.norm(model.embedding_[:, None] - model.embedding_[None], axis=2)


@pytest.mark.parametrize("kind", ["relative", "outlier"])
def test_classes_that_only_answers_tell_lie_apart(kind: str) -> None:
    model = make().fit(TRIPLETS, answers_of(kind), kinds=kind)
    labels = KMeans(3, n_init=10, random_state=0).fit_predict(model.embedding_)
    assert adjusted_rand_score(CLASSES, labels) == 1
    new = random_triplets(N_ITEMS, 300, np.random.default_rng(9))
    assert model.score(new, true_answers(CLASSES, new, kind), kind) > 0.95
    assert model.converged_


def test_both_kinds_in_one_fit_and_words_say_what_numbers_say() -> None:
    kinds = np.array(["relative", "outlier"])[np.arange(len(TRIPLETS)) % 2]
    answers = np.where(kinds == "relative", answers_of("relative"), answers_of("outlier"))
    words = [WORDS[kind][answer] for kind, answer in zip(kinds, answers.tolist(), strict=True)]
    model, again = make().fit(TRIPLETS, answers, kinds=kinds), make().fit(TRIPLETS.tolist(), words, kinds=kinds)
    assert np.array_equal(model.embedding_, again.embedding_)
    assert model.score(TRIPLETS, answers, kinds) > 0.95


def test_positions_on_a_line_come_out_in_their_order_though_nobody_says_dnk() -> None:
    rng = np.random.default_rng(3)
    places = np.sort(rng.uniform(0, 4, size=(20, 1)), axis=0)
    triplets = random_triplets(20, 1500, rng)
    answers = distance_answers(places, triplets, rng, sharpness=20)
    decided = answers != 0
    model = AnswerEmbedding(1, random_state=0).fit(triplets[decided], answers[decided])
    order = np.argsort(model.embedding_[:, 0])
    moved = min(np.abs(order - np.arange(20)).max(), np.abs(order[::-1] - np.arange(20)).max())
    assert moved <= 2
    assert model.predict_answers(triplets)[:, 2].max() < 0.1, "nobody said that they do not know"


def test_the_dimension_that_predicts_best_is_chosen() -> None:
    model = make("auto").fit(TRIPLETS, answers_of())
    assert list(model.held_out_scores_) == [2, 3, 5]
    assert model.n_components_ == max(model.held_out_scores_, key=model.held_out_scores_.get)
    assert model.embedding_.shape == (N_ITEMS, model.n_components_)
    few = make("auto").fit(TRIPLETS[:20], answers_of()[:20])
    assert (few.n_components_, few.held_out_scores_) == (2, {})


def test_items_nobody_was_asked_about_stay_in_the_middle() -> None:
    asked = (TRIPLETS < 20).all(axis=1)
    model = make().fit(TRIPLETS[asked], answers_of()[asked])
    reach = np.linalg.norm(model.embedding_ - model.embedding_[20:].mean(axis=0), axis=1)
    assert reach[20:].max() < 1e-2 * reach[:20].max()


@pytest.mark.parametrize(
    "triplets", [np.empty((0, 3), int), TRIPLETS[:1], np.tile(TRIPLETS[:1], (5, 1))], ids=["none", "one", "repeated"]
)
@pytest.mark.parametrize("answer", ["yes", "dnk"])
def test_few_answers_do(triplets: np.ndarray, answer: str) -> None:
    model = make("auto").fit(triplets, [answer] * len(triplets))
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.score_answers(triplets, [answer] * len(triplets)))


def test_contradictions_tell_nothing() -> None:
    both = np.concatenate([TRIPLETS[:1]] * 2)
    model = make().fit(both, ["yes", "no"], labelers=["a", "b"])
    yes, no, _ = model.predict_answers(both[:1])[0]
    assert yes == pytest.approx(no, abs=1e-3)


def test_weights_count_answers_and_labelers_make_them_count() -> None:
    some = np.arange(len(TRIPLETS)) % 2
    weighted = make().fit(TRIPLETS, answers_of(), weights=some)
    fewer = make().fit(TRIPLETS[some > 0], answers_of()[some > 0])
    assert weighted.lower_bound_ == pytest.approx(fewer.lower_bound_)
    twice = {"triplets": np.tile(TRIPLETS, (2, 1)), "answers": np.tile(answers_of(), 2)}
    of_two = make().fit(**twice, labelers=np.repeat(["a", "b"], len(TRIPLETS)))
    of_one = make().fit(**twice)
    assert of_one.lower_bound_ == pytest.approx(make().fit(TRIPLETS, answers_of()).lower_bound_)
    assert of_two.lower_bound_ < of_one.lower_bound_


def test_dnk_can_be_left_out() -> None:
    decided = answers_of() != 0
    without = make(use_dnk=False).fit(TRIPLETS, answers_of())
    fewer = make().fit(TRIPLETS[decided], answers_of()[decided])
    assert np.array_equal(without.embedding_, fewer.embedding_)


def test_a_stopped_fit_goes_on_from_its_saved_state(tmp_path) -> None:
    full = make("auto").fit(TRIPLETS, answers_of())
    stopper = StopAt(lambda state: len(stopper.states) == 4)
    make("auto").fit(TRIPLETS, answers_of(), callback=stopper)
    assert [0 < state.fraction <= 1 for state in stopper.states] == [True] * 4
    np.savez(tmp_path / "state.npz", **stopper.states[-1].to_arrays())
    with np.load(tmp_path / "state.npz", allow_pickle=False) as saved:
        state = EmbeddingState.from_arrays(dict(saved))
    resumed = make("auto").fit(TRIPLETS, answers_of(), resume=state)
    assert np.array_equal(resumed.embedding_, full.embedding_)
    assert np.array_equal(resumed.lower_bounds_, full.lower_bounds_)
    with pytest.raises(ValueError, match="resume is the state of another fit"):
        make(n_items=25).fit(TRIPLETS, answers_of(), resume=state)


@pytest.mark.heavy
def test_fits_at_once_end_where_those_one_after_the_other_do() -> None:
    steps: list[EmbeddingState] = []
    alone = make("auto").fit(TRIPLETS, answers_of(), callback=steps.append)
    ends: list[EmbeddingState] = []
    at_once = make("auto", n_jobs=2).fit(TRIPLETS, answers_of(), callback=ends.append)
    assert [state.fit for state in ends] == list(range(6)), "three dimensions, then three starts"
    assert at_once.held_out_scores_ == alone.held_out_scores_
    assert np.array_equal(at_once.embedding_, alone.embedding_)
    middle = next(state for state in steps if state.fit == 1 and not state.finished)
    resumed = make("auto", n_jobs=2).fit(TRIPLETS, answers_of(), resume=middle)
    assert np.array_equal(resumed.lower_bounds_, alone.lower_bounds_)


def test_a_stop_at_once_still_gives_points() -> None:
    model = make().fit(TRIPLETS, answers_of(), callback=StopAt())
    assert model.embedding_.shape == (N_ITEMS, 2)


def test_an_earlier_embedding_is_gone_on_from_and_matched() -> None:
    half = make(n_items=20).fit(*[values[(TRIPLETS < 20).all(axis=1)] for values in (TRIPLETS, answers_of())])
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    turned = half.embedding_ @ turn
    model = make(n_init=1).fit(TRIPLETS, answers_of(), init=turned)
    moved = np.linalg.norm(model.embedding_[:20] - turned)
    assert moved < np.linalg.norm(model.embedding_[:20] - half.embedding_)
    assert moved < 0.5 * np.linalg.norm(turned)
    for wrong in (np.zeros((30, 2)), np.zeros(20)):
        with pytest.raises(ValueError, match="init must have at most 24 rows"):
            make().fit(TRIPLETS, answers_of(), init=wrong)


@pytest.mark.heavy
def test_order_of_answers_and_numbering_of_items_change_no_distance() -> None:
    model = make(tol=1e-8, n_init=6).fit(TRIPLETS, answers_of())
    order = np.random.default_rng(1).permutation(len(TRIPLETS))
    shuffled = make(tol=1e-8, n_init=6).fit(TRIPLETS[order][:, [0, 2, 1]], -answers_of()[order])
    assert shuffled.lower_bound_ == pytest.approx(model.lower_bound_, rel=1e-3)
    assert np.corrcoef(distances(model).ravel(), distances(shuffled).ravel())[0, 1] > 0.98


def test_conventions_of_scikit_learn() -> None:
    model = make()
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        model.predict_answers(TRIPLETS)
    estimator_checks.check_param_validation("AnswerEmbedding", AnswerEmbedding())
    estimator_checks.check_no_attributes_set_in_init("AnswerEmbedding", AnswerEmbedding())
    estimator_checks.check_parameters_default_constructible("AnswerEmbedding", AnswerEmbedding())
    fitted = model.fit(TRIPLETS, answers_of())
    assert fitted is model
    copied = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(copied.predict_answers(TRIPLETS), fitted.predict_answers(TRIPLETS))
    scores = cross_val_score(make(), TRIPLETS, answers_of(), cv=TripletSplit(3, random_state=0))
    assert scores.mean() > 0.9


def test_predicted_answers_are_probabilities_and_are_scored() -> None:
    model = make().fit(TRIPLETS, answers_of())
    chances = model.predict_answers(TRIPLETS)
    assert chances.shape == (len(TRIPLETS), 3)
    assert np.allclose(chances.sum(axis=1), 1)
    columns = np.array([2, 0, 1])[answers_of()]
    assert model.score_answers(TRIPLETS, answers_of()) == pytest.approx(
        np.log(chances[np.arange(len(TRIPLETS)), columns]).mean()
    )
    assert model.predict_answers([]).shape == (0, 3)
    assert model.answer_table("outlier").shape == (5, 4)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ValueError, match="positions from 0 to 23"):
        make().fit([[0, 1, 24]], ["yes"])
    with pytest.raises(ValueError, match="answers row 0 is 'perhaps'"):
        make().fit(TRIPLETS[:1], ["perhaps"])
    with pytest.raises(ValueError, match="no answers to learn from and no n_items"):
        AnswerEmbedding().fit([], [])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make(max_iter=50, tol=0).fit(TRIPLETS, answers_of())
    assert any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
