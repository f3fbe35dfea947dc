"""The input of reading, source files and options, and its result, an import plan."""

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

from tercet.errors import FieldError
from tercet.intake.feature_files import Features
from tercet.intake.tables import ItemRow
from tercet.sounds.segments import SegmentSettings

Became = Literal["table", "sound", "picture", "text", "selections", "features", "archive", "skipped"]
Kind = Literal["sound", "picture", "archive", "array", "table", "json", "parquet", "text", "selections", "foreign"]
Content = Literal["sounds", "pictures", "texts", "table", "mixed"]
Role = Literal["key", "text", "bag", "bag_labels", "file", "metadata"]
# Of one import, and in one archive of it.
MOST_FILES = 100_000


@dataclass(frozen=True)
class SourceFile:
    """A file: its path as the user dropped it, and its place on this machine.

    `kind` is the kind that its sender named; where None, it is recognised by content and name.
    """

    path: PurePosixPath
    local: Path
    kind: Kind | None = None


@dataclass(frozen=True)
class ReadOptions:
    """The user's options for an import.

    `skip_bad` imports the good items where some are bad. `bags_from_folders` makes each folder a bag. `cut` is which
    recordings become many items: "tables" are those with a selection table, "segments" all others too, at proposed
    segments, "never" none. `media_column` is the column with file names, where it should not be recognised.
    `items_before` is how many items the project has: features without other files belong to them.
    """

    skip_bad: bool = False
    bags_from_folders: bool = False
    cut: Literal["tables", "segments", "never"] = "tables"
    segments: SegmentSettings = field(default_factory=SegmentSettings)
    media_column: str | None = None
    items_before: int = 0


@dataclass(frozen=True)
class MediaSource:
    """The source of an item's media: a file, or a part of it in seconds with its range of frequencies."""

    file: SourceFile
    begin_s: float | None = None
    end_s: float | None = None
    low_hz: float | None = None
    high_hz: float | None = None


@dataclass(frozen=True)
class FileReport:
    """What a file became, how or why in words, and the number of its items."""

    path: str
    became: Became
    detail: str = ""
    items: int = 0


@dataclass(frozen=True)
class ColumnReport:
    """The role of a table's column, with a few of its values."""

    name: str
    role: Role
    examples: tuple[str, ...] = ()
    table: str = ""


@dataclass(frozen=True)
class ImportPlan:
    """The future items in their order, and all that a preview shows. With faults it is stored only with `skip_bad`."""

    rows: tuple[ItemRow, ...]
    media: dict[str, MediaSource]
    files: tuple[FileReport, ...]
    columns: tuple[ColumnReport, ...]
    faults: tuple[FieldError, ...]
    fault_count: int
    features: Features | None
    content: Content
