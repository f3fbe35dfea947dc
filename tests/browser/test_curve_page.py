"""The curve of numbers of clusters in a real browser: drawn to scale, in light and dark, wide and narrow."""

from itertools import pairwise

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from tercet.models import Run
from tests.browser.conftest import LiveServer, OpenPage, assert_accessible, make_board, take_shot

pytestmark = pytest.mark.browser

WIDTHS = [1280, 390]
MEAN = [-0.93, -0.71, -0.585, -0.55, -0.548, -0.56, -0.572]
ERROR = [0.02, 0.03, 0.02, 0.015, 0.02, 0.03, 0.02]


def open_curve(
    live: LiveServer, open_page: OpenPage, chosen: int, mean: list[float], error: list[float], **options: object
) -> Page:
    """The page of a run that chose among 2 clusters, 3, and so on."""
    numbers = list(range(2, 2 + len(mean)))
    curve = {"n_clusters": numbers, "mean": mean, "standard_error": error}
    project, analyst = make_board(live, clusters_curve=curve, chosen={"n_clusters": chosen})
    with live.database.transaction() as session:
        run = session.scalars(select(Run).where(Run.project_id == project.id)).one()
        run.algorithm, run.parameters = "dcrc-cv", {"n_clusters": 3, "scoring": "log_score"}
    return open_page(analyst, f"/projects/{project.key}/runs/1", **options)


@pytest.mark.heavy
@pytest.mark.parametrize("width", WIDTHS)
def test_it_is_drawn_to_scale_and_accessible(live_server: LiveServer, open_page: OpenPage, width: int) -> None:
    page = open_curve(live_server, open_page, 5, MEAN, ERROR, viewport={"width": width, "height": 900})
    drawing = page.get_by_role("img", name="Log score of held-out answers, by number of clusters")
    expect(drawing).to_be_visible()
    boxes = [box for dot in drawing.locator("circle").all() if (box := dot.bounding_box())]
    across = np.array([box["x"] + box["width"] / 2 for box in boxes])
    down = np.array([box["y"] + box["height"] / 2 for box in boxes])
    np.testing.assert_allclose(np.diff(across), np.diff(across).mean(), atol=1)
    slope, start = np.polyfit(MEAN, down, 1)
    assert slope < 0, "better is higher"
    np.testing.assert_allclose(slope * np.array(MEAN) + start, down, atol=1)
    assert across[-1] - across[0] > 0.5 * min(width, 640)
    expect(drawing.locator("text.taken")).to_have_text("5 taken")
    drawing.scroll_into_view_if_needed()
    assert_accessible(page, "curve")


@pytest.mark.heavy
@pytest.mark.parametrize("width", WIDTHS)
def test_many_numbers_and_the_last_of_them_fit(live_server: LiveServer, open_page: OpenPage, width: int) -> None:
    mean = [-0.6 + 0.01 * number for number in range(41)]
    page = open_curve(live_server, open_page, 42, mean, [0.004] * 41, viewport={"width": width, "height": 900})
    drawing = page.locator("svg.curve")
    drawing.scroll_into_view_if_needed()
    take_shot(page, f"curve-many-{width}")
    boxes = [box for text in drawing.locator("text").all() if (box := text.bounding_box())]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    below = drawing.locator('text.tick[text-anchor="middle"]').all()
    reach = [(box["x"], box["x"] + box["width"]) for text in below if (box := text.bounding_box())]
    assert len(reach) > 4
    assert all(end < start for (_, end), (start, _) in pairwise(reach))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
