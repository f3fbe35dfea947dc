"""`tercet user ...`: adds users, and makes their sign-in links and API tokens."""

from typing import TYPE_CHECKING, Annotated

import typer

from tercet.command_setup import DataOption, make_settings, opened_database

if TYPE_CHECKING:
    from tercet.settings import Settings

people = typer.Typer(no_args_is_help=True, help="People who may come in, their sign-in links and API tokens.")


def sign_in_address(settings: "Settings", token: str) -> str:
    """Return the sign-in link under the public address."""
    return f"{settings.public_url.rstrip('/') or 'http://127.0.0.1:8000'}/sign-in/{token}"


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
    typer.echo(sign_in_address(settings, token))


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
    typer.echo(sign_in_address(settings, token))


@people.command("token")
def make_token(
    email: str,
    name: Annotated[str, typer.Option(help="What the token is for.")] = "command line",
    scope: Annotated[str, typer.Option(help="read, label, write or own.")] = "own",
    days: Annotated[int | None, typer.Option(help="Days until it ends; without: until it is revoked.")] = None,
    data: DataOption = None,
) -> None:
    """Print a new API token of a user; it is not shown again."""
    from tercet.accounts import service
    from tercet.accounts.queries import user_with_address
    from tercet.models import Scope
    from tercet.web.errors import Invalid

    if scope not in set(Scope):
        raise Invalid(f"'{scope}' is no scope: expected {', '.join(Scope)}.")
    with opened_database(make_settings(data)) as database, database.transaction() as session:
        token = service.make_api_token(session, user_with_address(session, email), name, Scope(scope), days)
    typer.echo(token)
