"""Measured times as lines of text: medians, targets met or not, and profiles."""

import cProfile
import pstats
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

Times = Mapping[str, float]
LINES = 14


def seconds(action: Callable[[], object]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    action()
    return time.process_time() - start


def medians(measure: Callable[[int], Times], runs: int) -> dict[str, float]:
    """Median over runs 0, 1, ... of every named time; each run times everything once, so that load hits all alike."""
    rows = [measure(run) for run in range(runs)]
    return {name: median(row[name] for row in rows) for name in rows[0]}


def times_table(times: Times, *units: str) -> str:
    """Milliseconds, and each time as a multiple of those named."""
    lines = [f"{'':46}{'ms':>10}" + "".join(f"{'x ' + unit:>36}" for unit in units)]
    for name, value in times.items():
        lines.append(f"{name:46}{1000 * value:10.1f}" + "".join(f"{value / times[unit]:36.2f}" for unit in units))
    return "\n".join([*lines, ""])


def target(words: str, value: float, limit: float, *, least: bool = False) -> str:
    """One line: what was promised, what was seen, whether it holds."""
    met = value >= limit if least else value <= limit
    return f"{'met   ' if met else 'NOT MET'} {words}: {value:.2f} ({'at least' if least else 'at most'} {limit:g})"


def profile(action: Callable[[], object]) -> str:
    """The functions in which most time is spent, without what they call."""
    profiler = cProfile.Profile()
    profiler.runcall(action)
    found = pstats.Stats(profiler)
    rows = sorted(((own, calls, where) for where, (_, calls, own, _, _) in stats_of(found)), reverse=True)[:LINES]
    total = sum(own for _, (_, _, own, _, _) in stats_of(found))
    lines = [f"{'share':>6}{'calls':>9}  where"]
    for own, calls, (file, line, name) in rows:
        place = f"{Path(file).name}:{line} {name}" if line else name
        lines.append(f"{own / total:6.1%}{calls:9}  {place}")
    return "\n".join([*lines, ""])


def stats_of(found: pstats.Stats) -> list[tuple[tuple[str, int, str], tuple[int, int, float, float, object]]]:
    return list(found.stats.items())  # type: ignore[attr-defined]  # typeshed does not name it
