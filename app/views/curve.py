"""The held-out scores of several numbers of clusters as a drawing: where its points and lines lie, and what it says.

Across is in percent of the drawing's width and down is in pixels, so that it fills a telephone and a desk alike while
its words keep their size.
"""

from dataclasses import dataclass
from math import ceil, floor, log10

from app.clustering.schemas import RunOut

# Down: the drawing's height, and the space above the best and below the worst, where the chosen number is written.
HEIGHT, ABOVE, BELOW = 200, 26, 12
# Numbers of clusters that are written below it; of more only every second, third ... is.
MOST_NAMED = 8


@dataclass(frozen=True)
class Point:
    """One number of clusters: its score with the standard error, as numbers and as places."""

    n_clusters: int
    mean: float
    error: float
    x: float  # percent
    y: float
    top: float  # of the bar that reaches one standard error to either side
    bottom: float
    is_chosen: bool
    is_named: bool


@dataclass(frozen=True)
class Curve:
    """What the template draws."""

    points: list[Point]
    ticks: list[tuple[float, str]]  # place and score
    within: float  # where one standard error below the best lies
    height: int
    scoring: str
    sentence: str


def curve_of(run: RunOut) -> Curve | None:
    """Lay out the curve of a run that chose its number of clusters; None for others."""
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
        Point(
            n_clusters=number,
            mean=mean,
            error=error,
            x=round(100 * (place + 0.5) / len(numbers), 2),
            y=down(mean),
            top=down(mean + error),
            bottom=down(mean - error),
            is_chosen=number == chosen,
            is_named=place % every == 0,
        )
        for place, (number, mean, error) in enumerate(zip(numbers, means, errors, strict=True))
    ]
    best = max(points, key=lambda point: point.mean)
    ticks = [(down(score), text) for score, text in _round_scores(low, high)]
    scoring = run.parameters["scoring"]
    return Curve(points, ticks, best.bottom, HEIGHT, scoring, _sentence(points, best, chosen))


def _round_scores(low: float, high: float) -> list[tuple[float, str]]:
    """Two to six round scores between two, each as a text with as many digits as tell them apart."""
    rough = max(high - low, 1e-9) / 5
    power = 10.0 ** floor(log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    digits = max(0, -floor(log10(step * 1.001)))
    places = range(ceil(low / step - 1e-6), floor(high / step + 1e-6) + 1)
    return [(place * step, f"{place * step:.{digits}f}".replace("-", "−")) for place in places]


def _sentence(points: list[Point], best: Point, chosen: int) -> str:
    was = "was" if chosen == 1 else "were"
    tried = f"Of {points[0].n_clusters} to {points[-1].n_clusters} clusters"
    if best.n_clusters == chosen:
        return f"{tried}, {chosen} foretold answers held back best and {was} taken."
    return (
        f"{tried}, {best.n_clusters} foretold answers held back best; {chosen} {was} taken, the fewest that did as "
        "well but for chance."
    )
