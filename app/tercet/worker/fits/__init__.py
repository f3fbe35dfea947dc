"""Fits each system, from nothing or from the previous run, with an outcome in the same form for all.

A fit takes a run's parameters, a `JobInputs` (`worker/inputs.py`), a state to resume from and a callback. `systems.py`
finds the function for the run's algorithm, in `dcrc.py`, `sklr.py` or `without_answers.py`, which returns a
`FitOutcome` (`outcome.py`). `warm_start.py` decides how much of the previous run a fit goes on from.

- fit: one call of an estimator's `fit`, or a search by cross-validation.
- start: one beginning of an estimator's search; the best start wins.
- search: a fit over several starts; between two searches a fit only continues the clustering of the previous run (warm
  start).
- resume: the checkpointed state of a copy of the task that was stopped, from which the same fit goes on.
- outcome: clusters, posteriors and figures of a fit, the same for all systems.
"""
