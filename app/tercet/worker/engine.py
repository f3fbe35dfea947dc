"""A wrapper of Dask: connect, submit, places, call_up, close. All durable state is in the run table.

A key in Dask is no lock, cancelling does not stop a running task, a finished task may run again, and a killed scheduler
forgets everything: nothing here relies on more than "some worker will probably call this function". `worker/task.py`
has that function. The module imports Dask only when it connects, so that a server starts fast.
"""

import asyncio
import logging
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from typing import Any

from tercet.settings import Settings

log = logging.getLogger(__name__)
CONNECT_SECONDS = 3
COUNT_SECONDS = 1.0  # workers are counted no more often than this: it is a question to the scheduler
# How long a worker that is called up may take to be there.
START_SECONDS = 120.0
# How long workers may take to end before they are killed; what they compute goes on elsewhere from its checkpoint.
END_SECONDS = 2.5
CLOSE_SECONDS = 5
# How long to wait for a worker in place of one that was ended; it comes all the same.
RESTART_SECONDS = 10
WARMUP, BEFORE_FORK = "tercet.worker.warmup", "tercet.worker.before_fork"
CONFIG = {
    # Dask does not repeat a task that takes its process down, lest it takes other tasks with it: attempts are
    # counted in the run table.
    "distributed.scheduler.allowed-failures": 0,
    "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s",
    "distributed.admin.tick.limit": "60s",  # no warnings when this machine is merely busy
    # Nobody reads these measurements of Dask's, and fifty times a second they delayed requests.
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    # Off, since Dask measures it by the system clock: setting that forward would make all workers look dead. Their
    # nannies watch over them instead.
    "distributed.scheduler.worker-ttl": None,
    # A worker that died and is not back by then is given up by Dask for good; on a busy machine 15 s are too few.
    "distributed.deploy.lost-worker-timeout": "60s",
}


