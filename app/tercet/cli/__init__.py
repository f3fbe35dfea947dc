"""The `tercet` command: demo, serve, people and their keys, data in and out.

Commands of one package stand there, in its `commands.py`; `import_command.py` needs many packages, and a worker.
Imports that are slow stand inside the commands that need them, so that `tercet --help` is there at once.

- labeling link: the address at which anybody who has it may label; `tercet import` ends with it
- bar: the progress bar that a command draws in the terminal
"""

import os
import sys
from typing import Annotated

import typer

from tercet import __version__
from tercet.accounts.commands import people
from tercet.archives.commands import archive
from tercet.backups.commands import backup, check, restore
from tercet.cli.import_command import import_files
from tercet.client.access_commands import download_backup, tokens, users
from tercet.client.commands import remote
from tercet.client.webhook_commands import webhooks
from tercet.command_setup import DataOption, describe_place, make_settings
from tercet.demo.kinds import DemoKind
from tercet.exchange.commands import export
from tercet.sounds.commands import segment

# One BLAS thread a process: more make small products erratic. It has to be said before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

cli = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
HostOption = Annotated[str, typer.Option(help="Address to listen on.")]
PortOption = Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)]


def print_version(asked: bool) -> None:
    """Print the version and end, if it was asked for."""
    if asked:
        typer.echo(f"tercet {__version__}")
        raise typer.Exit


@cli.callback()
def take_general_options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Clusters from the comparisons that people make."""


@cli.command()
def demo(
    kind: Annotated[
        DemoKind, typer.Argument(help="600 synthetic bird songs, 500 handwritten digits or 300 short messages.")
    ] = DemoKind.SONGS,
    simulate: Annotated[
        int, typer.Option(help="Let simulated labelers give so many answers about the songs, then end.", min=0)
    ] = 0,
    seed: Annotated[int, typer.Option(help="Other songs and other labelers.", min=0)] = 0,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8000,
    data: DataOption = None,
) -> None:
    """Make a project of songs, pictures or texts and serve it, or simulate its labelers (in a folder of its own)."""
    from tercet.demo.command import serve_demo, simulate_demo

    if simulate and kind != DemoKind.SONGS:
        raise typer.BadParameter("simulated labelers know the songs alone: leave the kind out")
    if not simulate:
        serve_demo(make_settings(data), kind, host, port, typer.echo)
    elif simulate_demo(data, simulate, seed, typer.echo):
        raise typer.Exit(1)


@cli.command()
def serve(host: HostOption = "127.0.0.1", port: PortOption = 8000, data: DataOption = None) -> None:
    """Serve the pages and the REST interface, and run the fits."""
    from tercet.serve import listen, run_server

    run_server(make_settings(data), listen(host, port))


cli.command("import")(import_files)
cli.command("export")(export)
cli.command("segment")(segment)
cli.command("archive")(archive)
cli.command("backup")(backup)
cli.command("check")(check)
cli.command("restore")(restore)
cli.add_typer(people, name="user")
cli.add_typer(remote, name="remote")
remote.add_typer(webhooks, name="webhooks")
remote.add_typer(tokens, name="tokens")
remote.add_typer(users, name="users")
remote.command("backup")(download_backup)


def describe_mistake(error: Exception) -> list[str]:
    """Return sentences that say what was wrong with the command; none if the error may be a fault of ours."""
    from pydantic import ValidationError
    from sqlalchemy.exc import OperationalError

    from tercet.errors import Problem

    if isinstance(error, Problem):
        return [error.detail, *(f"  {describe_place(fault)}: {fault.detail}" for fault in error.errors)]
    if isinstance(error, ValidationError):
        return [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
    if isinstance(error, OperationalError):
        return [f"The database does not answer: {error.orig}"]
    return []


def main() -> None:
    """Run the command; report a mistake of the user in plain sentences, with exit code 1."""
    try:
        cli()
    except Exception as error:
        sentences = describe_mistake(error)
        if not sentences:
            raise
        typer.echo("\n".join(sentences), err=True)
        sys.exit(1)
