"""The curve of foreseen answers with its chance level, and after how many answers clusters level off."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tercet.worker.outputs.accuracy_curve import FEWEST, MOST_POINTS, measure
from tercet.worker.outputs.gains import ONWARD, levels_off
from tercet_algorithms.answers.forecast import Estimate, ExpectedGain

ANSWERS = np.array(["yes", "no", "dnk"])


def inputs_of(answers: np.ndarray, triplets: np.ndarray | None = None) -> Any:
    """What the curve reads; every answer is to a question of its own unless triplets say otherwise, by two people."""
    own = np.arange(3 * len(answers)).reshape(-1, 3) if triplets is None else triplets
    labelers = np.arange(len(answers)) % 2
    return SimpleNamespace(kind="relative", answers=answers, triplets=own, labelers=labelers)


def foreseen_of(answers: np.ndarray, is_right: np.ndarray, dont_know: float) -> np.ndarray:
    """What was foreseen of answers: the item that is named first where it is right, whatever "don't know" has."""
    columns = np.array([{"yes": 0, "no": 1, "dnk": 0}[answer] for answer in answers])
    best = np.where(is_right, columns, 1 - columns)
    rows = np.where(np.arange(3) == best[:, None], 0.6, 0.4) * (1 - dont_know)
    rows[:, 2] = dont_know
    return rows


@pytest.mark.parametrize("dont_know", [0.0, 0.9])
@pytest.mark.parametrize("n", [60, 333, 4000])
def test_the_points_together_are_all_answers_that_name_an_item(n: int, dont_know: float) -> None:
    rng = np.random.default_rng(n)
    answers, is_right = rng.choice(ANSWERS, n, p=[0.4, 0.4, 0.2]), rng.random(n) < 0.7
    foreseen = foreseen_of(answers, is_right, dont_know)
    foreseen[:10] = np.nan  # no run foresaw the first
    rows = np.flatnonzero((answers != "dnk") & (np.arange(n) >= 10))
    curve = measure(inputs_of(answers), foreseen).get("accuracy_curve")
    if len(rows) < 2 * FEWEST:
        assert curve is None
        return
    points = np.array(curve["points"])
    assert len(points) == min(MOST_POINTS, len(rows) // FEWEST)
    sizes = np.diff([0, *np.searchsorted(rows, points[:, 0])])
    assert sizes.max() - sizes.min() <= 1
    assert points[-1, 0] == rows[-1] + 1
    assert sizes @ points[:, 1] / len(rows) == pytest.approx(is_right[rows].mean(), abs=1e-4)
    assert np.all((points[:, 2] < points[:, 1]) & (points[:, 1] < points[:, 3]))
    assert (curve["chance"], curve["ceiling"]) == (0.5, None)


def test_the_ceiling_is_by_who_agrees_which_item_it_is() -> None:
    rng = np.random.default_rng(0)
    answers = np.repeat(rng.choice(ANSWERS[:2], 100), 2)
    answers[:40:2] = np.where(answers[1:40:2] == "yes", "no", "yes")  # a fifth of the pairs disagree
    answers = np.concatenate([answers, ["dnk"] * 100])  # which would change agreement
    triplets = np.repeat(np.arange(450).reshape(150, 3), 2, axis=0)
    foreseen = foreseen_of(answers, np.ones(300, dtype=bool), 0.2)
    curve = measure(inputs_of(answers, triplets), foreseen)["accuracy_curve"]
    assert curve["ceiling"] == pytest.approx(np.sqrt(0.8), abs=1e-4)


def gains_of(moved: Any) -> list[ExpectedGain]:
    nothing = Estimate(0.0, 0.0, 0.0)
    return [ExpectedGain(n, Estimate(*(moved(n) * factor for factor in (0.5, 1, 2))), nothing) for n in ONWARD]


def test_clusters_level_off_where_the_pace_falls_below_a_few_items() -> None:
    level = levels_off(gains_of(lambda n: 100 * (1 - np.exp(-n / 100))), few=5.0)
    # 50 answers from n on move 100 e^(-n/100) (1 - e^-.5) items: fewer than 5 from n = 207; the pace is between points.
    assert level["median"] is not None
    assert 200 <= level["median"] <= 280
    assert level["low"] is not None
    assert level["high"] is not None
    assert level["low"] < level["median"] < level["high"]


def test_what_has_levelled_off_needs_none_and_what_never_does_has_no_number() -> None:
    assert levels_off(gains_of(lambda n: 0.01 * n), few=5.0) == {"low": 0, "median": 0, "high": 0}
    assert levels_off(gains_of(lambda n: n), few=5.0) == {"low": None, "median": None, "high": None}


def test_the_interval_holds_the_median_where_nearly_all_items_move_at_once() -> None:
    rises = {"low": lambda n: 0.1 * n, "median": lambda n: min(0.5 * n, 90), "high": lambda n: min(2 * n, 100)}
    nothing = Estimate(0.0, 0.0, 0.0)
    moved = [Estimate(**{name: rise(n) for name, rise in rises.items()}) for n in ONWARD]
    level = levels_off([ExpectedGain(n, moves, nothing) for n, moves in zip(ONWARD, moved, strict=True)], few=5.0)
    assert level["median"] is not None
    assert level["low"] is not None
    assert level["low"] < level["median"]
    assert level["high"] is None or level["high"] >= level["median"]
