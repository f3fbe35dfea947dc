"""Many media files at once: which file belongs to which item, and what is stored of each.

Results wait in a temporary folder, not in memory, until the last file has proved to be good: one bad file
out of a thousand must leave nothing behind.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

from app.items import media
from app.items.faults import Faults
from app.items.service import StoredMedia
from app.items.tables import ItemRow
from app.storage import Storage

Opener = Callable[[], bytes]


@dataclass(frozen=True)
class Waiting:
    """One item's media as files in the temporary folder; the suffix tells the type."""

    media_type: str
    media: Path
    picture: Path
    thumbnail: Path


def rows_of_files(files: Sequence[str]) -> list[ItemRow]:
    """Make an item of each file; its name without the ending is the key."""
    return [ItemRow(key=PurePath(file).stem, media=file) for file in sorted(files)]


def match_files(
    rows: Sequence[ItemRow], files: Sequence[str], faults: Faults, table: str | None = None
) -> dict[str, str]:
    """Give the file of each item that has one: the one its row names, else the one called like its key.

    `table` names the rows' file in messages.
    """
    by_stem = {PurePath(file).stem: file for file in files}
    there = set(files)
    found: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        if row.media is None:
            file = row.key if row.key in there else by_stem.get(row.key)
        else:
            file = row.media if row.media in there else None
            if file is None:
                faults.add("media", f"the file '{row.media}' did not come along", row=number, file=table)
        if file is not None:
            found[row.key] = file
    return found


@contextmanager
def prepared(media_of: Mapping[str, str], files: Mapping[str, Opener]) -> Iterator[dict[str, Waiting]]:
    """Turn every file into what is stored of it, by item key; raise Invalid naming every file that is not right."""
    faults = Faults()
    ready: dict[str, Waiting] = {}
    seconds = _longest_sound(media_of, files)
    with tempfile.TemporaryDirectory(prefix="tercet-media-") as folder:
        for number, (key, file) in enumerate(media_of.items()):
            try:
                made = media.prepare(files[file](), seconds)
            except ValueError as error:
                faults.add("media", f"'{file}' {error}" if str(error).startswith("is ") else str(error), file=file)
                continue
            ready[key] = _keep(made, Path(folder) / str(number))
        faults.raise_any()
        yield ready


def store(storage: Storage, folder: str, waiting: Waiting) -> StoredMedia:
    """Put one item's media into storage."""
    kinds = {kind: getattr(waiting, kind) for kind in ("media", "picture", "thumbnail")}
    keys = {
        kind: storage.put_content(f"{folder}/{kind}", path.read_bytes(), path.suffix) for kind, path in kinds.items()
    }
    return StoredMedia(waiting.media_type, **keys)


def _longest_sound(media_of: Mapping[str, str], files: Mapping[str, Opener]) -> float | None:
    """Give the seconds that all spectrograms of this import span, so that lengths can be compared by eye."""
    longest = 0.0
    for file in media_of.values():
        content = files[file]()
        if media.is_sound(content):
            with suppress(ValueError):  # a broken sound is reported, with its name, where it is prepared
                longest = max(longest, media.seconds_of(content))
    return longest or None


def _keep(made: media.Media, path: Path) -> Waiting:
    return Waiting(
        made.media_type,
        _write(made.media, path.with_suffix(".media" + made.media.suffix)),
        _write(made.picture, path.with_suffix(".picture" + made.picture.suffix)),
        _write(made.thumbnail, path.with_suffix(".thumbnail" + made.thumbnail.suffix)),
    )


def _write(blob: media.Blob, path: Path) -> Path:
    path.write_bytes(blob.content)
    return path
