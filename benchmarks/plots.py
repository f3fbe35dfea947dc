"""Line plots with 95 % bands as SVG, readable in light and dark, without a plotting library.

The results are text and pictures in the repository; a hundred lines draw them, where a library would be one more
thing to install.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 380, 58, 170, 34, 46
# Told apart by people with any colour vision, on white and on near-black (Okabe and Ito's order, two adjusted).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7f7f7f", "#8c4bd6")
DASHES = ("", "6 3", "2 3")
STYLE = """<style>
  svg { background: #ffffff; color: #1c1c1e; font: 12px system-ui, sans-serif }
  text { fill: currentColor } .axis { stroke: currentColor; fill: none } .grid { stroke: currentColor; opacity: .13 }
  .band { opacity: .16; stroke: none } .line { fill: none; stroke-width: 2 } .title { font-weight: 600 }
  @media (prefers-color-scheme: dark) { svg { background: #16171a; color: #e6e6e9 } }
</style>"""


@dataclass(frozen=True)
class Line:
    """One curve; `half` is half the width of its band, NaN where there is none."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    half: Sequence[float]


def write(path: Path, title: str, x_label: str, y_label: str, lines: Sequence[Line]) -> None:
    """Draw the curves over common axes; a curve of one point becomes a level across the plot."""
    path.write_text(svg(title, x_label, y_label, lines))


def svg(title: str, x_label: str, y_label: str, lines: Sequence[Line]) -> str:
    """The picture as text."""
    lines = [line for line in map(_finite, lines) if len(line.x)]
    if not lines:
        raise ValueError(f"nothing to plot in {title!r}: every value is missing")
    x_ticks, y_ticks = _ticks([v for line in lines for v in line.x]), _ticks(_all_y(lines))
    scale = Scale(x_ticks[0], x_ticks[-1], y_ticks[0], y_ticks[-1])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>{STYLE}",
        f'<text class="title" x="{LEFT}" y="20">{escape(title)}</text>',
        *_axes(scale, x_ticks, y_ticks, x_label, y_label),
    ]
    for number, line in enumerate(lines):
        parts += _curve(scale, line, number)
    parts += _legend(lines)
    return "\n".join([*parts, "</svg>", ""])


@dataclass(frozen=True)
class Scale:
    """From values to places in the picture."""

    x0: float
    x1: float
    y0: float
    y1: float

    def x(self, value: float) -> float:
        return round(LEFT + (value - self.x0) / (self.x1 - self.x0) * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        value = min(max(value, self.y0), self.y1)  # of a band that goes beyond
        return round(HEIGHT - BOTTOM - (value - self.y0) / (self.y1 - self.y0) * (HEIGHT - TOP - BOTTOM), 1)


def _finite(line: Line) -> Line:
    points = [row for row in zip(line.x, line.y, line.half, strict=True) if np.isfinite(row[0]) and np.isfinite(row[1])]
    return Line(line.name, *map(list, zip(*points, strict=True))) if points else Line(line.name, [], [], [])


def _all_y(lines: Sequence[Line]) -> list[float]:
    """Curves with their bands, which may not make the curves flat: few runs have bands beyond reason."""
    means = [y for line in lines for y in line.y]
    most = (max(means) - min(means)) / 2
    halves = [
        (y, min(h, most) if np.isfinite(h) else 0.0) for line in lines for y, h in zip(line.y, line.half, strict=True)
    ]
    return [y - h for y, h in halves] + [y + h for y, h in halves]


def _ticks(values: Sequence[float]) -> list[float]:
    """Four to eight round numbers that enclose the values."""
    low, high = min(values), max(values)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / 5
    power = 10 ** np.floor(np.log10(raw))
    step = float(min((1, 2, 5, 10), key=lambda unit: abs(unit * power - raw)) * power)
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    return [round(float(n * step), 10) for n in np.arange(first, last + 1)]


def _axes(scale: Scale, x_ticks: list[float], y_ticks: list[float], x_label: str, y_label: str) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for tick in y_ticks:
        y = scale.y(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {y}H{right}"/>')
        parts.append(f'<text x="{LEFT - 7}" y="{y + 4}" text-anchor="end">{tick:g}</text>')
    for tick in x_ticks:
        parts.append(f'<text x="{scale.x(tick)}" y="{bottom + 17}" text-anchor="middle">{tick:g}</text>')
    middle, centre = (LEFT + right) / 2, (TOP + bottom) / 2
    return [
        *parts,
        f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>',
        f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">{escape(x_label)}</text>',
        f'<text transform="translate(14 {centre}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>',
    ]


def _curve(scale: Scale, line: Line, number: int) -> list[str]:
    x, y = (line.x, line.y) if len(line.x) > 1 else ([scale.x0, scale.x1], [line.y[0]] * 2)
    half = [h if np.isfinite(h) else 0.0 for h in line.half] * (1 if len(line.x) > 1 else 2)
    colour, dash = _look(number)
    upper = [f"{scale.x(a)} {scale.y(b + h)}" for a, b, h in zip(x, y, half, strict=True)]
    lower = [f"{scale.x(a)} {scale.y(b - h)}" for a, b, h in zip(x, y, half, strict=True)]
    points = "L".join(f"{scale.x(a)} {scale.y(b)}" for a, b in zip(x, y, strict=True))
    return [
        f'<path class="band" fill="{colour}" d="M{"L".join(upper + lower[::-1])}Z"/>',
        f'<path class="line" stroke="{colour}" stroke-dasharray="{dash}" d="M{points}"/>',
    ]


def _legend(lines: Sequence[Line]) -> list[str]:
    """Names beside the plot, the curve that ends highest first."""
    parts, left = [], WIDTH - RIGHT + 12
    for row, number in enumerate(sorted(range(len(lines)), key=lambda n: -lines[n].y[-1])):
        y, (colour, dash) = TOP + 8 + 17 * row, _look(number)
        parts.append(f'<path class="line" stroke="{colour}" stroke-dasharray="{dash}" d="M{left} {y}h22"/>')
        parts.append(f'<text x="{left + 28}" y="{y + 4}">{escape(lines[number].name)}</text>')
    return parts


def _look(number: int) -> tuple[str, str]:
    return COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]
