"""Labelers' tables: the M-step against its objective, a bound that only rises, and what they say of odd labelers."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from tercet_algorithms import DCRC, FitState
from tercet_algorithms.answers.patterns import answer_table, expected_information, patterns_of
from tercet_algorithms.answers.questions import suggest
from tercet_algorithms.answers.reading import Constraints
from tercet_algorithms.answers.simulated_labelers import (
    TABLE_IV,
    crowd_answers,
    habit_matrix,
    random_triplets,
    true_answers,
)
from tercet_algorithms.dcrc.labeler_tables import LearnedTables, TableLearner
from tests.tercet_algorithms.dcrc.test_dcrc import overlapping, questions, saved_and_loaded

CROWD = {
    "ann": TABLE_IV,
    "ben": TABLE_IV,
    "cem": TABLE_IV,
    "spammer": habit_matrix("spammer"),
    "lazy": habit_matrix("lazy"),
    "inverted": habit_matrix("inverted", error=0.05),
}


def crowd(y, n, seed=0, **options):
    rng = np.random.default_rng(seed)
    return crowd_answers(y, random_triplets(len(y), n, rng), CROWD, rng, **options)


def mixed_constraints(n=120, seed=0, n_labelers=3):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(2, size=n)
    answers = np.where(kinds == 0, rng.integers(3, size=n), rng.integers(4, size=n))
    labelers = rng.integers(n_labelers, size=n)
    return Constraints(random_triplets(20, n, rng), answers, kinds, labelers, tuple("abcdef"[:n_labelers]))


def learner_and_patterns(n=120, seed=0, **options):
    learner = TableLearner(mixed_constraints(n, seed, **options), 0.1, 4.0)
    return learner, np.random.default_rng(seed + 1).dirichlet(np.ones(5), size=n)


def test_an_answer_that_counts_as_three_is_three_answers():
    constraints = mixed_constraints()
    counts = np.random.default_rng(2).integers(4, size=len(constraints))
    patterns = np.random.default_rng(3).dirichlet(np.ones(5), size=len(constraints))
    weighted = replace(constraints, weights=counts.astype(float))
    rows = np.repeat(np.arange(len(constraints)), counts)
    repeated = constraints.select(rows)
    tables = TableLearner(weighted, 0.1, 4.0).update(patterns)
    assert np.allclose(tables, TableLearner(repeated, 0.1, 4.0).update(patterns[rows]))


def objective(learner, tables, patterns):
    return float((patterns * learner.log_likelihoods(tables)).sum()) + learner.log_prior(tables)


@pytest.mark.parametrize("n", [120, 1500], ids=["rows tied", "rows free"])
def test_learned_tables_are_the_best_there_are(n):
    learner, patterns = learner_and_patterns(n)
    best = learner.update(patterns)
    assert np.allclose(best.sum(axis=2), 1)
    rng = np.random.default_rng(0)
    tied = n == 120
    for _ in range(40):
        someone_else = np.maximum(best + 0.02 * rng.normal(size=best.shape), 1e-6) * (best > 0)
        if tied:  # rows with the same right answer are one row
            someone_else[learner.kinds == 0] = someone_else[learner.kinds == 0][:, [0, 0, 2, 3, 0]]
            someone_else[learner.kinds == 1] = someone_else[learner.kinds == 1][:, [0, 1, 2, 3, 0]]
        someone_else = learner._symmetric(someone_else)
        someone_else /= someone_else.sum(axis=2, keepdims=True)
        assert objective(learner, someone_else, patterns) < objective(learner, best, patterns)
    assert np.allclose(best[:, 0], best[:, 4]) == tied


def test_an_update_by_counting_by_hand():
    # One labeler, certain patterns: right apart (yes is right) answered yes, yes, yes, no; all alike answered dnk.
    # Two imagined answers a row, and two rows that are each other turned round: the four answers meet four.
    answered = Constraints(np.tile([0, 1, 2], (5, 1)), np.array([0, 0, 0, 1, 2]), np.zeros(5, int))
    patterns = np.eye(5)[[3, 3, 3, 3, 0]]
    table = TableLearner(answered, 0.3, 2.0).update(patterns)[0]
    assert np.allclose(table[3, :3], [(3 + 2.8) / 8, (1 + 0.6) / 8, 0.6 / 8])
    assert np.allclose(table[2, :3], table[3, [1, 0, 2]])
    assert np.allclose(table[[0, 1, 4], :3], [0.3 / 3, 0.3 / 3, (1 + 1.4) / 3])


def test_an_overwhelming_prior_is_the_one_epsilon():
    X, y = overlapping()
    answered = crowd(y, 150)
    fixed = DCRC(4, candidates="features", epsilon=0.05, n_init=2, n_moves=0, random_state=0).fit(X, **answered)
    learned = clone(fixed).set_params(labeler_tables="learn", table_prior=1e7).fit(X, **answered)
    assert np.array_equal(fixed.labels_, learned.labels_)
    assert np.allclose(learned.labeler_tables_["lazy"]["relative"], answer_table("relative", 0.05), atol=1e-4)


@pytest.mark.heavy(but="0-")
@pytest.mark.filterwarnings("ignore:DCRC stopped after")
@pytest.mark.parametrize("solver", ["profile", "em"])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_with_the_prior_never_drops(solver, seed):
    X, y = overlapping(seed)
    states = []
    model = DCRC(
        4,
        candidates="features",
        labeler_tables="learn",
        solver=solver,
        n_init=1,
        n_moves=1,
        random_state=0,
        max_iter=40,
    )
    model.fit(X, **crowd(y, 200, seed), callback=states.append)
    for start in {state.start for state in states}:
        bounds = [state.lower_bound for state in states if state.start == start]
        assert np.all(np.diff(bounds) > -2e-5)
    assert model.n_iter_ > 2


@pytest.fixture(scope="module")
def learned():
    """Models of three data sets with a good half of a crowd, and clusters with one epsilon to compare with."""
    result = []
    for seed in range(3):
        X, y = overlapping(seed, spread=1.6)
        answered = crowd(y, 250, seed, redundancy=2)
        model, fixed = (
            DCRC(4, candidates="features", labeler_tables=tables, n_init=3, n_moves=0, random_state=0).fit(
                X, **answered
            )
            for tables in ("learn", "fixed")
        )
        result.append((model, adjusted_rand_score(y, model.labels_), adjusted_rand_score(y, fixed.labels_)))
    return result


def test_odd_labelers_are_told_apart(learned):
    def mean(of):
        return {name: np.mean([of(model)[name] for model, *_ in learned]) for name in CROWD}

    quality, accuracy = mean(lambda m: m.labeler_quality_), mean(lambda m: m.labeler_accuracy_)
    careful = min(quality[name] for name in ("ann", "ben", "cem"))
    assert max(quality["spammer"], quality["lazy"]) < 0.5 * careful
    assert accuracy["spammer"] < min(accuracy[name] for name in ("ann", "ben", "cem")) - 0.2
    for name, table in (("ann", 0), ("inverted", 1)):
        tables = np.mean([model.labeler_tables_[name]["relative"] for model, *_ in learned], axis=0)
        assert tables[3, :2].argmax() == table, "what is said where the anchor is like the left item"
        assert tables[2, :2].argmax() == 1 - table
    assert quality["inverted"] > max(quality["spammer"], quality["lazy"])
    assert accuracy["inverted"] < accuracy["ann"]
    lazy = np.mean([model.labeler_tables_["lazy"]["relative"][:, 2] for model, *_ in learned])
    assert lazy > 0.8


def test_learned_tables_make_better_clusters_than_one_epsilon(learned):
    _, with_tables, with_epsilon = zip(*learned, strict=True)
    assert np.mean(with_tables) > np.mean(with_epsilon) + 0.05


def test_outlier_questions_have_tables_too():
    X, y = overlapping(spread=1.0)
    both = questions(y, 60), questions(y, 60, seed=1, kind="outlier")
    answered = {name: np.concatenate([first[name] for first in both]) for name in ("triplets", "answers")}
    kinds = np.repeat(["relative", "outlier"], 60)
    model = DCRC(4, labeler_tables="learn", n_init=2, n_moves=0, random_state=0).fit(X, **answered, kinds=kinds)
    tables = model.labeler_tables_[None]
    assert {kind: table.shape for kind, table in tables.items()} == {"relative": (5, 3), "outlier": (5, 4)}
    assert all(np.allclose(table.sum(axis=1), 1) for table in tables.values())
    assert model.predict_answers(X, answered["triplets"], "outlier").shape == (120, 4)
    assert 0.5 < model.labeler_quality_[None] <= 1


def test_tables_travel_with_the_model_and_warm_starts_go_on_from_them(tmp_path, learned):
    X, y = overlapping(0, spread=1.6)
    answered = crowd(y, 250, redundancy=2)
    first = learned[0][0]
    loaded = DCRC(4, labeler_tables="learn", n_init=1, n_moves=0, warm_start=True)
    loaded.set_state_arrays(saved_and_loaded(first.state_arrays(), tmp_path))
    assert loaded.labeler_quality_ == pytest.approx(first.labeler_quality_)
    assert np.allclose(loaded.answer_table("relative", "lazy"), first.labeler_tables_["lazy"]["relative"])
    assert loaded.score_answers(X, **answered) > loaded.score_answers(X, **{**answered, "labelers": None})
    states = []
    loaded.fit(X, **answered, callback=states.append)
    assert loaded.lower_bound_ > first.lower_bound_ - 1e-3
    assert loaded.n_iter_ <= first.n_iter_


def test_a_resumed_fit_keeps_its_tables(tmp_path):
    X, y = overlapping()
    answered, states = crowd(y, 150), []
    model = DCRC(4, labeler_tables="learn", n_init=2, n_moves=1, random_state=0)
    straight = model.fit(X, **answered, callback=states.append).labeler_tables_
    state = FitState.from_arrays(saved_and_loaded(states[len(states) // 2].to_arrays(), tmp_path))
    resumed = model.fit(X, **answered, resume=state).labeler_tables_
    assert all(np.allclose(resumed[name]["relative"], straight[name]["relative"]) for name in CROWD)


def test_labelers_of_any_kind_are_saved():
    tables = np.tile(answer_table("outlier", 0.1), (2, 1, 1))
    for names, saved in (((7, 12), (7, 12)), (("x", None), ("x", None)), ((1, "x"), ("1", "x"))):
        first = LearnedTables(names, np.array([1, 1]), tables, np.array([3, 4]), np.full((2, 5), 0.2))
        assert LearnedTables.from_arrays(first.to_arrays()).names == saved


def test_an_unknown_labeler_answers_like_the_others_do():
    first = np.array([answer_table("outlier", 0.1), answer_table("outlier", 0.5)])
    true_tables = LearnedTables(("a", "b"), np.array([1, 1]), first, np.array([1, 3]), np.full((2, 5), 0.2))
    assert np.allclose(true_tables.table("outlier", "c"), 0.25 * first[0] + 0.75 * first[1])
    assert true_tables.table("relative") is None


def test_learning_needs_doubt_and_survives_no_answers():
    X, y = overlapping(n_items=60)
    with pytest.raises(ValueError, match="needs epsilon above 0"):
        DCRC(3, epsilon=0, labeler_tables="learn").fit(X)
    model = DCRC(3, labeler_tables="learn", n_init=1, n_moves=0, warm_start=True, random_state=0).fit(X)
    assert np.array_equal(model.answer_table(), answer_table("relative", "people"))
    triplets = random_triplets(60, 20, np.random.default_rng(0))
    model.fit(X, triplets=triplets, answers=true_answers(y, triplets), labelers=["a"] * 20)
    assert set(model.labeler_tables_) == {"a"}
    assert patterns_of(model.labels_, triplets).shape == (20,)


def test_the_tables_of_anyone_tell_what_each_tells_on_average():
    """Side by side they are one table of more answers, since the pattern does not tell whose turn it is."""
    rng = np.random.default_rng(0)
    tables = np.zeros((3, 5, 4))
    tables[:2, :, :3], tables[2] = rng.dirichlet(np.ones(3), size=(2, 5)), rng.dirichlet(np.ones(4), size=5)
    counts = np.array([30, 10, 5])
    learned = LearnedTables(("ann", "ben", "ann"), np.array([0, 0, 1]), tables, counts, np.full((2, 5), 0.2))
    P, triplets = rng.dirichlet(np.ones(4), size=30), random_triplets(30, 200, rng)
    labelled = [expected_information(P, triplets, table[:, :3]) for table in tables[:2]]
    result = expected_information(P, triplets, learned.of_anyone("relative"))
    assert np.allclose(result, 0.75 * labelled[0] + 0.25 * labelled[1])
    assert (result >= expected_information(P, triplets, learned.table("relative")) - 1e-12).all()
    assert np.array_equal(learned.of_anyone("outlier"), tables[2])
    _, information = suggest(P, learned.of_anyone("relative"), 3, candidates=triplets)
    assert information[0] == pytest.approx(result.max())
    only = LearnedTables(("ann",), np.array([0]), tables[:1], counts[:1], np.full((2, 5), 0.2))
    assert only.of_anyone("outlier") is None
    many = np.repeat(tables[:1], 80, axis=0)
    crowd = LearnedTables(tuple(range(80)), np.zeros(80, int), many, np.arange(80) + 1, np.full((2, 5), 0.2))
    assert np.allclose(crowd.of_anyone("relative").sum(axis=1), 1), "those who answered most stand for all"
    assert crowd.of_anyone("relative").shape == (5, 50 * 3)


def test_whom_nobody_names_is_one_of_those_who_answered():
    """One who never answers teaches nothing, whatever is asked; the questions are for the others."""
    X, y = make_blobs(60, centers=3, random_state=0)
    triplets = random_triplets(60, 300, np.random.default_rng(0))
    answers = true_answers(y, triplets)
    answers[:100] = 0
    names = ["never"] * 100 + ["always"] * 200
    model = DCRC(3, labeler_tables="learn", n_init=1, n_moves=0, random_state=0)
    model.fit(X, triplets=triplets, answers=answers, labelers=names)
    best, _ = model.suggest(1, candidates=triplets, labeler="always")
    labelled = {name: model.suggest(1, candidates=best, labeler=name)[1][0] for name in (None, "never", "always")}
    assert labelled[None] == pytest.approx(labelled["never"] / 3 + labelled["always"] * 2 / 3)
    assert labelled["never"] < 0.1 * labelled["always"]
