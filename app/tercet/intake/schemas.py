"""The JSON of imports: items, imports, previews, segments, pictures and recipes."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tercet.errors import FieldError, Invalid
from tercet.features.recipes import MOST_NUMBERS, MOST_WEIGHT, Recipe, describe
from tercet.intake.plans import PlannedItem
from tercet.intake.reading.plan import ColumnReport, Content, FileReport
from tercet.intake.tables import ItemRow
from tercet.items.checks import Finding
from tercet.items.schemas import FEATURES_EXAMPLE, FeaturesOut
from tercet.jobs.schemas import JobOut
from tercet.models import BackgroundJob, Import, ImportFile, ImportStatus, Project
from tercet.sounds.picture_settings import PictureSettings
from tercet.sounds.segments import SegmentSettings
from tercet.web.numbers import Count
from tercet.web.texts import Name, Text

MOST_ROWS = 200_000
ITEM_EXAMPLE: dict[str, Any] = {
    "key": "song-17",
    "text": "",
    "bag": "recording-3",
    "bag_labels": ["Swainson's thrush"],
    "metadata": {"site": "A1"},
}


ITEMS_EXAMPLE: dict[str, Any] = {"items": [ITEM_EXAMPLE]}


class ItemIn(BaseModel):
    """One item to add."""

    model_config = ConfigDict(extra="forbid")

    key: str
    text: str = ""
    bag: str | None = None
    bag_labels: list[str] = []
    metadata: dict[str, Any] = {}

    def row(self) -> ItemRow:
        """Return the item as a row of a table."""
        return ItemRow(self.key, self.text, self.bag, tuple(self.bag_labels), None, self.metadata)


class ItemsIn(BaseModel):
    """Items to add."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [ITEMS_EXAMPLE]})

    items: list[ItemIn] = Field(min_length=1, max_length=MOST_ROWS)


class ItemPatch(BaseModel):
    """Changes of one item; fields that are left out stay as they are."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"metadata": {"site": "B2"}, "set_aside": False}]}
    )

    text: Text = Field("", description="the new text")
    bag: Name | None = Field(None, description="the new bag, which is created if it does not exist; null: none")
    metadata: dict[str, Any] = Field({}, description="changed by name; null removes one")
    set_aside: bool = Field(False, description="whether it is left out of questions, fits and counts")


class ItemRemoved(BaseModel):
    """Whether an item was deleted, or set aside because it has answers."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"key": "song-17", "set_aside": True}]})

    key: str
    set_aside: bool


class ImportedOut(BaseModel):
    """The number of added items, and the features if some were sent."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"added": 4998, "features": FEATURES_EXAMPLE}]})

    added: int
    features: FeaturesOut | None


IMPORT_EXAMPLE: dict[str, Any] = {
    "number": 3,
    "status": "ready",
    "source": "page",
    "by": "Ada",
    "options": {"skip_bad": False, "bags_from_folders": False},
    "files": 29,
    "bytes": 9123456,
    "received": 9123456,
    "report": {"content": "sounds", "items": 29, "new": 29, "updates": 0, "features": None, "columns": []},
    "job": None,
    "created_at": "2026-05-02T09:30:00Z",
    "finished_at": None,
}
# Lists of a report that may be long: they are read page by page with the preview.
LONG_PARTS = ("files", "faults", "pictures", "left_out")


class ImportOptions(BaseModel):
    """How to read the files; options that are left out have their defaults."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"skip_bad": True}]})

    skip_bad: bool = Field(False, description="store the good items and list the bad ones, instead of all or nothing")
    bags_from_folders: bool = Field(False, description="make a bag of each subfolder")
    cut: Literal["tables", "segments", "never"] = Field(
        "tables",
        description="which recordings are cut into items. tables: those with a selection table; segments: all others "
        "too, at proposed segments; never: none",
    )
    segments: SegmentSettings = Field(SegmentSettings(), description="how segments are proposed")
    media_column: Name | None = Field(None, description="the column with the file names, if it is not recognised")


