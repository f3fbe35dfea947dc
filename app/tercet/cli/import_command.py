"""`tercet import`: from files and folders to clusters and a labeling link, without a server or beside one."""

import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tercet.client.progress import progress_bar
from tercet.command_setup import DataOption, make_settings, opened_database

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from tercet.client.progress import Report
    from tercet.database import Database
    from tercet.intake.local import LocalImport
    from tercet.models import Run
    from tercet.settings import Settings
    from tercet.storage import Storage

# A server that works on the project takes the first run within this time; otherwise it is computed here.
SERVER_SECONDS = 1.5
MOST_LISTED = 20


def existing(help_text: str, *, folder: bool = False) -> typer.models.OptionInfo:
    """Describe an option that names an existing file or folder."""
    option: typer.models.OptionInfo = typer.Option(help=help_text, exists=True, file_okay=not folder, dir_okay=folder)
    return option


def import_files(
    project: Annotated[str, typer.Argument(help="Key of the project.")],
    files: Annotated[
        list[Path] | None, typer.Argument(help="Folders, media files, tables, features.", exists=True)
    ] = None,
    items: Annotated[Path | None, existing("The table of items, as if given as a file.")] = None,
    features: Annotated[Path | None, existing("The features: .npy, .npz or .csv, as if given as a file.")] = None,
    media: Annotated[Path | None, existing("The folder of media, as if given as a file.", folder=True)] = None,
    owner: Annotated[str, typer.Option(help="Make the project if there is none, owned by this address.")] = "",
    clusters: Annotated[int, typer.Option(help="Number of clusters of a project made so.", min=1)] = 8,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Keep what is good, and list the rest.")] = False,
    data: DataOption = None,
) -> None:
    """Import recordings, pictures, texts or tables into a project, up to its first clusters and a labeling link.

    Items whose key exists are updated. Either everything is imported or nothing.
    """
    from tercet.intake.local import import_here
    from tercet.intake.reading.folders import gather
    from tercet.intake.reading.plan import ReadOptions
    from tercet.storage import Storage

    settings = make_settings(data)
    storage = Storage(settings.resolved_storage_url())
    sources = gather([*(files or []), *(path for path in (items, features, media) if path)])
    with opened_database(settings) as database, ExitStack() as undo:
        user_id = user_of(database, owner) if owner else None
        if user_id and make_project(database, project, user_id, clusters):
            undo.callback(remove_project, database, storage, project)
        with progress_bar("Reading the files", shown=True) as report:
            bar = Bar(report)
            done = import_here(database, storage, project, sources, ReadOptions(skip_bad=skip_bad), bar, user_id)
        undo.pop_all()
        print_import(project, done)
        if done.features is not None:
            run = first_run(database, settings, project)
            print_clusters(storage, project, run)
        typer.echo(f"Labeling link: {labeling_link(database, settings, project)}")


@dataclass(frozen=True)
class Bar:
    """A progress bar in the terminal, moved by a job."""

    report: "Report"

    def finish(self, session: "Session", note: str) -> None:
        """Move the bar to its end."""
        self.report(1.0, note)


def user_of(database: "Database", address: str) -> int:
    """Return the id of the user with an address; raise NotFound if there is none."""
    from tercet.accounts.queries import user_with_address

    with database.reading() as session:
        return user_with_address(session, address).id


def make_project(database: "Database", key: str, owner_id: int, clusters: int) -> bool:
    """Make the project unless it exists; return whether it was made."""
    from tercet.models import User
    from tercet.projects import queries, service
    from tercet.projects.schemas import ProjectIn

    with database.transaction() as session:
        if queries.project_by_key(session, key) is not None:
            return False
        fields = ProjectIn(key=key, name=key, n_clusters=clusters).model_dump(exclude_unset=True)
        service.create_project(session, session.get_one(User, owner_id), **fields)
        return True


def remove_project(database: "Database", storage: "Storage", key: str) -> None:
    """Remove a project that was made for an import that failed."""
    from tercet.projects import deleting, queries

    with database.transaction() as session:
        project = queries.project_by_key(session, key)
        folders = deleting.remove_project(session, project) if project else []
    deleting.remove_blobs(storage, folders)


