"""Preloaded by every worker (`dask worker --preload tercet.worker.warmup`): imports what a task needs beforehand.

The first run would otherwise wait seconds for numpy, SciPy and scikit-learn, and once for loops to be compiled.
Dask calls `dask_setup` and `dask_teardown` by their names, when a worker starts and when it ends.
"""

import logging
import os
import threading

import numpy as np

import tercet.worker.jobs  # noqa: F401  (only so that it is there)
from tercet.memory import keep_memory, share_heaps
from tercet.worker import job, politeness
from tercet_algorithms import DCRC, SKLR


def dask_setup(worker: object) -> None:
    """Lower this process's priority and begin to compile what fits need."""
    if getattr(worker, "nanny", None):
        # Linux may divide the processors among sessions, and then a priority counts within its session only:
        # PostgreSQL, in another one, waited up to 4 ms for each statement while a fit was under way. Ctrl-C in a
        # terminal does not reach this process any more; its nanny ends it when the server ends.
        os.setsid()
    politeness.go_last()
    share_heaps()
    keep_memory()
    # Where nothing is compiled yet this takes half a minute, in which a worker can be called and above all ended.
    threading.Thread(target=_compile, args=(worker,), daemon=True).start()


def _compile(worker: object) -> None:
    compile_loops()
    job.log.debug("A worker has compiled its loops: %s", worker)


def compile_loops() -> None:
    """Fit something tiny; a run that comes meanwhile waits for the loops that it needs."""
    X = np.arange(12.0).reshape(6, 2)
    for model in (DCRC(2, n_init=2, random_state=0), SKLR(2, random_state=0)):
        model.fit(X, triplets=[[0, 1, 5]], answers=["no"])  # against the features, so that there is something to fit


def dask_teardown(worker: object) -> None:
    """Silence Dask's log of a worker that ends.

    It closes its connections without waiting for the heartbeat that may be under way, whose failure it would then
    report as an error, with a traceback, in the terminal of whoever has stopped the server.
    """
    logging.getLogger("distributed.worker").setLevel(logging.CRITICAL)
