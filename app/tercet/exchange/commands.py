"""`tercet export`: the downloads of the REST interface, without a server."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from tercet.command_setup import DataOption, make_settings, opened_database
from tercet.exchange.contents import ExportContent
from tercet.web.row_formats import RowFormat


def export(
    project: Annotated[str, typer.Argument(help="Key of the project.")],
    what: Annotated[
        ExportContent,
        typer.Argument(
            help="answers: every answer; clusters: the cluster of every item; raven, audacity: tables over recordings; "
            "clips: media by cluster; posterior; features; model: for tercet.load_model; report: one HTML page; "
            "salmon, cblearn: yes and no answers as those programs have them."
        ),
    ],
    form: Annotated[
        RowFormat, typer.Option("--format", help="Of answers, clusters and posterior; all else has one.")
    ] = RowFormat.CSV,
    run: Annotated[str, typer.Option(help="Number of the run whose clusters to write, or 'latest'.")] = "latest",
    names: Annotated[bool, typer.Option("--names", help="Labelers by name; without: by pseudonyms.")] = False,
    output: Annotated[Path | None, typer.Option(help="File to write; without: standard output.")] = None,
    data: DataOption = None,
) -> None:
    """Write a project's answers, or what a run made of them."""
    from tercet.exchange.downloads import find_project, make_download
    from tercet.storage import Storage

    settings = make_settings(data)
    with opened_database(settings) as database:
        with database.reading() as session:
            row = find_project(session, project)
        storage = Storage(settings.resolved_storage_url())
        write(make_download(database, storage, row, what, form, run, names=names).pieces, output)


def write(pieces: Iterable[str] | Iterable[bytes], output: Path | None) -> None:
    """Write the pieces to a file, or to standard output for the next program in a pipe."""
    encoded = (piece.encode() if isinstance(piece, str) else piece for piece in pieces)
    if output is None:
        sys.stdout.buffer.writelines(encoded)
        sys.stdout.flush()
        return
    with output.open("wb") as file:
        file.writelines(encoded)
