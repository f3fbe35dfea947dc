"""The computation of runs and background jobs, and the processes that do it.

`supervisor.py` claims due runs and submits `task.py` to the workers of `engine.py`; there `job.py` computes a run from
its `inputs.py` by one of the `fits`, with `checkpoints.py`, and stores the `outputs`. `comparison` is the job of runs
that compare systems.

- engine: a thin wrapper of Dask, which only starts functions somewhere; the run table is authoritative.
- task: what is submitted for one run; a "copy" of it may run again after a crash, and only the newest copy may write.
- job: the computation of one run by its task.
- inputs: what a job reads: features, answers, bag labels, the previous result.
- outcome: the result of a fit, in the same form for all systems.
- checkpoint: the state of a fit in storage, from which another copy of the task goes on.
- warm-up: what a worker imports before its first task.
"""
