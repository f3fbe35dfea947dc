"""Dependencies of handlers: the database, the storage, the settings, and what requests say beside their bodies.

They are coroutines, though they wait for nothing: FastAPI runs plain functions in a thread, which costs more than the
work itself.
"""

from typing import Annotated

from fastapi import Depends, Header, Request
from starlette.datastructures import FormData

from tercet.database import Database
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.web.languages import COOKIE, Words, choose, words_of


async def get_database(request: Request) -> Database:
    """Return the app's database."""
    database: Database = request.app.state.database
    return database


async def get_storage(request: Request) -> Storage:
    """Return the app's storage."""
    storage: Storage = request.app.state.storage
    return storage


async def get_settings(request: Request) -> Settings:
    """Return the app's settings."""
    settings: Settings = request.app.state.settings
    return settings


Db = Annotated[Database, Depends(get_database)]
Blobs = Annotated[Storage, Depends(get_storage)]
Config = Annotated[Settings, Depends(get_settings)]


async def read_fields(request: Request) -> dict[str, str]:
    """Return the texts of a form's fields; browsers write line ends as CR LF."""
    form: FormData = await request.form()
    return {name: value.replace("\r\n", "\n") for name, value in form.items() if isinstance(value, str)}


Fields = Annotated[dict[str, str], Depends(read_fields)]


def asked_for(request: Request) -> Words:
    """Return the messages in the language of the request."""
    return words_of(choose(request.cookies.get(COOKIE), request.headers.get("accept-language", "")))


async def get_words(request: Request) -> Words:
    """Return the messages in the language of the request, for handlers."""
    return asked_for(request)


InWords = Annotated[Words, Depends(get_words)]

IfMatch = Annotated[
    str | None, Header(description="the ETag of what was read: with it, nothing is changed if somebody else has (412)")
]
