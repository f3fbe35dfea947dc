"""Many media files at once: which file belongs to which item, and what is stored of each.

Results wait in a temporary folder, not in memory, until the last file has proved to be good: one bad file
out of a thousand must leave nothing behind.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from tercet.intake import media
from tercet.intake.faults import Faults
from tercet.intake.service import StoredMedia
from tercet.intake.tables import ItemRow
from tercet.sounds.decoding import is_sound
from tercet.sounds.picture_settings import PictureSettings, typical_seconds
from tercet.storage import Storage
from tercet.web.texts import with_subject

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
    """Return the file of each item that has one: the one its row names, else the one called like its key.

    `table` names the rows' file in messages.
    """
    by_stem = {PurePath(file).stem: file for file in files}
    by_name = set(files)
    media_of: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        if row.media is None:
            file = row.key if row.key in by_name else by_stem.get(row.key)
        else:
            file = row.media if row.media in by_name else None
            if file is None:
                faults.add("media", f"the file '{row.media}' did not come along", row=number, file=table)
        if file is not None:
            media_of[row.key] = file
    return media_of


@contextmanager
def prepared(media_of: Mapping[str, str], files: Mapping[str, Opener]) -> Iterator[dict[str, Waiting]]:
    """Turn every file into what is stored of it, by item key; raise Invalid naming every file that is not right.

    Images are prepared as they are read. Sounds are read twice: all their spectrograms share one time scale, so
    that lengths can be compared by eye.
    """
    faults = Faults()
    ready: dict[str, Waiting] = {}
    sounds: dict[str, str] = {}
    lengths: list[float] = []
    with tempfile.TemporaryDirectory(prefix="tercet-media-") as folder:
        for key, file in media_of.items():
            content = files[file]()
            if is_sound(content):
                sounds[key] = file
                with suppress(ValueError):  # a broken sound is reported, with its name, where it is prepared
                    lengths.append(media.seconds_of(content))
            else:
                _prepare(key, file, content, None, ready, faults, Path(folder))
        settings = replace(PictureSettings(), seconds=typical_seconds(lengths))
        for key, file in sounds.items():
            _prepare(key, file, files[file](), settings, ready, faults, Path(folder))
        faults.raise_any()
        yield ready


def _prepare(
    key: str,
    file: str,
    content: bytes,
    settings: PictureSettings | None,
    ready: dict[str, Waiting],
    faults: Faults,
    folder: Path,
) -> None:
    """Add an item's media to those that are ready, or note why they cannot be used."""
    try:
        item_media = media.prepare(content, settings)
    except ValueError as error:
        faults.add("media", with_subject(f"'{file}'", error), file=file)
    else:
        ready[key] = _write(item_media, folder / str(len(ready)))


def store(storage: Storage, folder: str, waiting: Waiting) -> StoredMedia:
    """Put one item's media into storage."""
    kinds = {kind: getattr(waiting, kind) for kind in ("media", "picture", "thumbnail")}
    keys = {
        kind: storage.put_content(f"{folder}/{kind}", path.read_bytes(), path.suffix) for kind, path in kinds.items()
    }
    return StoredMedia(waiting.media_type, keys["media"], keys["picture"], keys["thumbnail"])


def _write(item_media: media.Media, path: Path) -> Waiting:
    return Waiting(
        item_media.media_type,
        _write_blob(item_media.media, path.with_suffix(".media" + item_media.media.suffix)),
        _write_blob(item_media.picture, path.with_suffix(".picture" + item_media.picture.suffix)),
        _write_blob(item_media.thumbnail, path.with_suffix(".thumbnail" + item_media.thumbnail.suffix)),
    )


def _write_blob(blob: media.Blob, path: Path) -> Path:
    path.write_bytes(blob.content)
    return path
