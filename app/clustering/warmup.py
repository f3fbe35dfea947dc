"""Preloaded by every worker (`dask worker --preload app.clustering.warmup`): imports what a task needs beforehand.

The first run would otherwise wait seconds for numpy, SciPy and scikit-learn.
"""

import ctypes
import os
import signal
import sys

import numpy as np

from algorithms import DCRC
from app.clustering import job

POLITENESS = 19
# What glibc may keep instead of handing it back (mallopt's number of the option, and so many bytes).
KEEP_AT_THE_END = (-1, 256 * 2**20)
KEEP_EACH = (-3, 32 * 2**20)


def dask_setup(worker: object) -> None:
    """Fit something tiny, which also imports what is only imported when fitting. Dask calls this by its name."""
    # Where fits share the processors with the web server, labelers go first: at 10 instead of 19 the slowest of
    # their answers took a fifth longer.
    os.nice(POLITENESS)
    _keep_memory()
    if getattr(worker, "nanny", None):
        # Ctrl-C in a terminal reaches every process; the nanny ends this one when the server says so.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    X = np.arange(12.0).reshape(6, 2)
    DCRC(2, n_init=2, random_state=0).fit(X, triplets=[[0, 1, 5]], answers=["yes"])
    job.log.debug("A worker is ready: %s", worker)


def _keep_memory() -> None:
    """Have the allocator keep freed memory for the next array of the same size.

    Dask sets it to hand memory back at once. A fit takes and frees the same arrays at every step, and spent a
    quarter of its time, all of it in the kernel, on getting their pages again.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:  # other C libraries than glibc do not have it, and do not need it
        mallopt(*KEEP_AT_THE_END)
        mallopt(*KEEP_EACH)
