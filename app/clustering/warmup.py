"""Preloaded by every worker (`dask worker --preload app.clustering.warmup`): imports what a task needs beforehand.

The first run would otherwise wait seconds for numpy, SciPy and scikit-learn.
"""

import numpy as np

from algorithms import DCRC
from app.clustering import job


def dask_setup(worker: object) -> None:
    """Fit something tiny, which also imports what is only imported when fitting. Dask calls this by its name."""
    X = np.arange(12.0).reshape(6, 2)
    DCRC(2, n_init=2, random_state=0).fit(X, triplets=[[0, 1, 5]], answers=["yes"])
    job.log.debug("A worker is ready: %s", worker)
