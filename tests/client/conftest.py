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
def connection(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[tuple[str, str]]:
    """Address of a server with one worker, and the token of somebody who may make projects there."""
    data = tmp_path_factory.mktemp("server")
    (data / "tercet.db").write_bytes(sqlite_template.read_bytes())
    database = Database(f"sqlite:///{data / 'tercet.db'}")
    with database.transaction() as session:
        token = service.make_api_token(session, make_user(session), "client", Scope.OWN)
    database.close()
    with running_server({"data": str(data), "workers": "1", "log_level": "warning"}) as server:
        yield server.url, token
