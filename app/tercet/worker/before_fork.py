"""Imported by the process that workers are forked from, after everything else: what is done here they all share.

Machine code that each worker loads for itself takes 35 MB in each, most of it copies of what was imported.
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

# What is there by now is looked at by no garbage collector any more. It writes to everything that it looks at, and each
# worker that is forked from here would have a copy of its own, of some 40 MB.
gc.collect()
gc.freeze()
give_back_memory()
