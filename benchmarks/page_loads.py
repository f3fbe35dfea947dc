"""How long pages of the demo take to load over a line of 100 ms a round trip, one after the other.

The browser's cache is emptied before each round; what its memory holds of pages of this round may stay.

python -m benchmarks.page_loads         needs a Chromium; prints a table
"""

import shutil
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.key_to_paint import sign_in
from tercet.demo.command import make_demo
from tercet.demo.project import PROJECT
from tercet.demo.server import running_server
from tercet.settings import Settings

LINE = {"offline": False, "latency": 100, "downloadThroughput": -1, "uploadThroughput": -1}
ROUNDS = 5
PAGES = ("", "/answers", "", "/settings", "", "/label", "/label")


def main() -> None:
    """Load the pages in several rounds, and print each page's times."""
    times: list[list[str]] = [[] for _ in PAGES]
    with tempfile.TemporaryDirectory() as folder:
        links = make_demo(Settings(data=Path(folder)), print)
        settings = {"data": folder, "workers": "0", "log_level": "warning"}
        with running_server(settings) as server, sync_playwright() as playwright:
            executable = shutil.which("chromium-headless-shell") or shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
            context = sign_in(browser, server.url, links.sign_in)
            page = context.new_page()
            session = context.new_cdp_session(page)
            session.send("Network.enable")
            session.send("Network.emulateNetworkConditions", LINE)
            for _ in range(ROUNDS):
                session.send("Network.clearBrowserCache")
                for path, of_page in zip(PAGES, times, strict=True):
                    begun = time.perf_counter()
                    page.goto(f"{server.url}/projects/{PROJECT}{path}")
                    of_page.append(f"{time.perf_counter() - begun:.2f}")
                    page.wait_for_timeout(1_000)
            browser.close()
    for path, of_page in zip(PAGES, times, strict=True):
        print(f"{path or '/':<10}", *of_page)


if __name__ == "__main__":
    main()
