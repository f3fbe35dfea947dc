"""How late a process wakes when a polite one computes on its processor: in one session, in two, in one going last.

python -m benchmarks.wakeups        Linux only; sessions matter where /proc/sys/kernel/sched_autogroup_enabled is 1
"""

import os
import signal
import time

import numpy as np

from tercet.worker.politeness import AUTOGROUP, POLITENESS

SLEEPS = (0.0002, 0.001, 0.003)
ROUNDS = 1_500
CASES = {"one session": (False, False), "a session each": (True, False), "its session goes last": (True, True)}


def compute_politely(processor: int, own_session: bool, goes_last: bool) -> int:
    """Start a process that computes for ever, as a fit does, and give its number."""
    child = os.fork()
    if child:
        return child
    os.sched_setaffinity(0, {processor})
    os.nice(POLITENESS)
    if own_session:
        os.setsid()
    if goes_last:
        AUTOGROUP.write_text(str(POLITENESS))
    while True:
        sum(range(100))


def lateness(seconds: float) -> np.ndarray:
    """Sleep and do a little again and again, as a database does; give how much too long each sleep was, in ms."""
    late = np.empty(ROUNDS)
    for i in range(ROUNDS):
        start = time.perf_counter()
        time.sleep(seconds)
        late[i] = time.perf_counter() - start - seconds
        busy_until = time.perf_counter() + 0.0005
        while time.perf_counter() < busy_until:
            pass
    return 1000 * late


def main() -> None:
    processor = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {processor})
    for name, (own_session, goes_last) in CASES.items():
        child = compute_politely(processor, own_session, goes_last)
        time.sleep(0.3)
        for seconds in SLEEPS:
            figures = " / ".join(f"{value:.2f}" for value in np.percentile(lateness(seconds), (50, 95, 99)))
            print(f"{name:22} asleep {1000 * seconds:.1f} ms: woken late by p50/p95/p99 {figures} ms")
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
