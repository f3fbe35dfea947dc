"""Answers in doubt, against Bayes' rule by hand."""

import numpy as np
import pytest

from tercet_algorithms.answers.doubts import in_doubt
from tercet_algorithms.answers.patterns import Kind, answer_table, expected_information, pattern_probabilities

YES, NO, DNK = 0, 1, 2
TABLE = answer_table("relative", "people")
# P(pattern) that everything but a question's own answers gives: yes is right, nearly surely or hardly, or nobody knows.
SURE_OF_YES, HARDLY, OPEN = [0.01, 0.01, 0.01, 0.96, 0.01], [0.1, 0.1, 0.1, 0.6, 0.1], [0.04, 0.03, 0.3, 0.3, 0.33]


def doubted(*questions: tuple[list[float], list[int]], weight: float = 1.0) -> list[int]:
    """Which of the questions are in doubt: what others say of each, and its answers, which the posterior has in it."""
    numbers = np.repeat(np.arange(len(questions)), [len(columns) for _, columns in questions])
    columns = np.concatenate([columns for _, columns in questions])
    patterns = []
    for others, answers in questions:
        likely = np.array(others) * np.prod(TABLE[:, answers] ** weight, axis=1)
        patterns += [likely / likely.sum()] * len(answers)
    tables = np.tile(TABLE, (len(columns), 1, 1))
    doubts = in_doubt(numbers, columns, np.array(patterns), tables, "relative", np.full(len(columns), weight))
    return sorted(doubts.questions.tolist())


@pytest.mark.parametrize("weight", [1.0, 0.5])
@pytest.mark.parametrize(
    ("others", "answers", "expected"),
    [
        (SURE_OF_YES, [YES], False),
        (SURE_OF_YES, [NO], True),  # .04 against .72: a mistake in all probability
        (SURE_OF_YES, [DNK], False),  # people say so in many clear cases
        (HARDLY, [NO], False),  # seven times less likely than yes, not ten times
        (OPEN, [YES], False),
        (OPEN, [DNK], False),
        (OPEN, [YES, NO], True),
        (SURE_OF_YES, [YES, DNK], False),  # they differ, but what is right is nearly sure
        (HARDLY, [YES, NO], True),
        (SURE_OF_YES, [NO, NO], False),  # two people against the model
        (OPEN, [YES, NO, YES, YES], False),
        (OPEN, [YES, NO, DNK], True),
    ],
)
def test_doubts_are_where_answers_differ_or_another_is_ten_times_likelier(
    others: list[float], answers: list[int], expected: bool, weight: float
) -> None:
    assert bool(doubted((others, answers), weight=weight)) == expected


def test_each_question_is_judged_by_its_own_answers_alone() -> None:
    questions = [(SURE_OF_YES, [NO]), (OPEN, [YES, NO]), (SURE_OF_YES, [YES]), (HARDLY, [YES, NO])]
    assert doubted(*questions) == [0, 1, 3] == sorted(place for place, row in enumerate(questions) if doubted(row))


def test_the_one_comes_first_that_a_further_answer_tells_most_of() -> None:
    patterns = np.array([SURE_OF_YES, OPEN, HARDLY])
    likely = patterns * TABLE[:, YES] * TABLE[:, NO]
    likely /= likely.sum(axis=1, keepdims=True)
    numbers, columns = np.repeat(np.arange(3), 2), np.tile([YES, NO], 3)
    doubts = in_doubt(numbers, columns, np.repeat(likely, 2, axis=0), np.tile(TABLE, (6, 1, 1)), "relative")
    # Three items whose pattern has these probabilities are not independent, so the information is summed by hand.
    expected = [np.sum(row[:, None] * TABLE * np.log(TABLE / (row @ TABLE))) for row in likely[doubts.questions]]
    np.testing.assert_allclose(doubts.information, expected)
    assert (np.diff(doubts.information) <= 0).all()


@pytest.mark.parametrize("kind", ["relative", "outlier"])
def test_information_is_what_the_policy_takes_it_for(kind: Kind) -> None:
    rng = np.random.default_rng(0)
    posterior, triplets = rng.dirichlet(np.ones(4), size=9), np.arange(9).reshape(3, 3)
    table = answer_table(kind, 0.2)
    patterns = np.repeat(pattern_probabilities(posterior, triplets), 2, axis=0)
    unweighted = np.zeros(6)  # the posterior has none of the answers in it
    flat = np.full((6, 5, table.shape[1]), 1 / table.shape[1])
    doubts = in_doubt(np.repeat(np.arange(3), 2), np.tile([0, 1], 3), patterns, flat, kind, unweighted)
    assert len(doubts.questions) == 3, "labelers whose answers say nothing leave what is right open"
    np.testing.assert_allclose(doubts.information, 0, atol=1e-12)
    assert (expected_information(posterior, triplets, table) > 0).all()


def test_no_answers_no_doubts() -> None:
    none = np.empty(0, dtype=np.int64)
    assert not len(in_doubt(none, none, np.empty((0, 5)), np.empty((0, 5, 3)), "relative").questions)
