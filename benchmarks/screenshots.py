"""Takes the README's pictures: the labeling page and the dashboard of the demo after simulated answers.

python -m benchmarks.screenshots            needs a Chromium; writes static/help/*.png
"""

import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tercet.demo.birdsong import true_patterns
from tercet.demo.command import make_demo, owner_token
from tercet.demo.project import N_ITEMS, PROJECT
from tercet.demo.server import running_server
from tercet.demo.simulate import simulate
from tercet.settings import Settings, asset

ANSWERS = 300
HELP = asset("static") / "help"


def take(browser: Browser, url: str, way_in: str, page_path: str, name: str, height: int) -> None:
    """Come in, open a page and keep a picture of it with few colours, which are all it has."""
    context = browser.new_context(viewport={"width": 1280, "height": height}, device_scale_factor=1.5)
    page = context.new_page()
    page.goto(f"{url}{way_in}")
    page.click("main button")
    page.goto(f"{url}{page_path}")
    page.wait_for_timeout(2500)
    path = HELP / name
    page.screenshot(path=path)
    Image.open(path).convert("RGB").quantize(192).save(path, optimize=True)
    context.close()


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
            take(browser, server.url, f"{links.join}?participant=ann", f"/projects/{PROJECT}/label", "label.png", 800)
            take(browser, server.url, links.sign_in, f"/projects/{PROJECT}", "dashboard.png", 860)
            browser.close()


if __name__ == "__main__":
    main()
