"""Further web processes at the address of the first one: Python computes one thing at a time in each.

The first one starts them, starts one again that has died, and ends them when it stops. They run no fits and make no
backups. When the first one is killed they end by themselves, so that its port is free for the next.

On Linux each has a listening socket of its own, and the system divides connections among these. Of a socket that they
shared, one process would accept all who come in one moment, as a class does, and keep them.
"""

import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

from tercet.errors import Conflict
from tercet.settings import Settings

Serve = Callable[[Settings, socket.socket], None]

# A process that dies at once, as where memory is short, is not started again more often than this.
RESTART_SECONDS = 1.0
END_SECONDS = 5.0
# Whether the system divides connections among the sockets of one address. Elsewhere one of them may get all.
DIVIDES = sys.platform == "linux"


class WebProcesses:
    """The web processes beside this one."""

    def __init__(self, settings: Settings, listener: socket.socket, serve: Serve) -> None:
        """Prepare processes that run `serve`; raise Conflict where the database has one writer at a time."""
        if settings.web_processes > 1 and not settings.resolved_database_url().startswith("postgres"):
            raise Conflict("TERCET_WEB_PROCESSES above 1 needs PostgreSQL: SQLite has one writer at a time.")
        self.settings = settings.model_copy(
            update={"workers": 0, "dask_scheduler": "", "web_processes": 1, "backup_folder": ""}
        )
        self.listener = listener
        self.serve = serve
        self.others: list[BaseProcess] = []
        self._stop_reader, self._stop_writer = multiprocessing.Pipe(duplex=False)
        self._watch = threading.Thread(target=self._keep_up, args=(settings.web_processes - 1,), daemon=True)

    def start(self) -> None:
        """Start them, and watch over them."""
        if DIVIDES:  # only now, so that a port in use was noticed
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._watch.start()

    def stop(self) -> None:
        """End them and wait until they have ended."""
        self._stop_writer.send(None)
        self._watch.join()
        for process in self.others:
            process.terminate()
        for process in self.others:
            process.join(END_SECONDS)
            process.kill()

    def _keep_up(self, count: int) -> None:
        while True:
            self.others = [process for process in self.others if process.is_alive()]
            self.others += [self._begin() for _ in range(count - len(self.others))]
            ended = wait([self._stop_reader, *(process.sentinel for process in self.others)])
            if self._stop_reader in ended or self._stop_reader.poll(RESTART_SECONDS):
                return

    def _begin(self) -> BaseProcess:
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=serve_beside, args=(self.serve, self.settings, self.listener), daemon=True)
        process.start()
        return process


def serve_beside(serve: Serve, settings: Settings, listener: socket.socket) -> None:
    """Serve in a process of its own until the first one ends it, or has ended itself."""
    threading.Thread(target=_end_with_first, daemon=True).start()
    serve(settings, bind_beside(listener) if DIVIDES else listener)


def bind_beside(listener: socket.socket) -> socket.socket:
    """Give the address of a listening socket to another one too, which gets no connection until it listens itself."""
    beside = socket.socket(listener.family)
    if listener.family == socket.AF_INET6:
        beside.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        beside.setsockopt(socket.SOL_SOCKET, option, 1)
    beside.bind(listener.getsockname())
    listener.close()
    return beside


def _end_with_first() -> None:
    first = multiprocessing.parent_process()
    if first is not None:
        first.join()
        os.kill(os.getpid(), signal.SIGTERM)
