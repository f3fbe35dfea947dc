"""What reading takes and gives: source files and options in, an import plan out."""

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

from tercet.intake.feature_files import Features
from tercet.intake.tables import ItemRow
from tercet.sounds.segments import SegmentSettings
from tercet.web.errors import FieldError

Became = Literal["table", "sound", "picture", "text", "selections", "features", "archive", "skipped"]
Kind = Literal["sound", "picture", "archive", "array", "table", "json", "parquet", "text", "selections", "foreign"]
Content = Literal["sounds", "pictures", "texts", "table", "mixed"]
Role = Literal["key", "text", "bag", "bag_labels", "file", "metadata"]


@dataclass(frozen=True)
class SourceFile:
    """A file as the user has it, its path within what was dropped, and where it lies on this machine.

    `kind` is what its sender says it is; where nobody says, that is seen by its content and its name.
    """

    path: PurePosixPath
    local: Path
    kind: Kind | None = None


@dataclass(frozen=True)
class ReadOptions:
    """What the user decides about an import.

    `skip_bad` keeps the good items where some are bad. `bags_from_folders` makes each folder a bag. `cut` says which
    recordings become many items: those that a selection table belongs to, these and by proposed segments all others,
    or none. `media_column` is the column of the tables that names files, where it is not to be recognised.
    `items_before` is how many items the project has: features that come alone belong to them.
    """

    skip_bad: bool = False
    bags_from_folders: bool = False
    cut: Literal["tables", "segments", "never"] = "tables"
    segments: SegmentSettings = field(default_factory=SegmentSettings)
    media_column: str | None = None
    items_before: int = 0


@dataclass(frozen=True)
class MediaSource:
    """Where an item's media come from: a file, or a stretch of it in seconds with its range of frequencies."""

    file: SourceFile
    begin_s: float | None = None
    end_s: float | None = None
    low_hz: float | None = None
    high_hz: float | None = None


@dataclass(frozen=True)
class FileReport:
    """What a file became, why or how in words, and how many items came of it."""

    path: str
    became: Became
    detail: str = ""
    items: int = 0


@dataclass(frozen=True)
class ColumnReport:
    """What a column of a table was taken for, with a few of its values."""

    name: str
    role: Role
    examples: tuple[str, ...] = ()
    table: str = ""


@dataclass(frozen=True)
class ImportPlan:
    """The items to be, in their order, and all that a preview shows; with faults and no `skip_bad`, nothing is kept."""

    rows: tuple[ItemRow, ...]
    media: dict[str, MediaSource]
    files: tuple[FileReport, ...]
    columns: tuple[ColumnReport, ...]
    faults: tuple[FieldError, ...]
    fault_count: int
    features: Features | None
    content: Content
