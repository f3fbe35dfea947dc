"""A process ends when a block takes too long, whatever keeps it, and only then."""

import subprocess
import sys
import time

from tercet.worker.watchdog import end_process_after

# A C function that keeps the interpreter's lock: no thread of Python's runs meanwhile.
HANGS = """
import ctypes
from tercet.worker.watchdog import end_process_after

def hang():
    ctypes.PyDLL(None).sleep(60)

with end_process_after(60), end_process_after(0.5):
    with end_process_after(0.1):
        pass
    hang()
"""


def test_a_block_that_hangs_in_compiled_code_takes_the_process_with_it_and_says_where() -> None:
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=50)
    assert done.returncode == 1
    assert "Timeout" in done.stderr
    assert "in hang" in done.stderr
    assert time.monotonic() - began < 40


def test_blocks_that_end_in_time_leave_the_process_alone() -> None:
    with end_process_after(30), end_process_after(0.2):
        pass
    time.sleep(0.4)  # this process would be gone by now
