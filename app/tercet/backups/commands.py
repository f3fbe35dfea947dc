"""`tercet backup`, `tercet check` and `tercet restore`: everything that a server stores, as one file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tercet.archives.commands import restore_project
from tercet.command_setup import DataOption, make_settings, opened_database

if TYPE_CHECKING:
    from tercet.backups.layout import Manifest


def describe(manifest: "Manifest") -> str:
    """Return a sentence on what a backup holds."""
    from tercet.intake.wording import counted

    projects = counted(len(manifest.projects), ("project", "projects"))
    answers = counted(sum(stored.answers for stored in manifest.projects.values()), ("answer", "answers"))
    users = counted(manifest.rows["user"], ("user", "users"))
    blobs = counted(len(manifest.entries) - len(manifest.rows), ("file", "files"))
    return f"{projects}, {answers}, {users} and {blobs}, of {manifest.made_at}"


def backup(
    file: Annotated[Path, typer.Argument(help="ZIP file to write.", dir_okay=False)], data: DataOption = None
) -> None:
    """Write everything that the server stores to one file, while it goes on."""
    from tercet.backups.writing import write_backup
    from tercet.storage import Storage

    settings = make_settings(data)
    with opened_database(settings) as database:
        manifest = write_backup(database, Storage(settings.resolved_storage_url()), file)
    typer.echo(f"{file}: {describe(manifest)}.")


def check(
    file: Annotated[Path, typer.Argument(help="A backup.", exists=True, dir_okay=False)],
) -> None:
    """Read every byte of a backup, and say whether it is whole."""
    from tercet.backups.checking import check_backup

    typer.echo(f"{file} is whole: {describe(check_backup(file))}.")


def restore(
    file: Annotated[Path, typer.Argument(help="A backup, or an archive of one project.", exists=True, dir_okay=False)],
    key: Annotated[str, typer.Option(help="Key of the new project, for an archive.")] = "",
    owner: Annotated[str, typer.Option(help="Address of the new project's owner, for an archive.")] = "",
    data: DataOption = None,
) -> None:
    """Restore a backup into an empty database and folder, or make a new project from an archive."""
    from tercet.backups.checking import is_backup
    from tercet.backups.restoring import restore_backup
    from tercet.storage import Storage

    if not is_backup(file):
        restore_project(file, key, owner, data)
        return
    if key or owner:
        raise typer.BadParameter(f"{file} is a backup of a whole server: leave --key and --owner out")
    settings = make_settings(data)
    with opened_database(settings) as database:
        manifest = restore_backup(database, Storage(settings.resolved_storage_url()), file)
    typer.echo(f"Restored {describe(manifest)}.")
