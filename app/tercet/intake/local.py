"""An import of files of this machine, in this process: the command line and the demo do what a page and workers do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.intake import checking, featuring, plans, queries, storing
from tercet.intake.faults import Faults, fail
from tercet.intake.importing import find_target
from tercet.intake.reading.plan import ImportPlan, ReadOptions, SourceFile
from tercet.intake.reading.reader import read_files, source_files
from tercet.intake.service import Written
from tercet.intake.work import Progress, part
from tercet.items import queries as items
from tercet.jobs import lifecycle
from tercet.jobs import queries as jobs
from tercet.models import FeatureSet, Import, ImportSource, ImportStatus, JobKind
from tercet.storage import Storage
from tercet.web.errors import FieldError


@dataclass(frozen=True)
class LocalImport:
    """What an import of files of this machine did."""

    plan: ImportPlan
    written: Written
    left_out: list[dict[str, str]]
    features: FeatureSet | None


def import_here(
    database: Database,
    storage: Storage,
    project: str,
    files: Sequence[SourceFile],
    options: ReadOptions,
    progress: Progress,
    user_id: int | None = None,
) -> LocalImport:
    """Read files, make items of them and features of all items; a run on these is requested. All, or nothing."""
    with TemporaryDirectory(prefix="tercet-unpacked-") as scratch:
        return _import(database, storage, project, files, options, progress, user_id, Path(scratch))


def _import(
    database: Database,
    storage: Storage,
    project: str,
    files: Sequence[SourceFile],
    options: ReadOptions,
    progress: Progress,
    user_id: int | None,
    scratch: Path,
) -> LocalImport:
    target = find_target(database, project)
    options = replace(options, items_before=target.count)
    plan = read_files(files, options, part(progress, 0.0, 0.2), scratch)
    faults = [*plan.faults, *_unfeatured(target.features, plan, set(target.keys))]
    if faults and not options.skip_bad:
        Faults.of(faults).raise_any()
    if not plan.rows and plan.features is None:
        raise fail("files", "There is nothing to import: give a folder, media files, a table or features.")
    new = len({row.key for row in plan.rows} - set(target.keys))
    row = Import(project_id=target.id, user_id=user_id, source=ImportSource.COMMAND, status=ImportStatus.IMPORTING)
    row.options, row.report = checking.to_store(options), checking.describe(plan, new)
    with database.reading() as session:
        row.number = queries.next_number(session, target.id)
    sources = source_files(files, scratch)
    written = storing.store(
        database, storage, row, plans.items_of(plan), sources, plan.features, _Reporting(progress, 0.2, 0.6)
    )
    features = _features(database, storage, target.id, _Reporting(progress, 0.6, 1.0))
    return LocalImport(plan, written, row.report["left_out"], features)


@dataclass(frozen=True)
class _Reporting:
    """A stretch of a longer piece of work."""

    progress: Progress
    begin: float
    end: float

    def report(self, fraction: float, note: str) -> None:
        """Report how far the whole is."""
        self.progress.report(self.begin + (self.end - self.begin) * fraction, note)

    def finish(self, session: Session, note: str) -> None:
        """Report the end of the stretch."""
        self.progress.report(self.end, note)


def _unfeatured(features: FeatureSet | None, plan: ImportPlan, known: set[str]) -> list[FieldError]:
    """Return the fault of items that come without features into a project whose features somebody uploads."""
    uploaded = features is not None and features.recipe is None
    if not uploaded or plan.features is not None or all(row.key in known for row in plan.rows):
        return []
    return [FieldError("features", checking.UNFEATURED)]


def _features(database: Database, storage: Storage, project_id: int, progress: Progress) -> FeatureSet | None:
    """Make the features that the import has asked for, here instead of in a worker; return the latest ones."""
    with database.transaction() as session:
        waiting = jobs.unfinished(session, project_id, JobKind.MAKE_FEATURES)
        for job in waiting:
            lifecycle.cancel(session, job)
    if waiting:
        return featuring.make(database, storage, project_id, progress)
    with database.reading() as session:
        return items.latest_features(session, project_id)
