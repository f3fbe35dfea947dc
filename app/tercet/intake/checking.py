"""The check of an import: reads its files, stores the plan, and draws the first items for the preview."""

from collections import Counter
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from tercet.errors import FieldError
from tercet.intake import media, options, plans, queries
from tercet.intake.pictures import settings_for
from tercet.intake.reading.drafts import Report
from tercet.intake.reading.facts import facts_of
from tercet.intake.reading.plan import ImportPlan
from tercet.intake.reading.reader import read_files
from tercet.intake.received import folder_of, on_this_machine
from tercet.intake.target import UNFEATURED, Target, target_of
from tercet.intake.work import Work, part
from tercet.items.checks import find_problems
from tercet.models import Import, ImportStatus, Project
from tercet.sounds.picture_settings import PictureSettings, read_stored
from tercet.storage import Storage

# Number of items of a preview that have a picture.
PREVIEW_PICTURES = 24


def check_import(work: Work) -> None:
    """Read the files of an import, and store the plan of the items that they would become."""
    with work.database.reading() as session:
        row = queries.import_by_number(session, work.job.project_id, work.subject)
        files = queries.files_of(session, row)
        project = session.get_one(Project, row.project_id)
        target = target_of(session, project)
        project_settings, n_clusters = read_stored(project.picture_settings), project.n_clusters
    read_options = replace(options.of_import(row), items_before=target.count)
    with on_this_machine(work.storage, files) as sources, TemporaryDirectory(prefix="tercet-unpacked-") as scratch:
        plan = read_files(sources, read_options, part(work, 0.0, 0.5), Path(scratch))
        existing = set(target.keys)
        new = sum(item.key not in existing for item in plan.rows)
        if target.has_uploaded_features and plan.features is None and new:
            faults = (*plan.faults, FieldError("features", UNFEATURED))
            plan = replace(plan, faults=faults, fault_count=plan.fault_count + 1)
        plans.save(work.storage, row, plan)
        inspected = inspect_items(plan, target, n_clusters, part(work, 0.5, 0.7))
        pictures = _draw(work, row, plan, project_settings)
    report = describe(plan, new) | inspected | {"pictures": pictures}
    with work.database.transaction() as session:
        work.finish(session, f"{len(plan.rows)} items in {len(plan.files)} files")
        stored = session.get_one(Import, row.id)
        stored.status, stored.report = ImportStatus.READY, report


def describe(plan: ImportPlan, new: int) -> dict[str, Any]:
    """Return the part of an import's report about what its files were read as."""
    return {
        "content": plan.content,
        "items": len(plan.rows),
        "new": new,
        "updates": len(plan.rows) - new,
        "features": None if plan.features is None else plan.features.values.shape[1],
        "files": [asdict(file) for file in plan.files],
        "columns": [asdict(column) for column in plan.columns],
        "faults": [asdict(fault) for fault in plan.faults],
        "faults_count": plan.fault_count,
    }


def inspect_items(plan: ImportPlan, target: Target, n_clusters: int, report: Report) -> dict[str, Any]:
    """Return findings about the good items of a plan, their sampling rates, and the median length of their sounds."""
    others = len(set(target.keys).difference(row.key for row in plan.rows)) - len(target.deleted)
    facts = facts_of({row.key: row for row in plan.rows}, plan.media, report)
    lengths = [fact.seconds for fact in facts if fact.seconds is not None]
    rates = Counter(fact.rate for fact in facts if fact.rate is not None)
    values, names = (plan.features.values, plan.features.names) if plan.features else (None, ())
    findings = find_problems(facts, n_clusters, values, names, others=others)
    return {
        "findings": [asdict(finding) for finding in findings],
        "rates": [[rate, count] for rate, count in sorted(rates.items())],
        "median_seconds": median(lengths) if lengths else None,
    }


def _draw(work: Work, row: Import, plan: ImportPlan, settings: PictureSettings | None) -> dict[str, str]:
    """Draw the first items that have media; return the storage keys of their pictures by position."""
    pieces = {}
    for position, item in enumerate(plan.rows[:PREVIEW_PICTURES]):
        if source := plan.media.get(item.key):
            with suppress(ValueError):  # reported, with the file's name, when the import is stored
                pieces[position] = media.cut(source)
    if settings is None:
        fitted = settings_for(list(plan.media.values()))
        settings = fitted[0] if fitted else PictureSettings()
    pictures: dict[str, str] = {}
    for position, piece in pieces.items():
        work.report(0.7 + 0.3 * len(pictures) / len(pieces), "Drawing the first items")
        with suppress(ValueError):
            picture = media.prepare(piece.content, settings).picture
            key = f"{folder_of(row)}/preview/{position}{picture.suffix}"
            pictures[str(position)] = work.storage.put(key, picture.content)
    return pictures


def picture_of(storage: Storage, row: Import, position: int) -> tuple[bytes, str] | None:
    """Return a picture of the preview and its suffix."""
    key = row.report.get("pictures", {}).get(str(position))
    if key is None or not storage.exists(key):
        return None
    return storage.get(key), PurePosixPath(key).suffix
