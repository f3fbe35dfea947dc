"""How long the map takes to paint a frame in a browser without a graphics card, against an empty canvas of its size.

python -m benchmarks.map_frames             needs a Chromium; writes benchmarks/results/map_frames.txt

Of more than 100,000 points a part is painted while the view moves, and all once it rests: the column "rest".

The map's own modules show points of thirty normal clouds, in a window of 1440 x 900, and pan by a few pixels a frame. A
frame of the empty canvas only clears it and puts it on the screen in the same way.
"""

import json
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tercet.demo.server import running_server

COUNTS = (10_000, 100_000, 1_000_000)
FRAMES = 40
RESULTS = Path(__file__).parent / "results" / "map_frames.txt"
SETUP = """async ([n]) => {
  const { ClusterMap } = await import("/static/dashboard/map.js");
  const canvas = document.createElement("canvas");
  canvas.style.cssText = "display:block;width:760px;height:544px";
  document.body.replaceChildren(canvas);
  let state = 1;
  const uniform = () => (state = (state * 16807) % 2147483647) / 2147483647;
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  const points = new Float32Array(4 * n);
  for (let i = 0; i < n; i += 1) {
    const cluster = i % 30;
    points.set([(cluster % 6) * 5 + normal(), Math.floor(cluster / 6) * 5 + normal(), cluster + 1, uniform()], 4 * i);
  }
  const nothing = () => {};
  window.map = new ClusterMap(canvas, { onPoint: nothing, onPick: nothing, onLasso: nothing });
  await new Promise((resolve) => setTimeout(resolve, 300));
  const begun = performance.now();
  window.map.show(points);
  window.map.paint();
  return performance.now() - begun;
}"""
FRAMES_OF = """async ([frames, isEmpty]) => {
  const { map } = window;
  map.draw = () => {};
  const times = [];
  for (let frame = 0; frame <= frames; frame += 1) {
    await new Promise(requestAnimationFrame);
    const begun = performance.now();
    if (isEmpty) {
      new Uint32Array(map.image.data.buffer).fill(map.colors.background);
      map.context.putImageData(map.image, 0, 0);
    } else {
      map.pan(frame % 2 ? 3 : -3, 0);
      map.paint();
    }
    map.context.getImageData(0, 0, 1, 1); // waits until it is drawn
    times.push(performance.now() - begun);
  }
  return times.slice(1).sort((a, b) => a - b);
}"""
AT_REST = """() => {
  const { map } = window;
  clearTimeout(map.resting);
  map.resting = 0;
  const begun = performance.now();
  map.paint();
  map.context.getImageData(0, 0, 1, 1);
  return performance.now() - begun;
}"""


def quantile(times: list[float], share: float) -> float:
    """Return a quantile of sorted times."""
    return times[min(len(times) - 1, int(share * len(times)))]


def measure(page: Page, n: int) -> str:
    """Return a line of the table for so many points."""
    shown = page.evaluate(SETUP, [n])
    empty = page.evaluate(FRAMES_OF, [FRAMES, True])
    full = page.evaluate(FRAMES_OF, [FRAMES, False])
    rest = page.evaluate(AT_REST)
    median, slow = quantile(full, 0.5), quantile(full, 0.95)
    rate = 1000 / slow
    return f"{n:>9,} {shown:>10.0f} {quantile(empty, 0.5):>8.1f} {median:>9.1f} {slow:>7.1f} {rate:>15.0f} {rest:>8.0f}"


def main() -> None:
    """Measure, print and keep the table."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"data": folder, "workers": "0", "log_level": "warning"}
        with running_server(settings) as server, sync_playwright() as playwright:
            executable = shutil.which("chromium-headless-shell") or shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"{server.url}/help/systems")
            lines = [measure(page, n) for n in COUNTS]
            about = json.dumps({"browser": browser.version, "canvas": "760 x 544", "frames": FRAMES})
            browser.close()
    head = "   points   show ms empty ms median ms  p95 ms  frames/s (p95)  rest ms"
    table = "\n".join(["Frames of the map in software rendering", about, head, *lines, ""])
    RESULTS.write_text(table, encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
