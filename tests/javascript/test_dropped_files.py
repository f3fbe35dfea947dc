"""Which files of what is dropped or chosen are sent, and under which paths."""

from typing import Any

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.browser

# Entries as browsers hand them out: folders in batches of `batch`, then an empty one.
ENTRIES = """
const fileEntry = (fullPath) => ({
  isFile: true, name: fullPath.split("/").pop(), fullPath, file: (resolve) => resolve(new File(["x"], "a file")),
});
const folderEntry = (fullPath, inner, batch = 2) => ({
  isFile: false, name: fullPath.split("/").pop(), fullPath,
  createReader() {
    let place = 0;
    return { readEntries: (resolve) => resolve(inner.slice(place, (place += batch))) };
  },
});
const dropOf = (...entries) => ({ items: entries.map((entry) => ({ webkitGetAsEntry: () => entry })), files: [] });
"""


def run(page: Page, body: str) -> Any:
    """Run a script that has the module as `module` and the makers of entries."""
    return page.evaluate(
        f"async () => {{ const module = await import('/static/intake/dropped_files.js'); {ENTRIES} {body} }}"
    )


def test_folders_are_walked_to_the_end(page: Page) -> None:
    dropped = run(
        page,
        """
        const sites = [folderEntry("/songs/north", [fileEntry("/songs/north/a.wav"), fileEntry("/songs/north/b.wav")])];
        for (const name of ["e", "d", "c", "f", "g"]) sites.push(fileEntry(`/songs/${name}.wav`));
        const { files, folder, hidden } = await module.readDrop(dropOf(folderEntry("/songs", sites)));
        return { paths: files.map(({ path }) => path), folder, hidden, isFile: files[0].file instanceof File };
        """,
    )
    names = ["c", "d", "e", "f", "g", "north/a", "north/b"]
    assert dropped == {"paths": [f"songs/{n}.wav" for n in names], "folder": "songs", "hidden": 0, "isFile": True}


def test_hidden_files_and_litter_stay_where_they_are(page: Page) -> None:
    dropped = run(
        page,
        """
        const inner = [".DS_Store", "Thumbs.db", "desktop.ini", "a.wav"].map((name) => fileEntry(`/songs/${name}`));
        inner.push(folderEntry("/songs/.git", [fileEntry("/songs/.git/config")]), folderEntry("/songs/__MACOSX", []));
        const { files, hidden } = await module.readDrop(dropOf(folderEntry("/songs", inner)));
        return [files.map(({ path }) => path), hidden];
        """,
    )
    assert dropped == [["songs/a.wav"], 5]


def test_a_file_picker_tells_of_folders_too(page: Page) -> None:
    chosen = run(
        page,
        """
        const file = (path) => Object.defineProperty(new File(["x"], "name"), "webkitRelativePath", { value: path });
        const chosen = ["songs/b.wav", "songs/.hidden", "songs/a.wav"].map(file);
        const { files, folder, hidden } = module.readPicker(chosen);
        return [files.map(({ path }) => path), folder, hidden];
        """,
    )
    assert chosen == [["songs/a.wav", "songs/b.wav"], "songs", 1]


PATHS = """
const files = ["songs/a.wav", "songs/north/b.wav"].map((path) => ({ path, file: null }));
const selection = { files, folder: FOLDER, hidden: 0 };
const present = new Map(PRESENT.map((path) => [path, {}]));
return module.pathsInImport(selection, present).map(({ path }) => path);
"""


@pytest.mark.parametrize(
    ("folder", "present", "paths"),
    [
        pytest.param("songs", [], ["a.wav", "north/b.wav"], id="the folder around all is no part of a path"),
        pytest.param("songs", ["a.wav"], ["a.wav", "north/b.wav"], id="the same folder again"),
        pytest.param("songs", ["c.wav"], ["songs/a.wav", "songs/north/b.wav"], id="another folder beside the first"),
        pytest.param("", [], ["songs/a.wav", "songs/north/b.wav"], id="several things dropped together"),
    ],
)
def test_paths_in_an_import(page: Page, folder: str, present: list[str], paths: list[str]) -> None:
    assert run(page, PATHS.replace("FOLDER", repr(folder)).replace("PRESENT", repr(present))) == paths
