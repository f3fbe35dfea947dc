"""The measures that judge clusterings and answers: worked examples from the literature, identities, edges."""

import numpy as np
import pytest

from tercet_algorithms.answers.metrics import (
    LabelerAgreement,
    agreement_ceiling,
    answers_satisfied,
    krippendorff_alpha,
    labeler_agreement,
    nominal_alpha,
    pairwise_f,
    purity,
)
from tercet_algorithms.answers.simulated_labelers import habit_matrix, noisy_answers, random_triplets

Y = np.array([0, 0, 1, 1, 2])


def test_pairwise_f():
    assert pairwise_f(Y, Y + 7) == 1
    # True pairs 01, 23; found pairs 01, 02, 12: one right of three, one of two found.
    assert pairwise_f(Y, [0, 0, 0, 1, 2]) == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))
    assert pairwise_f([0, 1], [0, 1]) == 0


def test_purity():
    assert purity(Y, Y + 7) == 1
    assert purity(Y, np.zeros(5)) == 2 / 5
    assert purity(Y, [0, 0, 0, 1, 1]) == 3 / 5
    assert purity(Y, range(5)) == 1


def test_answers_satisfied_counts_repeated_answers_and_both_kinds():
    triplets, answers = [[0, 1, 2], [0, 1, 2], [0, 2, 1], [0, 2, 3]], ["yes", "no", "no", "dnk"]
    assert answers_satisfied(Y, triplets, answers) == 0.75
    assert answers_satisfied(Y, triplets[:1], [3], "outlier") == 1
    assert answers_satisfied(Y, [], []) == 0


# --- what agreement leaves to be predicted ---


def test_the_ceiling_lies_between_agreement_and_its_root():
    triplets = [[0, 1, 2]] * 3 + [[0, 1, 3]] * 2 + [[0, 1, 4]]
    found = agreement_ceiling(triplets, ["yes", "yes", "no", "dnk", "dnk", "no"], list("abcabb"))
    assert (found.questions, found.agreement) == (2, pytest.approx((1 / 3 + 1) / 2))
    assert found.ceiling == pytest.approx(np.sqrt(2 / 3))
    assert agreement_ceiling(triplets[-1:], ["no"], ["a"])[0] == 0
    assert np.isnan(agreement_ceiling([], [], []).ceiling)


@pytest.mark.parametrize("seed", range(5))
def test_nobody_foretells_more_than_the_ceiling(seed):
    """Whoever knows the right answers and how people err predicts the most probable answer of each question."""
    table = habit_matrix("careful", error=0.3)
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=30)
    triplets = np.repeat(random_triplets(30, 500, rng), 2, axis=0)
    answers = noisy_answers(y, triplets, table, rng)
    assert agreement_ceiling(triplets, answers, np.tile(["a", "b"], 500).tolist()).ceiling > 0.7 - 0.05


# --- Krippendorff's alpha ---

# Examples A, B and C (with missing values, as dots) of K. Krippendorff, "Computing Krippendorff's alpha-reliability"
# (2011), and the nominal alphas given there. One row per observer, one column per unit.
EXAMPLES = [
    (["0100000010", "1110010000"], 0.095),
    (["aabbdcccedda", "babbbccceddd"], 0.692),
    (["123321412...", "1233224125.3", ".3332342251.", "12332441251."], 0.743),
]


def counted(observers):
    """How often each value was given to each unit."""
    values = sorted(set("".join(observers)) - {"."})
    units = zip(*observers, strict=True)
    return np.array([["".join(unit).count(value) for value in values] for unit in units])


@pytest.mark.parametrize(("observers", "alpha"), EXAMPLES)
def test_alpha_of_the_literature(observers, alpha):
    assert nominal_alpha(counted(observers)) == pytest.approx(alpha, abs=5e-4)


