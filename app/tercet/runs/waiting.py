"""Waits for the end of a run, for programs that would ask again and again."""

import time
from collections.abc import Callable

import anyio
from fastapi.concurrency import run_in_threadpool

from tercet.runs.schemas import RunOut

SOONEST, LATEST = 0.05, 0.5  # seconds between two looks at the run


async def when_ended(read: Callable[[], RunOut], seconds: float) -> RunOut:
    """Return a run when it has ended, or as it is after some seconds. No thread is held meanwhile."""
    deadline, pause = time.monotonic() + seconds, SOONEST
    while (run := await run_in_threadpool(read)).finished_at is None and time.monotonic() < deadline:
        await anyio.sleep(pause)
        pause = min(1.5 * pause, LATEST)
    return run
