"""What the parts of the `tercet` command share: the --data option, the settings and the database behind it."""

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

DataOption = Annotated[Path | None, typer.Option("--data", help="Folder of the database and blobs (TERCET_DATA).")]


def make_settings(data: Path | None) -> "Settings":
    """Read the TERCET_ settings, with the folder given on the command line; say which of them is wrong."""
    from pydantic import ValidationError

    from app.settings import Settings

    try:
        return Settings(data=data) if data else Settings()
    except ValidationError as error:
        for one in error.errors():
            typer.echo(f"TERCET_{'_'.join(map(str, one['loc'])).upper()}: {one['msg']}", err=True)
        raise typer.Exit(1) from None


@contextmanager
def opened_database(settings: "Settings") -> "Iterator[Database]":
    """Open the database that the settings name, brought to the newest tables."""
    from app.database import Database
    from app.migrate import upgrade

    database = Database(settings.resolved_database_url())
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


def place_of(fault: "FieldError") -> str:
    """Name the place of a fault: file, row, field, as far as they are known."""
    row = None if fault.row is None else f"row {fault.row}"
    return ", ".join(part for part in (fault.file, row, fault.field) if part)
