"""The import itself: media go to storage, then one short transaction makes all items visible, or none.

Until that transaction nothing of the import can be seen, and what it has put into storage is taken out again if the
import ends before.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.intake import cutting, plans, queries, service
from tercet.intake.checking import read_options
from tercet.intake.faults import Faults
from tercet.intake.features import Features, in_item_order
from tercet.intake.importing import Target, arrange, find_target_by_id
from tercet.intake.picture_scale import settings_for, stored_settings, to_store
from tercet.intake.plans import PlannedItem
from tercet.intake.reading.plan import MediaSource, SourceFile
from tercet.intake.reading.reader import source_files
from tercet.intake.received import folder_of, on_this_machine
from tercet.intake.service import StoredFeatures, StoredMedia, Written
from tercet.intake.work import Progress, Work, part
from tercet.jobs import lifecycle
from tercet.models import FeatureSet, Import, ImportStatus, Item, JobKind, Project, now
from tercet.projects.service import blob_folder
from tercet.runs.queries import lock_project
from tercet.sounds.picture_settings import PictureSettings
from tercet.storage import Storage
from tercet.web.errors import FieldError
from tercet.web.texts import with_subject
from tercet.web.zip_stream import npy_bytes


@dataclass
class Prepared:
    """What an import has put into storage, and what it left out."""

    media: dict[str, StoredMedia] = field(default_factory=dict)
    new_blobs: list[str] = field(default_factory=list)
    faults: list[FieldError] = field(default_factory=list)
    picture_settings: dict[str, Any] | None = None  # those that were fitted, where the project had none


def store_import(work: Work) -> None:
    """Make items of the files of a checked import."""
    with work.database.reading() as session:
        row = queries.import_by_number(session, work.job.project_id, work.subject)
        files = queries.files_of(session, row)
    items, features = plans.load(work.storage, row), plans.load_features(work.storage, row)
    with on_this_machine(work.storage, files) as sources, TemporaryDirectory(prefix="tercet-unpacked-") as scratch:
        by_path = source_files(sources, Path(scratch))
        store(work.database, work.storage, row, items, by_path, features, work)
    work.storage.delete_folder(f"{folder_of(row)}/files")


def store(
    database: Database,
    storage: Storage,
    row: Import,
    items: Sequence[PlannedItem],
    files: dict[str, SourceFile],
    features: Features | None,
    progress: Progress,
) -> Written:
    """Store media, then make all items visible at once; `row` is of the import, which may not be stored yet."""
    prepared = Prepared()
    folder = blob_folder(row.project_id)
    with database.reading() as session:
        settings = stored_settings(session.get_one(Project, row.project_id))
    try:
        prepare(storage, folder, items, files, prepared, settings, part(progress, 0.0, 0.95))
        if prepared.faults and not read_options(row).skip_bad:
            faults = Faults.of(prepared.faults)
            faults.raise_any()
        bad = {fault.field.removeprefix("media of ") for fault in prepared.faults}
        good = [item for item in items if item.row.key not in bad]
        return _write(database, storage, row, good, prepared, features, progress)
    except BaseException:
        remove_unused(database, storage, row.project_id, prepared.new_blobs)
        raise


def prepare(
    storage: Storage,
    folder: str,
    items: Sequence[PlannedItem],
    files: dict[str, SourceFile],
    prepared: Prepared,
    settings: PictureSettings | None,
    report: Any,
) -> None:
    """Put the media of all items into storage; where the project has no picture settings yet, some are fitted first."""
    sources = {item.row.key: source for item in items if (source := item.source(files))}
    if settings is None:
        report(0.0, "Listening for how to draw the sounds")
        fitted = settings_for(list(sources.values()))
        prepared.picture_settings = to_store(*fitted) if fitted else None
        settings = fitted[0] if fitted else PictureSettings()
    for number, (key, source) in enumerate(sources.items()):
        report(0.1 + 0.9 * number / len(sources), f"Storing {number + 1} of {len(sources)} media files")
        try:
            prepared.media[key] = _store_media(storage, folder, source, settings, prepared.new_blobs)
        except ValueError as error:
            detail = with_subject(f"'{source.file.path}'", error)
            prepared.faults.append(FieldError(f"media of {key}", detail, file=str(source.file.path)))


def _store_media(
    storage: Storage, folder: str, source: MediaSource, settings: PictureSettings, new_blobs: list[str]
) -> StoredMedia:
    piece = cutting.cut(source)
    media = cutting.prepare(piece, settings)
    keys = {}
    for kind in ("media", "picture", "thumbnail"):
        blob = getattr(media, kind)
        key = storage.content_key(f"{folder}/{kind}", blob.content, blob.suffix)
        if not storage.exists(key):
            new_blobs.append(key)
            storage.put(key, blob.content)
        keys[kind] = key
    return StoredMedia(
        media.media_type,
        keys["media"],
        keys["picture"],
        keys["thumbnail"],
        seconds=piece.seconds,
        content_hash=piece.content_hash,
    )


def _write(
    database: Database,
    storage: Storage,
    row: Import,
    items: Sequence[PlannedItem],
    prepared: Prepared,
    features: Features | None,
    progress: Progress,
) -> Written:
    """Make everything visible in one transaction: items, features, the report, and the jobs that follow."""
    rows = [item.row for item in items]
    with database.reading() as session:
        target = find_target_by_id(session, row.project_id)
    stored = _store_features(storage, row, target, [r.key for r in rows], features)
    with database.transaction() as session:
        project = lock_project(session, row.project_id)
        project.picture_settings = project.picture_settings or prepared.picture_settings
        written = service.write_items(session, project, rows, prepared.media, target.count)
        if stored is not None:
            service.add_features(session, project, stored)
        else:
            _ask_for_features(session, project, row, target.features)
        note = f"{written.added} items added, {len(written.before)} changed, {len(prepared.faults)} left out"
        progress.finish(session, note)
        saved = session.merge(row)
        saved.status, saved.finished_at = ImportStatus.DONE, now()
        saved.report = saved.report | _outcome(written, prepared)
        session.flush()
        row.id, row.report = saved.id, saved.report
        storage.put_json(f"{folder_of(saved)}/before.json", written.before)
    database.has_grown(written.added, Item)
    return written


def _outcome(written: Written, prepared: Prepared) -> dict[str, Any]:
    return {
        "added": written.added,
        "first_position": written.first_position,
        "changed": len(written.before),
        "left_out": [asdict(fault) for fault in prepared.faults],
    }


def _store_features(
    storage: Storage, row: Import, target: Target, keys: Sequence[str], features: Features | None
) -> StoredFeatures | None:
    """Store the features that came along, with those of the items that are there, in the items' order."""
    if features is None:
        return None
    there = set(target.keys)
    new = [key for key in keys if key not in there]
    if features.keys is not None or len(features.values) != len(keys) or len(new) == len(keys):
        array = arrange(storage, target, new, features)
    elif not new:
        array = arrange(storage, target, [], replace(features, keys=list(keys)))
    else:  # a row for each item that came, some of which were there before
        of_new = in_item_order(replace(features, keys=list(keys)), list(keys))
        index = {key: number for number, key in enumerate(keys)}
        array = arrange(storage, target, new, replace(features, values=of_new[[index[key] for key in new]], keys=new))
    if array is None:
        return None
    blob = storage.put_content(f"{blob_folder(row.project_id)}/features", npy_bytes(array), ".npy")
    n, d = array.shape
    return StoredFeatures(features.file, n, d, blob, features.names)


def _ask_for_features(session: Session, project: Project, row: Import, latest: FeatureSet | None) -> None:
    """Have features made, unless the project uses an array that somebody uploaded."""
    if latest is None or latest.recipe is not None:
        lifecycle.queue(session, project.id, JobKind.MAKE_FEATURES, user_id=row.user_id)


def remove_unused(database: Database, storage: Storage, project_id: int, blobs: Sequence[str]) -> None:
    """Delete those of the blobs of a project that no item refers to."""
    with database.reading() as session:
        unused = set(blobs) - service.blobs_in_use(session, project_id, blobs)
    for blob in unused:
        with suppress(OSError):  # the storage may be what failed
            storage.delete(blob)
