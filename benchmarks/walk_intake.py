"""The way of five newcomers in a real browser: from the empty home page to first clusters and a labeling link.

python -m benchmarks.walk_intake CLIPS [--shots FOLDER] [--only WALK]      CLIPS: a folder of short WAV files

Prints a line a walk: how often a person did something, and the seconds from the home page until each stage was there,
without those that taking pictures of the page took.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import soundfile
from playwright.sync_api import Browser, Page, sync_playwright

from tercet import migrate
from tercet.accounts import service as accounts
from tercet.database import Database
from tercet.demo.digits import make_digits
from tercet.demo.server import running_server
from tercet.settings import Settings
from tercet.sounds.decoding import read_sound

RATE = 22_050
MINUTES = 10
PATIENCE_MS = 300_000
MOST_TABS = 60
BY_KEYBOARD = "clips-by-keyboard"
SUBJECTS = ("wren", "thrush", "owl", "frog", "bat", "whale")
VERBS = ("sings in", "calls across", "flies over", "sleeps beside")
PLACES = ("the wet meadow", "an old oak", "the harbour", "a stony hill", "the reeds at dawn")


@dataclass
class Walk:
    """One person's way: the page, what they did, and when each stage was there."""

    page: Page
    shots: Path | None
    name: str
    steps: list[str] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)

    def do(self, what: str, action: Callable[[], object]) -> None:
        """Do one thing as a person would."""
        self.steps.append(what)
        action()

    def reach(self, stage: str, selector: str) -> None:
        """Wait until something is on the page, note when, and keep a picture of it."""
        self.page.locator(selector).first.wait_for(state="attached", timeout=PATIENCE_MS)
        reached = time.monotonic()
        self.times[stage] = reached - self.begun
        self.look(stage)
        self.begun += time.monotonic() - reached

    def look(self, stage: str) -> None:
        """Keep pictures of the page, wide and narrow, light and dark."""
        for width in (1440, 390) if self.shots else ():
            for scheme in ("light", "dark"):
                self.page.set_viewport_size({"width": width, "height": 900})
                self.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
                path = f"{self.shots}/{self.name}-{stage}-{width}-{scheme}.png"
                self.page.screenshot(path=path, full_page=True)
        self.page.set_viewport_size({"width": 1440, "height": 900})

    def line(self) -> str:
        """Describe the walk."""
        stages = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in self.times.items())
        return f"{self.name:<22} {len(self.steps)} steps; {stages}"


def recording(clips: list[Path], folder: Path) -> tuple[Path, Path]:
    """Join clips with quiet noise between them to one long FLAC; return it with a Raven table of where they are."""
    rng = np.random.default_rng(0)
    samples = (1e-3 * rng.standard_normal(MINUTES * 60 * RATE)).astype(np.float32)
    rows, place, number = [], RATE, 0
    while place < len(samples):
        sound = read_sound(clips[number % len(clips)])
        times = np.arange(0, len(sound.samples), sound.rate / RATE)
        clip = np.interp(times, np.arange(len(sound.samples)), sound.samples)
        clip = 0.5 * clip / max(np.abs(clip).max(), 1e-9)
        if place + len(clip) + RATE > len(samples):
            break
        samples[place : place + len(clip)] += clip.astype(np.float32)
        begin, end = place / RATE, (place + len(clip)) / RATE
        number += 1
        rows.append(
            f"{number}\tSpectrogram 1\t1\t{begin:.6f}\t{end:.6f}\t500.0\t9000.0\t{clips[number % len(clips)].stem}"
        )
        place += len(clip) + RATE
    path = folder / "morning.flac"
    soundfile.write(path, samples, RATE)
    header = "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\tAnnotation"
    table = folder / "morning.Table.1.selections.txt"
    table.write_text("\n".join([header, *rows]) + "\n")
    return path, table


def write_digits(folder: Path) -> None:
    """Write handwritten digits as pictures."""
    for digit in make_digits():
        (folder / f"{digit.key}.png").write_bytes(digit.content)


def write_notes(folder: Path) -> None:
    """Write a table of short texts."""
    rng = np.random.default_rng(1)
    lines = [" ".join(rng.choice(words) for words in (SUBJECTS, VERBS, PLACES)) for _ in range(300)]
    rows = "".join(f"note-{number},The {line}.\n" for number, line in enumerate(lines, 1))
    (folder / "notes.csv").write_text(f"key,text\n{rows}")