class Engine:
    """Workers that run tasks: processes of this server, or of a scheduler that many servers share."""

    def __init__(self, settings: Settings) -> None:
        """Remember what to connect to; nothing is started yet."""
        self.address = settings.dask_scheduler
        self.workers = settings.workers
        self._client: Any = None
        self._cluster: Any = None
        self.is_connecting = False
        # While the process that workers are forked from imports what they need, before Dask starts anything.
        self._is_preparing_fork = False
        self._places = 0
        self._count_again = 0.0
        # The last of several workers is there only while it is called up: it takes 200 MB.
        self.always = max(self.workers - 1, min(self.workers, 1))
        self._wanted = self.always
        self._called_up_at = 0.0

    @property
    def is_local(self) -> bool:
        """Whether the workers belong to this server and end with it."""
        return not self.address

    def connect(self) -> None:
        """Start workers here or connect to the scheduler; do nothing while the connection and the workers are well."""
        if self._is_well():
            return
        self.is_connecting = True
        try:
            self.close()
            self._connect()
        finally:
            self.is_connecting = self._is_preparing_fork = False

    def _connect(self) -> None:
        import dask
        from distributed import Client, LocalCluster

        dask.config.set(CONFIG)
        logging.getLogger("distributed").setLevel(logging.ERROR)  # its import sets a lower one
        if self.is_local:
            with _ctrl_c_blocked():
                if self.workers > 1:
                    self._is_preparing_fork = True
                    _fork_workers()
                    self._is_preparing_fork = False
                self._cluster = LocalCluster(  # type: ignore[no-untyped-call]
                    n_workers=self.always,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,
                    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # otherwise its health page takes port 8787
                    host="127.0.0.1",
                    # Workers run whatever they are sent, and other users of this machine reach the loopback address:
                    # certificates that live as long as this process keep them out.
                    security=True,
                    preload=[WARMUP],
                    silence_logs=logging.ERROR,
                )
        self._client = Client(self._cluster or self.address, set_as_default=False)  # type: ignore[no-untyped-call]
        log.info("Runs are computed by %s", self._client)

    def kill_starting(self) -> None:
        """End by force the workers that are being started, or the process that they are forked from.

        What they import first takes many seconds on a busy machine, and more where Python may keep no bytecode.
        """
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # as in `close`
        if self._is_preparing_fork:
            if pid := getattr(forkserver._forkserver, "_forkserver_pid", None):
                os.kill(pid, signal.SIGKILL)
            return
        for process in multiprocessing.active_children():
            if process.name.startswith("Dask Worker"):
                process.kill()

    def _is_well(self) -> bool:
        if self._client is None or self._client.status != "running":
            return False
        is_starting = time.monotonic() < self._called_up_at + START_SECONDS
        expected = self.always if is_starting else self._wanted
        if self._cluster is not None and len(self._cluster.workers) < expected:
            # Dask does not replace them by itself, and without workers no run would ever end.
            log.warning("Dask has given up a worker that died; starting all anew")
            return False
        return True

    def places(self) -> int:
        """Return the number of runs that can be computed at once: one for each thread of a worker."""
        if not self._places or time.monotonic() > self._count_again:  # workers that have just come are of use at once
            self._places = sum(self._client.nthreads().values())
            self._count_again = time.monotonic() + COUNT_SECONDS
        return self._places

    @property
    def is_called_up(self) -> bool:
        """Whether the last worker is there, or on its way."""
        return self._wanted > self.always

    def call_up(self, wanted: bool) -> None:
        """Start the last of several workers, or end it once nothing is submitted."""
        if self._cluster is None or self.workers == self.always or wanted == self.is_called_up:
            return
        self._wanted = self.workers if wanted else self.always
        self._called_up_at = time.monotonic()
        self._cluster.scale(self._wanted)

    def submit(self, function: Callable[..., str], *arguments: Any, key: str, done: Callable[[Any], object]) -> Any:
        """Have a worker call the function; `done` is called in some thread when it has ended."""
        from distributed import fire_and_forget

        future = self._client.submit(function, *arguments, key=key, pure=False)
        # On a shared scheduler the task outlives this server.
        fire_and_forget(future)  # type: ignore[no-untyped-call]
        future.add_done_callback(done)
        return future

    def end_worker_of(self, key: str) -> None:
        """End the process that is at the task of this key, by force if need be; its nanny starts another.

        One without a nanny ends soon by itself (`watchdog.py`).
        """
        workers = [address for address, keys in self._client.processing().items() if key in keys]
        try:
            self._client.restart_workers(workers, timeout=RESTART_SECONDS, raise_for_error=False)
        except ValueError:
            log.warning("The worker of task %s has no nanny: it ends by itself, and has to be started again", key)

    def close(self) -> None:
        """Close the client and end the workers that were started here."""
        client, cluster = self._client, self._cluster
        self._client = self._cluster = None
        self._places, self._wanted = 0, self.always
        if client is not None:
            client.close(timeout=2)
        if cluster is not None:
            # Dask reports the end of its workers as errors; here it is intended, and runs go on elsewhere.
            logging.getLogger("distributed").setLevel(logging.CRITICAL)
            try:
                # Workers end while the scheduler still answers them. Dask's own order would wait four seconds for a
                # worker deep in a fit, which on a busy machine left too little time for everything else.
                cluster.sync(_end_workers, cluster, callback_timeout=CLOSE_SECONDS)
                cluster.close(timeout=CLOSE_SECONDS)
            except TimeoutError:
                log.warning("The workers were busy and did not end in time; they end with this process")


async def _end_workers(cluster: Any) -> None:
    """End all workers at once, by force those that take longer than `END_SECONDS`."""
    await asyncio.gather(*(nanny.close(timeout=END_SECONDS) for nanny in cluster.workers.values()))


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """Block Ctrl-C in threads and processes that are started in this block.

    A terminal sends it to the workers too. They end when the server asks them, and while they still import what they
    need, before Dask handles signals, each would print where it was interrupted.
    """
    if sys.platform == "win32":
        yield
        return
    # Whoever starts this helper of Python's own hears Ctrl-C again afterwards, so it must be there before the block.
    resource_tracker.ensure_running()
    blocked_before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked_before)


def _fork_workers() -> None:
    """Fork workers from a process that has imported what they need, so that they share its memory.

    One that is called up, or in place of one that was killed, is there after a quarter of a second; importing
    everything again takes one and a half. That process costs 45 MB beside a single worker and saves 50 beside two.
    Systems other than Linux have no fork that is safe with their own libraries: there each starts from nothing.
    """
    if sys.platform != "linux":
        return
    import dask
    from distributed import utils

    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    # Dask would import pandas here, 50 MB, only to know whether the workers could.
    utils._forkserver_preload_set = True
    context = utils.get_mp_context()  # type: ignore[no-untyped-call]
    context.set_forkserver_preload(["distributed", WARMUP, BEFORE_FORK])
    # It forks this process, which does nothing, once it has imported everything. If it is ended before, nothing of
    # Dask's is under way yet that would be left behind.
    try:
        context.Process(target=int, daemon=True).start()
    except EOFError:
        raise RuntimeError("the process that workers are forked from has ended") from None