def print_import(project: str, done: "LocalImport") -> None:
    """Say what was understood, what was done, and what was skipped and why."""
    became = Counter(file.became for file in done.plan.files)
    understood = ", ".join(f"{count} as {kind}" for kind, count in became.most_common() if kind != "skipped")
    typer.echo(f"Understood {understood or 'nothing'}.")
    changed = len(done.written.before)
    changes = f", and {changed} were changed" if changed else ""
    features = "" if done.features is None else f", and {done.features.d} features of {done.features.n} items"
    added = "1 item was" if done.written.added == 1 else f"{done.written.added} items were"
    typer.echo(f"{added} added to '{project}'{changes}{features}.")
    if done.features is not None and done.features.words:
        typer.echo(f"Features: {done.features.words}.")
    if done.fault_of_features:
        typer.echo(f"No features, and so no clusters: {done.fault_of_features}.")
    skipped = [(file.path, file.detail) for file in done.plan.files if file.became == "skipped"]
    skipped += [(fault.file or "", fault.detail) for fault in done.plan.faults]
    skipped += [(str(fault["file"]), fault["detail"]) for fault in done.report["left_out"]]
    skipped = list(dict.fromkeys(skipped))  # a file that cannot be read is a fault of its row, too
    for path, reason in skipped[:MOST_LISTED]:
        typer.echo(f"  skipped {path}: {reason}")
    if len(skipped) > MOST_LISTED:
        typer.echo(f"  and {len(skipped) - MOST_LISTED} more")
    for finding in done.report["findings"]:
        typer.echo(f"Look: {finding['sentence']} {finding['what_to_do']}")


def first_run(database: "Database", settings: "Settings", project: str) -> "Run | None":
    """Wait for the run of the import, or compute it here if no server does; None if there is none."""
    from tercet.models import RunStatus

    deadline = time.monotonic() + SERVER_SECONDS
    run = newest_run(database, project)
    while run is not None and run.status in (RunStatus.QUEUED, RunStatus.RUNNING):
        if run.status == RunStatus.QUEUED and time.monotonic() > deadline:
            compute(database, settings, run)
        time.sleep(0.1)
        run = newest_run(database, project)
    return run


def newest_run(database: "Database", project: str) -> "Run | None":
    """Return the newest run of a project."""
    from tercet.projects.queries import project_by_key
    from tercet.runs.queries import page_of_runs

    with database.reading() as session:
        row = project_by_key(session, project)
        return next(iter(page_of_runs(session, row.id, None, 1)), None) if row else None


def compute(database: "Database", settings: "Settings", run: "Run") -> None:
    """Compute a run that waits in this process, unless a server has taken it in the meantime."""
    from tercet.runs import lifecycle
    from tercet.worker.place import JobPlace
    from tercet.worker.task import run_task

    claim = lifecycle.claim_next(database, settings.run_lease_seconds, of_project=run.project_id)
    if claim is not None:
        typer.echo("Computing the first clusters ...", err=True)
        run_task(JobPlace.of(settings), claim.run_id)


def print_clusters(storage: "Storage", project: str, run: "Run | None") -> None:
    """Print how many items each cluster has, or why there are none."""
    import numpy as np

    from tercet.runs import results

    if run is None:
        typer.echo(f"No clusters yet: '{project}' has too few items, or none that differ. Import more items.")
    elif run.result is None:
        typer.echo(f"The first run {run.status}: {run.error or 'no reason is known'}")
    else:
        labels = results.clusters_of(storage, run.result)
        sizes = np.bincount(labels[labels > 0])[1:].tolist()
        typer.echo(f"{len(sizes)} clusters, of {', '.join(map(str, sizes))} items.")


def labeling_link(database: "Database", settings: "Settings", project: str) -> str:
    """Make a labeling link; if there is one already, say so, as only its hash is stored."""
    from tercet.accounts.queries import share_links
    from tercet.accounts.service import make_share_link
    from tercet.errors import NotFound
    from tercet.projects.queries import project_by_key

    with database.transaction() as session:
        row = project_by_key(session, project)
        if row is None:
            raise NotFound(f"Project '{project}' was deleted in the meantime.")
        if share_links(session, row.id):
            return "there is one already; the settings page of the project makes more."
        token = make_share_link(session, row)
    return f"{settings.site_url()}/join/{token}"
