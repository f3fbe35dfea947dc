"""The picture settings of a project's sounds: those that it has, or settings that fit what its recordings hold."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from tercet.intake.reading.plan import MediaSource, SourceFile
from tercet.models import Item, Project
from tercet.sounds.decoding import Sound, SoundInfo, cut_clip, describe_sound, is_sound, read_sound
from tercet.sounds.fitting import fit_to
from tercet.sounds.picture_settings import PRESETS, PictureSettings
from tercet.storage import Storage
from tercet.web.errors import FieldError, Invalid

MOST_LISTENED = 40  # clips whose frequencies are looked at
BEGINNING = 16
FIT = "fit"  # the preset that is found by what the recordings hold
NUMBERS = ("low_hz", "high_hz", "window_seconds", "dynamic_range_db", "seconds", "expansion")


def stored_settings(project: Project) -> PictureSettings | None:
    """Return the settings that the project has, if sounds came or somebody chose them."""
    stored = {name: value for name, value in (project.picture_settings or {}).items() if name != "reason"}
    return PictureSettings(**stored) if stored else None


def to_store(settings: PictureSettings, reason: str) -> dict[str, Any]:
    """Return settings as the project keeps them, with the sentence that says why they are so."""
    return asdict(settings) | {"reason": reason}


def read_choice(fields: dict[str, str]) -> dict[str, Any] | None:
    """Return what a form chose, as the project keeps it: a preset, or every setting by itself; None: what fits."""
    preset = fields.get("preset", "")
    if preset == FIT:
        return None
    if preset in PRESETS:
        return to_store(PRESETS[preset], f"chosen: what {preset} recordings are usually looked at with")
    try:
        numbers = {name: float(fields[name]) for name in NUMBERS}
        return to_store(PictureSettings(**numbers, colour_map=fields.get("colour_map", "")), "chosen by hand")
    except KeyError as error:
        raise Invalid("Nothing was changed.", [FieldError(str(error.args[0]), "is missing")]) from error
    except ValueError as error:
        raise Invalid(f"Nothing was changed: {error}.") from error


def settings_for(sources: Sequence[MediaSource]) -> tuple[PictureSettings, str] | None:
    """Return settings that fit the recordings among an import's media, and why; None where there are none."""
    infos = [(source, info) for source in sources if (info := _info(source)) is not None]
    if not infos:
        return None
    step = max(1, len(infos) // MOST_LISTENED)
    return fit_to([info for _, info in infos], _sounds([source for source, _ in infos[::step]]))


def fit_to_stored(storage: Storage, items: Sequence[Item]) -> tuple[PictureSettings, str] | None:
    """Return settings that fit the sounds of items that are stored, and why; None where there are none."""
    with TemporaryDirectory(prefix="tercet-sounds-") as folder:
        sources = []
        for item in items:
            path = storage.local_path(item.media or "") if item.media else None
            if path is None and item.media:
                path = Path(folder) / str(item.id)
                path.write_bytes(storage.get(item.media))
            if path is not None:
                sources.append(MediaSource(SourceFile(PurePosixPath(item.key), path)))
        return settings_for(sources)


def _info(source: MediaSource) -> SoundInfo | None:
    """Return what the header of a recording says, with the length of the item; None where it cannot be read."""
    with source.file.local.open("rb") as stream:
        if not is_sound(stream.read(BEGINNING)):
            return None
    try:
        info = describe_sound(source.file.local)
    except ValueError:
        return None  # reported, with its name, where it is stored
    end = info.seconds if source.end_s is None else source.end_s
    return replace(info, seconds=max(end - (source.begin_s or 0.0), 0.0))


def _sounds(sources: Sequence[MediaSource]) -> Iterator[Sound]:
    for source in sources:
        path = source.file.local
        try:
            if source.end_s is None:
                yield read_sound(path)
            else:
                yield read_sound(io.BytesIO(cut_clip(path, source.begin_s or 0.0, source.end_s)))
        except ValueError:
            continue
