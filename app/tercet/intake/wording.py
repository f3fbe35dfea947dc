"""The sentence at the top of a preview, and numbers and lengths in words."""

from pathlib import PurePosixPath
from typing import Any

NOUNS = {
    "sounds": ("recording", "recordings"),
    "pictures": ("picture", "pictures"),
    "texts": ("text", "texts"),
    "table": ("row of a table", "rows of a table"),
}
ITEM = ("item", "items")
MINUTES_FROM, HOURS_FROM = 99.5, 5_400.0  # seconds


def summarise(report: dict[str, Any]) -> str:
    """Return what the files of a checked import were read as: "24 recordings; clips.csv has a row for each."."""
    files, items = report["files"], report["items"]
    media = [file for file in files if file["became"] in ("sound", "picture", "text")]
    parts = [_items(report, media) + _length_and_folders(report, media)]
    parts += [_table(file, items) for file in files if file["became"] == "table" and media]
    if report["features"]:
        parts.append(f"with {report['features']} features for each")
    if skipped := sum(file["became"] == "skipped" for file in files):
        parts.append(f"{counted(skipped, ('file is', 'files are'))} left out")
    return "; ".join(parts) + "."


def _items(report: dict[str, Any], media: list[dict[str, Any]]) -> str:
    if not report["items"]:
        return "Nothing to import"
    if report["content"] == "sounds" and any(file["items"] > 1 for file in media):
        return f"{counted(report['items'], ('segment', 'segments'))} of {counted(len(media), NOUNS['sounds'])}"
    return counted(report["items"], NOUNS.get(report["content"], ITEM))


def _length_and_folders(report: dict[str, Any], media: list[dict[str, Any]]) -> str:
    seconds = report.get("median_seconds")
    folders = {str(PurePosixPath(file["path"]).parent) for file in media}
    where = f" in {len(folders)} folders" if len(folders) > 1 else ""
    if seconds is None:
        return where
    usual = " at the median" if report["items"] > 1 else ""
    return f", {duration(seconds)} long{usual}{',' if where else ''}{where}"


def _table(file: dict[str, Any], items: int) -> str:
    name = PurePosixPath(file["path"]).name
    if file["items"] == items:
        return f"{name} has a row for each"
    return f"{name} has {counted(file['items'], ('row', 'rows'))}"


def counted(number: int, nouns: tuple[str, str]) -> str:
    """Return a number with the noun that goes with it, as "1 file" or "2,000 files"."""
    return f"{number:,} {nouns[number != 1]}"


def duration(seconds: float) -> str:
    """Return a length of time in words: "0.43 s", "24 s", "10 min", "3.5 h"."""
    if seconds < MINUTES_FROM:
        return f"{seconds:.2g} s"
    if seconds < HOURS_FROM:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.2g} h"
