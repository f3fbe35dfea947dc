"""Preloaded by every worker (`dask worker --preload app.clustering.warmup`): imports what a task needs beforehand.

The first run would otherwise wait seconds for numpy, SciPy and scikit-learn, and once for loops to be compiled.
"""

import ctypes
import os
import sys
import time
from pathlib import Path

import numpy as np

from algorithms import DCRC, SKLR
from app.clustering import job

POLITENESS = 19
# Of a processor that others want, such a session gets a tenth.
POLITENESS_OF_SESSION = 10
AUTOGROUP = Path("/proc/self/autogroup")
# What glibc may keep instead of handing it back (mallopt's number of the option, and so many bytes).
KEEP_AT_THE_END = (-1, 256 * 2**20)
KEEP_EACH = (-3, 32 * 2**20)


def dask_setup(worker: object) -> None:
    """Fit something tiny, which imports and compiles what only fits need. Dask calls this by its name."""
    # Where fits share the processors with the web server, labelers go first: at 10 instead of 19 the slowest of
    # their answers took a fifth longer.
    os.nice(POLITENESS)
    _keep_memory()
    if getattr(worker, "nanny", None):
        _have_a_session()
    X = np.arange(12.0).reshape(6, 2)
    for model in (DCRC(2, n_init=2, random_state=0), SKLR(2, random_state=0)):
        model.fit(X, triplets=[[0, 1, 5]], answers=["no"])  # which the features do not say, so that there is work
    job.log.debug("A worker is ready: %s", worker)


def _have_a_session() -> None:
    """Leave the server's session, for one that goes last.

    Linux may share the processors among sessions, and then processes are polite within their own only: PostgreSQL's,
    in another, waited up to 4 ms each time it was asked something while a fit was under way. Ctrl-C in a terminal
    does not come here any more; the nanny ends this process when the server says so.
    """
    os.setsid()
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        try:
            AUTOGROUP.write_text(str(POLITENESS_OF_SESSION))
        except BlockingIOError:  # whoever is not root may do so ten times a second, all of them together
            time.sleep(0.05)
        except OSError:  # another system, or sessions share nothing
            return
        else:
            return


def _keep_memory() -> None:
    """Have the allocator keep freed memory for the next array of the same size.

    Dask sets it to hand memory back at once. A fit takes and frees the same arrays at every step, and spent a
    quarter of its time, all of it in the kernel, on getting their pages again.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:  # other C libraries than glibc do not have it, and do not need it
        mallopt(*KEEP_AT_THE_END)
        mallopt(*KEEP_EACH)
