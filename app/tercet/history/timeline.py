"""The timeline: the runs of a page, oldest on the left, with how many answers each foresaw and how many items moved.

Across is in percent of the drawing's width and down is in pixels, so that it fills narrow and wide screens alike.
"""

from dataclasses import dataclass

from tercet.models import Purpose, RunStatus
from tercet.runs.schemas import RunOut

HEIGHT = 120.0  # of the drawing, from a share of 1 down to the lowest
BARS = 44.0  # of the bars under it, for the share of items that moved


@dataclass(frozen=True)
class TimelinePoint:
    """A finished run: where it is drawn, the share of answers foreseen, and the share of items that moved."""

    run: RunOut
    x: float  # percent of the width
    share: float | None
    y: float | None
    moved: float | None
    bar: float


@dataclass(frozen=True)
class Timeline:
    """The drawing, and which runs are in it."""

    points: list[TimelinePoint]
    lowest: float
    chance: float | None  # of the answers, foreseen by nothing but luck; None where no share is known
    chance_y: float | None
    most_moved: float  # the share that the longest bar stands for
    width: float  # of a bar, in percent
    height: float = HEIGHT
    bars: float = BARS


def timeline_of(newest: list[RunOut]) -> Timeline | None:
    """Place the finished runs of the project's own clusters; None where there are fewer than two."""
    done = [run for run in reversed(newest) if run.status == RunStatus.DONE and run.purpose == Purpose.CURRENT]
    if len(done) < 2:
        return None
    shares = [share_foreseen(run) for run in done]
    drawn = [share for share in shares if share is not None]
    chance = next((run.metrics["accuracy_curve"]["chance"] for run in done if "accuracy_curve" in run.metrics), None)
    lowest = max(0.0, min(0.5, *drawn) - 0.05) if drawn else 0.5
    most_moved = max((share_moved(run) or 0.0 for run in done), default=0.0)
    step = 100 / len(done)
    points = [
        TimelinePoint(run, round(step * (place + 0.5), 2), share, _down(share, lowest), moved, _bar(moved, most_moved))
        for place, (run, share) in enumerate(zip(done, shares, strict=True))
        for moved in [share_moved(run)]
    ]
    return Timeline(points, lowest, chance, _down(chance, lowest), most_moved, round(min(4.0, 0.6 * step), 2))


def share_foreseen(run: RunOut) -> float | None:
    """Return the share of the newest answers that were foreseen before any run used them; None where not known.

    It is the last point of the run's own curve: the few answers that a single run adds say little.
    """
    curve = run.metrics.get("accuracy_curve")
    return None if curve is None else float(curve["points"][-1][1])


def share_moved(run: RunOut) -> float | None:
    """Return the share of items whose cluster differs from the run before; None where there was none."""
    moved = run.metrics.get("items_moved")
    return None if moved is None else float(moved) / max(1, run.metrics["n_items"])


def _down(share: float | None, lowest: float) -> float | None:
    return None if share is None else round(HEIGHT * (1 - share) / (1 - lowest), 1)


def _bar(moved: float | None, most: float) -> float:
    return round(BARS * moved / most, 1) if moved and most else 0.0
