"""What `tercet demo` does: make the project, then serve it or let simulated labelers work on it."""

import tempfile
from pathlib import Path

from app import migrate
from app.accounts import service as accounts
from app.database import Database
from app.demo.birdsong import true_patterns
from app.demo.project import N_ITEMS, OWNER, Links, Report, prepare
from app.demo.server import running_server
from app.demo.simulate import simulate
from app.models import Scope, User
from app.serve import address, listen, run_server
from app.settings import Settings
from app.storage import Storage


def make_demo(settings: Settings, report: Report, seed: int = 0) -> Links:
    """Bring the database up to date and the demonstration's project into it."""
    settings.data.mkdir(parents=True, exist_ok=True)
    database = Database(settings.resolved_database_url())
    migrate.upgrade(database)
    links = prepare(database, Storage(settings.resolved_storage_url()), report, seed)
    database.close()
    return links


def serve_demo(settings: Settings, host: str, port: int, report: Report) -> None:
    """Make the project if need be, say how to come in, and serve."""
    listener = listen(host, port)
    links = make_demo(settings, report)
    site = settings.public_url.rstrip("/") or address(listener)
    report(f"\n  Owner, once:  {site}{links.sign_in}\n  Labelers:     {site}{links.join}\n")
    report(f"Answers are kept in {settings.data.resolve()}. Start the demo again for a new link for the owner.")
    if "log_level" not in settings.model_fields_set:
        settings = settings.model_copy(update={"log_level": "warning"})  # the links stay in sight
    run_server(settings, listener)


def simulate_demo(data: Path | None, answers: int, seed: int, report: Report) -> int:
    """Run the whole loop in a folder of its own unless one is given; give the number of answers lost or doubled."""
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
    """Make a token with which a program reads runs and answers as the owner, for a day."""
    database = Database(settings.resolved_database_url())
    with database.transaction() as session:
        owner = session.query(User).filter_by(email=OWNER).one()
        token = accounts.make_api_token(session, owner, "simulation", Scope.READ, days=1)
    database.close()
    return token
