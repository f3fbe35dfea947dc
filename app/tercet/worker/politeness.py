"""Lets people go before work, but never so long that work stands still.

A worker gets about a tenth of a processor that others want too: by its own low priority and, where Linux divides the
processors among sessions, by the low priority of its session, in which it is alone. Beside many busy sessions it gets a
tenth of what each of them gets, which is little: so after half a minute of hunger its session has the usual priority
for fifteen seconds. Elsewhere the share stays a tenth, since a process without root cannot raise its own priority
again. Everywhere people are told while their run starves.
"""

import os
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

POLITENESS, LIKE_OTHERS = 10, 0
AUTOGROUP = Path("/proc/self/autogroup")
THREADS = Path("/proc/self/task")

HUNGRY_SECONDS, FED_SECONDS = 30.0, 15.0
# People are told after this long, and until work has got enough without being fed.
TOLD_SECONDS = 9.0
# Of one processor, in the time in which it could compute: work that gets less goes hungry. Fits with several threads
# would use more, but raising them took so much from five hundred labelers that each answer waited for those before.
LEAST_SHARE = 0.25
LOOK_SECONDS = 3.0

_starves = threading.Event()


def go_last() -> None:
    """Lower this process's priority, and that of its session where it has one to itself."""
    os.nice(POLITENESS)
    has_session = os.getsid(0) == os.getpid() and set_session(POLITENESS)
    look = partial(_look_after_share, has_session)
    threading.Thread(target=look, name="share of the processors", daemon=True).start()


def starves() -> bool:
    """Return whether this process has mostly waited for a processor lately."""
    return _starves.is_set()


def set_session(politeness: int) -> bool:
    """Set the priority of this process's session; return False where sessions are not told apart."""
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        try:
            AUTOGROUP.write_text(str(politeness))
        except BlockingIOError:  # without root, all processes together may write it ten times a second
            time.sleep(0.05)
        except OSError:  # another system, or one without such groups
            return False
        else:
            return True
    return False


def seconds_waited() -> float:
    """Return how long the threads of this process have waited for a processor, 0 where the system does not count."""
    waited = 0
    for path in THREADS.glob("*/schedstat"):
        try:
            waited += int(path.read_text().split()[1])
        except OSError:  # the thread has ended meanwhile
            continue
    return waited / 1e9


@dataclass
class Share:
    """What a process has got of the processors at the last look, and when it got enough, in seconds."""

    at: float
    computed: float
    waited: float
    fed_at: float
    enough_at: float  # without being fed
    fed_until: float = 0.0
    starves: bool = False

    def look(self, at: float, computed: float, waited: float) -> bool:
        """Return whether the session should be like others from now on."""
        got, seconds = computed - self.computed, at - self.at
        wanted = min(got + waited - self.waited, seconds)
        is_hungry = wanted > seconds / 2 and got < LEAST_SHARE * wanted
        was_fed = self.at < self.fed_until
        self.at, self.computed, self.waited = at, computed, waited
        if not is_hungry and not was_fed:
            self.enough_at = at
        self.starves = at - self.enough_at >= TOLD_SECONDS
        if not is_hungry or at < self.fed_until:
            self.fed_at = at
        elif at - self.fed_at >= HUNGRY_SECONDS:
            self.fed_at = at
            self.fed_until = at + FED_SECONDS
        return at < self.fed_until


def _look_after_share(has_session: bool) -> None:
    start = time.monotonic()
    share, is_like_others = Share(start, time.process_time(), seconds_waited(), fed_at=start, enough_at=start), False
    while True:
        time.sleep(LOOK_SECONDS)
        should_be = share.look(time.monotonic(), time.process_time(), seconds_waited())
        if share.starves:
            _starves.set()
        else:
            _starves.clear()
        if has_session and should_be != is_like_others:
            is_like_others = should_be
            set_session(LIKE_OTHERS if should_be else POLITENESS)
