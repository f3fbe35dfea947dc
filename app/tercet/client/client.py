"""`Client` and `AsyncClient`: a connection to a server, and the projects there."""

import os
from os import PathLike
from types import TracebackType
from typing import Any, BinaryIO, Generic, Self, TypeVar

import httpx

from tercet.client import server_operations
from tercet.client.errors import ClientError, Refused
from tercet.client.frames import Library
from tercet.client.operations import Call, Steps, awaited, carry_out, carry_out_awaited, respond, waiting
from tercet.client.projects import AsyncProjectClient, ProjectClient
from tercet.projects.schemas import ProjectList, ProjectOut

LOCAL_SERVER = "http://127.0.0.1:8000"
H = TypeVar("H", httpx.Client, httpx.AsyncClient)


class Connection(Generic[H]):
    """A connection to a server; `Client` waits for each response, `AsyncClient` is awaited.

    Parameters
    ----------
    server : str, optional
        Address of the server; the environment's TERCET_SERVER, or else http://127.0.0.1:8000.
    token : str, optional
        An API token, made on the account page or with `tercet user token`; the environment's TERCET_TOKEN.
    frames : "pandas" or "polars", optional
        What tables come out as; by default what is installed, pandas first.
    progress : bool
        Whether long work shows a progress bar.
    timeout : float
        Seconds to wait for each response.

    Raises
    ------
    ClientError
        Where there is no token.
    """

    def __init__(
        self,
        server: str | None = None,
        token: str | None = None,
        *,
        frames: Library | None = None,
        progress: bool = True,
        timeout: float = 60.0,
    ) -> None:
        """Connect; nothing is sent yet."""
        token = token or os.environ.get("TERCET_TOKEN")
        if not token:
            raise ClientError("There is no token: give one, or set TERCET_TOKEN. 'tercet user token' makes one.")
        self.server = (server or os.environ.get("TERCET_SERVER") or LOCAL_SERVER).rstrip("/")
        self.frames, self.progress = frames, progress
        self.http: H = self._open(
            base_url=f"{self.server}/api/v1/", headers={"Authorization": f"Bearer {token}"}, timeout=timeout
        )

    def _open(self, **options: Any) -> H:
        raise NotImplementedError

    def __repr__(self) -> str:
        """Show the server."""
        return f"{type(self).__name__}({self.server!r})"


class Client(Connection[httpx.Client]):
    """A connection to a server that waits for each response; its parameters are those of `Connection`.

    A context manager that closes the connection.
    """

    def _open(self, **options: Any) -> httpx.Client:
        return httpx.Client(**options)

    def project(self, key: str) -> ProjectClient:
        """Return a project by its key; whether there is such a one shows with the first operation."""
        return ProjectClient(self.http, key, self.frames, progress=self.progress)

    def projects(self) -> list[ProjectClient]:
        """Return the projects that the token's owner belongs to."""
        return [self.project(key) for key in carry_out(self.http, list_keys())]

    def create_project(self, name: str, **settings: Any) -> ProjectClient:
        """Make a project and return it; the settings are the fields of `POST /api/v1/projects`."""
        return self.project(carry_out(self.http, make(name, **settings)).key)

    users = waiting(server_operations.users)
    add_user = waiting(server_operations.add_user)
    disable_user = waiting(server_operations.disable_user)

    def backup(self, file: str | PathLike[str]) -> int:
        """Write everything that the server stores to a file, and return its size in bytes; for administrators."""
        with self.http.stream("GET", "backup") as response:
            if response.is_error:
                response.read()
                raise Refused.of(response)
            with open_private(file) as target:
                return sum(map(target.write, response.iter_bytes()))

    def close(self) -> None:
        """Close the connection."""
        self.http.close()

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        self.close()


class AsyncClient(Connection[httpx.AsyncClient]):
    """A connection to a server for coroutines; its parameters are those of `Connection`.

    An asynchronous context manager that closes the connection.
    """

    def _open(self, **options: Any) -> httpx.AsyncClient:
        return httpx.AsyncClient(**options)

    def project(self, key: str) -> AsyncProjectClient:
        """Return a project by its key; whether there is such a one shows with the first operation."""
        return AsyncProjectClient(self.http, key, self.frames, progress=self.progress)

    async def projects(self) -> list[AsyncProjectClient]:
        """Return the projects that the token's owner belongs to."""
        return [self.project(key) for key in await carry_out_awaited(self.http, list_keys())]

    async def create_project(self, name: str, **settings: Any) -> AsyncProjectClient:
        """Make a project and return it; the settings are the fields of `POST /api/v1/projects`."""
        return self.project((await carry_out_awaited(self.http, make(name, **settings))).key)

    users = awaited(server_operations.users)
    add_user = awaited(server_operations.add_user)
    disable_user = awaited(server_operations.disable_user)

    async def backup(self, file: str | PathLike[str]) -> int:
        """Write everything that the server stores to a file, and return its size in bytes; for administrators."""
        async with self.http.stream("GET", "backup") as response:
            if response.is_error:
                await response.aread()
                raise Refused.of(response)
            with open_private(file) as target:
                return sum([target.write(piece) async for piece in response.aiter_bytes()])

    async def close(self) -> None:
        """Close the connection."""
        await self.http.aclose()

    async def __aenter__(self) -> Self:
        """Return the client."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        await self.close()


def list_keys() -> Steps[list[str]]:
    """Return the keys of the projects of the token's owner."""
    keys: list[str] = []
    query: dict[str, str] = {}
    while True:
        reply = yield from respond(Call("GET", "projects", {"params": query}))
        page = ProjectList.model_validate(reply.json())
        keys += [project.key for project in page.projects]
        if page.next is None:
            return keys
        query = {"after": page.next}


def make(name: str, **settings: Any) -> Steps[ProjectOut]:
    """Make a project and return its settings."""
    reply = yield from respond(Call("POST", "projects", {"json": {"name": name, **settings}}, repeatable=False))
    return ProjectOut.model_validate(reply.json())


def open_private(file: str | PathLike[str]) -> BinaryIO:
    """Open a file to write that nobody else on this machine may read: a backup holds addresses and names of people."""
    return os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
