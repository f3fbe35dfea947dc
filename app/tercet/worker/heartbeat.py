"""Renews a lease from a thread while the worker computes."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy.exc import OperationalError

log = logging.getLogger(__name__)


@contextmanager
def heartbeat(name: str, renew: Callable[[], bool], lease_seconds: float) -> Iterator[threading.Event]:
    """Call `renew` three times a lease; the event is set once it returns False: the lease is lost, or cancelled."""
    lost, ended = threading.Event(), threading.Event()

    def beat() -> None:
        while not ended.wait(lease_seconds / 3):
            try:
                is_renewed = renew()
            except OperationalError:
                log.warning("The lease of %s could not be renewed; trying again", name, exc_info=True)
                continue
            if not is_renewed:
                lost.set()
                return

    thread = threading.Thread(target=beat, name=f"heartbeat of {name}", daemon=True)
    thread.start()
    try:
        yield lost
    finally:
        ended.set()
        thread.join()
