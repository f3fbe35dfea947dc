"""Experiments in rounds: every method on every data set once for each seed, kept row by row in a file.

The tables take hours and machines stop: a row is written the moment it is finished and never computed again.
Rounds go seed by seed, so that whatever was reached is a complete table of fewer runs.
"""

import argparse
import json
import os
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Task:
    """One cell of a table for one seed."""

    experiment: str
    dataset: str
    setting: str  # what varies along the columns: the number of answers, the kind of noise
    method: str
    seed: int

    def key(self) -> tuple[object, ...]:
        return tuple(asdict(self).values())


Row = dict[str, Any]


def parser(description: str | None, *, runs: int = 20, jobs: int = 2) -> argparse.ArgumentParser:
    """Return a parser of what every experiment is told: where its rows lie, how many runs, how many at a time."""
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--cache", type=Path, required=True, help="folder of finished rows, not to be committed")
    arguments.add_argument("--runs", type=int, default=runs)
    arguments.add_argument("--jobs", type=int, default=jobs)
    return arguments


class Cache:
    """Finished rows as JSON lines; a line that was cut short by a crash is passed over."""

    def __init__(self, folder: Path, experiment: str):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{experiment}.jsonl"
        self.rows: dict[tuple[object, ...], Row] = {}
        text = self.path.read_text() if self.path.exists() else ""
        for line in text.splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            self.rows[Task(*(row[name] for name in Task.__annotations__)).key()] = row
        if text and not text.endswith("\n"):
            self.path.write_text(text + "\n")

    def add(self, task: Task, found: Row) -> None:
        row = asdict(task) | found
        self.rows[task.key()] = row
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def run(tasks: Iterable[Task], work: Callable[[Task], Row], cache: Cache, jobs: int) -> None:
    """Work off the tasks that the cache does not hold, in their order, `jobs` at a time with one thread each."""
    waiting = [task for task in tasks if task.key() not in cache.rows]
    print(f"{len(cache.rows)} rows are there, {len(waiting)} to do")
    for name in THREADS:  # for the interpreters that work starts; numpy is loaded here and read them before
        os.environ[name] = "1"
    with ProcessPoolExecutor(jobs, initializer=threadpool_limits, initargs=(1,)) as pool:
        futures = {pool.submit(_quietly, work, task): task for task in waiting}
        try:
            for number, future in enumerate(as_completed(futures), 1):
                cache.add(futures[future], future.result())
                if number % 100 == 0:
                    print(f"{number} of {len(waiting)}", flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            print("stopped; the table holds what is finished")


def _quietly(work: Callable[[Task], Row], task: Task) -> Row:
    """A method that fails on a data set is a finding of the table, not its end."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return work(task)
    except (ValueError, ArithmeticError, RuntimeError, MemoryError, np.linalg.LinAlgError) as error:
        return {"failed": f"{type(error).__name__}: {error}"[:200]}


def mean_and_half_width(values: list[float]) -> tuple[float, float]:
    """Mean and half of its 95 % interval (Student's t); the half is NaN for a single value."""
    if len(values) < 2:
        return (values[0] if values else np.nan), np.nan
    spread = np.std(values, ddof=1) / np.sqrt(len(values))
    return float(np.mean(values)), float(stats.t.ppf(0.975, len(values) - 1) * spread)
