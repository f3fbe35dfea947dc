"""Background jobs beside runs: their life cycle in the table, and how supervisors learn that one is due.

A run fits clusters; a job does any other work that takes longer than a request: it reads or stores an import, makes
features, draws pictures. `worker/jobs.py` has the function of each kind.

- kind: what a job does; a project has at most one job of each kind under way, the others wait
- subject: the number of what the job works on, such as an import's
- claim: a supervisor's hold on a job before its task has begun
- token: a number that each beginning of the task raises; only the copy of the task with the newest token may write
- lease: the time until which the worker of a job counts as alive
- note: a sentence that says what the job does at the moment
"""
