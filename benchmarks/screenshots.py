"""Takes the pictures of the README and of the guides: pages of the demo after simulated answers.

python -m benchmarks.screenshots            needs a Chromium; writes static/help/*.png
"""

import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tercet.demo.birdsong import true_patterns
from tercet.demo.command import make_demo, owner_token
from tercet.demo.project import N_ITEMS, PROJECT
from tercet.demo.server import running_server
from tercet.demo.simulate import simulate
from tercet.settings import Settings, asset

ANSWERS = 300
# What the owner sees: the rest of the address, the picture's name, and its height.
OWNERS_PAGES = (
    ("", "dashboard.png", 860),
    ("/settings#labelers", "links.png", 700),
)
HELP = asset("static") / "help"


def come_in(browser: Browser, way_in: str) -> Page:
    """Open a window of somebody who comes by a link."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, device_scale_factor=1.5)
    page = context.new_page()
    page.goto(way_in)
    page.click("main button")
    return page


def take(page: Page, address: str, name: str, height: int) -> None:
    """Keep a picture of a page with few colours, which are all it has."""
    page.set_viewport_size({"width": 1280, "height": height})
    page.goto(address)
    page.wait_for_timeout(2500)
    path = HELP / name
    page.screenshot(path=path)
    Image.open(path).convert("RGB").quantize(192).save(path, optimize=True)


def main() -> None:
    """Simulate, then look."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        links = make_demo(settings, print)
        patterns = true_patterns(N_ITEMS, 0)
        with running_server({"data": folder, "log_level": "warning"}) as server, sync_playwright() as playwright:
            simulate(server.url, links.join, owner_token(settings), patterns, ANSWERS, 0, print)
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-quic"]
            )
            project = f"{server.url}/projects/{PROJECT}"
            labeler = come_in(browser, f"{server.url}{links.join}?participant=ann")
            take(labeler, f"{project}/label", "label.png", 800)
            owner = come_in(browser, f"{server.url}{links.sign_in}")
            for path, name, height in OWNERS_PAGES:
                take(owner, f"{project}{path}", name, height)
            browser.close()


if __name__ == "__main__":
    main()