class ImportIn(BaseModel):
    """Options of an import: at its creation, or for a new check."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"options": {"skip_bad": True}}]})

    options: ImportOptions | None = None

    def options_sent(self) -> dict[str, Any] | None:
        """Return the options, if any were sent."""
        return None if self.options is None else self.options.model_dump()


class ImportReport(BaseModel):
    """What was understood of an import's files, and once it is done what it did; null is what is not known yet.

    Files, faults and what was left out are counted here: the preview lists them.
    """

    content: Content | None = Field(None, description="what most items are")
    items: int | None = Field(None, description="items that the files describe")
    new: int | None = None
    updates: int | None = Field(None, description="items whose keys the project had")
    features: int | None = Field(None, description="numbers of each item that came along, if any did")
    files: int | None = Field(None, description="files, with those in archives")
    skipped: int | None = None
    faults_count: int | None = None
    columns: list[ColumnReport] = Field([], description="what the columns of tables were taken for")
    findings: list[Finding] = Field([], description="what would spoil the labeling")
    rates: list[tuple[int, int]] = Field([], description="sampling rates of recordings in Hz, each with how many")
    median_seconds: float | None = Field(None, description="the length of the typical sound")
    added: int | None = None
    first_position: int | None = Field(None, description="where the added items begin in the order of all")
    changed: int | None = None
    replaced: list[str] = Field([], description="keys of items whose media were replaced")
    left_out_count: int | None = None
    error: str | None = Field(None, description="why it ended without success")

    @classmethod
    def of(cls, report: dict[str, Any]) -> "ImportReport":
        """Show a report as it is stored."""
        counts = {f"{name}_count": len(report[name]) for name in ("faults", "left_out") if name in report}
        if "files" in report:
            skipped = sum(file["became"] == "skipped" for file in report["files"])
            counts |= {"files": len(report["files"]), "skipped": skipped}
        # Of very many faults only the first are stored, with how many there are.
        return cls.model_validate(counts | {name: value for name, value in report.items() if name not in LONG_PARTS})


class ImportOut(BaseModel):
    """An import: its status, what its files were read as, and the result."""

    model_config = ConfigDict(json_schema_extra={"examples": [IMPORT_EXAMPLE]})

    number: int
    status: ImportStatus
    source: str
    by: str | None = Field(description="who made it")
    options: ImportOptions
    files: int
    bytes: int
    received: int = Field(description="bytes received so far")
    report: ImportReport
    job: JobOut | None = Field(description="its newest background job")
    created_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(
        cls, row: Import, totals: tuple[int, int, int], job: BackgroundJob | None = None, by: str | None = None
    ) -> "ImportOut":
        """Show an import; `totals` are the numbers of its files, of their bytes, and of the bytes received."""
        options = {name: value for name, value in row.options.items() if name in ImportOptions.model_fields}
        return cls(
            number=row.number,
            status=ImportStatus(row.status),
            source=row.source,
            by=by,
            options=ImportOptions.model_validate(options),
            files=totals[0],
            bytes=totals[1],
            received=totals[2],
            report=ImportReport.of(row.report),
            job=None if job is None else JobOut.model_validate(job),
            created_at=row.created_at,
            finished_at=row.finished_at,
        )


class ImportList(BaseModel):
    """A page of imports, newest first; `next` is the `before` of the next page."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"imports": [IMPORT_EXAMPLE], "next": None}]})

    imports: list[ImportOut]
    next: int | None


class FileReceived(BaseModel):
    """How many bytes of a file were received; the next part begins at `received`."""

    model_config = ConfigDict(
        from_attributes=True,
        json_schema_extra={"examples": [{"path": "site 1/a.flac", "received": 8192, "size": 9000}]},
    )

    path: str
    received: int
    size: int


