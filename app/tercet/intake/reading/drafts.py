"""Drafts of items from tables and files, before keys are complete and faults are known."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from tercet.errors import Invalid
from tercet.intake.faults import Faults
from tercet.intake.reading.plan import ColumnReport, FileReport, MediaSource, SourceFile
from tercet.intake.tables import ItemRow, faults_of_rows

Report = Callable[[float, str], None]


@dataclass
class ItemDraft:
    """A draft of an item; `file` and `number` are the table and the row that it is from, or its media file and None."""

    row: ItemRow
    media: MediaSource | None
    file: str
    number: int | None = None


@dataclass
class Findings:
    """What each file became, the roles of columns, and the faults."""

    files: dict[str, FileReport] = field(default_factory=dict)
    columns: list[ColumnReport] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)

    def note(self, report: FileReport) -> None:
        """Store what a file became."""
        self.files[report.path] = report

    def refuse(self, path: str, problem: Invalid) -> None:
        """Add the faults of a file that cannot be used, and report it as skipped."""
        for error in problem.errors:
            self.faults.add(error.field, error.detail, row=error.row, file=error.file or path)
        self.note(FileReport(path, "skipped", problem.errors[0].detail if problem.errors else problem.detail))

    def count(self, path: str, items: int) -> None:
        """Store how many items a file became."""
        self.files[path] = replace(self.files[path], items=items)


def keys_of_files(files: Iterable[SourceFile], root: PurePosixPath) -> dict[SourceFile, str]:
    """Return a key for each file: its name without the ending, with the folder in front where names are equal."""
    paths = {file: file.path.relative_to(root) for file in files}
    stems = Counter(path.stem.strip() for path in paths.values())
    within = Counter(_in_folder(path, path.stem) for path in paths.values())
    keys = {}
    for file, path in paths.items():
        stem = path.stem.strip()
        if stems[stem] == 1:
            keys[file] = stem
        else:
            key = _in_folder(path, path.stem)
            keys[file] = key if within[key] == 1 else _in_folder(path, path.name)
    return keys


def _in_folder(path: PurePosixPath, name: str) -> str:
    return str(path.parent / name.strip())


def good_drafts(drafts: Sequence[ItemDraft], faults: Faults) -> list[int]:
    """Return the places of the drafts without faults; add the faults of the others."""

    def where(place: int) -> str:
        draft = drafts[place]
        return f"'{draft.file}'" if draft.number is None else f"row {draft.number} of '{draft.file}'"

    bad = set()
    for place, column, detail in faults_of_rows([draft.row for draft in drafts], where):
        bad.add(place)
        faults.add(column, detail, row=drafts[place].number, file=drafts[place].file)
    return [place for place in range(len(drafts)) if place not in bad]
