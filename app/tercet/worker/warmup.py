"""Preloaded by every worker (`dask worker --preload tercet.worker.warmup`): imports what a task needs beforehand.

The first run would otherwise wait seconds for numpy, SciPy and scikit-learn.
Dask calls `dask_setup` and `dask_teardown` by their names, when a worker starts and when it ends.
"""

import gc
import logging
import os

from tercet.memory import keep_memory, share_heaps
from tercet.worker import politeness


def dask_setup(worker: object) -> None:
    """Import what tasks need and lower this process's priority."""
    import_modules()
    if getattr(worker, "nanny", None):
        # Linux may divide the processors among sessions, and then a priority counts within its session only:
        # PostgreSQL, in another one, waited up to 4 ms for each statement while a fit was under way. Ctrl-C in a
        # terminal does not reach this process any more; its nanny ends it when the server ends.
        os.setsid()
    politeness.go_last()
    share_heaps()
    keep_memory()


def import_modules() -> None:
    """Import what runs and background jobs need.

    The garbage collector would look at all modules again and again meanwhile, for a fifth of the time that a run waits
    for the worker which takes it over from one that was killed. Nor does it look at them later, as they stay.
    """
    gc.disable()
    try:
        import tercet.worker.job
        import tercet.worker.jobs  # noqa: F401  (only so that they are there)
    finally:
        gc.freeze()
        gc.enable()


def dask_teardown(worker: object) -> None:
    """Silence Dask's log of a worker that ends.

    It closes its connections without waiting for the heartbeat that may be under way, whose failure it would then
    report as an error, with a traceback, in the terminal of whoever has stopped the server.
    """
    logging.getLogger("distributed.worker").setLevel(logging.CRITICAL)
