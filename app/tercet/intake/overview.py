"""Collects what the pages of imports show: one import at its stage, and the list of a project's imports."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from tercet.accounts.access import ROLE_MAY, Access, Action
from tercet.errors import FieldError
from tercet.intake import options, plans, queries
from tercet.intake.imports import JOB_OF, OPEN
from tercet.intake.schemas import ImportOptions, PreviewItem
from tercet.intake.wording import summarise
from tercet.items.checks import FEWEST_A_CLUSTER
from tercet.items.queries import item_count
from tercet.jobs import queries as jobs
from tercet.jobs.wording import words_of
from tercet.models import (
    BackgroundJob,
    Import,
    ImportFile,
    ImportSource,
    ImportStatus,
    JobKind,
    JobStatus,
    Project,
    Purpose,
    Run,
    RunStatus,
)
from tercet.request_context import local
from tercet.runs import queries as runs
from tercet.runs.schemas import ClusterOut
from tercet.runs.service import clusters
from tercet.sounds.segments import SegmentSettings
from tercet.storage import Storage

PREVIEW_ITEMS = 24
MOST_FAULTS = 200
FILES_SHOWN = 200
OF_PLACES = {"recording", "begin_s", "end_s", "low_hz", "high_hz"}  # columns about an item's place in a recording
MOST_FACTS = 4
LONGEST_FACT = 24
RESULTS = {
    "sound": "Sounds",
    "picture": "Pictures",
    "text": "Texts",
    "table": "Tables",
    "selections": "Tables of segments",
    "features": "Features",
    "skipped": "Left out",
}
ROLES = {
    "key": "the key, which names the item",
    "text": "its text",
    "bag": "its bag",
    "bag_labels": "labels of its bag",
    "file": "the file of its sound or picture",
    "metadata": "metadata of the item",
}


@dataclass(frozen=True)
class ImportView:
    """One import at its stage; `is_draft` is whether the project was created for this import and has no items yet."""

    row: Import
    job: BackgroundJob | None
    job_words: str
    files: int
    bytes: int
    received: int
    is_draft: bool
    is_first: bool
    may_write: bool
    may_own: bool


@dataclass(frozen=True)
class PreviewView:
    """The preview of a checked import."""

    summary: str
    items: list[tuple[PreviewItem, str]]  # with facts about each
    faults: list[dict[str, Any]]
    fault_count: int
    files_by_result: list[tuple[str, str, list[dict[str, Any]]]]
    tables: list[dict[str, Any]]
    choices: set[str]
    segments: SegmentSettings
    recordings: list[str]
    n_clusters: int
    is_blocked: bool
    roles: dict[str, str]


@dataclass(frozen=True)
class OutcomeView:
    """What follows a finished import: features, the first run, its clusters, or why there are no clusters."""

    features_job: BackgroundJob | None
    job_words: str
    run: Run | None
    clusters: list[ClusterOut]
    obstacle: str
    left_out: list[FieldError]


@dataclass(frozen=True)
class ImportEntry:
    """One line of the list of imports."""

    number: int
    created_at: datetime
    by: str | None
    source: str
    status: str
    files: int
    added: int | None
    changed: int | None
    left_out: int | None

    @classmethod
    def of(cls, session: Session, row: Import, by: str | None) -> "ImportEntry":
        """Show an import in a list."""
        report = row.report
        left_out = len(left_out_of(report)) if "left_out" in report else None
        files = len(report["files"]) if "files" in report else queries.totals_of(session, row)[0]
        figures = files, report.get("added"), report.get("changed"), left_out
        return cls(row.number, row.created_at, by, row.source, row.status, *figures)


def view_import(session: Session, access: Access, row: Import) -> ImportView:
    """Collect an import, its job, its totals and what the caller may do with it."""
    is_empty = item_count(session, access.project.id) == 0
    may = ROLE_MAY[access.role]
    job = jobs.newest(session, row.project_id, *JOB_OF.values(), subject=row.number)
    return ImportView(
        row,
        job,
        words_of(session, job) if job else "",
        *queries.totals_of(session, row),
        is_draft=is_empty and row.number == 1 and row.source == ImportSource.PAGE,
        is_first=row.report.get("first_position") == 0,
        may_write=Action.WRITE in may,
        may_own=Action.OWN in may,
    )


def preview(storage: Storage, project: Project, row: Import) -> PreviewView | None:
    """Collect the preview of an import; None while it is not checked."""
    if row.status != ImportStatus.READY:
        return None
    report = row.report
    address = local(f"/api/v1/projects/{project.key}/imports/{row.number}/preview")
    planned = plans.load(storage, row, limit=PREVIEW_ITEMS)
    pictures = report.get("pictures", {})
    items = [
        PreviewItem.of(item, position, f"{address}/{position}/picture" if str(position) in pictures else None)
        for position, item in enumerate(planned)
    ]
    faults = report["faults"]
    return PreviewView(
        summary=summarise(report),
        items=list(zip(items, _facts(items), strict=True)),
        faults=faults[:MOST_FAULTS],
        fault_count=report.get("faults_count", len(faults)),
        files_by_result=_files_by_result(report["files"]),
        tables=[file for file in report["files"] if file["became"] in ("table", "selections") and file["detail"]],
        choices=_choices(row),
        segments=options.of_import(row).segments,
        recordings=[file["path"] for file in report["files"] if file["became"] == "sound"][:FILES_SHOWN],
        n_clusters=min(project.n_clusters, max(1, report["items"] // FEWEST_A_CLUSTER)),
        is_blocked=_is_blocked(row),
        roles=ROLES,
    )


def _facts(items: list[PreviewItem]) -> list[str]:
    """Return facts about each item: its place in its recording, and the bag and columns in which items differ."""
    names = list(dict.fromkeys(name for item in items for name in item.metadata if name not in OF_PLACES))
    varied = [name for name in names if len(items) < 2 or len({str(item.metadata.get(name)) for item in items}) > 1]
    has_bags = len({item.bag for item in items}) > 1
    sentences = []
    for item in items:
        facts = [] if item.begin_s is None else [_place(item)]
        facts += [f"bag {item.bag}"] if item.bag and has_bags else []
        facts += [f"{name}: {_short(item.metadata[name])}" for name in varied if name in item.metadata]
        sentences.append(" · ".join(facts[:MOST_FACTS]))
    return sentences


def _place(item: PreviewItem) -> str:
    """Return an item's place in its recording, in seconds and, if known, in kHz."""
    seconds = f"{item.begin_s:.2f}–{item.end_s:.2f} s"
    low, high = item.metadata.get("low_hz"), item.metadata.get("high_hz")
    if not (isinstance(low, int | float) and isinstance(high, int | float)):
        return seconds
    return f"{seconds}, {low / 1000:.1f}–{high / 1000:.1f} kHz"


