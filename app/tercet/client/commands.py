"""`tercet remote ...`: work with any server over REST, as `tercet.Client` does in a program.

Exit codes: 1 what was sent is wrong or refused, 2 the command line is wrong, 3 the server is not there, 4 a run failed.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tercet.client.client import Client
    from tercet.projects.schemas import ShareLinkOut
    from tercet.runs.schemas import RunOut

WRONG, NO_SERVER, RUN_FAILED = 1, 3, 4
remote = typer.Typer(no_args_is_help=True, help="Work with any server: projects, items, answers, runs, clusters.")
ServerOption = Annotated[
    str | None, typer.Option("--server", envvar="TERCET_SERVER", help="Address of the server.", show_envvar=True)
]
TokenOption = Annotated[str | None, typer.Option("--token", envvar="TERCET_TOKEN", help="API token.", show_envvar=True)]
LimitOption = Annotated[int, typer.Option(help="How many at most.", min=1, max=1000)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
RunArgument = Annotated[str, typer.Option("--run", help="Number of the run, or latest.")]


@contextmanager
def connected(server: str | None, token: str | None) -> "Iterator[Client]":
    """Open a connection for the block; say in a sentence what goes wrong in it and exit."""
    from tercet.client.client import Client
    from tercet.client.errors import ClientError, NoConnection
    from tercet.client.project_operations import RunFailed

    try:
        with Client(server, token) as client:
            yield client
    except (ClientError, ValueError, OSError) as error:
        typer.echo(str(error), err=True)
        code = NO_SERVER if isinstance(error, NoConnection) else RUN_FAILED if isinstance(error, RunFailed) else WRONG
        raise typer.Exit(code) from None


def show(rows: "list[BaseModel]", names: tuple[str, ...], *, as_json: bool) -> None:
    """Print rows as JSON, whole; or some of their fields, in a table for people, with tabs between for programs."""
    values = [row.model_dump(mode="json") for row in rows]
    lines = [[_plain(record[name]) for name in names] for record in values]
    if as_json:
        for record in values:
            typer.echo(json.dumps(record))
    elif sys.stdout.isatty() and lines:
        _print_table(names, lines)
    else:
        for line in lines:
            typer.echo("\t".join(line))


def _plain(value: object) -> str:
    """Return a value as people read it."""
    return "-" if value is None else {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _print_table(names: tuple[str, ...], lines: list[list[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*(name.replace("_", " ") for name in names), box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for line in lines:
        table.add_row(*map(Text, line))  # what is in brackets is no markup
    Console().print(table)


@remote.command("projects")
def list_projects(server: ServerOption = None, token: TokenOption = None, as_json: JsonOption = False) -> None:
    """List your projects: key, number of answers, number of clusters, name."""
    with connected(server, token) as client:
        details = [project.details() for project in client.projects()]
    show(list(details), ("key", "answers", "n_clusters", "name"), as_json=as_json)


@remote.command("create")
def create(
    name: str,
    clusters: Annotated[int, typer.Option(help="Number of clusters.", min=1)] = 10,
    key: Annotated[str | None, typer.Option(help="Its name in addresses; made from the name if left out.")] = None,
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a project and print its key."""
    settings: dict[str, Any] = {"n_clusters": clusters} | ({} if key is None else {"key": key})
    with connected(server, token) as client:
        show([client.create_project(name, **settings).details()], ("key",), as_json=as_json)


