"""How people err, learned from answers whose right answer is known as a probability only."""

import numpy as np
import pytest
from scipy.special import xlogy

from tercet_algorithms.answers import error_rates
from tercet_algorithms.answers.error_rates import ErrorRates, information_share, learn_error_rates
from tercet_algorithms.answers.patterns import ANSWERS, KINDS, Array, Kind, answer_table, right_answers

USUAL = answer_table("relative", "people")
UNSURE, MIXED_UP, INVENTED = USUAL[3, 2], USUAL[3, 1], USUAL[4, :2].sum()


def table_of(unsure: float, mixed_up: float, invented: float, n_answers: int) -> Array:
    table = np.full((n_answers, n_answers), mixed_up / (n_answers - 2))
    table[:, -1], table[-1] = unsure, invented / (n_answers - 1)
    np.fill_diagonal(table, 0)
    np.fill_diagonal(table, 1 - table.sum(axis=1))
    return table


def drawn(rights: Array, table: Array, rng: np.random.Generator) -> Array:
    """Answers to questions whose right answers are drawn by their probabilities, by a table P(answer | right)."""
    right = (rng.random(len(rights))[:, None] > rights.cumsum(axis=1)).sum(axis=1)
    return (rng.random(len(rights))[:, None] > table[right].cumsum(axis=1)).sum(axis=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_rates_are_those_by_which_answers_were_drawn(kind: Kind, seed: int) -> None:
    rng, n_answers = np.random.default_rng(seed), len(ANSWERS[kind])
    rights = rng.dirichlet(np.full(n_answers, 0.2), 20_000)
    learned = learn_error_rates(rights, drawn(rights, table_of(0.35, 0.1, 0.2, n_answers), rng), kind)
    rates = learned.everybody
    np.testing.assert_allclose(rates[:3], [0.35, 0.1, 0.2], atol=0.02)
    assert rates.n_clear + rates.n_unclear == pytest.approx(len(rights))
    np.testing.assert_allclose(rates.table(kind), table_of(*rates[:3], n_answers)[right_answers(kind)])
    np.testing.assert_allclose(learned.right_shares, rights.mean(axis=0), atol=0.02)


def test_without_answers_rates_are_what_people_do() -> None:
    learned = learn_error_rates(np.empty((0, 3)), np.empty(0, dtype=int), "relative")
    assert learned.everybody == pytest.approx((UNSURE, MIXED_UP, INVENTED, 0, 0))
    assert learned.labelers == {}


def test_one_without_answers_has_the_rates_of_everybody() -> None:
    """Ben's questions are unclear for sure, so that of clear cases he has none."""
    rights = np.array([[1.0, 0, 0]] * 40 + [[0, 0, 1.0]] * 40)
    columns = np.array([0] * 20 + [2] * 20 + [2] * 40)
    learned = learn_error_rates(rights, columns, "relative", labelers=["Ada"] * 40 + ["Ben"] * 40)
    everybody, ben = learned.everybody, learned.labelers["Ben"]
    assert (ben.unsure, ben.mixed_up) == pytest.approx((everybody.unsure, everybody.mixed_up))
    assert ben.n_clear == pytest.approx(0, abs=1e-9)
    assert learned.labelers["Ada"].invented == pytest.approx(everybody.invented)


def test_many_answers_make_a_labelers_own_rates() -> None:
    """Where right answers are certain, rates are shares: (n + s p) / (N + s), which tends to n / N."""
    n = 20_000
    rights = np.tile([1.0, 0, 0], (2 * n, 1))
    ada, ben = np.repeat([0, 2, 1], [n // 2, n // 4, n // 4]), np.repeat([0, 2], [n - 100, 100])
    learned = learn_error_rates(rights, np.r_[ada, ben], "relative", labelers=["Ada"] * n + ["Ben"] * n)
    assert learned.labelers["Ada"][:2] == pytest.approx((0.25, 0.25), abs=0.005)
    assert learned.labelers["Ben"][:2] == pytest.approx((0.005, 0), abs=0.002)
    middle = (0.25 + 0.005) / 2
    assert learned.everybody.unsure == pytest.approx(middle, rel=0.1), "two people, not forty thousand answers"


def test_rates_lie_between_a_labelers_own_and_everybodys() -> None:
    rights = np.tile([0, 1.0, 0], (40, 1))
    columns = np.array([1] * 10 + [2] * 10 + [1] * 20)
    learned = learn_error_rates(rights, columns, "relative", labelers=["Ada"] * 20 + ["Ben"] * 20)
    ada, ben, everybody = learned.labelers["Ada"].unsure, learned.labelers["Ben"].unsure, learned.everybody.unsure
    assert 0 < ben < everybody < ada < 0.5
    # The same concentration draws both: (n + s p) / (N + s) gives it from either.
    concentrations = [(10 - 20 * ada) / (ada - everybody), (0 - 20 * ben) / (ben - everybody)]
    assert concentrations[0] == pytest.approx(concentrations[1], rel=1e-6)


def test_the_less_people_differ_the_more_they_are_drawn_together() -> None:
    """Twenty people of forty answers each: all alike, or half of them careless. Mean over seeds of the spread left."""

    def spread(unsure_of: list[float], seed: int) -> float:
        rng = np.random.default_rng(seed)
        rights = np.tile([1.0, 0, 0], (40 * len(unsure_of), 1))
        columns = np.where(rng.random(len(rights)) < np.repeat(unsure_of, 40), 2, 0)
        labelers = np.repeat(np.arange(len(unsure_of)), 40)
        learned = learn_error_rates(rights, columns, "relative", labelers=labelers).labelers
        own = np.array([np.mean(columns[labelers == person] == 2) for person in learned])
        return float(np.std([rates.unsure for rates in learned.values()]) / np.std(own))

    alike = np.mean([spread([0.3] * 20, seed) for seed in range(5)])
    different = np.mean([spread([0.05, 0.6] * 10, seed) for seed in range(5)])
    assert alike < 0.5 < 0.8 < different < 1


def test_the_concentration_is_where_the_probability_of_the_counts_is_largest() -> None:
    """Against the product of Dirichlet integrals, by drawing rates: P(counts) is their mean multinomial probability."""
    rng = np.random.default_rng(0)
    counts, mean = np.array([[7.0, 1, 2]]), np.array([0.6, 0.1, 0.3])
    places = [10, 30, 45]
    logs = error_rates._log_evidence(counts, mean)[places]
    for place, log in zip(places, logs, strict=True):
        shares = rng.dirichlet(error_rates._CONCENTRATIONS[place] * mean, 400_000)
        assert np.exp(log) == pytest.approx(np.prod(shares**counts, axis=1).mean(), rel=0.05)


def test_repeats_say_who_errs_where_nothing_else_is_known() -> None:
    """Three people answer the same clear questions, of which nothing is known beforehand; one of them mixes up."""
    rng = np.random.default_rng(0)
    right = rng.integers(0, 2, 400)
    careless = np.where(rng.random(400) < 0.3, 1 - right, right)
    columns, questions = np.r_[right, right, careless], np.tile(np.arange(400), 3)
    people = np.repeat(["Ada", "Ben", "Cem"], 400)
    unknown = np.tile([0.45, 0.45, 0.1], (1200, 1))
    learned = learn_error_rates(unknown, columns, "relative", labelers=people, questions=questions)
    assert learned.labelers["Cem"].mixed_up == pytest.approx(0.3, abs=0.06)
    assert learned.labelers["Ada"].mixed_up < 0.03
    assert learned.quality("Ada") > learned.quality("Cem") + 0.2
    assert learned.accuracy("Ada") > 0.95 > learned.accuracy("Cem") + 0.15
    alone = learn_error_rates(unknown, columns, "relative", labelers=people)
    assert abs(alone.labelers["Cem"].mixed_up - alone.labelers["Ada"].mixed_up) < 0.02, "single answers cannot tell"


def test_quality_and_accuracy_of_a_stranger_are_everybodys() -> None:
    learned = learn_error_rates(np.tile([1.0, 0, 0], (9, 1)), np.zeros(9, dtype=int), "relative", labelers=["Ada"] * 9)
    shares = learned.right_shares
    table = table_of(*learned.everybody[:3], 3)
    assert learned.accuracy("Eve") == pytest.approx(float(np.diag(table) @ shares))
    assert learned.quality("Eve") == information_share(shares[:, None] * table, shares)


def test_information_share_by_hand() -> None:
    correct = np.array([0.25, 0.25, 0.5])
    assert information_share(np.diag(correct), correct) == pytest.approx(1)
    assert information_share(np.diag(correct)[:, [1, 0, 2]], correct) == pytest.approx(1), "turned round tells all"
    assert information_share(np.outer(correct, [0.2, 0.3, 0.5]), correct) == pytest.approx(0, abs=1e-12)
    assert information_share(np.array([[1.0]]), np.array([1.0])) == 0
    noisy = np.array([[0.4, 0.1], [0.1, 0.4]])
    expected = (xlogy(noisy, noisy).sum() - 2 * 0.5 * np.log(0.25)) / np.log(2)
    assert information_share(noisy, np.array([0.5, 0.5])) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("rights", "columns"), [(np.ones((2, 4)) / 4, [0, 1]), (np.ones((2, 3)), [0, 1]), (np.ones((2, 3)) / 3, [0])]
)
def test_what_does_not_fit_together_is_refused(rights: Array, columns: list[int]) -> None:
    with pytest.raises(ValueError, match="rights"):
        learn_error_rates(rights, columns, "relative")


def test_a_table_of_right_answers_has_no_errors() -> None:
    np.testing.assert_array_equal(ErrorRates(0.0, 0.0, 0.0, 5, 5).table("outlier"), answer_table("outlier", 0.0))
