"""Finds the roles of a table's columns from their names and values, and reads rows by role."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from tercet.intake.faults import fail
from tercet.intake.reading.plan import ColumnReport, Role, SourceFile
from tercet.intake.reading.tables import Table, number_columns

FILE_NAMES: tuple[str, ...] = ("media", "file", "filename", "file_name", "path", "filepath", "file_path", "image")
FILE_NAMES += ("picture", "audio", "sound", "recording", "wav", "clip")
KEY_NAMES = ("id", "item", "item_id", "identifier", "uuid", "name")
SAME_NAMES: tuple[Role, ...] = ("key", "text", "bag", "bag_labels")
SAMPLE = 2_000  # rows from which the roles of columns are found
ENOUGH_MATCHES = 0.5
LONG_TEXT = 20  # characters on average
LONGER_THAN_OTHERS = 3
EXAMPLES = 3
EXAMPLE_LENGTH = 80


class FileIndex:
    """Finds files by a cell of a table: a path, the end of a path, a name, or a name without its ending."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        """Index files by their names, with and without endings."""
        self.by_name: dict[str, list[SourceFile]] = defaultdict(list)
        self.by_stem: dict[str, list[SourceFile]] = defaultdict(list)
        for file in files:
            self.by_name[file.path.name].append(file)
            self.by_stem[file.path.stem].append(file)

    def __bool__(self) -> bool:
        """Return whether there is any file."""
        return bool(self.by_name)

    def find(self, cell: Any, folder: PurePosixPath) -> SourceFile | None:
        """Return the file that a cell names, for a table in `folder`; raise ValueError if it may be several."""
        path = PurePosixPath(str(cell).strip().replace("\\", "/"))
        files = self.by_name.get(path.name) or self.by_stem.get(path.name) or []
        return _choose(files, path, folder) if files else None

    def names(self, cell: Any) -> bool:
        """Return whether a cell is the name of a file with its ending."""
        return str(cell).strip().replace("\\", "/").rpartition("/")[2] in self.by_name

    def has_stem(self, cell: Any) -> bool:
        """Return whether a cell is the name of a file without its ending."""
        return str(cell).strip().replace("\\", "/").rpartition("/")[2] in self.by_stem


def _choose(files: Sequence[SourceFile], path: PurePosixPath, folder: PurePosixPath) -> SourceFile:
    """Return the only file, or the one with the path of the cell, or of several such the one beside the table."""
    if len(files) == 1:
        return files[0]
    ending = path.parent.parts
    fitting = [file for file in files if not ending or file.path.parent.parts[-len(ending) :] == ending] or files
    within = [file for file in fitting if file.path.parent == folder / path.parent] or fitting
    if len(within) > 1:
        shown = ", ".join(str(file.path) for file in within[:3])
        raise ValueError(f"'{path}' may be any of {len(within)} files: {shown}; write the folder before the name")
    return within[0]


@dataclass(frozen=True)
class Roles:
    """The columns with a role; all others are metadata."""

    file: str | None = None
    key: str | None = None
    text: str | None = None
    bag: str | None = None
    bag_labels: str | None = None

    def role_of(self, column: str) -> Role:
        """Return the role of a column."""
        roles: dict[str | None, Role] = {self.bag_labels: "bag_labels", self.bag: "bag", self.text: "text"}
        roles |= {self.file: "file", self.key: "key"}
        return roles.get(column, "metadata")


def roles_of(
    table: Table, index: FileIndex, media_column: str | None, name: str, *, text_by_name: bool = False
) -> Roles:
    """Return the roles of a table's columns; with `text_by_name` only a column named `text` is a text."""
    by_name = {column.casefold(): column for column in reversed(table.columns)}
    named = {role: by_name.get(role) for role in SAME_NAMES}
    sample = table.rows[:SAMPLE]
    free = [column for column in table.columns if column not in named.values()]
    file = _file_column(table, sample, index, media_column, name)
    free = [column for column in free if column != file]
    key = named["key"] or _key_column(table, [by_name[n] for n in KEY_NAMES if by_name.get(n) in free])
    text = named["text"]
    names_files = named["key"] is not None and _matches(table, named["key"], sample, index)
    if text is None and file is None and not (text_by_name or names_files):
        text = _text_column(table, [column for column in free if column != key], sample)
    return Roles(file, key, text, named["bag"], named["bag_labels"])


