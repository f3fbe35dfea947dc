"""The drawing of held-out scores by number of clusters: coordinates, labels and caption.

Across is in percent of the drawing's width and down is in pixels, so that it fills narrow and wide screens alike while
its text keeps its size.
"""

from dataclasses import dataclass
from math import ceil, floor, log10

from tercet.runs.schemas import RunOut

# Down: the drawing's height, the space above the best point, where the chosen number is written, and below the worst.
HEIGHT, ABOVE, BELOW = 200, 26, 12
# Numbers of clusters that are written below the drawing; of more only every second, third ... is.
MOST_NAMED = 8


@dataclass(frozen=True)
class CurvePoint:
    """One number of clusters: its score with the standard error, and where they are drawn."""

    n_clusters: int
    mean: float
    error: float
    x: float  # percent of the width
    y: float
    top: float  # of the bar from one standard error above the mean to one below
    bottom: float
    is_chosen: bool
    is_named: bool


@dataclass(frozen=True)
class Curve:
    """What the template draws."""

    points: list[CurvePoint]
    ticks: list[tuple[float, str]]  # y and score
    within: float  # y of the score one standard error below the best
    height: int
    scoring: str
    sentence: str


def curve_of(run: RunOut) -> Curve | None:
    """Lay out the curve; None where a run did not choose its number of clusters."""
    scores: dict[str, list[float]] | None = run.metrics.get("clusters_curve")
    if scores is None:
        return None
    numbers, means, errors = [int(n) for n in scores["n_clusters"]], scores["mean"], scores["standard_error"]
    low = min(mean - error for mean, error in zip(means, errors, strict=True))
    high = max(mean + error for mean, error in zip(means, errors, strict=True))
    span = max(high - low, 1e-9)

    def down(score: float) -> float:
        return round(ABOVE + (HEIGHT - ABOVE - BELOW) * (high - score) / span, 1)

    chosen, every = run.metrics["chosen"]["n_clusters"], ceil(len(numbers) / MOST_NAMED)
    points = [
        CurvePoint(
            n_clusters=number,
            mean=mean,
            error=error,
            x=round(100 * (index + 0.5) / len(numbers), 2),
            y=down(mean),
            top=down(mean + error),
            bottom=down(mean - error),
            is_chosen=number == chosen,
            is_named=index % every == 0,
        )
        for index, (number, mean, error) in enumerate(zip(numbers, means, errors, strict=True))
    ]
    best = max(points, key=lambda point: point.mean)
    ticks = [(down(score), text) for score, text in _round_scores(low, high)]
    scoring = run.parameters["scoring"]
    return Curve(points, ticks, best.bottom, HEIGHT, scoring, _sentence(points, best, chosen))


def _round_scores(low: float, high: float) -> list[tuple[float, str]]:
    """Return two to six round scores from `low` to `high`, each with a text of as many digits as it needs."""
    rough = max(high - low, 1e-9) / 5
    power = 10.0 ** floor(log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    digits = max(0, -floor(log10(step * 1.001)))
    multiples = range(ceil(low / step - 1e-6), floor(high / step + 1e-6) + 1)
    return [(multiple * step, f"{multiple * step:.{digits}f}".replace("-", "−")) for multiple in multiples]


def _sentence(points: list[CurvePoint], best: CurvePoint, chosen: int) -> str:
    was = "was" if chosen == 1 else "were"
    tried = f"Of {points[0].n_clusters} to {points[-1].n_clusters} clusters"
    if best.n_clusters == chosen:
        return f"{tried}, {chosen} predicted held-out answers best and {was} chosen."
    return (
        f"{tried}, {best.n_clusters} predicted held-out answers best; {chosen} {was} chosen, the fewest that did as "
        "well but for chance."
    )
