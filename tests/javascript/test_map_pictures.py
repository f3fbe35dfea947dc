"""Pictures on the map: beside their points, over no point and no other picture, and one can point at them."""

from typing import Any

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.browser

# A map of `count` points on a spiral, every second item with a picture; returns what is placed, after `act`.
PLACED = """async ([count, act]) => {
  const { ClusterMap } = await import("/static/dashboard/map.js");
  const { MapPictures } = await import("/static/dashboard/map_pictures.js");
  const canvas = document.createElement("canvas");
  canvas.style.cssText = "width: 600px; height: 400px; display: block";
  const button = Object.assign(document.createElement("button"), { hidden: true });
  document.body.replaceChildren(canvas, button);
  const drawing = Object.assign(document.createElement("canvas"), { width: 96, height: 60 });
  const thumbnail_url = drawing.toDataURL();
  const map = new ClusterMap(canvas, { onPoint() {}, onPick() {}, onLasso() {} });
  const items = { all: async (positions) => positions.map((position) => (
    { position, thumbnail_url: position % 2 ? null : thumbnail_url })) };
  map.pictures = new MapPictures(map, items, button);
  const points = new Float32Array(4 * count);
  for (let k = 0; k < count; k += 1) {
    const turn = 2.4 * k;
    points.set([Math.sqrt(k) * Math.cos(turn), Math.sqrt(k) * Math.sin(turn), 1 + (k % 3), 0.9], 4 * k);
  }
  map.show(points);
  const settled = async () => {
    await new Promise((resolve) => setTimeout(resolve, 400));
    await new Promise(requestAnimationFrame);
  };
  await settled();
  if (act === "zoom") map.zoom(40, 300, 200);
  if (act === "off") map.pictures.toggle();
  await settled();
  const place = map.place();
  const dots = Array.from({ length: count }, (_, k) =>
    [place.x + points[4 * k] * place.scale, place.y - points[4 * k + 1] * place.scale]);
  const placed = map.pictures.placed.map(({ position, width, height, right, down }) => {
    const [x, y] = [dots[position][0] + right, dots[position][1] + down];
    const across = { left: x - width / 2, right: x + width / 2 };
    return { position, ...across, top: y - height / 2, bottom: y + height / 2, at: map.at(x, y) };
  });
  const pressed = button.getAttribute("aria-pressed");
  return { placed, dots, hidden: button.hidden, pressed, said: canvas.dataset.pictures };
}"""


def place(page: Page, count: int, act: str = "") -> dict[str, Any]:
    result: dict[str, Any] = page.evaluate(PLACED, [count, act])
    return result


def test_pictures_hide_nothing_and_are_pointed_at(page: Page) -> None:
    result = place(page, 40)
    placed = result["placed"]
    assert len(placed) > 5
    assert result["said"] == str(len(placed))
    assert not result["hidden"]
    for number, box in enumerate(placed):
        assert box["position"] % 2 == 0, "it has a picture"
        assert box["at"] == box["position"]
        assert 0 <= box["left"] < box["right"] <= 600
        assert 0 <= box["top"] < box["bottom"] <= 400
        assert not any(box["left"] < x < box["right"] and box["top"] < y < box["bottom"] for x, y in result["dots"]), (
            "no point is under it"
        )
        for other in placed[:number]:
            is_beside = box["right"] <= other["left"] or other["right"] <= box["left"]
            assert is_beside or box["bottom"] <= other["top"] or other["bottom"] <= box["top"]


def test_many_points_have_pictures_only_from_near(page: Page) -> None:
    assert place(page, 2_000)["placed"] == []
    near = place(page, 2_000, "zoom")["placed"]
    assert near
    assert max(box["right"] - box["left"] for box in near) == pytest.approx(128), "few points in view: larger ones"


def test_pictures_can_be_turned_off(page: Page) -> None:
    result = place(page, 40, "off")
    assert (result["placed"], result["pressed"], result["said"]) == ([], "false", "0")
