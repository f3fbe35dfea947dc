"""Imports in this process, for the command line, the demo and `POST .../items`; pages leave them to workers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.errors import Conflict, FieldError
from tercet.intake import checking, featuring, plans, storing
from tercet.intake.faults import Faults, fail
from tercet.intake.feature_files import Features
from tercet.intake.options import to_store
from tercet.intake.reading.plan import ImportPlan, ReadOptions, SourceFile
from tercet.intake.reading.reader import read_files, source_files
from tercet.intake.service import Written
from tercet.intake.tables import ItemRow, check_rows
from tercet.intake.target import Target, find_target
from tercet.intake.work import NoProgress, Progress, part
from tercet.items import queries as items
from tercet.jobs import lifecycle
from tercet.jobs import queries as jobs
from tercet.models import FeatureSet, Import, ImportSource, ImportStatus, JobKind, Project
from tercet.storage import Storage


@dataclass(frozen=True)
class LocalImport:
    """A finished import: its plan, what was written, its report, and the project's latest features or why none."""

    plan: ImportPlan
    written: Written
    report: Mapping[str, Any]
    features: FeatureSet | None
    fault_of_features: str = ""


def import_here(
    database: Database,
    storage: Storage,
    project: str,
    files: Sequence[SourceFile],
    options: ReadOptions,
    progress: Progress,
    user_id: int | None = None,
) -> LocalImport:
    """Import files, all or nothing, make the features of all items, and request a run on these."""
    target = find_target(database, project)
    options = replace(options, items_before=target.count)
    with TemporaryDirectory(prefix="tercet-unpacked-") as scratch:
        plan = read_files(files, options, part(progress, 0.0, 0.15), Path(scratch))
        if not options.skip_bad:
            Faults.of(plan.faults).raise_any()
        if not plan.rows and plan.features is None:
            raise fail("files", "There is nothing to import: give a folder, media files, a table or features.")
        with database.reading() as session:
            n_clusters = session.get_one(Project, target.id).n_clusters
        row = _import_of(target, plan, options, ImportSource.COMMAND, user_id)
        row.report |= checking.inspect_items(plan, target, n_clusters, part(progress, 0.15, 0.25))
        sources, storage_share = source_files(files, Path(scratch)), _Reporting(progress, 0.25, 0.6)
        written = storing.store(database, storage, row, plans.items_of(plan), sources, plan.features, storage_share)
    try:
        features = _features(database, storage, target.id, _Reporting(progress, 0.6, 1.0))
    except ValueError as error:  # as where a worker makes them, the items stay
        return LocalImport(plan, written, row.report, None, str(error))
    return LocalImport(plan, written, row.report, features)


def add_files(
    database: Database, storage: Storage, project: str, files: Sequence[SourceFile], user_id: int | None = None
) -> LocalImport:
    """Add the items of files. Nobody has seen a preview, so a skipped file is a fault too."""
    target = find_target(database, project)
    with TemporaryDirectory(prefix="tercet-unpacked-") as scratch:
        plan = read_files(files, ReadOptions(items_before=target.count), NoProgress().report, Path(scratch))
        skipped = [FieldError("media", file.detail, file=file.path) for file in plan.files if file.became == "skipped"]
        Faults.of([*plan.faults, *(() if plan.faults else skipped)]).raise_any()
        return _add(database, storage, target, plan, source_files(files, Path(scratch)), user_id)


def add_rows(
    database: Database,
    storage: Storage,
    project: str,
    rows: Sequence[ItemRow],
    features: Features | None = None,
    user_id: int | None = None,
) -> LocalImport:
    """Add items that have no media, with their features if there are some."""
    faults = Faults()
    check_rows(rows, faults, None)
    faults.raise_any()
    plan = ImportPlan(tuple(rows), {}, (), (), (), 0, features, "table")
    return _add(database, storage, find_target(database, project), plan, {}, user_id)


def _add(
    database: Database,
    storage: Storage,
    target: Target,
    plan: ImportPlan,
    files: dict[str, SourceFile],
    user_id: int | None,
) -> LocalImport:
    """Add items; raise Conflict for items that the project has already, which an import would change."""
    there, faults = set(target.keys), Faults()
    for number, item in enumerate(plan.rows, start=1):
        if item.key in there:
            faults.add("key", f"the project already has an item '{item.key}'", row=None if plan.files else number)
    faults.raise_any(Conflict)
    row = _import_of(target, plan, ReadOptions(), ImportSource.REST, user_id)
    written = storing.store(
        database, storage, row, plans.items_of(plan), files, plan.features, NoProgress(), first_features=False
    )
    with database.reading() as session:
        return LocalImport(plan, written, row.report, items.latest_features(session, target.id))


def _import_of(
    target: Target, plan: ImportPlan, options: ReadOptions, source: ImportSource, user_id: int | None
) -> Import:
    """Return the row of an import; it is stored together with its items."""
    row = Import(project_id=target.id, user_id=user_id, source=source, status=ImportStatus.IMPORTING)
    new = len({item.key for item in plan.rows} - set(target.keys))
    row.options, row.report = to_store(options), checking.describe(plan, new)
    return row


@dataclass(frozen=True)
class _Reporting:
    """The progress of a part of the work, from one fraction of the whole to another."""

    progress: Progress
    begin: float
    end: float

    def report(self, fraction: float, note: str) -> None:
        """Report the progress of the whole."""
        self.progress.report(self.begin + (self.end - self.begin) * fraction, note)

    def finish(self, session: Session, note: str) -> None:
        """Report the end of the part."""
        self.progress.report(self.end, note)


def _features(database: Database, storage: Storage, project_id: int, progress: Progress) -> FeatureSet | None:
    """Make the features that the import has queued a job for, here instead of in a worker; return the latest ones."""
    with database.transaction() as session:
        waiting = jobs.unfinished(session, project_id, JobKind.MAKE_FEATURES)
        for job in waiting:
            lifecycle.cancel(session, job)
    if waiting:
        return featuring.make(database, storage, project_id, progress)
    with database.reading() as session:
        return items.latest_features(session, project_id)
