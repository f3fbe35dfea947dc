"""Background jobs beside runs: their life cycle in the table, and what wakes the supervisor that starts them.

A run fits clusters; a job does what else takes longer than a request: it reads an import, stores it, makes features,
draws pictures. `worker/jobs.py` has the function of each kind.

- kind: what a job does; of one kind, a project has one job under way, and the others wait
- subject: the number of what it works on, as an import's
- claim: a supervisor's hold on a job before its task has begun
- token: a number that each beginning of the task raises; only the copy of the task with the newest token may write
- lease: until when the worker of a job counts as alive
- note: a sentence that says what the job does just now
"""
