"""What handlers ask for by type: the database, the blobs, the settings.

Coroutines, though they wait for nothing: anything else goes to a thread and back, and with fifty labelers that
costs more than what it fetches.
"""

import asyncio
from typing import Annotated

from fastapi import Depends, Request

from app.database import Database
from app.labeling.together import Together
from app.settings import Settings
from app.storage import Storage


async def get_database(request: Request) -> Database:
    """Give the app's database."""
    return request.app.state.database  # type: ignore[no-any-return]


async def get_together(request: Request) -> Together:
    """Give what stores answers."""
    return request.app.state.together  # type: ignore[no-any-return]


async def get_leasing(request: Request) -> asyncio.Semaphore:
    """Give what lets few requests lease questions at a time."""
    return request.app.state.leasing  # type: ignore[no-any-return]


async def get_storage(request: Request) -> Storage:
    """Give the app's blobs."""
    return request.app.state.storage  # type: ignore[no-any-return]


async def get_settings(request: Request) -> Settings:
    """Give the app's settings."""
    return request.app.state.settings  # type: ignore[no-any-return]


Db = Annotated[Database, Depends(get_database)]
Writer = Annotated[Together, Depends(get_together)]
Leasing = Annotated[asyncio.Semaphore, Depends(get_leasing)]
Blobs = Annotated[Storage, Depends(get_storage)]
Config = Annotated[Settings, Depends(get_settings)]
