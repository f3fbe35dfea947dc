"""Items in words for who does not see them."""

import pytest
from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.one_page]

MEASURES = {"seconds": 1.234, "low_khz": 3.1, "high_khz": 4.6, "contour": "rising", "notes": 4}
DESCRIBE = """async ([item, place]) => {
  const { describe } = await import("/static/labeling/descriptions.js");
  return describe(item, place);
}"""
LOOK = """async (fill) => {
  const { describePixels } = await import("/static/labeling/descriptions.js");
  const canvas = Object.assign(document.createElement("canvas"), { width: 30, height: 20 });
  const context = canvas.getContext("2d");
  context.fillStyle = fill;
  context.fillRect(0, 0, 30, 20);
  const image = new Image();
  image.src = canvas.toDataURL();
  await image.decode();
  return describePixels(image);
}"""


def test_sounds_are_described_by_their_measures(page: Page) -> None:
    sound = {"text": "", "media_type": "audio/wav", "seconds": 2.0, "measures": MEASURES}
    assert page.evaluate(DESCRIBE, [sound, 1]) == "Spectrogram of item 2: 1.2 s, 3.1 to 4.6 kHz, rising, 4 notes"
    one = {**sound, "measures": {**MEASURES, "notes": 1, "high_khz": 3.1}}
    assert page.evaluate(DESCRIBE, [one, 0]) == "Spectrogram of item 1: 1.2 s, 3.1 kHz, rising, 1 note"
    assert page.evaluate(DESCRIBE, [{**sound, "measures": None}, 0]) == "Spectrogram of item 1: 2.0 seconds long"


@pytest.mark.parametrize(
    ("fill", "words"),
    [
        ("#000", "dark, grey"),
        ("#fff", "light, grey"),
        ("#8b0000", "dark, mostly red"),
        ("#2e8b57", "rather dark, mostly green"),
        ("#6495ed", "medium light, mostly blue"),
        ("#ffd700", "light, mostly yellow"),
        ("#ff00ff", "rather dark, mostly purple"),
    ],
)
def test_pictures_are_described_by_size_light_and_colour(page: Page, fill: str, words: str) -> None:
    assert page.evaluate(LOOK, fill) == f"30 by 20 pixels, {words}"
