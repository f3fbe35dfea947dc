"""The map as an SVG file: what is in view, in its colours and shapes, with text that stays text."""

import xml.etree.ElementTree as ET

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.browser

# Four rows of x, y, cluster, confidence: a disc, a ring (cluster 21), one that is set aside, one out of view.
DRAW = """async (chosen) => {
  const { toSvg } = await import("/static/dashboard/map_svg.js");
  const points = new Float32Array([0, 0, 1, 1, 1, 1, 21, 1, 2, 2, -1, 1, 99, 0, 1, 1]);
  const table = new Uint32Array(200).fill(0xff0000ff);
  return toSvg({
    points, tint: null, shapes: null, width: 200, height: 100, view: { zoom: 1 },
    isInFront: (position) => !chosen || points[4 * position + 2] === chosen,
    colors: { background: 0xffffffff, faded: 0xffcccccc, ink: " #111111", halo: "#ffffff", table },
    place: () => ({ x: 50, y: 60, scale: 10 }),
    centers: [{ cluster: 1, size: 9, x: 0, y: 0 }],
    captionOf: () => ["<b> & trills"],
    context: document.createElement("canvas").getContext("2d"),
  });
}"""
SVG = "{http://www.w3.org/2000/svg}"


def test_points_in_view_and_text_are_drawn(page: Page) -> None:
    drawn = ET.fromstring(page.evaluate(DRAW, 0))
    assert drawn.get("viewBox") == "0 0 200 100"
    disc, ring = drawn.findall(f"{SVG}path")
    assert (disc.get("d"), disc.get("stroke"), disc.get("stroke-linecap")) == ("M50 60h0", "#ff0000", "round")
    assert (ring.get("fill"), ring.get("d", "")[:6]) == ("none", "M56 50")
    texts = drawn.findall(f"{SVG}g/{SVG}text")
    assert [(text.text, text.get("font-size"), text.get("font-weight")) for text in texts] == [
        ("1", "14", "600"),
        ("<b> & trills", "12", "400"),
    ]


def test_what_fades_lies_behind(page: Page) -> None:
    paths = ET.fromstring(page.evaluate(DRAW, 1)).findall(f"{SVG}path")
    assert [path.get("stroke") for path in paths] == ["#cccccc", "#ff0000"]
