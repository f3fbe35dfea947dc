"""Runs in the web process: scheduling, life cycle, results and their export. `worker` computes them.

A run's life, file by file: `schedule.py` queues it, `lifecycle.py` holds its states in the table,
`worker/supervisor.py` claims it, `worker/task.py` and `worker/job.py` compute it, `results.py` stores and reads it.

- current: a run whose clusters people see and are asked about; the newest finished one is the "current clustering".
- side run: a run that leaves the current clustering alone: an "alternative" (another clustering) or a "comparison".
- typical items: those that analysts call typical of their clusters, which stand for these.
- due: the time from which a queued run may be claimed.
- claim: a supervisor's hold on a run before its task has begun.
- token: a number that the task increments when it begins; only the copy of the task with the newest token may write.
- lease: the time until which the worker of a run counts as alive.
- resolution: a number of clusters; SKLR's runs store the clusters at many resolutions.
- known clusterings: what CMBC shall differ from: clusters of earlier runs, columns of metadata.
"""
