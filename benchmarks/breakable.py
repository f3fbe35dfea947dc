"""What `benchmarks.faults` breaks: processes that are started again, a clock that can be set, a wire that is cut."""

import asyncio
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import psutil

from tercet.demo.server import free_port

GIVE_UP_SECONDS = 120.0
# Only the time of the day: what is measured by the monotonic clock stays right, as when somebody sets a real clock.
CLOCK = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile int64_t *seconds;
__attribute__((constructor)) static void open_clock(void) {
  const char *path = getenv("FAULTS_CLOCK");
  int file = path ? open(path, O_RDONLY) : -1;
  void *shared = file < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
  if (shared != MAP_FAILED) seconds = shared;
  if (file >= 0) close(file);
}
int clock_gettime(clockid_t clock, struct timespec *moment) {
  int failed = syscall(SYS_clock_gettime, clock, moment);
  if (!failed && seconds && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) moment->tv_sec += *seconds;
  return failed;
}
int gettimeofday(struct timeval *moment, void *zone) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  moment->tv_sec = precise.tv_sec;
  moment->tv_usec = precise.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *stored) {
  struct timespec moment;
  clock_gettime(CLOCK_REALTIME, &moment);
  if (stored) *stored = moment.tv_sec;
  return moment.tv_sec;
}
"""


class Clock:
    """The clock of all processes that are started with its environment; it can be set while they run."""

    def __init__(self, folder: Path) -> None:
        """Compile what stands between these processes and the system's clock; without a compiler nothing does."""
        self.file, library = folder / "clock", folder / "clock.so"
        self.environment: dict[str, str] = {}
        self.hours = 0
        self._set()
        if sys.platform == "linux" and (compiler := shutil.which("gcc")):
            source = folder / "clock.c"
            source.write_text(CLOCK)
            subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
            self.environment = {"LD_PRELOAD": str(library), "FAULTS_CLOCK": str(self.file)}

    def _set(self) -> None:
        with self.file.open("r+b" if self.file.exists() else "wb") as file:
            file.write(struct.pack("q", 3600 * self.hours))

    def jump(self, hours: int) -> None:
        """Set the clock forward, or back."""
        self.hours += hours
        self._set()


class KeptProcess:
    """A process that is started again whenever it has ended, as an init system does."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        """Start it, and the thread that starts it again."""
        self.command, self.log, self.starts, self.closed = command, log, 0, False
        self.environment = {**os.environ, **environment}
        self.process = self._start()
        self.thread = threading.Thread(target=self._start_again)
        self.thread.start()

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL}
        with self.log.open("ab") as log:
            return subprocess.Popen(self.command, env=self.environment, stderr=log, **pipes)

    def _start_again(self) -> None:
        while not self.closed:
            self.process.wait()
            if not self.closed:
                time.sleep(0.2)
                self.process = self._start()

    def kill(self) -> None:
        """Kill the process without a warning; its children are left to themselves."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def kill_all(self) -> None:
        """Kill the process and its children without a warning."""
        process = psutil.Process(self.process.pid)
        family = [process, *process.children(recursive=True)]
        for member in family:
            member.kill()
        psutil.wait_procs(family, timeout=10)

    def close(self) -> None:
        """End it for good."""
        self.closed = True
        self.process.terminate()
        self.thread.join()


class KeptServer(KeptProcess):
    """`tercet serve`."""

    def __init__(self, settings: dict[str, str], environment: dict[str, str], log: Path) -> None:
        """Start the server."""
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        variables = {f"TERCET_{name.upper()}": value for name, value in settings.items()}
        command = [sys.executable, "-m", "tercet.demo.server", str(self.port)]
        super().__init__(command, {**environment, **variables}, log)

    def wait_until_ready(self) -> None:
        """Wait for the server, as long as that may take."""
        deadline = time.monotonic() + GIVE_UP_SECONDS
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.url}/readyz", timeout=2).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise SystemExit("The server was not ready in time: see its log.")


class Machines:
    """A scheduler of Dask's and two workers, in processes of their own as docker-compose.yml has them."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        """Start all three."""
        port = free_port()
        self.address = f"tcp://127.0.0.1:{port}"
        dask, place = [sys.executable, "-m", "dask"], ["--host", "127.0.0.1", "--no-dashboard"]
        preload = ["--nthreads", "1", "--preload", "tercet.worker.warmup"]
        self.scheduler = KeptProcess([*dask, "scheduler", *place, "--port", str(port)], environment, log)
        worker = [*dask, "worker", self.address, *place, *preload]
        self.workers = [KeptProcess(worker, environment, log) for _ in range(2)]

    def kill_workers(self) -> None:
        """Kill both workers, and the processes that watch them."""
        for worker in self.workers:
            worker.kill_all()

    def close(self) -> None:
        """End all three."""
        for process in (*self.workers, self.scheduler):
            process.close()


class Wire:
    """A connection to PostgreSQL that can be cut: bytes are swallowed meanwhile, and then both ends are reset."""

    def __init__(self, database_url: str) -> None:
        """Listen on a port in front of the database."""
        address = urlsplit(database_url)
        folder = parse_qs(address.query).get("host", [""])[0]
        self.socket = f"{folder}/.s.PGSQL.{address.port or 5432}" if folder else ""
        self.host, self.port_behind = address.hostname or "127.0.0.1", address.port or 5432
        self.port, self.is_cut = free_port(), False
        user = f"{address.username or 'postgres'}:{address.password or ''}"
        self.url = f"postgresql://{user}@127.0.0.1:{self.port}{address.path}"
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        listening = asyncio.start_server(self._accept, "127.0.0.1", self.port)
        asyncio.run_coroutine_threadsafe(listening, self._loop).result(10)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            behind = (
                await asyncio.open_unix_connection(self.socket)
                if self.socket
                else await asyncio.open_connection(self.host, self.port_behind)
            )
        except OSError:  # PostgreSQL is away
            writer.transport.abort()
            return
        ends = {writer, behind[1]}
        self._writers |= ends
        await asyncio.gather(self._pump(reader, behind[1]), self._pump(behind[0], writer))
        self._writers -= ends

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while content := await reader.read(65_536):
                if not self.is_cut:
                    writer.write(content)
                    await writer.drain()
        except ConnectionError:
            pass
        writer.transport.abort()

    def cut_for(self, seconds: float) -> None:
        """Swallow everything for some seconds, then reset all connections."""
        self.is_cut = True
        time.sleep(seconds)
        self.is_cut = False
        self._loop.call_soon_threadsafe(self._reset)

    def _reset(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
