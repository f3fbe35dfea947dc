"""A real server with a worker, which the tests of a file share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tercet.accounts import service
from tercet.database import Database
from tercet.demo.server import running_server
from tercet.models import Scope
from tests.factories import make_user


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Path:
    """The folder of the server."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "tercet.db").write_bytes(sqlite_template.read_bytes())
    return folder


def token_of(data: Path, *, is_admin: bool = False) -> str:
    """Add somebody, and return a token of theirs."""
    database = Database(f"sqlite:///{data / 'tercet.db'}")
    with database.transaction() as session:
        token = service.make_api_token(session, make_user(session, is_admin=is_admin), "client", Scope.OWN)
    database.close()
    return token


@pytest.fixture(scope="module")
def connection(data: Path) -> Iterator[tuple[str, str]]:
    """Address of a server with one worker, and the token of somebody who may make projects there."""
    token = token_of(data)
    with running_server({"data": str(data), "workers": "1", "log_level": "warning"}) as server:
        yield server.url, token


@pytest.fixture
def administrator(data: Path) -> str:
    """The token of an administrator of the server."""
    return token_of(data, is_admin=True)
