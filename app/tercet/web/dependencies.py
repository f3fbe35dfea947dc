"""Dependencies of handlers: the database, the storage, the settings.

They are coroutines, though they wait for nothing: FastAPI runs plain functions in a thread, which costs more than the
work itself.
"""

from typing import Annotated

from fastapi import Depends, Request

from tercet.database import Database
from tercet.settings import Settings
from tercet.storage import Storage


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
