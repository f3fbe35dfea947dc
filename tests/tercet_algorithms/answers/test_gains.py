"""What answers are expected to buy: exact sums against enumeration and draws, limits, and forecasts from a past."""

from itertools import product

import numpy as np
import pytest

from tercet_algorithms.answers.forecast import Stretch, forecast_gain, question_sensitivity
from tercet_algorithms.answers.gains import direct_gain
from tercet_algorithms.answers.patterns import answer_table

TABLE = answer_table("relative", "people")
# P(answer | the item is of the first cluster, of the second, of neither).
ROWS = np.array([[0.74, 0.04, 0.22], [0.04, 0.74, 0.22], [0.04, 0.04, 0.92]])


@pytest.mark.parametrize("posterior", [np.eye(4)[[0, 1, 1]], np.ones((5, 1)), np.empty((0, 3))])
def test_certain_items_gain_nothing(posterior: np.ndarray) -> None:
    assert direct_gain(posterior, TABLE, 50) == (0, 0)


def test_no_answers_buy_nothing() -> None:
    assert direct_gain(np.full((4, 3), 1 / 3), TABLE, 0) == (0, 0)


@pytest.mark.parametrize("seed", range(5))
def test_the_gain_never_falls_with_answers(seed: int) -> None:
    posterior = np.random.default_rng(seed).dirichlet(np.full(5, 0.4), 30)
    settled = [direct_gain(posterior, TABLE, n).settled for n in range(0, 300, 7)]
    assert (np.diff(settled) >= -1e-12).all()
    assert settled[-1] <= np.sum(1 - posterior.max(axis=1)) + 1e-9, "no more than all items come to their own"


@pytest.mark.parametrize("posterior", [[0.5, 0.3, 0.15, 0.05], [0.6, 0.4], [0.35, 0.33, 0.32]])
def test_two_answers_about_an_item_are_summed_exactly(posterior: list[float]) -> None:
    """Every pair of answers is enumerated: the largest joint probability, and where it is another cluster's."""
    P = np.array(posterior)
    rows = ROWS[np.minimum(np.arange(len(P)), 2)]
    settled = moved = 0.0
    for pair in product(range(3), repeat=2):
        joint = P * np.prod(rows[:, pair], axis=1)
        settled += joint.max()
        moved += joint.sum() * (joint.argmax() != 0)
    gain = direct_gain(P[None], TABLE, 2)
    one_answer = direct_gain(P[None], TABLE, 1)
    assert gain.settled == pytest.approx(max(settled - P.max(), one_answer.settled))
    if gain.settled > one_answer.settled:
        assert gain.moved == pytest.approx(moved)


def test_answers_go_where_they_bring_most() -> None:
    posterior = np.array([[0.5, 0.5], [0.99, 0.01]])
    assert direct_gain(posterior, TABLE, 1).settled == pytest.approx(direct_gain(posterior[:1], TABLE, 1).settled)


