"""What `tercet demo` does: make the project, then serve it or let simulated labelers work on it."""

import tempfile
from pathlib import Path

from tercet import migrate
from tercet.accounts import service as accounts
from tercet.database import Database
from tercet.demo.birdsong import true_patterns
from tercet.demo.kinds import DemoKind
from tercet.demo.project import N_ITEMS, OWNER, Links, Report, prepare
from tercet.demo.server import running_server
from tercet.demo.simulate import simulate
from tercet.models import Scope, User
from tercet.serve import listen, local_url, run_server
from tercet.settings import Settings
from tercet.storage import Storage


def make_demo(settings: Settings, report: Report, seed: int = 0, kind: DemoKind = DemoKind.SONGS) -> Links:
    """Migrate the database, make the demonstration's project in it, and return links to it."""
    settings.data.mkdir(parents=True, exist_ok=True)
    database = Database(settings.resolved_database_url())
    migrate.upgrade(database)
    links = prepare(database, Storage(settings.resolved_storage_url()), report, seed, kind)
    database.close()
    return links


def serve_demo(settings: Settings, kind: DemoKind, host: str, port: int, report: Report) -> None:
    """Make the project if there is none, report the links to it, and serve."""
    listener = listen(host, port)
    links = make_demo(settings, report, kind=kind)
    site = settings.public_url.rstrip("/") or local_url(listener)
    report(f"\n  Owner, once:  {site}{links.sign_in}\n  Labelers:     {site}{links.join}\n")
    report(f"Answers are kept in {settings.data.resolve()}. Start the demo again for a new link for the owner.")
    if "log_level" not in settings.model_fields_set:
        settings = settings.model_copy(update={"log_level": "warning"})  # the links stay in sight
    run_server(settings, listener)


def simulate_demo(data: Path | None, answers: int, seed: int, report: Report) -> int:
    """Run the whole loop in a folder of its own unless one is given; return the number of answers lost or doubled."""
    if data is not None:
        return _simulate_in(data, answers, seed, report)
    with tempfile.TemporaryDirectory(prefix="tercet-simulation-") as folder:
        return _simulate_in(Path(folder), answers, seed, report)


def _simulate_in(data: Path, answers: int, seed: int, report: Report) -> int:
    settings = Settings(data=data)
    links = make_demo(settings, report, seed)
    token = owner_token(settings)
    with running_server({"data": str(data), "log_level": "warning"}) as server:
        report(f"Simulated labelers answer {answers} questions at {server.url} ...")
        return simulate(server.url, links.join, token, true_patterns(N_ITEMS, seed), answers, seed, report)


def owner_token(settings: Settings) -> str:
    """Return a new token with which a program reads runs and answers as the owner, for a day."""
    database = Database(settings.resolved_database_url())
    with database.transaction() as session:
        owner = session.query(User).filter_by(email=OWNER).one()
        token = accounts.make_api_token(session, owner, "simulation", Scope.READ, days=1)
    database.close()
    return token
