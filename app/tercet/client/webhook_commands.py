"""`tercet remote webhooks ...`: the addresses that are told what happens in a project."""

from typing import Annotated

import typer

from tercet.client.commands import JsonOption, LimitOption, ServerOption, TokenOption, connected, show

webhooks = typer.Typer(no_args_is_help=True, help="Addresses that are told of runs and answers.")


@webhooks.command("list")
def list_webhooks(
    project: str, server: ServerOption = None, token: TokenOption = None, as_json: JsonOption = False
) -> None:
    """List webhooks: number, address, whether it is told of runs, after every how many answers."""
    with connected(server, token) as client:
        rows = client.project(project).webhooks()
    show(list(rows), ("id", "url", "runs", "every_answers"), as_json=as_json)


@webhooks.command("add")
def add_webhook(
    project: str,
    url: str,
    runs: Annotated[bool, typer.Option("--runs/--no-runs", help="Tell it of each run that has ended.")] = True,
    every_answers: Annotated[int, typer.Option(help="Tell it after so many more answers; 0: never.", min=0)] = 0,
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a webhook and print its number and its secret, which is not shown again."""
    with connected(server, token) as client:
        row = client.project(project).make_webhook(url, runs=runs, every_answers=every_answers)
    show([row], ("id", "secret"), as_json=as_json)


@webhooks.command("remove")
def remove_webhook(project: str, number: int, server: ServerOption = None, token: TokenOption = None) -> None:
    """Remove a webhook; what waits is not sent any more."""
    with connected(server, token) as client:
        client.project(project).remove_webhook(number)


@webhooks.command("test")
def send_test(
    project: str, number: int, server: ServerOption = None, token: TokenOption = None, as_json: JsonOption = False
) -> None:
    """Send a webhook a test; `deliveries` says what came of it."""
    with connected(server, token) as client:
        queued = client.project(project).send_test(number)
    show([queued], ("id", "status"), as_json=as_json)


@webhooks.command("deliveries")
def list_deliveries(
    project: str,
    number: int,
    limit: LimitOption = 20,
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the newest messages to a webhook: number, what about, status, attempts, what the last one came to."""
    with connected(server, token) as client:
        rows = client.project(project).deliveries(number, limit=limit)
    show(list(rows), ("id", "occasion", "status", "attempts", "result"), as_json=as_json)
