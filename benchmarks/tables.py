"""Finished rows as text: means with their 95 % intervals, one row a method, one column a setting."""

from collections.abc import Sequence

import numpy as np

from benchmarks.plots import Line
from benchmarks.rounds import Cache, mean_and_half_width

Cells = dict[tuple[str, str, str], dict[int, float]]  # (data set, setting, method) -> seed -> value


def cells(cache: Cache, measure: str) -> Cells:
    """Every finished value of one measure."""
    cells: Cells = {}
    for row in cache.rows.values():
        if measure in row:
            cells.setdefault((row["dataset"], row["setting"], row["method"]), {})[row["seed"]] = row[measure]
    return cells


def add_mean(found: Cells, names: Sequence[str], title: str) -> Cells:
    """The same with the mean over some data sets as one more, from the seeds that every one of them has."""
    means: Cells = {}
    for setting, method in {key[1:] for key in found}:
        parts = [found.get((name, setting, method), {}) for name in names]
        seeds = set.intersection(*map(set, parts)) if parts else set()
        if seeds:
            means[title, setting, method] = {seed: float(np.mean([part[seed] for part in parts])) for seed in seeds}
    return found | means


def table(
    found: Cells, name: str, methods: Sequence[str], settings: Sequence[str], headings: Sequence[str], title: str = ""
) -> str:
    """Mean and half of the 95 % interval; a dash where there is nothing."""
    width = max(map(len, methods)) + 2
    lines = [title or name, " " * width + "".join(f"{heading:>14}" for heading in headings)]
    for method in methods:
        values = [found.get((name, setting, method), {}) for setting in settings]
        if any(values):
            lines.append(f"{method:{width}}" + "".join(f"{cell(list(v.values())):>14}" for v in values))
    return "\n".join([*lines, runs_line(found, name), ""])


def cell(values: list[float]) -> str:
    if not values:
        return "-"
    mean, half = mean_and_half_width(values)
    return f"{mean:.3f}" + (f" ±{half:.3f}" if np.isfinite(half) else "")


def runs_line(found: Cells, name: str) -> str:
    counts = [len(values) for key, values in found.items() if key[0] == name and values]
    if not counts:
        return "no run"
    span = f"{max(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return f"{span} run{'s' if max(counts) > 1 else ''} a cell"


def advantage(
    found: Cells,
    names: Sequence[str],
    settings: Sequence[str],
    ours: str,
    others: Sequence[str],
    headings: Sequence[str],
) -> str:
    """`ours` minus the best of the others in hindsight (the one of the best mean in that cell), seed by seed."""
    lines = [f"{ours} minus the best of {', '.join(others)} in hindsight"]
    lines.append(f"{'':24}" + "".join(f"{heading:>14}" for heading in headings))
    for name in names:
        row = f"{name:24}"
        for setting in settings:
            rivals = [found[key] for method in others if (key := (name, setting, method)) in found]
            ours_by_seed = found.get((name, setting, ours), {})
            best = max(rivals, key=lambda values: np.mean(list(values.values())), default={})
            row += (
                f"{cell([ours_by_seed[seed] - best[seed] for seed in sorted(ours_by_seed.keys() & best.keys())]):>14}"
            )
        lines.append(row)
    return "\n".join([*lines, ""])


def curve(found: Cells, name: str, method: str, settings: Sequence[str], places: Sequence[float]) -> Line:
    """The row of a table as a curve; settings without values are gaps."""
    points = [mean_and_half_width(list(found.get((name, setting, method), {}).values())) for setting in settings]
    return Line(method, list(places), [point[0] for point in points], [point[1] for point in points])


def failures(cache: Cache) -> str:
    """How often a method gave no clustering, and its first words about it."""
    seen: dict[tuple[str, str], list[str]] = {}
    for row in cache.rows.values():
        if "failed" in row:
            seen.setdefault((row["method"], row["dataset"]), []).append(row["failed"])
    lines = [
        f"{method} on {name}: {len(lines_of_method)} x, {lines_of_method[0]}"
        for (method, name), lines_of_method in sorted(seen.items())
    ]
    return "\n".join(["without a result", *(lines or ["nothing"]), ""])
