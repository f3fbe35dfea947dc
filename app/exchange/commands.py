"""`tercet import` and `tercet export`: what the REST interface does with files, without a server."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.commandline import DataOption, known_user, make_settings, opened_database

if TYPE_CHECKING:
    from app.database import Database
    from app.storage import Storage


class What(StrEnum):
    """What an export holds."""

    ANSWERS = "answers"
    CLUSTERS = "clusters"


class Form(StrEnum):
    """How its rows are written."""

    CSV = "csv"
    NDJSON = "ndjson"
    JSON = "json"


def existing(help_text: str, *, folder: bool = False) -> typer.models.OptionInfo:
    """Describe an option that names a file, or a folder, that has to be there."""
    option: typer.models.OptionInfo = typer.Option(help=help_text, exists=True, file_okay=not folder, dir_okay=folder)
    return option


def import_items(
    project: Annotated[str, typer.Argument(help="Key of the project.")],
    items: Annotated[Path | None, existing("CSV table of items; the column 'key' is required.")] = None,
    features: Annotated[
        Path | None, existing("Array of features: .npy, .npz or .csv, by key or in item order.")
    ] = None,
    media: Annotated[Path | None, existing("Folder of images and WAV files.", folder=True)] = None,
    owner: Annotated[str, typer.Option(help="Make the project if there is none, owned by this address.")] = "",
    clusters: Annotated[int, typer.Option(help="Number of clusters of a project made so.", min=1)] = 8,
    data: DataOption = None,
) -> None:
    """Import items, media and features into a project."""
    from app.items.importing import import_items as run
    from app.storage import Storage

    settings = make_settings(data)
    storage = Storage(settings.resolved_storage_url())
    with opened_database(settings) as database, ExitStack() as undo:
        if owner and make_project(database, project, owner, clusters):
            undo.callback(delete_project, database, storage, project)
        done = run(database, storage, project, table=items, media=media, features=features)
        undo.pop_all()
    made = "" if done.features is None else f", and {done.features.d} features of {done.features.n} items"
    typer.echo(f"{done.added} items were added to '{project}'{made}.")


def make_project(database: "Database", key: str, owner: str, clusters: int) -> bool:
    """Make the project unless there is one; tell whether it was made."""
    from app.projects import queries, service
    from app.projects.schemas import ProjectIn

    with database.transaction() as session:
        if queries.project_by_key(session, key) is not None:
            return False
        fields = ProjectIn(key=key, name=key, n_clusters=clusters).model_dump(exclude_unset=True)
        service.create_project(session, known_user(session, owner), **fields)
        return True


def delete_project(database: "Database", storage: "Storage", key: str) -> None:
    """Take back a project whose first import failed: what is wrong changes nothing."""
    from app.projects import queries, service

    with database.transaction() as session:
        project = queries.project_by_key(session, key)
        folders = service.delete_project(session, project) if project else []
    service.remove_blobs(storage, folders)


def export(
    project: Annotated[str, typer.Argument(help="Key of the project.")],
    what: Annotated[What, typer.Argument(help="answers: every answer; clusters: the cluster of every item.")],
    form: Annotated[Form, typer.Option("--format", help="How the rows are written.")] = Form.CSV,
    run: Annotated[str, typer.Option(help="Number of the run whose clusters to write, or 'latest'.")] = "latest",
    output: Annotated[Path | None, typer.Option(help="File to write; without: standard output.")] = None,
    data: DataOption = None,
) -> None:
    """Write a project's answers or clusters."""
    from app.storage import Storage

    settings = make_settings(data)
    with opened_database(settings) as database:
        storage = Storage(settings.resolved_storage_url())
        write(exported(database, storage, project, what, form, run), output)


def exported(database: "Database", storage: "Storage", key: str, what: What, form: Form, run: str) -> Iterator[str]:
    """Give the text of an export, piece by piece."""
    from app.clustering import export as clusters
    from app.clustering.service import find_result
    from app.errors import NotFound
    from app.exchange import exporting as answers
    from app.projects.queries import project_by_key

    with database.reading() as session:
        project = project_by_key(session, key)
        if project is None:
            raise NotFound(f"There is no project '{key}'.")
        if what == What.ANSWERS:
            return answers.export(database, project.id, answers.Format(form))
        found, result = find_result(session, project, run)
    order = clusters.Sort.POSITION
    return clusters.lines(database, storage, found, result, None, order, clusters.Format(form))


def write(pieces: Iterator[str], output: Path | None) -> None:
    """Write the pieces to a file, or to standard output for the next program in a pipe."""
    if output is None:
        sys.stdout.writelines(pieces)
        return
    with output.open("w", encoding="utf-8", newline="") as file:
        file.writelines(pieces)
