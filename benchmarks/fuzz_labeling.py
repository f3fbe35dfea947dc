"""Random keys, reloads, lost networks and second tabs on the labeling page, and what the server has of it in the end.

    python -m benchmarks.fuzz_labeling [--first 0] [--rounds 20]      needs a Chromium; prints a line for each round

Every other round has up to three tabs. In the end everything must be saved, no question have two answers that count,
every tab show how many there are, and no script have failed.
"""

import argparse
import random
import time
from collections import Counter
from dataclasses import dataclass, field

from playwright.sync_api import BrowserContext, Error, Page

from benchmarks.key_to_paint import demo_in_browser
from tercet.demo.project import PROJECT

STEPS, MOST_TABS = 80, 3
ANSWER_KEYS = ("y", "n", "d")
# How often each comes, in relation to the others.
DEEDS = {"answer": 26, "skip": 2, "undo": 5, "burst": 3, "reload": 4, "offline": 2, "refuse": 3, "close": 1, "wait": 3}
SAVED_SECONDS = 60.0


@dataclass
class Labeler:
    """Somebody with a browser of their own who does anything."""

    context: BrowserContext
    address: str
    rng: random.Random
    is_offline: bool = False
    is_refused: bool = False
    errors: list[str] = field(default_factory=list)

    def open_tab(self) -> None:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(self.address)

    def do_anything(self, deeds: dict[str, int]) -> None:
        deed = self.rng.choices(list(deeds), list(deeds.values()))[0]
        page = self.rng.choice(self.context.pages)
        try:
            self.do(deed, page)
        except Error:  # a page that is not there without a network has nothing to press
            if not self.is_offline:
                raise

    def do(self, deed: str, page: Page) -> None:
        if deed == "burst":
            for _ in range(6):
                page.keyboard.press(self.rng.choice(ANSWER_KEYS))
                page.wait_for_timeout(self.rng.choice([20, 170, 220]))
        elif deed == "reload":
            page.reload(wait_until=self.rng.choice(["commit", "load"]))
        elif deed == "offline":
            self.set_network(not self.is_offline, self.is_refused)
        elif deed == "refuse":
            self.set_network(self.is_offline, not self.is_refused)
        elif deed == "tab" and len(self.context.pages) < MOST_TABS and not self.is_offline:
            self.open_tab()
        elif deed == "close" and len(self.context.pages) > 1:
            page.close()
        elif deed in ("answer", "skip", "undo"):
            if self.rng.random() < 0.7:
                wait_for_paint(page)
            key = {"skip": "s", "undo": "Backspace"}.get(deed) or self.rng.choice(ANSWER_KEYS)
            page.keyboard.press(key)
        else:
            page.wait_for_timeout(self.rng.choice([50, 300, 1_200]))

    def set_network(self, is_offline: bool, is_refused: bool) -> None:
        """Take the whole network away, or only what answers are sent by."""
        self.context.unroute("**/answers*")
        if is_refused:
            self.context.route("**/answers*", lambda route: route.abort())
        self.context.set_offline(is_offline)
        self.is_offline, self.is_refused = is_offline, is_refused


def wait_for_paint(page: Page) -> None:
    """Wait a moment for the question on screen, if there is one."""
    for _ in range(60):
        if page.locator("#label[data-paint=painted]").count():
            return
        page.wait_for_timeout(25)


def faults_of(labeler: Labeler, url: str) -> list[str]:
    """Give the network back, wait until all is saved, and return what is wrong."""
    labeler.set_network(is_offline=False, is_refused=False)
    faults = []
    for page in labeler.context.pages:
        if not page.locator("#saved").count():
            page.goto(labeler.address)
        until = time.monotonic() + SAVED_SECONDS
        page.wait_for_timeout(1_000)
        while page.locator("#saved").text_content() != "saved" and time.monotonic() < until:
            page.wait_for_timeout(100)
        if (saved := page.locator("#saved").text_content()) != "saved":
            faults.append(f"not saved: {saved}")
    labeler.context.pages[0].wait_for_timeout(500)
    api = f"{url}/api/v1/projects/{PROJECT}/answers"
    answers = labeler.context.request.get(api, params={"limit": 1_000}).json()["answers"]
    standing = [answer for answer in answers if answer["withdrawn_at"] is None]
    counts = Counter(tuple(answer["triplet"]) for answer in standing)
    faults += [f"answered {count} times: {triplet}" for triplet, count in counts.items() if count > 1]
    shown = [page.locator("#mine").text_content() for page in labeler.context.pages]
    if set(shown) != {str(len(standing))}:
        faults.append(f"pages show {shown} of {len(standing)} answers")
    return faults + labeler.errors


def main() -> None:
    """Fuzz in rounds, all by one labeler, and end with 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="seed of the first round")
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    failed = 0
    with demo_in_browser(service_workers="allow") as (url, context):
        for seed in range(arguments.first, arguments.first + arguments.rounds):
            labeler = Labeler(context, f"{url}/projects/{PROJECT}/label", random.Random(seed))
            labeler.open_tab()
            for _ in range(STEPS):
                labeler.do_anything(DEEDS | {"tab": 2} if seed % 2 else DEEDS)
            faults = faults_of(labeler, url)
            print(f"round {seed}: {'; '.join(faults) or 'nothing wrong'}", flush=True)
            failed += bool(faults)
            for page in context.pages:
                page.close()
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
