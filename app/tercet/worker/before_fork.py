"""Prepares the process that workers are forked from, which imports this module last: all workers share its memory."""

import gc

from tercet.memory import give_back_memory
from tercet.worker.warmup import import_modules

import_modules()

# From here on garbage collectors pass over all objects that exist by now. A collector writes to every object that it
# looks at, so that each worker forked from here would get its own copy of these objects, some 40 MB.
gc.collect()
gc.freeze()
give_back_memory()
