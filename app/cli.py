"""The `tercet` command: demo, serve, people and their keys, data in and out.

Slow imports stand inside the commands that need them, so that `tercet --help` is there at once.
"""

import os
import sys
from typing import Annotated

import typer

from app.accounts.commands import people
from app.commandline import DataOption, make_settings, place_of
from app.exchange.commands import export, import_items

# One BLAS thread a process: more make small products erratic. It has to be said before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

cli = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Clusters from the comparisons that people make.",
)
HostOption = Annotated[str, typer.Option(help="Address to listen on.")]
PortOption = Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)]


@cli.command()
def demo(
    simulate: Annotated[int, typer.Option(help="Let simulated labelers give so many answers, then end.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Other songs and other labelers.", min=0)] = 0,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8000,
    data: DataOption = None,
) -> None:
    """Make a project of 600 synthetic bird songs and serve it, or simulate its labelers (in a folder of its own)."""
    from app.demo.command import serve_demo, simulate_demo

    if not simulate:
        serve_demo(make_settings(data), host, port, typer.echo)
    elif simulate_demo(data, simulate, seed, typer.echo):
        raise typer.Exit(1)


@cli.command()
def serve(host: HostOption = "127.0.0.1", port: PortOption = 8000, data: DataOption = None) -> None:
    """Serve the pages and the REST interface, and run the fits."""
    from app.serve import listen, run_server

    run_server(make_settings(data), listen(host, port))


cli.command("import")(import_items)
cli.command("export")(export)
cli.add_typer(people, name="user")


def explain(error: Exception) -> list[str]:
    """Say in plain sentences what was wrong with what was asked; nothing if the fault may be ours."""
    from pydantic import ValidationError
    from sqlalchemy.exc import OperationalError

    from app.errors import Problem

    if isinstance(error, Problem):
        return [error.detail, *(f"  {place_of(fault)}: {fault.detail}" for fault in error.errors)]
    if isinstance(error, ValidationError):
        return [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
    if isinstance(error, OperationalError):
        return [f"The database does not answer: {error.orig}"]
    return []


def main() -> None:
    """Run the command; a mistake in what was asked is plain sentences and exit code 1."""
    try:
        cli()
    except Exception as error:
        sentences = explain(error)
        if not sentences:
            raise
        typer.echo("\n".join(sentences), err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
