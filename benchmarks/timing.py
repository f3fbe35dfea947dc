"""Measured times as lines of text: medians, targets met or not, and profiles."""

import cProfile
import pstats
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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


def profile(action: Callable[[], object], parts: Mapping[str, str]) -> str:
    """Where the time goes: shares of functions with what they call, then of single functions without.

    `parts` maps words to "file.py:function"; none of them may call another. The last column answers where the next
    factor of two is: how much faster everything would be if that part cost nothing.
    """
    profiler = cProfile.Profile()
    profiler.runcall(action)
    entries = _entries(pstats.Stats(profiler))
    total = sum(entry.own for entry in entries)
    lines = [f"{'share':>6}{'without it':>12}  what"]
    left = 1.0
    for words, place in parts.items():
        share = sum(entry.whole for entry in entries if entry.place == place) / total
        left -= share
        lines.append(f"{share:6.1%}{1 / max(1 - share, 1e-9):10.2f} x  {words}")
    lines += [f"{left:6.1%}{1 / max(1 - left, 1e-9):10.2f} x  all else", "", f"{'share':>6}{'calls':>12}  function"]
    for entry in sorted(entries, key=lambda entry: -entry.own)[:LINES]:
        lines.append(f"{entry.own / total:6.1%}{entry.calls:12}  {entry.place}")
    return "\n".join([*lines, ""])


@dataclass(frozen=True)
class Entry:
    """What a profiler saw of one function."""

    place: str
    calls: int
    own: float  # seconds
    whole: float  # with what it calls


def _entries(found: pstats.Stats) -> list[Entry]:
    rows = found.stats.items()  # type: ignore[attr-defined]  # typeshed does not name it
    return [
        Entry(f"{Path(file).name}:{name}" if line else name, calls, own, whole)
        for (file, line, name), (_, calls, own, whole, _) in rows
    ]
