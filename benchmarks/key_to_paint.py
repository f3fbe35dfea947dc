"""How long the next question takes to be on the screen after a key, against a bare page that swaps three decoded images
in the same run; and the bytes that the labeling page and the dashboard send, at the first visit and at the second.

python -m benchmarks.key_to_paint           needs a Chromium; writes benchmarks/results/key_to_paint.txt

Both pages are measured by the same script: from the key press to the frame after the one in which three other images,
all decoded, are in the page. The pages take turns, so that whatever else the machine does meets both. Bytes are those
of the responses on the wire, compressed and with their headers, without sounds, which come when they are played.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from benchmarks.map_frames import quantile
from tercet.demo.command import make_demo
from tercet.demo.project import PROJECT
from tercet.demo.server import running_server
from tercet.settings import Settings

ServiceWorkers = Literal["allow", "block"]
PRESSES, TURNS = 60, 10
RESULTS = Path(__file__).parent / "results" / "key_to_paint.txt"
# Presses keys once the question can be answered, and returns the milliseconds from each to the paint of other images.
PRESS = """async ([presses, key]) => {
  const images = () => [...document.querySelectorAll(".media img")];
  const frame = () => new Promise(requestAnimationFrame);
  const times = [];
  for (let press = 0; press < presses; press += 1) {
    await new Promise((resolve) => setTimeout(resolve, 400));
    const label = document.getElementById("label");
    while (label && label.dataset.paint !== "painted") await frame();
    const before = images().map(({ src }) => src).join();
    const begun = performance.now();
    (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const isSame = () => images().map(({ src }) => src).join() === before;
    while (isSame() || !images().every(({ complete }) => complete)) await frame();
    await Promise.all(images().map((image) => image.decode()));
    await frame();
    await new Promise((resolve) => {
      const channel = new MessageChannel();
      channel.port1.onmessage = resolve;
      channel.port2.postMessage(null); // after the frame
    });
    times.push(performance.now() - begun);
  }
  return times;
}"""
# Replaces the page by one that swaps three of six decoded images at a key.
BARE = """async (sources) => {
  const all = await Promise.all(sources.map(async (src) => {
    const image = Object.assign(new Image(), { src });
    await image.decode();
    return image;
  }));
  document.body.innerHTML = '<div class="media"></div>';
  let first = 0;
  const show = () => {
    document.querySelector(".media").replaceChildren(...all.slice(first, first + 3));
    first = first ? 0 : 3;
  };
  show();
  addEventListener("keydown", show);
}"""

PICTURES = """async (project) => {
  const response = await fetch(`/api/v1/projects/${project}/triplets/next?n=5`);
  const { triplets } = await response.json();
  return triplets.flatMap(({ items }) => Object.values(items).map(({ picture_url }) => picture_url)).slice(0, 6);
}"""


def bytes_of(context: BrowserContext, url: str) -> int:
    """Return the bytes that a visit receives, with the browser's cache as it is."""
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    received: list[float] = []
    session.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    page.goto(url)
    page.wait_for_timeout(3_000)
    page.close()
    return round(sum(received))


def press_by_turns(page: Page, bare: Page) -> tuple[list[float], list[float]]:
    """Return the sorted times of the labeling page and of the bare one."""
    times: tuple[list[float], list[float]] = [], []
    for _ in range(TURNS):
        for measured, kept in zip((page, bare), times, strict=True):
            measured.bring_to_front()
            # The first press after the turn finds a page that was not on the screen.
            kept.extend(measured.evaluate(PRESS, [PRESSES // TURNS + 1, "y"])[1:])
    return sorted(times[0]), sorted(times[1])


def sign_in(browser: Browser, url: str, path: str, service_workers: ServiceWorkers) -> BrowserContext:
    """Return a browser's profile in which the owner is signed in."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, service_workers=service_workers)
    page = context.new_page()
    page.goto(url + path)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_load_state()
    page.close()
    return context


@contextmanager
def demo_in_browser(service_workers: ServiceWorkers = "block") -> Iterator[tuple[str, BrowserContext]]:
    """Serve the demo; yield its address, and a browser's profile in which its owner is signed in.

    A service worker would send what nobody counts, and no route of the profile sees its requests.
    """
    with tempfile.TemporaryDirectory() as folder:
        links = make_demo(Settings(data=Path(folder)), print)
        settings = {"data": folder, "workers": "0", "log_level": "warning"}
        with running_server(settings) as server, sync_playwright() as playwright:
            executable = shutil.which("chromium-headless-shell") or shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
            yield server.url, sign_in(browser, server.url, links.sign_in, service_workers)
            browser.close()


def main() -> None:
    """Measure, print and keep the table."""
    with demo_in_browser() as (url, context):
        board, label = f"{url}/projects/{PROJECT}", f"{url}/projects/{PROJECT}/label"
        visits = {
            name: (bytes_of(context, at), bytes_of(context, at))
            for name, at in (("label", label), ("dashboard", board))
        }
        page, bare = context.new_page(), context.new_page()
        page.goto(label)
        page.keyboard.press("Escape")
        page.locator(".media img").nth(2).wait_for()
        bare.goto(f"{url}/help")
        bare.evaluate(BARE, page.evaluate(PICTURES, PROJECT))
        pressed, swapped = press_by_turns(page, bare)
        assert context.browser is not None
        about = json.dumps({"browser": context.browser.version, "window": "1440 x 900", "presses": PRESSES})
    lines = ["Key to paint, and bytes on the wire", about, "                 median ms  p95 ms"]
    for name, times in (("labeling page", pressed), ("bare page", swapped)):
        lines.append(f"{name:<15} {quantile(times, 0.5):>10.1f} {quantile(times, 0.95):>7.1f}")
    ratio = quantile(pressed, 0.95) / quantile(swapped, 0.95)
    lines += [f"ratio of p95    {ratio:>18.2f}", "", "                first visit  second visit"]
    lines += [f"{name:<15} {first:>9,} B {second:>11,} B" for name, (first, second) in visits.items()]
    table = "\n".join([*lines, ""])
    RESULTS.write_text(table, encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
