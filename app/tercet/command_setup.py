"""What the subcommands of `tercet` share: the --data option, the settings and the database behind it."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tercet.database import Database
    from tercet.errors import FieldError
    from tercet.settings import Settings

DataOption = Annotated[Path | None, typer.Option("--data", help="Folder of the database and blobs (TERCET_DATA).")]


def make_settings(data: Path | None) -> "Settings":
    """Return the TERCET_ settings, with the data folder of the command line; report those that are wrong and exit."""
    from pydantic import ValidationError

    from tercet.settings import Settings

    try:
        return Settings(data=data) if data else Settings()
    except ValidationError as error:
        for fault in error.errors():
            typer.echo(f"TERCET_{'_'.join(map(str, fault['loc'])).upper()}: {fault['msg']}", err=True)
        raise typer.Exit(1) from None


@contextmanager
def opened_database(settings: "Settings") -> "Iterator[Database]":
    """Open the database that the settings name, migrate it, and close it at the end of the block."""
    from tercet.database import Database
    from tercet.migrate import upgrade

    database = Database(settings.resolved_database_url())
    upgrade(database)
    try:
        yield database
    finally:
        database.close()


def describe_place(fault: "FieldError") -> str:
    """Return the place of a fault: file, row and field, as far as it has them."""
    row = None if fault.row is None else f"row {fault.row}"
    return ", ".join(part for part in (fault.file, row, fault.field) if part)
