"""`tercet remote tokens`, `users` and `backup`: who and what may come in, and a copy of everything."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tercet.client.commands import JsonOption, ServerOption, TokenOption, connected, show

if TYPE_CHECKING:
    from tercet.accounts.schemas import UserOut

tokens = typer.Typer(no_args_is_help=True, help="API tokens that are for one project alone.")
users = typer.Typer(no_args_is_help=True, help="People with an account, for administrators.")


@tokens.command("list")
def list_tokens(
    project: str, server: ServerOption = None, token: TokenOption = None, as_json: JsonOption = False
) -> None:
    """List the tokens for a project: number, name, whose, scope, until when."""
    with connected(server, token) as client:
        rows = client.project(project).tokens()
    show(list(rows), ("id", "name", "user", "scope", "expires_at"), as_json=as_json)


@tokens.command("create")
def create_token(
    project: str,
    name: Annotated[str, typer.Option(help="What it is for.")] = "command line",
    scope: Annotated[str, typer.Option(help="read, label, write or own.")] = "write",
    days: Annotated[int | None, typer.Option(help="End it after so many days.", min=1, max=3650)] = None,
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a token that acts for you in one project, and print it; it is not shown again."""
    with connected(server, token) as client:
        row = client.project(project).make_token(name, scope=scope, days=days)
    show([row], ("token",), as_json=as_json)


@tokens.command("revoke")
def revoke_token(project: str, number: int, server: ServerOption = None, token: TokenOption = None) -> None:
    """End a token, whoever has it."""
    with connected(server, token) as client:
        client.project(project).revoke_token(number)


@users.command("list")
def list_users(server: ServerOption = None, token: TokenOption = None, as_json: JsonOption = False) -> None:
    """List the people with an account: number, address, name, whether administrators, since when kept out."""
    with connected(server, token) as client:
        _show_users(client.users(), as_json=as_json)


@users.command("add")
def add_user(
    email: str,
    name: Annotated[str | None, typer.Option(help="Shown to others; the address if left out.")] = None,
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add somebody, and print a link that signs them in once."""
    with connected(server, token) as client:
        row = client.add_user(email, name)
    show([row], ("sign_in_url",), as_json=as_json)


@users.command("disable")
def disable_user(
    number: int, server: ServerOption = None, token: TokenOption = None, as_json: JsonOption = False
) -> None:
    """Keep somebody out from now on."""
    with connected(server, token) as client:
        _show_users([client.disable_user(number)], as_json=as_json)


@users.command("enable")
def enable_user(
    number: int, server: ServerOption = None, token: TokenOption = None, as_json: JsonOption = False
) -> None:
    """Let somebody come in again."""
    with connected(server, token) as client:
        _show_users([client.disable_user(number, disabled=False)], as_json=as_json)


def _show_users(people: "list[UserOut]", *, as_json: bool) -> None:
    show(list(people), ("id", "email", "name", "administrator", "disabled_at"), as_json=as_json)


def download_backup(
    file: Annotated[Path, typer.Argument(help="ZIP file to write.", dir_okay=False)],
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Download everything that a server stores, for administrators; 'tercet check' says whether it is whole."""
    with connected(server, token) as client:
        size = client.backup(file)
    words = f"{file}: {size / 1e6:,.1f} MB. 'tercet check {file}' says whether it is whole."
    typer.echo(json.dumps({"file": str(file), "size": size}) if as_json else words)
