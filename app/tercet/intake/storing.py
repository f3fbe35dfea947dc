"""Stores an import: media go to storage, then one short transaction makes all items visible, or none.

Until that transaction nothing of the import is visible, and if the import ends before it, what was put into storage is
deleted again.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tercet.audit import chain
from tercet.database import Database
from tercet.errors import Conflict, FieldError
from tercet.intake import media, options, pictures, plans, queries, service
from tercet.intake.faults import Faults
from tercet.intake.feature_files import Features
from tercet.intake.plans import PlannedItem
from tercet.intake.reading.plan import MediaSource, SourceFile
from tercet.intake.reading.reader import source_files
from tercet.intake.received import folder_of, on_this_machine
from tercet.intake.service import StoredFeatures, StoredMedia, Written
from tercet.intake.target import UNFEATURED, Target, arrange, find_target, target_of
from tercet.intake.work import Progress, Work, part
from tercet.jobs import lifecycle
from tercet.models import FeatureSet, Import, ImportStatus, Item, JobKind, Project, User, now
from tercet.projects.service import blob_folder
from tercet.runs.queries import lock_project
from tercet.sounds.picture_settings import PictureSettings, read_stored
from tercet.storage import Storage
from tercet.web.texts import with_subject
from tercet.web.zip_stream import npy_bytes


@dataclass
class Prepared:
    """What an import has put into storage, and the faults of items that it left out, by the keys of items."""

    media: dict[str, StoredMedia] = field(default_factory=dict)
    new_blobs: list[str] = field(default_factory=list)
    faults: dict[str, FieldError] = field(default_factory=dict)
    picture_settings: dict[str, Any] | None = None  # those that were fitted, where the project had none


def store_import(work: Work) -> None:
    """Store the items of a checked import."""
    with work.database.reading() as session:
        row = queries.import_by_number(session, work.job.project_id, work.subject)
        files = queries.files_of(session, row)
    work.report(0.0, "Unpacking the files" if _has_archives(row) else "Gathering the files")
    items, features = plans.load(work.storage, row), plans.load_features(work.storage, row)
    with on_this_machine(work.storage, files) as sources, TemporaryDirectory(prefix="tercet-unpacked-") as scratch:
        by_path = source_files(sources, Path(scratch))
        store(work.database, work.storage, row, items, by_path, features, work)
    work.storage.delete_folder(f"{folder_of(row)}/files")


def _has_archives(row: Import) -> bool:
    return any(file["became"] == "archive" for file in row.report["files"])


def store(
    database: Database,
    storage: Storage,
    row: Import,
    items: Sequence[PlannedItem],
    files: dict[str, SourceFile],
    features: Features | None,
    progress: Progress,
    *,
    first_features: bool = True,
) -> Written:
    """Store media, then make all items visible at once; `row` is the import, which may not be in the database yet.

    Features that Tercet made are made again; `first_features` is whether a project without features gets some.
    """
    prepared = Prepared()
    folder = blob_folder(row.project_id)
    with database.reading() as session:
        project = session.get_one(Project, row.project_id)
        settings, target = read_stored(project.picture_settings), target_of(session, project)
    _require_features(target, [item.row.key for item in items], features)
    try:
        prepare(storage, folder, items, files, prepared, settings, part(progress, 0.0, 0.95))
        if prepared.faults and not options.of_import(row).skip_bad:
            Faults.of([*prepared.faults.values()]).raise_any()
        good = [place for place, item in enumerate(items) if item.row.key not in prepared.faults]
        features = _without_left_out(features, [item.row.key for item in items], good)
        stored = [items[place] for place in good]
        return _write(database, storage, row, stored, prepared, features, progress, first_features)
    except BaseException:
        service.remove_unused(database, storage, row.project_id, prepared.new_blobs)
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
    """Put the media of all items into storage, with picture settings fitted to them where `settings` is None."""
    sources = {item.row.key: source for item in items if (source := item.source(files))}
    if settings is None:
        report(0.0, "Finding out how to draw the sounds")
        fitted = pictures.settings_for(list(sources.values()))
        prepared.picture_settings = pictures.to_store(*fitted) if fitted else None
        settings = fitted[0] if fitted else PictureSettings()
    for number, (key, source) in enumerate(sources.items()):
        report(0.1 + 0.9 * number / len(sources), f"Storing {number + 1:,} of {len(sources):,} media files")
        try:
            prepared.media[key] = _store_media(storage, folder, source, settings, prepared.new_blobs)
        except ValueError as error:
            detail = with_subject(f"'{source.file.path}'", error)
            prepared.faults[key] = FieldError("media", detail, file=str(source.file.path))


def _store_media(
    storage: Storage, folder: str, source: MediaSource, settings: PictureSettings, new_blobs: list[str]
) -> StoredMedia:
    piece = media.cut(source)
    prepared = media.prepare(piece.content, settings)
    keys = {}
    for kind in ("media", "picture", "thumbnail"):
        blob = getattr(prepared, kind)
        key = storage.content_key(f"{folder}/{kind}", blob.content, blob.suffix)
        if not storage.exists(key):
            new_blobs.append(key)
            storage.put(key, blob.content)
        keys[kind] = key
    return StoredMedia(
        prepared.media_type,
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
    first_features: bool,
) -> Written:
    """Write everything in one transaction, which makes it visible: items, features, report and the jobs that follow."""
    rows = [item.row for item in items]
    with database.reading() as session:
        target = target_of(session, session.get_one(Project, row.project_id))
    stored = _features_of_all(storage, target, [r.key for r in rows], features) if features else None
    with database.transaction() as session:
        project = lock_project(session, row.project_id)
        project.picture_settings = project.picture_settings or prepared.picture_settings
        written = service.write_items(session, project, rows, prepared.media, target.count)
        if stored is not None:
            service.add_features(session, project, stored)
        elif (first_features or target.features) and not target.has_uploaded_features:
            lifecycle.queue(session, project.id, JobKind.MAKE_FEATURES, user_id=row.user_id)
        note = f"{written.added} items added, {len(written.before)} changed, {len(prepared.faults)} left out"
        progress.finish(session, note)
        row.number = row.number or queries.next_number(session, project.id)
        saved = session.merge(row)
        saved.status, saved.finished_at = ImportStatus.DONE, now()
        saved.report = saved.report | _outcome(written, prepared)
        session.flush()
        row.id, row.report = saved.id, saved.report
        by = None if row.user_id is None else session.get(User, row.user_id)
        done = {"import": row.number, "items added": written.added, "changed": len(written.before)}
        chain.record(session, "items imported", project=project, by=by, after=done)
        storage.put_json(f"{folder_of(saved)}/before.json", written.before)
    database.has_grown(written.added, Item)
    return written


def _outcome(written: Written, prepared: Prepared) -> dict[str, Any]:
    return {
        "added": written.added,
        "first_position": written.first_position,
        "changed": len(written.before),
        "replaced": written.replaced,
        "left_out": [asdict(fault) for fault in prepared.faults.values()],
    }


def _require_features(target: Target, keys: Sequence[str], features: Features | None) -> None:
    """Raise Conflict if new items have no features and the project's features were uploaded."""
    if target.has_uploaded_features and features is None and not set(keys) <= set(target.keys):
        raise Conflict(UNFEATURED[0].upper() + UNFEATURED[1:] + ".", [FieldError("features", UNFEATURED)])


