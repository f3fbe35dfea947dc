"""Dask behind four verbs: connect, submit, count the places, close. What is durable lives in the run table.

Dask's key is no lock, its cancel stops nothing that already runs, a finished task may run again, and a killed
scheduler forgets everything: nothing here relies on more than "some worker will probably call this function".
The module imports Dask only when it connects, so that a server starts fast.
"""

import logging
import sys
from collections.abc import Callable
from typing import Any

from app.settings import Settings

log = logging.getLogger(__name__)
CONNECT_SECONDS = 3
WARMUP = "app.clustering.warmup"
CONFIG = {
    # A task that takes its process down is not tried again by Dask, and so takes nobody with it: attempts are
    # counted in the run table.
    "distributed.scheduler.allowed-failures": 0,
    "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s",
    "distributed.admin.tick.limit": "60s",  # no warnings when this machine is merely busy
    # Nobody looks at these measurements of Dask's, and fifty times a second they got in the way of requests.
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
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

    @property
    def is_local(self) -> bool:
        """Whether the workers are this server's own and end with it."""
        return not self.address

    def connect(self) -> None:
        """Start the workers here, or find the scheduler; does nothing while all is well."""
        if self._is_well():
            return
        self.close()
        import dask
        from distributed import Client, LocalCluster

        dask.config.set(CONFIG)
        logging.getLogger("distributed").setLevel(logging.ERROR)  # importing it made it talkative
        if self.is_local:
            _fork_workers()
            self._cluster = LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=self.workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # else its health page takes port 8787
                host="127.0.0.1",
                # Workers run whatever they are sent, and other users of this machine can reach the loopback address:
                # certificates that live as long as this process keep them out.
                security=True,
                preload=[WARMUP],
                silence_logs=logging.ERROR,
            )
        self._client = Client(self._cluster or self.address, set_as_default=False)  # type: ignore[no-untyped-call]
        log.info("Runs are computed by %s", self._client)

    def _is_well(self) -> bool:
        if self._client is None or self._client.status != "running":
            return False
        if self._cluster is not None and len(self._cluster.workers) < self.workers:
            # It does not replace them by itself, and without workers no run would ever end.
            log.warning("Dask has given up a worker that died; starting all anew")
            return False
        return True

    def places(self) -> int:
        """Count the workers' threads: so many runs can be computed at once."""
        return sum(self._client.nthreads().values())

    def submit(self, function: Callable[..., str], *arguments: Any, key: str, done: Callable[[Any], object]) -> Any:
        """Have a worker call the function; `done` is called, in some thread, when it has ended."""
        from distributed import fire_and_forget

        future = self._client.submit(function, *arguments, key=key, pure=False)
        # On a shared scheduler the task outlives this server.
        fire_and_forget(future)  # type: ignore[no-untyped-call]
        future.add_done_callback(done)
        return future

    def close(self) -> None:
        """Let go of the client and end the workers that were started here."""
        client, cluster = self._client, self._cluster
        self._client = self._cluster = None
        if client is not None:
            client.close(timeout=2)
        if cluster is not None:
            # Dask reports the end of its workers as errors; here it is wanted, and runs go on elsewhere.
            logging.getLogger("distributed").setLevel(logging.CRITICAL)
            try:
                cluster.close(timeout=5)
            except TimeoutError:
                # A worker deep in a fit does not listen; its nanny ends it when this process ends.
                log.warning("The workers were busy and did not end in time; they end with this process")


def _fork_workers() -> None:
    """Have workers forked off a process that has imported what they need.

    One that was killed is back after a second; importing everything again takes five. Other systems than Linux
    have no fork that is safe with their own libraries, and start each anew.
    """
    if sys.platform != "linux":
        return
    import dask
    from distributed.utils import get_mp_context

    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    # Dask puts in modules of its own when it is asked for the first time, and ours take their place.
    get_mp_context().set_forkserver_preload([WARMUP])  # type: ignore[no-untyped-call]
