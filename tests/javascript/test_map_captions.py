"""Captions on the map: none over another, over a number or out of the frame."""

import numpy as np
import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def test_captions_overlap_nothing_and_none_that_fits_is_left_out(page: Page) -> None:
    rng = np.random.default_rng(0)
    corners = rng.uniform(-40, 300, (80, 2))
    sizes = rng.uniform(10, 60, (80, 2))
    boxes = [
        {"left": x, "right": x + width, "top": y, "bottom": y + height}
        for (x, y), (width, height) in zip(corners.tolist(), sizes.tolist(), strict=True)
    ]
    numbers = [{"left": x, "right": x + 20, "top": x, "bottom": x + 20} for x in (0, 100, 200)]
    has_room = page.evaluate(
        """async ([boxes, taken]) => (await import("/static/dashboard/map_paint.js"))
          .boxesWithRoom(boxes, taken, { width: 300, height: 250 })""",
        [boxes, numbers],
    )
    assert 0 < sum(has_room) < 80
    drawn = [*numbers]
    for box, is_drawn in zip(boxes, has_room, strict=True):
        is_inside = box["left"] >= 0 and box["top"] >= 0 and box["right"] <= 300 and box["bottom"] <= 250
        is_apart = all(
            box["right"] <= other["left"]
            or box["left"] >= other["right"]
            or box["bottom"] <= other["top"]
            or box["top"] >= other["bottom"]
            for other in drawn
        )
        assert is_drawn == (is_inside and is_apart)
        drawn += [box] if is_drawn else []
