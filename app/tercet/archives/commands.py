"""`tercet archive`, and the part of `tercet restore` for archives: a project as one file, without a server."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from tercet.command_setup import DataOption, make_settings, opened_database


def archive(
    project: Annotated[str, typer.Argument(help="Key of the project.")],
    file: Annotated[Path, typer.Argument(help="ZIP file to write.", dir_okay=False)],
    data: DataOption = None,
) -> None:
    """Write a project with everything in it to one file, for a backup or another server."""
    from tercet.archives.service import pieces_of
    from tercet.errors import NotFound
    from tercet.projects.queries import project_by_key
    from tercet.storage import Storage

    settings = make_settings(data)
    with opened_database(settings) as database, ExitStack() as undo:
        with database.reading() as session:
            row = project_by_key(session, project)
        if row is None:
            raise NotFound(f"There is no project '{project}'.")
        pieces = pieces_of(database, Storage(settings.resolved_storage_url()), row.id)
        # Under another name until it is complete: a file with the final name is a complete archive.
        partial = file.with_name(f"{file.name}.partial")
        undo.callback(partial.unlink, missing_ok=True)
        with partial.open("wb") as target:
            target.writelines(pieces)
        partial.replace(file)
    typer.echo(f"Project '{project}' was written to {file}: {file.stat().st_size:,} bytes.")


def restore_project(file: Path, key: str, owner: str, data: Path | None) -> None:
    """Make a new project from an archive."""
    if not key or not owner:
        raise typer.BadParameter(f"{file} is no backup of a server; for an archive, --key and --owner are needed")
    from tercet.accounts.queries import user_with_address
    from tercet.archives.service import restore_file
    from tercet.projects.schemas import ProjectIn
    from tercet.storage import Storage

    ProjectIn(key=key, name=key)  # says what is wrong with the key
    settings = make_settings(data)
    with opened_database(settings) as database:
        with database.transaction() as session:
            owner_id = user_with_address(session, owner).id
        restore_file(database, Storage(settings.resolved_storage_url()), file, key, owner_id)
    typer.echo(f"Project '{key}' was made from {file}; {owner} owns it.")