def _short(value: Any) -> str:
    words = f"{value:.5g}" if isinstance(value, float) else str(value)
    return words if len(words) <= LONGEST_FACT else f"{words[: LONGEST_FACT - 1]}…"


def outcome(session: Session, storage: Storage, row: Import, project: Project) -> OutcomeView | None:
    """Collect what follows a finished import."""
    if row.status != ImportStatus.DONE:
        return None
    under_way = jobs.unfinished(session, project.id, JobKind.MAKE_FEATURES)
    newest = next(
        (run for run in runs.page_of_runs(session, project.id, None, 10) if run.purpose == Purpose.CURRENT), None
    )
    is_active = newest is not None and newest.status in (RunStatus.QUEUED, RunStatus.RUNNING)
    done = runs.last_done(session, project.id)
    seen = clusters(session, storage, project, done, done.result) if done and done.result else []
    return OutcomeView(
        features_job=under_way[0] if under_way else None,
        job_words=words_of(session, under_way[0]) if under_way else "",
        run=newest if is_active else None,
        clusters=seen,
        obstacle="" if seen or is_active or under_way else _obstacle(session, project, newest),
        left_out=left_out_of(row.report),
    )


def left_out_of(report: dict[str, Any]) -> list[FieldError]:
    """Return everything that did not become an item: skipped files, bad rows, and media that could not be stored."""
    skipped = (file for file in report["files"] if file["became"] == "skipped")
    files = [FieldError("file", file["detail"], file=file["path"]) for file in skipped]
    rows = [fault for fault in report["faults"] if fault["row"]]
    return files + [FieldError(**fault) for fault in (*rows, *report["left_out"])]


def _obstacle(session: Session, project: Project, newest: Run | None) -> str:
    """Return a sentence on why there are no clusters and no run that makes them."""
    job = jobs.newest(session, project.id, JobKind.MAKE_FEATURES)
    if job is not None and job.status == JobStatus.FAILED:
        return f"The features that clusters are made from could not be computed. {job.error}"
    if newest is not None and newest.error:
        return f"Run {newest.number} failed: {newest.error}"
    count = item_count(session, project.id)
    if project.n_clusters > count:
        return f"There are {count} items and {project.n_clusters} clusters: choose fewer clusters in the settings."
    return "No run is queued: start one on the dashboard."


def _files_by_result(files: list[dict[str, Any]]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    grouped = [(key, title, [file for file in files if file["became"] == key]) for key, title in RESULTS.items()]
    return [group for group in grouped if group[2]]


def _files_received(session: Session, row: Import) -> list[ImportFile]:
    """Return the first files of the list, incomplete ones before all others."""
    return sorted(queries.files_of(session, row), key=lambda file: file.received == file.size)[:FILES_SHOWN]


def _choices(row: Import) -> set[str]:
    """Return the options to show: those that make a difference for these files, and those that are on."""
    files = [file for file in row.report["files"] if file["became"] != "skipped"]
    offered = {
        "skip_bad": bool(row.report["faults"]),
        "bags_from_folders": any("/" in file["path"] for file in files),
        "cut": any(file["became"] == "sound" for file in files),
    }
    matters = {name for name, matters in offered.items() if matters or row.options.get(name) is True}
    return matters & ImportOptions.model_fields.keys()


def _is_blocked(row: Import) -> bool:
    report = row.report
    is_empty = not report["items"] and report["features"] is None
    return is_empty or (bool(report["faults"]) and not row.options.get("skip_bad"))


def context(session: Session, storage: Storage, access: Access, row: Import) -> dict[str, Any]:
    """Return the context of the page of an import."""
    project = access.project
    return {
        "project": project,
        "view": view_import(session, access, row),
        "preview": preview(storage, project, row),
        "files_received": _files_received(session, row) if row.status in OPEN else [],
        "outcome": outcome(session, storage, row, project),
    }
