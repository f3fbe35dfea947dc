"""Takes a picture of every page of three projects (sounds, pictures, texts), in three widths, light and dark.

python -m benchmarks.contact_sheet CLIPS OUT     CLIPS: a folder of short WAV files

Imports what a person would, answers as one who tells the items apart, and writes OUT/PROJECT-PAGE-WIDTH-SCHEME.png
and, to look at them side by side, OUT/sheet-PROJECT.png.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from PIL import Image, ImageDraw
from playwright.sync_api import Page, sync_playwright

import tercet
from benchmarks.walk_intake import SUBJECTS, write_digits, write_notes
from tercet.client.projects import ProjectClient
from tercet.demo.digits import make_digits
from tercet.demo.server import running_server

OWNER = "owner@example.org"
WIDTHS = {1440: 900, 820: 1180, 390: 844}
SCHEMES = ("light", "dark")
ANSWERS = 120
THUMB = (360, 400)

Act = Callable[[Page], object]


@dataclass(frozen=True)
class View:
    """A page in one state: where it is, and what a person does there before the picture is taken."""

    name: str
    address: str
    act: Act = lambda page: None


def selection(page: Page) -> None:
    """Select a cluster."""
    page.locator("[data-list]").first.click()
    page.wait_for_timeout(500)


def gallery(page: Page) -> None:
    """Open the gallery of a cluster."""
    selection(page)
    page.get_by_role("button", name="Gallery").click()
    page.wait_for_timeout(800)


def keys(page: Page) -> None:
    """Open the list of keys of the labeling page."""
    page.keyboard.press("?")
    page.wait_for_timeout(500)


def everything(project: str) -> list[View]:
    """Return all pages of a project."""
    sections = ("question", "items", "labelers", "clustering", "features", "webhooks", "project")
    return [
        *some(project),
        View("label-keys", f"/projects/{project}/label", keys),
        View("selection", f"/projects/{project}", selection),
        View("gallery", f"/projects/{project}", gallery),
        View("runs", f"/projects/{project}/runs"),
        View("run", f"/projects/{project}/runs/1"),
        View("changes", f"/projects/{project}/changes?run=2&since=1"),
        View("alternatives", f"/projects/{project}/alternatives"),
        View("compare", f"/projects/{project}/compare"),
        View("export", f"/projects/{project}/export"),
        View("audit", f"/projects/{project}/audit"),
        View("imports", f"/projects/{project}/imports"),
        *(View(f"settings-{section}", f"/projects/{project}/settings#{section}") for section in sections),
    ]


def some(project: str) -> list[View]:
    """Return the pages of a project that differ with what its items are."""
    return [
        View("dashboard", f"/projects/{project}"),
        View("label", f"/projects/{project}/label"),
        View("answers", f"/projects/{project}/answers"),
        View("import", f"/projects/{project}/imports/1"),
    ]


SERVER = [
    View("home", "/"),
    View("new", "/projects/new"),
    View("account", "/account"),
    View("system", "/system"),
    View("help", "/help"),
    View("guide", "/help/guides/songs"),
    View("design", "/help/design"),
    View("missing", "/projects/missing"),
]


def run_command(data: str, *words: str) -> str:
    """Run the tercet command and return the last word that it prints."""
    command = [sys.executable, "-m", "tercet.cli", *words, "--data", data]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]


def kinds_of_items(folders: dict[str, Path]) -> dict[str, dict[str, str]]:
    """Return by project and key what a person sees in an item."""
    notes = [line.split(",", 1) for line in (folders["notes"] / "notes.csv").read_text().splitlines()[1:]]
    return {
        "clips": {path.stem: path.stem.split("__")[0] for path in folders["clips"].iterdir()},
        "digits": {digit.key: str(digit.digit) for digit in make_digits()},
        "notes": {key: next(subject for subject in SUBJECTS if subject in text) for key, text in notes},
    }


def answer(project: ProjectClient, kinds: dict[str, str]) -> None:
    """Answer as a person who sees what the items are."""
    for _ in range(ANSWERS):
        for question in project.ask():
            first, second, third = (kinds[Path(key).stem] for key in question.triplet)
            said = "dnk" if (first == second) == (first == third) else "yes" if first == second else "no"
            project.answer(question, said, response_ms=2_000)
    project.run()


def pictures(page: Page, url: str, views: list[View], out: Path, project: str) -> Iterator[Path]:
    """Take the pictures of some pages."""
    for view in views:
        for width, height in WIDTHS.items():
            for scheme in SCHEMES:
                page.set_viewport_size({"width": width, "height": height})
                page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
                page.goto("about:blank")
                page.goto(f"{url}{view.address}")
                page.wait_for_timeout(900)
                view.act(page)
                path = out / f"{project}-{view.name}-{width}-{scheme}.png"
                page.screenshot(path=path)
                yield path


def write_sheet(paths: list[Path], out: Path) -> None:
    """Put pictures side by side: a row for each page."""
    columns = len(WIDTHS) * len(SCHEMES)
    rows = -(-len(paths) // columns)
    whole = Image.new("RGB", (columns * THUMB[0], rows * (THUMB[1] + 20)), "white")
    for place, path in enumerate(paths):
        row, column = divmod(place, columns)
        picture = Image.open(path).convert("RGB")
        picture.thumbnail((THUMB[0] - 8, THUMB[1]))
        corner = (column * THUMB[0], row * (THUMB[1] + 20))
        whole.paste(picture, (corner[0], corner[1] + 16))
        ImageDraw.Draw(whole).text(corner, path.stem, "black")
    whole.save(out)


def main() -> None:
    """Import, answer, look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", type=Path)
    parser.add_argument("out", type=Path)
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as data:
        folders = {"clips": chosen.clips, "digits": Path(place) / "digits", "notes": Path(place) / "notes"}
        for name, write in (("digits", write_digits), ("notes", write_notes)):
            folders[name].mkdir()
            write(folders[name])
        run_command(data, "user", "add", OWNER)
        for name, folder in folders.items():
            run_command(data, "import", name, str(folder), "--owner", OWNER, "--skip-bad")
        run_command(data, "user", "promote", OWNER)
        with running_server({"data": data, "log_level": "warning"}) as server, sync_playwright() as playwright:
            with tercet.Client(server.url, run_command(data, "user", "token", OWNER), progress=False) as client:
                for name, kinds in kinds_of_items(folders).items():
                    answer(client.project(name), kinds)
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
                args=["--no-sandbox", "--disable-quic"],
            )
            page = browser.new_page()
            page.goto(server.url + urlsplit(run_command(data, "user", "link", OWNER)).path)
            page.click("main button")
            views = {"clips": everything("clips"), "digits": some("digits"), "notes": some("notes"), "server": SERVER}
            for name in views:
                paths = list(pictures(page, server.url, views[name], chosen.out, name))
                write_sheet(paths, chosen.out / f"sheet-{name}.png")
                print(f"{chosen.out / f'sheet-{name}.png'}: {len(paths)} pictures", flush=True)
            browser.close()


if __name__ == "__main__":
    main()
