"""How often work begins again whose worker was killed, and after how long: a rule of runs and of background jobs.

Nobody can tell whether the work killed its worker, by more memory than there is, or somebody else did: other programs
that used up the memory, or an operator. So it is tried again, at once and then after pauses in which those may have
ended. A run that has come further since did not kill its workers, and is not given up: see `worker/checkpoints.py`.
"""

MAX_ATTEMPTS = 5
# In lease times, by the number of attempts so far; the last holds for all further ones. None is longer than a lease:
# one that ends later was written before a clock was set back.
PAUSES = (0.0, 0.0, 0.5, 1.0)


def pause_after(attempts: int, lease_seconds: float) -> float:
    """Return how many seconds work waits, after so many attempts, before it begins again."""
    return PAUSES[min(attempts, len(PAUSES) - 1)] * lease_seconds
