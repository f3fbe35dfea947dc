"""Draws a project's sounds: finds settings that fit its recordings, draws one sound on trial, draws all again."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.errors import FieldError, Invalid, NotFound
from tercet.intake import media, service
from tercet.intake.reading.plan import MediaSource, SourceFile
from tercet.intake.work import Work
from tercet.items.queries import item_by_key
from tercet.models import Item, Project
from tercet.projects.service import blob_folder
from tercet.runs.queries import lock_project
from tercet.sounds.decoding import Sound, SoundInfo, cut_clip, describe_sound, is_sound, read_sound
from tercet.sounds.fitting import fit_to
from tercet.sounds.picture_settings import PRESETS, PictureSettings, read_stored
from tercet.sounds.spectrograms import picture_and_thumbnail
from tercet.storage import Storage

MOST_LISTENED = 40  # clips whose frequencies settings are fitted to
BEGINNING = 16
MOST_SECONDS_TRIED = 60.0  # of a longer sound only the beginning is drawn on trial
FIT = "fit"  # the preset that is fitted to the recordings
NUMBERS = ("low_hz", "high_hz", "window_seconds", "dynamic_range_db", "seconds", "expansion")


def to_store(settings: PictureSettings, reason: str) -> dict[str, Any]:
    """Return settings as a project stores them, with a sentence on why these."""
    return asdict(settings) | {"reason": reason}


def read_choice(fields: dict[str, str]) -> dict[str, Any] | None:
    """Return the settings of a form as a project stores them, from a preset or one by one; None to fit them."""
    preset = fields.get("preset", "")
    if preset == FIT:
        return None
    if preset in PRESETS:
        return to_store(PRESETS[preset], f"chosen: the usual settings for {preset} recordings")
    try:
        numbers = {name: float(fields[name]) for name in NUMBERS}
        return to_store(PictureSettings(**numbers, colour_map=fields.get("colour_map", "")), "chosen by hand")
    except KeyError as error:
        raise Invalid("Nothing was changed.", [FieldError(str(error.args[0]), "is missing")]) from error
    except ValueError as error:
        raise Invalid(f"Nothing was changed: {error}.") from error


def settings_for(sources: Sequence[MediaSource]) -> tuple[PictureSettings, str] | None:
    """Return settings that fit the recordings among an import's media, and why these; None without recordings."""
    infos = [(source, info) for source in sources if (info := _info(source)) is not None]
    if not infos:
        return None
    step = max(1, len(infos) // MOST_LISTENED)
    return fit_to([info for _, info in infos], _sounds([source for source, _ in infos[::step]]))


def fit_to_stored(storage: Storage, items: Sequence[Item]) -> tuple[PictureSettings, str] | None:
    """Return settings that fit the sounds of stored items, and why these; None without sounds."""
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
    """Return the header of a recording, with the length of the item; None where it is no recording or unreadable."""
    with source.file.local.open("rb") as stream:
        if not is_sound(stream.read(BEGINNING)):
            return None
    try:
        info = describe_sound(source.file.local)
    except ValueError:
        return None  # reported, with the file's name, when it is stored
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


def sound_of(session: Session, project: Project, key: str) -> str:
    """Return the storage key of an item's sound; raise NotFound if it has none."""
    item = item_by_key(session, project.id, key)
    if item is None or item.media is None or not (item.media_type or "").startswith("audio/"):
        raise NotFound(f"There is no item '{key}' with a sound in this project.")
    return item.media


def draw_on_trial(storage: Storage, blob: str, settings: PictureSettings) -> bytes:
    """Return the picture of a sound as PNG."""
    content = storage.get(blob)
    info = describe_sound(io.BytesIO(content))
    if info.seconds > MOST_SECONDS_TRIED:
        content = cut_clip(io.BytesIO(content), 0.0, MOST_SECONDS_TRIED)
    sound = read_sound(io.BytesIO(content))
    return picture_and_thumbnail(sound.samples, sound.rate, settings, with_marks=True)[0]


def draw_pictures(work: Work) -> None:
    """Draw the pictures of all sounds of the job's project; pages show the old ones until all new ones are there."""
    project_id = work.job.project_id
    folder = blob_folder(project_id)
    with work.database.reading() as session:
        sounds = select(Item).where(Item.project_id == project_id, Item.media_type.startswith("audio/"))
        settings = read_stored(session.get_one(Project, project_id).picture_settings)
        items = list(session.scalars(sounds.where(Item.deleted_at.is_(None))))
    fitted = fit_to_stored(work.storage, items) if settings is None else None
    settings = settings or (fitted[0] if fitted else PictureSettings())
    drawn: dict[int, tuple[str, str]] = {}
    for number, item in enumerate(items):
        work.report(number / len(items), f"Drawing {number + 1:,} of {len(items):,} sounds")
        if item.media is not None:
            prepared = media.prepare(work.storage.get(item.media), settings)
            pictures = (prepared.picture, "picture"), (prepared.thumbnail, "thumbnail")
            picture, thumbnail = (
                work.storage.put_content(f"{folder}/{kind}", blob.content, blob.suffix) for blob, kind in pictures
            )
            drawn[item.id] = picture, thumbnail
    before = [key for item in items for key in (item.picture, item.thumbnail) if key]
    with work.database.transaction() as session:
        project = lock_project(session, project_id)
        if fitted and project.picture_settings is None:
            project.picture_settings = to_store(*fitted)
        for item_id, (picture, thumbnail) in drawn.items():
            row = session.get(Item, item_id)
            if row is not None and row.deleted_at is None:
                row.picture, row.thumbnail = picture, thumbnail
        work.finish(session, f"{len(drawn)} pictures drawn")
    service.remove_unused(work.database, work.storage, project_id, before)
