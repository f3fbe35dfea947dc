"""The `tercet` command: serve, people and their keys, data in and out.

Slow imports stand inside the commands that need them, so that `tercet --help` is there at once.
"""

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.orm import Session

    from app.database import Database
    from app.errors import FieldError
    from app.models import User
    from app.settings import Settings

# One BLAS thread a process: more make small products erratic. It has to be said before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

cli = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Clusters from the comparisons that people make.",
)

people = typer.Typer(no_args_is_help=True, help="People who may come in, their sign-in links and API tokens.")
cli.add_typer(people, name="user")

DataOption = Annotated[Path | None, typer.Option("--data", help="Folder of the database and blobs (TERCET_DATA).")]


def make_settings(data: Path | None) -> "Settings":
    """Read the TERCET_ settings, with the folder given on the command line."""
    from app.settings import Settings

    return Settings(data=data) if data else Settings()


@cli.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 8000,
    data: DataOption = None,
) -> None:
    """Serve the pages and the REST interface, and run the fits."""
    from app.serve import run_server

    run_server(make_settings(data), host, port)


@cli.command()
def demo(
    simulate: Annotated[int, typer.Option(help="Let simulated labelers give so many answers, then end.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Other songs and other labelers.", min=0)] = 0,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 8000,
    data: DataOption = None,
) -> None:
    """Make a project of 600 synthetic bird songs and serve it, or simulate its labelers (in a folder of its own)."""
    from app.demo.command import serve_demo, simulate_demo

    if not simulate:
        serve_demo(make_settings(data), host, port, typer.echo)
    elif simulate_demo(data, simulate, seed, typer.echo):
        raise typer.Exit(1)


@contextmanager
def opened_database(data: Path | None) -> "Iterator[Database]":
    """Open the database that the settings name, brought to the newest tables."""
    from app.database import Database
    from app.migrate import upgrade

    database = Database(make_settings(data).resolved_database_url())
    upgrade(database)
    try:
        yield database
    finally:
        database.close()


def known_user(session: "Session", email: str) -> "User":
    """Find a user by address, or say how to add one."""
    from app.accounts.queries import user_by_email
    from app.errors import NotFound

    user = user_by_email(session, email)
    if user is None:
        raise NotFound(f"There is no user with the address {email}. 'tercet user add {email}' adds one.")
    return user


def sign_in_address(data: Path | None, token: str) -> str:
    """Give the address of a sign-in link, at the address people use."""
    return f"{make_settings(data).public_url.rstrip('/') or 'http://127.0.0.1:8000'}/sign-in/{token}"


@people.command("add")
def add_user(
    email: str,
    name: Annotated[str, typer.Option(help="Shown to others; the address if empty.")] = "",
    admin: Annotated[bool, typer.Option("--admin", help="May do everything in every project.")] = False,
    data: DataOption = None,
) -> None:
    """Add a user, and print a link that signs them in once."""
    from app.accounts import service

    with opened_database(data) as database, database.transaction() as session:
        user = service.make_user(session, name or email, email=email, is_admin=admin)
        token = service.make_sign_in_link(session, user)
    typer.echo(sign_in_address(data, token))


@people.command("link")
def make_link(
    email: str,
    hours: Annotated[float, typer.Option(help="How long it works.", min=0.1, max=24 * 365)] = 24.0,
    data: DataOption = None,
) -> None:
    """Print a link that signs a user in once."""
    from app.accounts import service

    with opened_database(data) as database, database.transaction() as session:
        token = service.make_sign_in_link(session, known_user(session, email), hours)
    typer.echo(sign_in_address(data, token))


@people.command("token")
def make_token(
    email: str,
    name: Annotated[str, typer.Option(help="What the token is for.")] = "command line",
    scope: Annotated[str, typer.Option(help="read, label, write or own.")] = "own",
    days: Annotated[int | None, typer.Option(help="Days until it ends; without: until it is revoked.")] = None,
    data: DataOption = None,
) -> None:
    """Print a new API token of a user; it is not shown again."""
    from app.accounts import service
    from app.errors import Invalid
    from app.models import Scope

    if scope not in set(Scope):
        raise Invalid(f"'{scope}' is no scope: expected {', '.join(Scope)}.")
    with opened_database(data) as database, database.transaction() as session:
        token = service.make_api_token(session, known_user(session, email), name, Scope(scope), days)
    typer.echo(token)


def place_of(fault: "FieldError") -> str:
    """Name the place of a fault: file, row, field, as far as they are known."""
    row = None if fault.row is None else f"row {fault.row}"
    return ", ".join(part for part in (fault.file, row, fault.field) if part)


def main() -> None:
    """Run the command; a mistake in what was asked is plain sentences and exit code 1."""
    try:
        cli()
    except Exception as error:
        from app.errors import Problem

        if not isinstance(error, Problem):
            raise
        typer.echo(error.detail, err=True)
        for fault in error.errors:
            typer.echo(f"  {place_of(fault)}: {fault.detail}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
