"""What administrators see of the server: its state, disks, versions, backups and the newest failures."""

import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.orm import Session

from tercet import __version__
from tercet.audit import chain
from tercet.backups.schedule import WrittenBackup, backups, seconds_until_due
from tercet.database import Database
from tercet.migrate import newest_revision
from tercet.settings import Settings
from tercet.system.state import Failure, SystemState, failures, read_state


@dataclass(frozen=True)
class Overview:
    """The server at one moment; sizes are in bytes. `backup` is the newest one that the server made by itself."""

    state: SystemState
    failures: list[Failure]
    versions: dict[str, str]
    disk_free: int
    disk_total: int
    database_size: int
    backup: WrittenBackup | None
    backup_is_late: bool
    audit_break: int | None


def view_system(database: Database, settings: Settings) -> Overview:
    """Look at everything."""
    with database.reading() as session:
        state, failed, broken = read_state(session), failures(session), chain.first_break(session)
        versions, size = _versions(session, database), _database_size(session, database)
    disk = shutil.disk_usage(settings.data)
    folder = settings.backup_folder
    written = backups(Path(folder)) if folder else []
    return Overview(
        state=state,
        failures=failed,
        versions=versions,
        disk_free=disk.free,
        disk_total=disk.total,
        database_size=size,
        backup=written[-1] if written else None,
        backup_is_late=bool(folder) and seconds_until_due(settings) < -settings.backup_hours * 3600 / 2,
        audit_break=broken,
    )


def _versions(session: Session, database: Database) -> dict[str, str]:
    kind = "SQLite" if database.is_sqlite else "PostgreSQL"
    number = "SELECT sqlite_version()" if database.is_sqlite else "SHOW server_version"
    newest = newest_revision()
    revision = session.scalar(text("SELECT version_num FROM alembic_version"))
    return {
        "Tercet": __version__,
        "Python": platform.python_version(),
        kind: str(session.scalar(text(number))),
        "Tables": f"revision {revision}" + ("" if revision == newest else f"; this version has {newest}"),
    }


def _database_size(session: Session, database: Database) -> int:
    if not database.is_sqlite:
        return session.scalar(text("SELECT pg_database_size(current_database())")) or 0
    file = Path(database.url.database or "")
    return sum(path.stat().st_size for path in file.parent.glob(f"{file.name}*"))