@pytest.mark.parametrize(
    ("posterior", "n", "words"), [([[0.5, 0.6]], 1, "probabilities"), ([[0.5, 0.5]], -1, "n_answers must be")]
)
def test_bad_input_is_named(posterior: list[list[float]], n: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        direct_gain(np.array(posterior), TABLE, n)


def forecast(past: list[Stretch], n: int = 50, **changes: float) -> np.ndarray:
    gain = forecast_gain(n, 10.0, past, **{"n_items": 600, "sensitivity": 0.001, **changes})  # type: ignore[arg-type]
    return np.array([gain.moved, gain.predicted])


def test_nothing_moves_without_answers_and_no_more_than_there_is() -> None:
    assert (forecast([], n=0) == 0).all()
    assert forecast([], n_items=12)[0].max() == 12
    assert (np.diff(forecast([Stretch(50, 30, 10.0)])) > 0).all(), "low, median, high"


def test_the_past_says_how_much_more_moves_than_expected() -> None:
    three_times = [Stretch(50, 32, 10.0)] * 6
    assert forecast(three_times)[0, 1] == pytest.approx(21, abs=4), "half way: before a past, as many as expected"
    widths = [np.diff(np.log1p(forecast(three_times[:n])[0])).sum() for n in (1, 6)]
    erratic = [Stretch(50, moved, 10.0) for moved in (2, 90, 1, 120, 3, 60)]
    assert np.diff(np.log1p(forecast(erratic)[0])).sum() > 2 * widths[1]
    rising = [Stretch(50, 2, 10.0)] * 3 + [Stretch(50, 60, 10.0)] * 2
    assert forecast(rising)[0, 1] > forecast(rising[::-1])[0, 1], "newer stretches count more"


def test_what_is_particular_to_a_stretch_averages_out_over_several() -> None:
    """The variance of the logarithm is v (1 / h + 1 / c) over h stretches, with c what the mean is known from."""
    past = [Stretch(50, moved, 10.0) for moved in (15, 4, 9)]
    widths = {n: np.diff(np.log1p(forecast(past, n, n_items=10**6)[0])).sum() for n in (20, 50, 200, 10**7)}
    certainty = 1 + 1 + 0.5 + 0.25
    assert widths[20] == pytest.approx(widths[50])
    ratio = np.sqrt((1 / 4 + 1 / certainty) / (1 + 1 / certainty))
    assert widths[200] == pytest.approx(ratio * widths[50], rel=1e-6)
    assert widths[10**7] == pytest.approx(np.sqrt(1 / (certainty + 1)) * widths[50], rel=1e-3)


def test_random_questions_fall_on_any_item() -> None:
    """The mean over ways in which answers may fall on items, counted one by one; chosen ones buy more."""
    posterior = np.array([[0.6, 0.4], [0.7, 0.3], [0.9, 0.1]])
    rng = np.random.default_rng(0)
    alone = [[direct_gain(row[None], TABLE, n) for n in range(7)] for row in posterior]
    falls = np.minimum(rng.poisson(4 / 3, size=(20_000, 3)), 6)
    drawn = np.array([sum(alone[item][n].settled for item, n in enumerate(fall)) for fall in falls])
    by_chance = direct_gain(posterior, TABLE, 4, 1.0)
    assert by_chance.settled == pytest.approx(drawn.mean(), abs=4 * drawn.std() / np.sqrt(len(drawn)))
    mixed, chosen = (direct_gain(posterior, TABLE, 4, share) for share in (0.5, 0.0))
    assert by_chance.settled < mixed.settled < chosen.settled


def test_chosen_questions_buy_more_predicted_answers_than_random_ones() -> None:
    past = [Stretch(50, 20, 10.0)] * 3
    assert forecast(past, random_share=0.0)[1, 1] > forecast(past, random_share=1.0)[1, 1] > 0


@pytest.mark.parametrize(("n", "share", "lasting"), [(50, 0.0, 50 / 200), (200, 1.0, 200 / 600), (275, 0.5, 1 / 2)])
def test_of_items_that_surely_move_some_are_right_and_their_spread_grows_as_a_sum_does(
    n: int, share: float, lasting: float
) -> None:
    for m in (9, 400):
        gain = forecast_gain(n, 1e9, [], n_items=m, sensitivity=0.001, random_share=share)
        assert gain.moved == (m, m, m)
        deviation = 1.2816 * np.sqrt((0.15 * m) ** 2 + m)
        expected = 0.75 * lasting * m + deviation * np.array([-1, 0, 1])
        np.testing.assert_allclose(gain.predicted, expected / 1000, atol=0.1 * deviation / 1000)


def right_answer(anchor: int, left: int, right: int) -> int:
    """Yes, no and don't know as 0, 1, 2."""
    if left == right:
        return 2
    return 0 if anchor == left else 1 if anchor == right else 2


def test_sensitivity_counts_the_questions_that_an_item_decides() -> None:
    """With two clusters of two items and sure answers, every question is enumerated."""
    posterior = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.3, 0.7]])
    sensitivity = question_sensitivity(posterior, answer_table("relative", 0.0), "relative")
    # In any three of four items two are of one cluster. Moving the single one makes all alike; moving one of the pair
    # pairs the other with the single one. The right answer changes unless it stays "don't know".
    labels, changed, n = np.array([0, 0, 1, 1]), 0, 0
    for triplet in product(range(4), repeat=3):
        if len(set(triplet)) == 3:
            n += 1
            for role in range(3):
                moved = labels[list(triplet)]
                before = right_answer(*moved)
                moved[role] = 1 - moved[role]
                changed += right_answer(*moved) != before
    assert sensitivity == pytest.approx(changed / n / 4, rel=0.1)
    assert question_sensitivity(posterior[:2], TABLE, "relative") == 0
