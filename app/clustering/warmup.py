"""Preloaded by every worker (`dask worker --preload app.clustering.warmup`): imports what a task needs beforehand.

The first run would otherwise wait seconds for numpy, SciPy and scikit-learn.
"""

import os
import signal

import numpy as np

from algorithms import DCRC
from app.clustering import job

POLITENESS = 10


def dask_setup(worker: object) -> None:
    """Fit something tiny, which also imports what is only imported when fitting. Dask calls this by its name."""
    # Where fits share the processors with the web server, labelers go first.
    os.nice(POLITENESS)
    if getattr(worker, "nanny", None):
        # Ctrl-C in a terminal reaches every process; the nanny ends this one when the server says so.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    X = np.arange(12.0).reshape(6, 2)
    DCRC(2, n_init=2, random_state=0).fit(X, triplets=[[0, 1, 5]], answers=["yes"])
    job.log.debug("A worker is ready: %s", worker)
