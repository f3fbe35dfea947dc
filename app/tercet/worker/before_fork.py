"""Prepares the process that workers are forked from, which imports this module last: all workers share its memory.

If each worker loaded the machine code by itself, that would take 35 MB in each, most of it copies of what was imported.
"""

import gc

from threadpoolctl import threadpool_limits

from tercet.memory import give_back_memory
from tercet.worker.warmup import compile_loops, import_modules
from tercet_algorithms.common.compiled import are_stored

import_modules()
# Compiling for the first time takes half a minute, in which no worker could be forked: they do that themselves.
if are_stored():
    # OpenMP's threads do not live on in a forked process, which would wait for them in vain.
    with threadpool_limits(1):
        compile_loops()

# From here on garbage collectors pass over all objects that exist by now. A collector writes to every object that it
# looks at, so that each worker forked from here would get its own copy of these objects, some 40 MB.
gc.collect()
gc.freeze()
give_back_memory()