def _without_left_out(features: Features | None, keys: Sequence[str], good: Sequence[int]) -> Features | None:
    """Return the features without the rows of left-out items."""
    if features is None or len(good) == len(keys):
        return features
    if features.keys is None:
        return replace(features, values=features.values[good]) if len(features.values) == len(keys) else features
    return features.without(set(keys) - {keys[place] for place in good})


def _features_of_all(storage: Storage, target: Target, keys: Sequence[str], features: Features) -> StoredFeatures:
    """Store the features of the new items together with those of the existing items, in the order of the items."""
    there = set(target.keys)
    new = [key for key in keys if key not in there]
    if features.keys is None and len(features.values) == len(keys) > len(new):  # a row for each item of the import
        features = replace(features, keys=list(keys))
        if new:
            row_of = {key: row for row, key in enumerate(keys)}
            features = replace(features, values=features.values[[row_of[key] for key in new]], keys=new)
    return _store_array(storage, target, new, features, features.file)


def _store_array(storage: Storage, target: Target, new: Sequence[str], features: Features, name: str) -> StoredFeatures:
    array = arrange(storage, target, new, features)
    blob = storage.put_content(f"{blob_folder(target.id)}/features", npy_bytes(array), ".npy")
    n, d = array.shape
    return StoredFeatures(name, n, d, blob, features.names)


def store_features(database: Database, storage: Storage, project: str, features: Features, name: str) -> FeatureSet:
    """Store an array as the next version of the features of all items of a project."""
    target = find_target(database, project)
    stored = _store_array(storage, target, [], features, name)
    with database.transaction() as session:
        row = lock_project(session, target.id)
        added = service.add_features(session, row, stored)
        chain.record(session, "features uploaded", project=row, after={"version": added.version, "name": added.name})
        return added
