"""How long pages of the demo take to load over a line of 100 ms a round trip, one after the other.

The browser's cache is emptied before each round; what its memory holds of pages of this round may stay.

python -m benchmarks.page_loads         needs a Chromium; prints a table
"""

import time

from benchmarks.key_to_paint import demo_in_browser
from tercet.demo.project import PROJECT

LINE = {"offline": False, "latency": 100, "downloadThroughput": -1, "uploadThroughput": -1}
ROUNDS = 5
PAGES = ("", "/answers", "", "/settings", "", "/label", "/label")


def main() -> None:
    """Load the pages in several rounds, and print each page's times."""
    times: list[list[str]] = [[] for _ in PAGES]
    with demo_in_browser() as (url, context):
        page = context.new_page()
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", LINE)
        for _ in range(ROUNDS):
            session.send("Network.clearBrowserCache")
            for path, of_page in zip(PAGES, times, strict=True):
                begun = time.perf_counter()
                page.goto(f"{url}/projects/{PROJECT}{path}")
                of_page.append(f"{time.perf_counter() - begun:.2f}")
                page.wait_for_timeout(1_000)
    for path, of_page in zip(PAGES, times, strict=True):
        print(f"{path or '/':<10}", *of_page)


if __name__ == "__main__":
    main()