def _file_column(
    table: Table, sample: Sequence[Sequence[Any]], index: FileIndex, media_column: str | None, name: str
) -> str | None:
    """Return the column whose values name the sent files; a column named `media` is one without this check."""
    if media_column is not None and media_column not in table.columns:
        if index:
            raise fail(media_column, f"there is no column '{media_column}'; there is: {_listed(table)}", file=name)
        return None
    explicit = media_column or next((column for column in table.columns if column.casefold() == "media"), None)
    if explicit is not None or not index:
        return explicit
    scores = {column: _score(table, column, sample, index) for column in table.columns if column != "key"}
    best = max(scores, key=lambda column: (scores[column], column.casefold() in FILE_NAMES), default=None)
    return best if best is not None and scores[best] >= ENOUGH_MATCHES else None


def _listed(table: Table) -> str:
    return ", ".join(table.columns[:20])


def _score(table: Table, column: str, sample: Sequence[Sequence[Any]], index: FileIndex) -> float:
    """Return the share of cells that name a file; names without an ending count slightly less."""
    cells = [cell for cell in _cells(table, column, sample) if cell != ""]
    if not cells or not _mostly_distinct(cells):
        return 0.0
    full = sum(index.names(cell) for cell in cells)
    stems = sum(index.has_stem(cell) for cell in cells)
    if column.casefold() in FILE_NAMES and full + stems:
        return 1.0 + (full + stems) / len(cells)
    return max(full, 0.9 * stems) / len(cells)


def _matches(table: Table, column: str, sample: Sequence[Sequence[Any]], index: FileIndex) -> bool:
    return any(index.names(cell) or index.has_stem(cell) for cell in _cells(table, column, sample))


def _cells(table: Table, column: str, rows: Iterable[Sequence[Any]]) -> Iterator[Any]:
    place = table.columns.index(column)
    return (cells[place] for cells in rows)


def _key_column(table: Table, candidates: Sequence[str]) -> str | None:
    """Return the first column whose values are all different."""
    for column in candidates:
        cells = [str(cell).strip() for cell in _cells(table, column, table.rows)]
        if all(cells) and len(set(cells)) == len(cells):
            return column
    return None


def _text_column(table: Table, candidates: Sequence[str], sample: Sequence[Sequence[Any]]) -> str | None:
    """Return the column with much longer texts than others, or the only column of texts."""
    numbers = number_columns(table.columns, sample)
    texts = [c for c in candidates if c not in numbers and _mostly_distinct([*_cells(table, c, sample)])]
    lengths = {column: _mean_length(_cells(table, column, sample)) for column in texts}
    ordered = sorted(texts, key=lambda column: -lengths[column])
    if not ordered or (len(table.columns) > 2 and lengths[ordered[0]] < LONG_TEXT):
        return None
    is_longest = len(ordered) == 1 or lengths[ordered[0]] >= LONGER_THAN_OTHERS * lengths[ordered[1]]
    return ordered[0] if is_longest else None


def _mostly_distinct(cells: Sequence[Any]) -> bool:
    return 2 * len({str(cell) for cell in cells}) >= len(cells)


def _mean_length(cells: Iterable[Any]) -> float:
    lengths = [len(str(cell)) for cell in cells if cell != ""]
    return sum(lengths) / len(lengths) if lengths else 0.0


def report_columns(table: Table, roles: Roles, name: str) -> list[ColumnReport]:
    """Return the role of each column, with its first values."""
    reports = []
    for column in table.columns:
        values = dict.fromkeys(
            str(cell)[:EXAMPLE_LENGTH] for cell in _cells(table, column, table.rows[:50]) if cell != ""
        )
        reports.append(ColumnReport(column, roles.role_of(column), tuple(values)[:EXAMPLES], name))
    return reports


def reader_of(table: Table, roles: Roles) -> Callable[[Sequence[Any]], dict[str, Any]]:
    """Return a function that returns a row's values by role; `details` holds the metadata."""
    places = {column: place for place, column in enumerate(table.columns)}
    named = {role: places[column] for role, column in vars(roles).items() if column is not None}
    others = [(column, place) for column, place in places.items() if roles.role_of(column) == "metadata"]

    def read(cells: Sequence[Any]) -> dict[str, Any]:
        values: dict[str, Any] = {role: str(cells[place]) for role, place in named.items()}
        values["details"] = {column: cells[place] for column, place in others if cells[place] != ""}
        return values

    return read
