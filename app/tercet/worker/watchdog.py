"""Ends this process when a run in it does not stop in time, also one that no other process could end.

Code in C may keep the interpreter's lock, so that no thread of Python's runs, a worker on another machine may have no
nanny, and the server that sent it the run may be gone: then the process itself has to give its place to others.
"""

import faulthandler
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

STANDARD_ERROR = 2
_lock = threading.Lock()
_deadlines: dict[object, float] = {}  # a worker may have several threads, each with a run


@contextmanager
def end_process_after(seconds: float) -> Iterator[None]:
    """End this process by force, with what its threads are at on standard error, if the block takes longer."""
    block = object()
    _set_deadline(block, time.monotonic() + seconds)
    try:
        yield
    finally:
        _set_deadline(block, None)


def _set_deadline(block: object, deadline: float | None) -> None:
    """Have `faulthandler`, whose one timer needs no lock of Python's, wait for the earliest of all deadlines."""
    with _lock:
        if deadline is None:
            del _deadlines[block]
        else:
            _deadlines[block] = deadline
        if not _deadlines:
            faulthandler.cancel_dump_traceback_later()
            return
        seconds = min(max(min(_deadlines.values()) - time.monotonic(), 0.001), threading.TIMEOUT_MAX)
        faulthandler.dump_traceback_later(seconds, exit=True, file=STANDARD_ERROR)
