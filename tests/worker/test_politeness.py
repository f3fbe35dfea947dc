"""Work that mostly waits for a processor gets its share after half a minute, and people go first again after that."""

import subprocess
import sys

import pytest

from tercet.worker.politeness import AUTOGROUP, FED_SECONDS, HUNGRY_SECONDS, LOOK_SECONDS, TOLD_SECONDS, Share

# Beside another process on one processor, at work for half a second.
COMPUTE_BESIDE_ANOTHER = """
import os, time
from tercet.worker import politeness

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
politeness.go_last()
before, end = politeness.seconds_waited(), time.monotonic() + 0.5
child = os.fork()
while time.monotonic() < end:
    sum(range(100))
if child:
    print(politeness.seconds_waited() - before > 0.1)
    for wanted in (politeness.LIKE_OTHERS, politeness.POLITENESS):
        politeness.set_session(wanted)
        print(politeness.AUTOGROUP.read_text().split()[-1])
"""


class Machine:
    """A process that gets `share` of a processor that it wants for `wanted` of the time, looked at as in a worker."""

    def __init__(self) -> None:
        self.at = self.computed = self.waited = 0.0
        self.share = Share(0.0, 0.0, 0.0, fed_at=0.0, enough_at=0.0)

    def look(self, share: float, wanted: float = 1.0) -> bool:
        self.at += LOOK_SECONDS
        self.computed += share * wanted * LOOK_SECONDS
        self.waited += (1 - share) * wanted * LOOK_SECONDS
        return self.share.look(self.at, self.computed, self.waited)


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_work_that_starves_gets_its_share_for_a_while_again_and_again(machine: Machine) -> None:
    hungry, fed = round(HUNGRY_SECONDS / LOOK_SECONDS), round(FED_SECONDS / LOOK_SECONDS)
    raised = [machine.look(0.1) for _ in range(2 * (hungry - 1 + fed))]
    assert raised == 2 * ([False] * (hungry - 1) + [True] * fed)


def test_work_that_gets_something_now_and_then_does_not_starve(machine: Machine) -> None:
    assert not any(machine.look(0.5 if i % 8 == 0 else 0.1) for i in range(100))


def test_work_with_several_threads_does_not_starve_while_it_gets_its_share_of_one_processor(machine: Machine) -> None:
    assert not any(machine.look(0.15, wanted=2.0) for _ in range(100))


def test_people_are_told_of_work_that_starves_until_it_gets_enough_without_being_fed(machine: Machine) -> None:
    silent, hungry, fed = (round(seconds / LOOK_SECONDS) for seconds in (TOLD_SECONDS, HUNGRY_SECONDS, FED_SECONDS))
    shares = [0.1] * hungry + [0.5] * fed + [0.1] * hungry + [0.5] * (fed + 1)
    told = []
    for share in shares:
        machine.look(share)
        told.append(machine.share.starves)
    assert told == [False] * (silent - 1) + [True] * (len(shares) - silent) + [False]


def test_a_worker_without_work_does_not_starve(machine: Machine) -> None:
    assert not any(machine.look(0.1, wanted=0.2) for _ in range(100))


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="the processors are not divided among sessions here")
def test_waiting_is_counted_and_a_session_may_be_raised_again() -> None:
    command = [sys.executable, "-c", COMPUTE_BESIDE_ANOTHER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, start_new_session=True)
    assert done.stdout.split() == ["True", "0", "10"], done.stderr
