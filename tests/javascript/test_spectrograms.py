"""Looking closer at spectrograms: what is under the pointer stays there, and nothing beyond the sounds is shown."""

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.one_page]

LIMITS = {"begin": 0, "seconds": 4, "low": 1000, "high": 9000}
RANGE = {"begin": 1, "seconds": 2, "low": 3000, "high": 7000}


def call(page: Page, name: str, *arguments: Any) -> Any:
    script = """async ([name, ...rest]) => {
      const module = await import("/static/labeling/spectrograms.js");
      return module[name](...rest);
    }"""
    return page.evaluate(script, [name, *arguments])


# Where a sound of two seconds, in the middle of a picture of four, sets in: drawn from `from` to `to`, over noise.
ONSET = """async ([from, to, noise]) => {
  const { onsetOf } = await import("/static/labeling/onset.js");
  const canvas = Object.assign(document.createElement("canvas"), { width: 400, height: 100 });
  const context = canvas.getContext("2d");
  context.fillStyle = "#000000";
  context.fillRect(0, 0, 400, 100);
  for (let x = 100; x < 300; x += 1) {
    context.fillStyle = `rgb(${noise} ${noise + (x % 3) * 4} ${noise})`;
    context.fillRect(x, 0, 1, 100);
  }
  context.fillStyle = "#ffee88";
  context.fillRect(100 + 100 * from, 40, 100 * (to - from), 8);
  return onsetOf(canvas, "#000000", { span: 4, offset: 1, seconds: 2 });
}"""


@pytest.mark.parametrize(
    ("drawn", "onset"),
    [((0.6, 1.2, 0), 0.6), ((0.3, 2.0, 30), 0.3), ((0.0, 1.5, 10), 0), ((1.6, 2.0, 10), 0), ((0.5, 0.5, 20), 0)],
    ids=["silence before", "noise before", "at once", "no beginning", "noise alone"],
)
def test_where_a_sound_sets_in(page: Page, drawn: tuple[float, float, int], onset: float) -> None:
    assert page.evaluate(ONSET, drawn) == pytest.approx(onset, abs=0.03)


@pytest.mark.parametrize(("smallest", "step"), [(0.011, 0.02), (1, 1), (1.1, 2), (230, 500), (700, 1000)])
def test_steps_are_round(page: Page, smallest: float, step: float) -> None:
    assert call(page, "roundStep", smallest) == pytest.approx(step)


def test_multiples_lie_within(page: Page) -> None:
    assert call(page, "multiples", 0.1, 1.0, 0.25) == pytest.approx([0.25, 0.5, 0.75])
    assert call(page, "multiples", 0, 1, 0.5) == pytest.approx([0.5])
    assert call(page, "multiples", 0.6, 0.7, 0.5) == []


def test_what_is_under_the_pointer_stays_there(page: Page) -> None:
    rng = np.random.default_rng(0)
    for x, y, time, frequency in rng.uniform([0, 0, 1, 1], [1, 1, 4, 4], (20, 4)).tolist():
        closer = call(page, "closer", RANGE, LIMITS, {"x": x, "y": y, "time": time, "frequency": frequency})
        assert closer["seconds"] == pytest.approx(2 / time)
        assert closer["begin"] + x * closer["seconds"] == pytest.approx(1 + 2 * x)
        hertz = closer["high"] - closer["low"]
        assert hertz == pytest.approx(4000 / frequency)
        assert closer["high"] - y * hertz == pytest.approx(7000 - 4000 * y)


def test_nothing_beyond_the_sounds_is_shown(page: Page) -> None:
    rng = np.random.default_rng(1)
    for x, y, time, frequency, dx, dy in rng.uniform(
        [0, 0, 0.01, 0.01, -3, -3], [1, 1, 99, 99, 3, 3], (30, 6)
    ).tolist():
        closer = call(page, "closer", RANGE, LIMITS, {"x": x, "y": y, "time": time, "frequency": frequency})
        for seen in (closer, call(page, "moved", closer, LIMITS, dx, dy)):
            assert seen["begin"] >= 0
            assert seen["begin"] + seen["seconds"] <= 4 + 1e-9
            assert seen["low"] >= 1000
            assert seen["high"] <= 9000 + 1e-6
            assert seen["seconds"] >= 4 / 20 - 1e-9
