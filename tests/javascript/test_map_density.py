"""Very many points are painted as density: the more items, the stronger the spot, in the mean of their colours."""

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.browser

# Red, green and blue where one item of the first cluster is, a hundred of the second, as many of each, and nothing.
SPOTS = """async ([chosen, passing]) => {
  const { paintDensity } = await import("/static/dashboard/map_density.js");
  const table = new Uint32Array(400).fill(0xff0000ff).fill(0xffff0000, 8); // the first cluster is red, others are blue
  const colors = { background: 0xffffffff, faded: 0xff808080, table };
  const at = { one: [10, 10, 1], hundred: [30, 10, 100], both: [10, 30, 200], none: [30, 30, 0] };
  const points = [];
  for (const [spot, [x, y, count]] of Object.entries(at)) {
    for (let k = 0; k < count; k += 1) points.push(x, -y, spot === "one" || (spot === "both" && k % 2) ? 1 : 2, 1);
  }
  const image = new ImageData(40, 40);
  const choice = { chosen, passing: passing && Uint8Array.from(passing), tint: null, every: 1 };
  paintDensity(image, Float32Array.from(points), { x: 0, y: 0, scale: 1 }, colors, 1, choice);
  const pixel = ([x, y]) => [...image.data.slice(4 * (40 * y + x), 4 * (40 * y + x) + 3)];
  return Object.fromEntries(Object.entries(at).map(([spot, place]) => [spot, pixel(place)]));
}"""


def test_a_spot_is_the_stronger_the_more_items_it_has(page: Page) -> None:
    spots = page.evaluate(SPOTS, [0, None])
    assert spots["none"] == [255, 255, 255]
    assert spots["one"][0] == 255
    assert 100 < spots["one"][1] < 240, "a single item is pale, but there"
    assert spots["hundred"][2] == 255
    assert spots["hundred"][0] < 60
    red, green, blue = spots["both"]
    assert green < 40
    assert abs(red - blue) < 10, "the mean of both colours"


def test_what_is_not_chosen_or_does_not_pass_fades(page: Page) -> None:
    red, green, blue = page.evaluate(SPOTS, [1, None])["hundred"]
    assert red == green == blue < 160
    spots = page.evaluate(SPOTS, [0, [1] + [0] * 300])
    assert spots["one"][0] == 255 > spots["one"][1]
    assert len(set(spots["hundred"])) == 1
