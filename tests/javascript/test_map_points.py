"""The map's questions about points, against the same questions asked of every point."""

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.one_page]


def ask(page: Page, script: str, points: list[list[float]], *arguments: Any) -> Any:
    """Run a script with the module, points as the map has them, and further arguments."""
    return page.evaluate(
        """async ([script, points, ...rest]) => {
          const module = await import("/static/dashboard/map_points.js");
          return eval(script)(module, new Float32Array(points.flat()), ...rest);
        }""",
        [script, points, *arguments],
    )


def random_points(n: int, seed: int) -> np.ndarray:
    """Points x, y, cluster, confidence; some lie on each other."""
    rng = np.random.default_rng(seed)
    places = rng.normal(size=(n, 2)).round(1)
    return np.column_stack([places, rng.integers(1, 5, n), rng.random(n)]).astype(np.float32)


@pytest.mark.parametrize("n", [1, 2, 50, 3000])
def test_nearest_is_the_nearest_of_all_within_reach(page: Page, n: int) -> None:
    points = random_points(n, seed=n)
    queries = np.random.default_rng(1).normal(size=(40, 2)).round(2).tolist()
    script = (
        "(m, points, queries) => { const g = new m.Grid(points); return queries.map(([x, y]) => g.nearest(x, y, .3)) }"
    )
    for (x, y), position in zip(queries, ask(page, script, points.tolist(), queries), strict=True):
        distances = np.hypot(points[:, 0] - x, points[:, 1] - y)
        if distances.min() > 0.3:
            assert position == -1
        else:
            assert distances[position] == pytest.approx(distances.min(), abs=1e-6)


def test_inside_a_lasso_are_the_points_that_its_outline_surrounds(page: Page) -> None:
    points = random_points(2000, seed=7)
    angles = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    circle = [{"x": 0.25 + np.cos(a), "y": np.sin(a)} for a in angles.tolist()]
    positions = ask(page, "(m, points, polygon) => new m.Grid(points).inside(polygon)", points.tolist(), circle)
    distances = np.hypot(points[:, 0] - 0.25, points[:, 1])
    clear = np.abs(distances - 1) > 0.01  # the polygon is not quite a circle
    assert sorted(p for p in positions if clear[p]) == np.flatnonzero(clear & (distances < 1)).tolist()
    notch = [{"x": x, "y": y} for x, y in ((-9, -9), (9, -9), (9, 9), (0, -8.9), (-9, 9))]
    outside = [[0.0, 0.0, 1, 1]]
    assert ask(page, "(m, points, polygon) => new m.Grid(points).inside(polygon)", outside, notch) == []


def test_clusters_are_counted_listed_and_placed(page: Page) -> None:
    points = [[0, 0, 2, 0.5], [4, 1, 1, 0.6], [5, 2, 1, 0.7], [100, 3, 1, 0.8]]
    assert ask(page, "(m, points) => m.clusterSizes(points)", points) == [[1, 3], [2, 1]]
    assert ask(page, "(m, points) => m.itemsOfCluster(points, 1)", points) == [1, 2, 3]
    assert ask(page, "(m, points) => m.centers(points)", points) == [
        {"cluster": 2, "size": 1, "x": 0, "y": 0},
        {"cluster": 1, "size": 3, "x": 5, "y": 2},
    ], "the straggler does not pull the number away"
    assert ask(page, "(m, points) => m.bounds(points)", points) == {"left": 0, "right": 100, "bottom": 0, "top": 3}
    assert ask(page, "(m, points) => m.bounds(points)", []) == {"left": 0, "right": 1, "bottom": 0, "top": 1}


def test_points_change_clusters_and_travel(page: Page) -> None:
    before, after = [[0, 0, 1, 0.5], [2, 4, 2, 0.5]], [[10, 20, 1, 0.9], [2, 8, 1, 0.5]]
    changed = "(m, points, after) => m.changedItems(points, new Float32Array(after.flat()))"
    assert ask(page, changed, before, after) == [1]
    halfway = "(m, points, after) => [...m.between(points, new Float32Array(after.flat()), .5)]"
    assert ask(page, halfway, before, after) == pytest.approx([5, 10, 1, 0.9, 2, 6, 1, 0.5])


def test_a_resolution_is_cut_from_all_and_put_on_the_points(page: Page) -> None:
    points = [[0, 0, 1, 0.5], [2, 4, 2, 0.5], [3, 3, 2, 0.5]]
    script = """(m, points, all, n) => {
      const clusters = m.ofResolution(new Uint8Array(all), points, n);
      return [[...clusters], [...m.withClusters(points, clusters)], [...points]];
    }"""
    clusters, recolored, unchanged = ask(page, script, points, [1, 2, 2, 1, 2, 3, 4, 1, 2], 3)
    assert clusters == [1, 2, 3]
    assert recolored == [0, 0, 1, 1, 2, 4, 2, 1, 3, 3, 3, 1]
    assert unchanged == [0, 0, 1, 0.5, 2, 4, 2, 0.5, 3, 3, 2, 0.5]


def test_arrow_keys_go_to_the_nearest_point_in_their_direction_and_through_those_in_one_place(page: Page) -> None:
    points = [[0, 0, 1, 1], [2, 0.5, 1, 1], [1, 3, 1, 1], [2, 0.5, 1, 1], [2, 0.5, 1, 1], [-1, 0, 2, 1]]
    script = "(m, points, from, x, y) => m.nextPoint(points, from, { x, y }, (k) => points[k * 4 + 2] === 1)"
    walk, at = [], 0
    for x, y in ((1, 0), (1, 0), (1, 0), (1, 0), (0, 1), (0, -1), (0, -1)):
        step = ask(page, script, points, at, x, y)
        at = at if step < 0 else step
        walk.append(step)
    assert walk == [1, 3, 4, -1, 3, 4, -1]
    assert ask(page, script, points, 0, -1, 0) == -1, "what is faded is passed over"
    back = [ask(page, script, points, at, -1, 0) for at in (4, 3, 1)]
    assert back == [3, 1, 0]
