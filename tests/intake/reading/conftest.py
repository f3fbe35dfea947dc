"""Folders of files to read, and what reading makes of them."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tercet.intake.reading.folders import gather
from tercet.intake.reading.plan import ImportPlan, ReadOptions
from tercet.intake.reading.reader import read_files

Read = Callable[..., ImportPlan]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that people drop."""
    place = tmp_path / "songs"
    place.mkdir()
    return place


@pytest.fixture
def read(folder: Path, tmp_path: Path) -> Read:
    """Write files into the folder, and read it."""

    def write_and_read(files: Mapping[str, bytes | str] | None = None, **options: object) -> ImportPlan:
        for name, content in (files or {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return read_files(gather([folder]), ReadOptions(**options), lambda _share, _words: None, tmp_path / "scratch")  # type: ignore[arg-type]

    return write_and_read


def became(plan: ImportPlan) -> dict[str, str]:
    """What became of each file, by its name."""
    return {report.path.removeprefix("songs/"): report.became for report in plan.files}


def reason(plan: ImportPlan, name: str) -> str:
    """What is said of a file."""
    return next(report.detail for report in plan.files if report.path.endswith(name))


def keys(plan: ImportPlan) -> list[str]:
    """The keys of the items in their order."""
    return [row.key for row in plan.rows]
