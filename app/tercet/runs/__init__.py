"""The web's half of a run: when it starts, its life cycle, its results and their export.

A run's life, file by file: `schedule.py` queues it, `lifecycle.py` holds its states in the table,
`worker/supervisor.py` claims it, `worker/task.py` and `worker/job.py` compute it, `results.py` stores and reads it.

- current: a run whose clusters people see and are asked about; the newest finished one is the "current clustering".
- side run: a run that leaves the current clustering alone: an "alternative" (another clustering) or a "comparison".
- due: the time from which a queued run may be claimed.
- claim: a supervisor's hold on a run before its task has begun.
- token: a number that each beginning of the task raises; only the copy of the task with the newest token may write.
- lease: until when the worker of a running run counts as alive.
- resolution: a number of clusters; SKLR's runs store the clusters at many resolutions.
- known clusterings: what CMBC shall differ from: clusters of earlier runs, columns of metadata.
"""
