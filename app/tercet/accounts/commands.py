"""`tercet user ...`: adds users, lists them and keeps them out, and makes their sign-in links and API tokens."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tercet.command_setup import DataOption, make_settings, opened_database

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from tercet.models import User

people = typer.Typer(no_args_is_help=True, help="People who may come in, their sign-in links and API tokens.")


@contextmanager
def opened_user(data: Path | None, email: str) -> Iterator[tuple["Session", "User"]]:
    """Open the database and look the user up; changes are stored at the end of the block."""
    from tercet.accounts.queries import user_with_address

    with opened_database(make_settings(data)) as database, database.transaction() as session:
        yield session, user_with_address(session, email)


@people.command("add")
def add_user(
    email: str,
    name: Annotated[str, typer.Option(help="Shown to others; the address if empty.")] = "",
    admin: Annotated[bool, typer.Option("--admin", help="May do everything in every project.")] = False,
    data: DataOption = None,
) -> None:
    """Add a user, and print a link that signs them in once."""
    from tercet.accounts import service

    settings = make_settings(data)
    with opened_database(settings) as database, database.transaction() as session:
        user = service.make_user(session, name or email, email=email, is_admin=admin)
        token = service.make_sign_in_link(session, user)
    typer.echo(f"{settings.site_url()}/sign-in/{token}")


@people.command("link")
def make_link(
    email: str,
    hours: Annotated[float, typer.Option(help="How long it works.", min=0.1, max=24 * 365)] = 24.0,
    data: DataOption = None,
) -> None:
    """Print a link that signs a user in once."""
    from tercet.accounts import service
    from tercet.accounts.queries import user_with_address

    settings = make_settings(data)
    with opened_database(settings) as database, database.transaction() as session:
        token = service.make_sign_in_link(session, user_with_address(session, email), hours)
    typer.echo(f"{settings.site_url()}/sign-in/{token}")


@people.command("token")
def make_token(
    email: str,
    name: Annotated[str, typer.Option(help="What the token is for.")] = "command line",
    scope: Annotated[str, typer.Option(help="read, label, write or own.")] = "own",
    days: Annotated[int | None, typer.Option(help="Days until it ends; without: until it is revoked.")] = None,
    project: Annotated[str, typer.Option(help="The key of the only project that it reaches; without: all.")] = "",
    data: DataOption = None,
) -> None:
    """Print a new API token of a user; it is not shown again."""
    from tercet.accounts import service
    from tercet.accounts.queries import project_of, user_with_address
    from tercet.errors import Invalid
    from tercet.models import Scope

    if scope not in set(Scope):
        raise Invalid(f"'{scope}' is no scope: expected {', '.join(Scope)}.")
    with opened_database(make_settings(data)) as database, database.transaction() as session:
        user = user_with_address(session, email)
        only = project_of(session, user, project) if project else None
        token = service.make_api_token(session, user, name, Scope(scope), days, project=only)
    typer.echo(token)


@people.command("list")
def list_users(data: DataOption = None) -> None:
    """List the people with an account: address, name, what they are, where they are signed in, and last use."""
    from tercet.accounts import queries

    with opened_database(make_settings(data)) as database, database.reading() as session:
        for user, sessions, seen in queries.users(session):
            state = "disabled" if user.disabled_at else "administrator" if user.is_admin else "user"
            last = f"last seen {seen:%Y-%m-%d %H:%M} UTC" if seen else "not signed in"
            typer.echo(f"{user.email or '-'}\t{user.name}\t{state}\t{sessions} sessions\t{last}")


@people.command("disable")
def disable(email: str, data: DataOption = None) -> None:
    """Keep somebody out from now on: sessions and links end, and tokens are refused."""
    from tercet.accounts import service

    with opened_user(data, email) as (session, user):
        service.disable_user(session, user)
    typer.echo(f"{email} may not come in any more. 'tercet user enable {email}' undoes it.")


@people.command("enable")
def enable(email: str, data: DataOption = None) -> None:
    """Let somebody who was disabled come in again."""
    from tercet.accounts import service

    with opened_user(data, email) as (session, user):
        service.enable_user(session, user)
    typer.echo(f"{email} may come in again. 'tercet user link {email}' makes a sign-in link.")


@people.command("promote")
def promote(
    email: str,
    demote: Annotated[bool, typer.Option("--undo", help="Make an administrator a plain user again.")] = False,
    data: DataOption = None,
) -> None:
    """Make somebody an administrator, who may do everything in every project."""
    from tercet.accounts import service

    with opened_user(data, email) as (session, user):
        service.set_administrator(session, user, not demote)
    typer.echo(f"{email} is {'no administrator any more' if demote else 'an administrator'}.")


@people.command("sign-out")
def sign_out(email: str, data: DataOption = None) -> None:
    """Sign somebody out of every browser; unused sign-in links end too."""
    from tercet.accounts import service

    with opened_user(data, email) as (session, user):
        service.end_sessions(session, user)
    typer.echo(f"{email} is signed out everywhere.")


@people.command("delete")
def delete(email: str, data: DataOption = None) -> None:
    """Remove somebody who has answered and decided nothing."""
    from tercet.accounts import service

    with opened_user(data, email) as (session, user):
        service.delete_user(session, user)
    typer.echo(f"{email} was removed.")