@remote.command("push")
def push(
    project: str,
    table: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="CSV with the column key, or NDJSON.")],
    media: Annotated[str | None, typer.Option(help="The column with the paths of files to send.")] = None,
    features: Annotated[
        Path | None, typer.Option(exists=True, help=".npy with a row for each row of the table.")
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Store the good items, leave the bad ones out.")] = False,
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add items of a table to a project, or update those whose keys it has."""
    with connected(server, token) as client:
        rows = read_rows(table)
        X = None
        if features is not None:
            import numpy as np

            X = np.load(features, allow_pickle=False)
        report = client.project(project).push(rows, media=media, X=X, skip_bad=skip_bad).report
    left_out = report.left_out_count or 0
    words = f"{report.added} items were added, {report.changed or 0} changed, {left_out} left out."
    typer.echo(report.model_dump_json() if as_json else words)


def read_rows(table: Path) -> list[dict[str, Any]]:
    """Read a CSV with a header, or NDJSON; an empty cell is missing. Paths are relative to where the command runs."""
    import csv

    with table.open(encoding="utf-8-sig", newline="") as file:
        if table.suffix.lower() in (".ndjson", ".jsonl"):
            return [json.loads(line) for line in file if line.strip()]
        return [{name: cell or None for name, cell in row.items()} for row in csv.DictReader(file)]


@remote.command("answer")
def send_answers(
    project: str,
    table: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, help="CSV or NDJSON: anchor, left, right, answer, ..."),
    ],
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store answers of a table, all or none; sent again, it stores nothing twice."""
    with connected(server, token) as client:
        done = client.project(project).constraints(read_rows(table))
    words = f"{done.stored} answers were stored, {done.repeated} had been before."
    typer.echo(done.model_dump_json() if as_json else words)


@remote.command("answers")
def get_answers(
    project: str,
    form: Annotated[str, typer.Option("--format", help="csv, ndjson, json, npz, parquet, salmon or cblearn.")] = "csv",
    output: Annotated[Path | None, typer.Option(help="File to write; else they are printed.")] = None,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """Export the answers that runs use."""
    _download(server, token, project, "/constraints", output, format=form, withdrawn=False)


@remote.command("clusters")
def get_clusters(
    project: str,
    run: RunArgument = "latest",
    form: Annotated[str, typer.Option("--format", help="csv, ndjson, json, npz or parquet.")] = "csv",
    output: Annotated[Path | None, typer.Option(help="File to write; else they are printed.")] = None,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """Export the cluster and the confidence of each item."""
    _download(server, token, project, f"/runs/{run}/items", output, format=form)


def _download(
    server: str | None, token: str | None, project: str, rest: str, output: Path | None, **query: Any
) -> None:
    """Write an export to a file, or print it."""
    from tercet.client.operations import carry_out
    from tercet.client.project_operations import get

    with connected(server, token) as client:
        content = carry_out(client.http, get(client.project(project), rest, **query)).content
        if output is not None:
            output.write_bytes(content)
    if output is None:
        typer.get_binary_stream("stdout").write(content)


@remote.command("run")
def start_run(
    project: str,
    algorithm: Annotated[str | None, typer.Option(help="The project's if left out.")] = None,
    parameters: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter, as in n_clusters=14; repeat for several.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it is done.")] = True,
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start a run, with a progress bar until it is done."""
    values = dict(_parameter(text) for text in parameters or [])
    with connected(server, token) as client:
        _show_runs([client.project(project).run(algorithm, wait=wait, **values)], as_json=as_json)


def _parameter(text: str) -> tuple[str, Any]:
    """Split name=value; a value that is no JSON is text."""
    name, separator, value = text.partition("=")
    if not separator:
        raise typer.BadParameter(f"{text}: name=value was expected", param_hint="--set")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


@remote.command("runs")
def list_runs(
    project: str,
    limit: LimitOption = 20,
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the newest runs: number, status, algorithm, answers, seconds."""
    with connected(server, token) as client:
        _show_runs(client.project(project).runs(limit), as_json=as_json)


@remote.command("watch")
def watch_run(
    project: str, number: int, server: ServerOption = None, token: TokenOption = None, as_json: JsonOption = False
) -> None:
    """Wait until a run has ended, with a progress bar."""
    with connected(server, token) as client:
        _show_runs([client.project(project).wait_for(number)], as_json=as_json)


@remote.command("cancel")
def cancel_run(
    project: str, number: int, server: ServerOption = None, token: TokenOption = None, as_json: JsonOption = False
) -> None:
    """Cancel a run that has not ended."""
    with connected(server, token) as client:
        _show_runs([client.project(project).cancel(number)], as_json=as_json)


def _show_runs(runs: "list[RunOut]", *, as_json: bool) -> None:
    show(list(runs), ("number", "status", "algorithm", "answers_to", "seconds"), as_json=as_json)


@remote.command("links")
def list_links(
    project: str, server: ServerOption = None, token: TokenOption = None, as_json: JsonOption = False
) -> None:
    """List labeling links: number, for whom, how many people came by it, and until when it works."""
    with connected(server, token) as client:
        _show_links(client.project(project).share_links(), as_json=as_json)


@remote.command("link")
def make_link(
    project: str,
    labeler: Annotated[str, typer.Option(help="The name of its only labeler; else anybody who has it labels.")] = "",
    days: Annotated[int | None, typer.Option(help="End it after so many days.", min=1, max=3650)] = None,
    most: Annotated[int | None, typer.Option(help="Let so many people in at most.", min=1, max=100_000)] = None,
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a labeling link and print its address, which is not shown again."""
    with connected(server, token) as client:
        made = client.project(project).make_share_link(labeler=labeler, days=days, most=most)
    show([made], ("url",), as_json=as_json)


@remote.command("unlink")
def revoke_link(
    project: str, number: int, server: ServerOption = None, token: TokenOption = None, as_json: JsonOption = False
) -> None:
    """Revoke a labeling link, which signs out everybody who came by it."""
    with connected(server, token) as client:
        _show_links([client.project(project).revoke_share_link(number)], as_json=as_json)


def _show_links(links: "list[ShareLinkOut]", *, as_json: bool) -> None:
    show(list(links), ("id", "labeler", "arrived", "expires_at", "revoked_at"), as_json=as_json)


@remote.command("events")
def follow(project: str, server: ServerOption = None, token: TokenOption = None) -> None:
    """Print what happens in a project, one JSON object a line, until Ctrl-C."""
    from dataclasses import asdict

    with connected(server, token) as client:
        for event in client.project(project).events():
            typer.echo(json.dumps(asdict(event)))