class ReceivedList(BaseModel):
    """The files of an import, and how much of each was received."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"files": [{"path": "a.flac", "received": 8192, "size": 9000}]}]}
    )

    files: list[FileReceived]

    @classmethod
    def of(cls, files: list[ImportFile]) -> "ReceivedList":
        """Show the files."""
        return cls(files=[FileReceived.model_validate(file) for file in files])


class PreviewItem(BaseModel):
    """An item as it would be imported."""

    position: int
    key: str
    text: str
    bag: str | None
    bag_labels: list[str]
    file: str | None
    begin_s: float | None
    end_s: float | None
    metadata: dict[str, Any]
    picture_url: str | None

    @classmethod
    def of(cls, item: PlannedItem, position: int, picture_url: str | None) -> "PreviewItem":
        """Show an item of a plan."""
        row = item.row
        return cls(
            position=position,
            key=row.key,
            text=row.text,
            bag=row.bag,
            bag_labels=list(row.bag_labels),
            file=item.file,
            begin_s=item.begin_s,
            end_s=item.end_s,
            metadata=row.details,
            picture_url=picture_url,
        )


PREVIEW_EXAMPLE: dict[str, Any] = {
    "items": [
        {
            "position": 0,
            "key": "wren-1",
            "text": "",
            "bag": None,
            "bag_labels": [],
            "file": "site 1/wren-1.wav",
            "begin_s": None,
            "end_s": None,
            "metadata": {"folder": "site 1"},
            "picture_url": "/api/v1/projects/forest-songs/imports/3/preview/0/picture",
        }
    ],
    "next": None,
    "columns": [{"name": "folder", "role": "metadata", "examples": ["site 1"], "table": ""}],
    "files": [{"path": "site 1/wren-1.wav", "became": "sound", "detail": "", "items": 1}],
    "faults": [],
    "left_out": [],
}


class ImportPreview(BaseModel):
    """The preview of an import: items page by page, columns, what each file was read as, and the faults."""

    model_config = ConfigDict(json_schema_extra={"examples": [PREVIEW_EXAMPLE]})

    items: list[PreviewItem]
    next: int | None = Field(description="the `after` of the next page")
    columns: list[ColumnReport] = Field(description="the role of each column of the tables")
    files: list[FileReport] = Field(description="what each file was read as; the first thousand")
    faults: list[FieldError] = Field(description="what is wrong, with file, row and field, and what to do")
    left_out: list[FieldError] = Field(description="what an import with `skip_bad` has left out")


SEGMENTS, PICTURES = SegmentSettings(), PictureSettings()
GROUP_EXAMPLE: dict[str, Any] = {"kind": "sound_codes", "numbers": 32, "weight": 1.0}
Number = Annotated[float, Field(allow_inf_nan=False)]


class SegmentQuery(BaseModel):
    """A recording, and how its segments are proposed."""

    model_config = ConfigDict(extra="forbid")

    path: Text = Field(description="path of the recording as in the preview; files of `a.zip` are in `a/`")
    low_hz: Number = SEGMENTS.low_hz
    high_hz: Number = SEGMENTS.high_hz
    threshold_db: Number = Field(SEGMENTS.threshold_db, description="how much louder than the noise of its band")
    smallest_gap: Number = Field(SEGMENTS.smallest_gap, description="seconds; sounds closer than this are one segment")
    shortest: Number = Field(SEGMENTS.shortest, description="seconds; shorter sounds are no segments")
    pad: Number = Field(SEGMENTS.pad, description="seconds that are added at both ends")

    def settings(self) -> SegmentSettings:
        """Return the settings; raise Invalid with a sentence if they contradict one another."""
        try:
            return SegmentSettings(**self.model_dump(exclude={"path"}))
        except ValueError as error:
            raise Invalid(f"Nothing can be cut like this: {error}.") from error


class ProposedSegment(BaseModel):
    """One segment: seconds from the beginning of the recording, and hertz."""

    begin_s: float
    end_s: float
    low_hz: float
    high_hz: float


class ProposedSegments(BaseModel):
    """The segments that a recording would be cut into; `listened_s` is how many seconds of it were read."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "path": "morning.flac",
                    "rate": 22_050,
                    "seconds": 612.4,
                    "listened_s": 600.0,
                    "segments": [{"begin_s": 1.2, "end_s": 1.63, "low_hz": 1_400.0, "high_hz": 4_480.0}],
                    "words": "1 sound in the first 10 min, 0.43 s long.",
                }
            ]
        }
    )

    path: str
    rate: int
    seconds: float
    listened_s: float
    segments: list[ProposedSegment]
    words: str


class PictureQuery(BaseModel):
    """A sound of the project, and settings to draw it with."""

    model_config = ConfigDict(extra="forbid")

    key: Text = Field(description="the item")
    low_hz: Number = PICTURES.low_hz
    high_hz: Number = PICTURES.high_hz
    window_seconds: Number = PICTURES.window_seconds
    dynamic_range_db: Number = PICTURES.dynamic_range_db
    colour_map: Name = PICTURES.colour_map
    seconds: Number = Field(PICTURES.seconds, description="how many seconds the width of a picture shows")
    expansion: Number = Field(PICTURES.expansion, description="how many times slower the sound is played")

    def settings(self) -> PictureSettings:
        """Return the settings; raise Invalid with a sentence if nothing can be drawn with them."""
        try:
            return PictureSettings(**self.model_dump(exclude={"key"}))
        except ValueError as error:
            raise Invalid(f"Nothing can be drawn like this: {error}.") from error


class GroupIn(BaseModel):
    """One group of features."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [GROUP_EXAMPLE]})

    kind: Name = Field(description="such as sound_measures, picture_shapes, text_words, or plugin:NAME")
    numbers: Annotated[Count, Field(le=MOST_NUMBERS)] = Field(0, description="columns to reduce it to; 0: all it has")
    weight: Annotated[float, Field(gt=0, le=MOST_WEIGHT, allow_inf_nan=False)] = 1.0


class RecipeIn(BaseModel):
    """Groups of features; null: the default for these items."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"groups": [GROUP_EXAMPLE]}]})

    groups: Annotated[list[GroupIn], Field(min_length=1, max_length=100)] | None


class RecipeOut(BaseModel):
    """The chosen groups, and the same in words; null: the default for these items. `making`: features are made now."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"groups": [GROUP_EXAMPLE], "words": "up to 32 numbers learned from these recordings", "making": False}
            ]
        }
    )

    groups: list[GroupIn] | None
    words: str | None
    making: bool

    @classmethod
    def of(cls, project: Project, *, making: bool) -> "RecipeOut":
        """Show the recipe of a project."""
        if project.feature_recipe is None:
            return cls(groups=None, words=None, making=making)
        groups = [GroupIn.model_validate(group) for group in project.feature_recipe["groups"]]
        return cls(groups=groups, words=describe(Recipe.from_dict(project.feature_recipe)), making=making)