def crowd(n_questions=200, n_labelers=4, error=0.2, seed=0, kind="relative", answered=1.0):
    """Answers of labelers with this error rate to the same questions, each answered with a probability."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=30)
    triplets = np.repeat(random_triplets(30, n_questions, rng), n_labelers, axis=0)
    answers = noisy_answers(y, triplets, habit_matrix("careful", kind, error), rng, kind)
    labelers = np.tile(np.arange(n_labelers), n_questions)
    answered_rows = rng.random(len(triplets)) < answered
    return triplets[answered_rows], answers[answered_rows], labelers[answered_rows]


def alpha_by_pairs(triplets, answers, labelers):
    """Alpha from its definition: disagreeing pairs within questions and between all answers that have a partner."""
    units = {}
    for triplet, answer in zip(map(tuple, triplets), answers, strict=True):
        units.setdefault(triplet, []).append(answer)
    units = [unit for unit in units.values() if len(unit) > 1]
    everything = [answer for unit in units for answer in unit]
    n = len(everything)
    within = sum(sum(a != b for a in unit for b in unit) / (len(unit) - 1) for unit in units) / n
    between = sum(a != b for a in everything for b in everything) / (n * (n - 1))
    return 1 - within / between


def test_alpha_of_answers_is_that_of_the_literature():
    """Example A asked as a question about ten triplets, yes for 1."""
    meg, owen = EXAMPLES[0][0]
    triplets = [[0, i, i + 1] for i in range(1, 11)] * 2
    answers = ["yes" if value == "1" else "no" for value in meg + owen]
    labelers = ["Meg"] * 10 + ["Owen"] * 10
    assert krippendorff_alpha(triplets, answers, labelers) == pytest.approx(0.095, abs=5e-4)


@pytest.mark.parametrize("answered", [1.0, 0.5])
def test_alpha_is_its_definition_by_pairs(answered):
    crowd_of_answers = crowd(answered=answered)
    assert krippendorff_alpha(*crowd_of_answers) == pytest.approx(alpha_by_pairs(*crowd_of_answers))


@pytest.mark.parametrize("kind", ["relative", "outlier"])
def test_alpha_is_one_for_agreement_nothing_for_guesses_and_falls_with_errors(kind):
    by_error = []
    guessing = 1 - 1 / (3 if kind == "relative" else 4)
    for error in (0, 0.1, 0.3, guessing):
        alphas = [krippendorff_alpha(*crowd(error=error, seed=s, kind=kind), kind) for s in range(5)]
        by_error.append(np.mean(alphas))
    assert by_error[0] == 1
    assert (np.diff(by_error) < -0.1).all()
    assert abs(by_error[-1]) < 0.03


def test_alpha_is_below_nothing_when_people_oppose():
    triplets = [[0, 1, 2], [0, 1, 3], [0, 1, 4]] * 2
    assert krippendorff_alpha(triplets, [1, -1, 1, -1, 1, -1], [0] * 3 + [1] * 3) < 0


@pytest.mark.parametrize("measure", [krippendorff_alpha, labeler_agreement])
def test_order_of_rows_and_sides_and_names_change_nothing(measure):
    triplets, answers, labelers = crowd(answered=0.7)
    expected = measure(triplets, answers, labelers)
    rng = np.random.default_rng(1)
    order = rng.permutation(len(triplets))
    moved = measure(triplets[order], answers[order], labelers[order])
    if isinstance(expected, dict):
        assert all(moved[name] == pytest.approx(expected[name]) for name in expected)
    else:
        assert moved == pytest.approx(expected)
    turned = rng.random(len(triplets)) < 0.5
    sides, values = triplets.copy(), answers.copy()
    sides[turned, 1:], values[turned] = triplets[turned][:, [2, 1]], -answers[turned]
    assert measure(sides, values, labelers) == expected
    words = np.array(["dnk", "yes", "no"])[answers]
    assert measure(triplets, words, labelers) == expected


def test_an_outlier_question_is_the_same_in_any_order():
    triplets, answers, labelers = crowd(kind="outlier", error=0.3)
    rng = np.random.default_rng(2)
    order = np.argsort(rng.random(triplets.shape), axis=1)
    turned = answers.copy()
    turned[answers > 0] = 1 + np.argsort(order, axis=1)[answers > 0, answers[answers > 0] - 1]
    asked = np.take_along_axis(triplets, order, axis=1)
    kinds = ["outlier"] * len(answers)
    assert krippendorff_alpha(asked, turned, labelers, kinds) == krippendorff_alpha(triplets, answers, labelers, kinds)


def test_an_anchor_is_part_of_a_relative_question():
    assert np.isnan(krippendorff_alpha([[0, 1, 2], [1, 0, 2]], ["yes", "no"], "ab"))


def test_chance_is_reckoned_within_each_kind():
    """Guesses yes or no, and 3 or "don't know": pooled they would share no value, and seem to agree."""
    rng = np.random.default_rng(0)
    triplets, _, labelers = crowd(n_questions=1000)
    triplets = np.sort(triplets, axis=1)
    kinds = np.where(np.arange(len(triplets)) < len(triplets) // 2, "relative", "outlier")
    guesses = np.where(kinds == "relative", rng.choice([1, -1], len(kinds)), rng.choice([3, 0], len(kinds)))
    assert abs(krippendorff_alpha(triplets, guesses, labelers, kinds)) < 0.05


def test_the_last_answer_of_a_labeler_counts():
    triplets = [[0, 1, 2], [0, 1, 2], [0, 2, 1], [0, 1, 3], [0, 1, 3]]
    answers, labelers = ["no", "yes", "no", "dnk", "dnk"], ["a", "a", "b", "a", "b"]
    assert krippendorff_alpha(triplets, answers, labelers) == 1
    agreement = labeler_agreement(triplets, answers, labelers)
    assert agreement == {"a": (2, 2, 1.0), "b": (2, 2, 1.0)}


@pytest.mark.parametrize(
    ("triplets", "answers", "labelers"),
    [
        ([], [], []),
        ([[0, 1, 2]], ["yes"], ["a"]),
        ([[0, 1, 2], [0, 1, 3]], ["yes", "no"], ["a", "b"]),
        ([[0, 1, 2], [0, 1, 2]], ["yes", "yes"], ["a", "b"]),
    ],
    ids=["none", "one", "none shared", "all the same"],
)
def test_alpha_is_undefined_where_nothing_can_be_told(triplets, answers, labelers):
    assert np.isnan(krippendorff_alpha(triplets, answers, labelers))


# --- agreement of each labeler ---


def test_agreement_of_each_labeler_by_hand():
    triplets = [[0, 1, 2]] * 3 + [[3, 4, 5]] * 2 + [[6, 7, 8]]
    agreement = labeler_agreement(triplets, ["yes", "yes", "no", "dnk", "no", "yes"], ["a", "b", "c", "a", "c", "c"])
    assert list(agreement) == ["a", "b", "c"]
    assert agreement["a"] == LabelerAgreement(answers=2, shared=2, agreement=0.25)  # half of the others, then none
    assert agreement["b"] == (1, 1, 0.5)
    assert agreement["c"] == (3, 2, 0.0)
    alone = labeler_agreement([[0, 1, 2]], ["yes"], ["a"])["a"]
    assert alone[:2] == (1, 0)
    assert np.isnan(alone.agreement)
    assert labeler_agreement([], [], []) == {}


def test_a_spammer_agrees_least():
    rng = np.random.default_rng(0)
    triplets, answers, labelers = crowd(error=0.1)
    answers = np.where(labelers == 3, rng.integers(-1, 2, size=len(answers)), answers)
    agreement = labeler_agreement(triplets, answers, labelers)
    assert min(agreement, key=lambda name: agreement[name].agreement) == 3
    assert agreement[3].agreement < 0.45 < 0.6 < agreement[0].agreement


# --- bad input ---


@pytest.mark.parametrize("measure", [krippendorff_alpha, labeler_agreement])
@pytest.mark.parametrize(
    ("triplets", "answers", "labelers", "message"),
    [
        ([[0, 1, 1]], [1], "a", "triplets row 0"),
        ([[0, 1, -2]], [1], "a", "triplets row 0"),
        ([[0, 1, 2.5]], [1], "a", "integer"),
        ([[0, 1, 2]], ["maybe"], "a", "answers row 0 is 'maybe'"),
        ([[0, 1, 2]], [1], "ab", "labelers has 2 rows, triplets has 1"),
        ([[0, 1, 2]], [1, 1], "a", "answers has 2 rows, triplets has 1"),
    ],
)
def test_bad_answers_are_named(measure, triplets, answers, labelers, message):
    with pytest.raises(ValueError, match=message):
        measure(triplets, answers, labelers)
