"""The curve of foreseen answers with its chance level, and after how many answers clusters level off."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tercet.worker.outputs.accuracy_curve import FEWEST, MOST_POINTS, measure
from tercet.worker.outputs.gains import ONWARD, levels_off
from tercet_algorithms.answers.forecast import Estimate, ExpectedGain

ANSWERS = np.array(["yes", "no", "dnk"])


def inputs_of(answers: np.ndarray) -> Any:
    return SimpleNamespace(kind="relative", answers=answers)


def foreseen_of(answers: np.ndarray, is_right: np.ndarray) -> np.ndarray:
    """What was foreseen of answers, of which those that are right had 0.8."""
    columns = np.array([{"yes": 0, "no": 1, "dnk": 2}[answer] for answer in answers])
    best = np.where(is_right, columns, (columns + 1) % 3)
    return np.where(np.arange(3) == best[:, None], 0.8, 0.1)


@pytest.mark.parametrize("n", [50, 333, 4000])
def test_the_points_together_are_all_answers(n: int) -> None:
    rng = np.random.default_rng(n)
    answers, is_right = rng.choice(ANSWERS, n, p=[0.5, 0.4, 0.1]), rng.random(n) < 0.7
    is_right[:10] = True
    foreseen = foreseen_of(answers, is_right)
    foreseen[:10] = np.nan  # no run foresaw the first
    curve = measure(inputs_of(answers), foreseen).get("accuracy_curve")
    if n == 50:
        assert curve is None, f"fewer than twice {FEWEST}"
        return
    points = np.array(curve["points"])
    assert len(points) == min(MOST_POINTS, (n - 10) // FEWEST)
    sizes = np.diff([10, *points[:, 0]])
    assert sizes.max() - sizes.min() <= 1
    assert points[-1, 0] == n
    assert sizes @ points[:, 1] / sizes.sum() == pytest.approx(is_right[10:].mean(), abs=1e-4)
    assert np.all((points[:, 2] < points[:, 1]) & (points[:, 1] < points[:, 3]))
    assert curve["chance"] == pytest.approx(np.mean(answers[10:] == "yes"), abs=1e-4)


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