def sources(clips: Path, place: Path) -> dict[str, Path]:
    """Return what each newcomer has: folders, by the name of their walk."""
    sounds = sorted(clips.glob("*.wav"))
    folders = {name: place / name for name in ("flacs", "recording-with-table", "recording", "digits", "texts")}
    for folder in folders.values():
        folder.mkdir(parents=True)
    for sound in sounds:
        samples, rate = soundfile.read(sound)
        soundfile.write(folders["flacs"] / f"{sound.stem}.flac", samples, rate)
    long, _ = recording(sounds, folders["recording-with-table"])
    shutil.copy(long, folders["recording"])
    write_digits(folders["digits"])
    write_notes(folders["texts"])
    return {"clips": clips, BY_KEYBOARD: clips, **folders}


def begin(browser: Browser, database: Database, url: str, name: str, shots: Path | None) -> Walk:
    """Let a newcomer in, as far as the empty home page."""
    with database.transaction() as session:
        user = accounts.make_user(session, name, email=f"{name}@example.org")
        token = accounts.make_sign_in_link(session, user)
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(f"{url}/sign-in/{token}")
    page.click("main button")
    page.get_by_role("heading", name="Your first project").wait_for()
    page.locator("html.js").wait_for(state="attached")  # before its script listens, a choice is lost
    walk = Walk(page, shots, name)
    walk.look("home")
    walk.begun = time.monotonic()
    return walk


def press(page: Page, name: str) -> None:
    """Go to a button by the Tab key and press Enter, as who has no mouse."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == name:
            page.keyboard.press("Enter")
            return
    raise RuntimeError(f"'{name}' cannot be reached by keyboard")


def go_by_keyboard(walk: Walk, folder: Path) -> None:
    """Make the project without touching the mouse."""
    page = walk.page
    with page.expect_file_chooser(timeout=PATIENCE_MS) as chooser:
        walk.do("choose the folder", lambda: press(page, "Choose a folder"))
    chooser.value.set_files(folder)
    walk.reach("preview", "#stage[data-status=ready]")
    walk.do("make the project", lambda: press(page, "Make the project"))
    walk.reach("link", "#labeling-link")
    walk.reach("clusters", ".first-clusters")
    walk.do("open the dashboard", lambda: press(page, "Open the dashboard"))
    page.get_by_role("heading", name="Dashboard of").wait_for()


def go(walk: Walk, folder: Path) -> None:
    """Choose a folder, look, make the project, and wait for clusters and link."""
    page = walk.page
    walk.do("choose the folder", lambda: page.locator("#pick-folder").set_input_files(folder))
    walk.reach("preview", "#stage[data-status=ready]")
    if walk.name == "recording":
        walk.do("cut into sounds", lambda: page.get_by_label("Cut those without a table too").check())
        walk.reach("proposals", "#segments-picture rect.proposed")
        walk.do("cut like this", lambda: page.get_by_role("button", name="Cut like this").click())
        page.locator("#stage[data-status=checking]").wait_for(state="attached", timeout=PATIENCE_MS)
        walk.reach("segments", "#stage[data-status=ready]")
    walk.do("make the project", lambda: page.get_by_role("button", name="Make the project").click())
    walk.reach("link", "#labeling-link")
    walk.reach("clusters", ".first-clusters")
    for place in ("settings", "export", "imports") if walk.shots else ():
        page.goto(page.url.split("/imports/")[0] + f"/{place}")
        walk.look(place)
        page.go_back()


def main() -> None:
    """Serve an empty folder and walk."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", type=Path)
    parser.add_argument("--shots", type=Path)
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    if chosen.shots:
        chosen.shots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as data:
        folders = sources(chosen.clips, Path(place))
        settings = Settings(data=Path(data))
        database = Database(settings.resolved_database_url())
        migrate.upgrade(database)
        with running_server({"data": data, "log_level": "warning"}) as server, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
                args=["--no-sandbox", "--disable-quic"],
            )
            for name, folder in folders.items():
                if chosen.only in ("", name):
                    walk = begin(browser, database, server.url, name, chosen.shots)
                    (go_by_keyboard if name == BY_KEYBOARD else go)(walk, folder)
                    print(walk.line(), flush=True)
            browser.close()
        database.close()


if __name__ == "__main__":
    main()
