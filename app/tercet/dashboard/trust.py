"""Whether clusters can be believed: the curve of foreseen answers, stability from run to run, and what is confused.

Across is in percent of the drawing's width and down is in pixels, so that it fills narrow and wide screens alike while
its text keeps its size.
"""

from dataclasses import dataclass
from typing import Any

from tercet.models import Purpose, RunStatus
from tercet.runs.schemas import RunOut

HEIGHT = 96  # of the drawing, from a share of 1 down to the lowest that it has to show


@dataclass(frozen=True)
class SharePoint:
    """The share of answers foreseen up to a number of answers, with its interval, and where they are drawn."""

    answers: int
    share: float
    low: float
    high: float
    x: float  # percent of the width
    y: float
    top: float
    bottom: float


@dataclass(frozen=True)
class ShareCurve:
    """What the template draws: the curve, the chance level and the ceiling, None where it is not known."""

    points: list[SharePoint]
    chance: float
    ceiling: float | None
    chance_y: float
    ceiling_y: float | None
    height: int = HEIGHT


@dataclass(frozen=True)
class Trust:
    """The curve, the share of items that kept their cluster in each of the last runs, and the confused pairs."""

    curve: ShareCurve | None
    kept: list[float]  # oldest run first
    pairs: list[dict[str, int]]


def trust_of(latest: RunOut | None, newest: list[RunOut]) -> Trust:
    """Gather what the newest finished run, and those before it, tell of their clusters."""
    metrics = {} if latest is None else latest.metrics
    return Trust(_curve(metrics), _kept(newest), metrics.get("confused_pairs", []))


def _kept(newest: list[RunOut]) -> list[float]:
    done = [run.metrics for run in reversed(newest) if run.status == RunStatus.DONE and run.purpose == Purpose.CURRENT]
    return [
        1 - metrics["items_moved"] / metrics["n_items"] for metrics in done if metrics.get("items_moved") is not None
    ]


def _curve(metrics: dict[str, Any]) -> ShareCurve | None:
    drawn = metrics.get("accuracy_curve")
    if drawn is None:
        return None
    ceiling = drawn["ceiling"]
    lowest: float = min(drawn["chance"], *(low for _, _, low, _ in drawn["points"])) - 0.03
    most = drawn["points"][-1][0]

    def down(share: float) -> float:
        return round(HEIGHT * (1 - share) / (1 - lowest), 1)

    points = [
        SharePoint(answers, share, low, high, round(100 * answers / most, 2), down(share), down(high), down(low))
        for answers, share, low, high in drawn["points"]
    ]
    return ShareCurve(
        points=points,
        chance=drawn["chance"],
        ceiling=ceiling,
        chance_y=down(drawn["chance"]),
        ceiling_y=None if ceiling is None else down(ceiling),
    )
