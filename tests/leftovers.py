"""Ends what a killed test run leaves behind: `python -m tests.leftovers MARK`.

Every process that the tests start inherits the environment variable TERCET_TEST_RUN. This one waits until its standard
input ends, which it does when pytest has ended, however that was, and kills the processes that still carry the mark.
"""

import os
import sys

import psutil

VARIABLE = "TERCET_TEST_RUN"


def is_marked(process: psutil.Process, mark: str) -> bool:
    """Return whether the process was started by the test run; False if it may not be looked at, or is gone."""
    try:
        return process.environ().get(VARIABLE) == mark
    except psutil.Error:
        return False


def main() -> None:
    """Wait for the end of the test run and kill what is left of it."""
    mark = sys.argv[1]
    while os.read(sys.stdin.fileno(), 1):
        pass
    for process in psutil.process_iter():
        if is_marked(process, mark):
            process.kill()


if __name__ == "__main__":
    main()
