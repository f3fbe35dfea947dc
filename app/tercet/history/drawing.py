"""Where the picture of flows has its bars and bands: across in percent of its width, down in pixels.

The earlier clusters stand on the left in the order of their numbers, each later one beside the one that it is matched
with, so that bands of items that stayed run straight and those of items that moved cross them.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from tercet.history.flows import Flow, Flows

GAP = 10.0
LEAST_BAR = 14.0  # a number beside it can be read
HEIGHT = 360.0  # of all items together


@dataclass(frozen=True)
class ClusterBar:
    """A cluster of one side, with its items."""

    cluster: int
    items: int
    y: float
    height: float

    @property
    def middle(self) -> float:
        """Where its number stands."""
        return self.y + self.height / 2


@dataclass(frozen=True)
class Band:
    """A flow, as the path of an SVG whose width is 100."""

    flow: Flow
    path: str


@dataclass(frozen=True)
class Drawing:
    """The picture of the flows."""

    left: list[ClusterBar]
    right: list[ClusterBar]
    bands: list[Band]
    height: float


def draw(flows: Flows) -> Drawing:
    """Place the clusters of both runs, and the bands between them."""
    before, now = _sizes(flows.flows)
    earlier = sorted(before)
    partners = [flows.matched[cluster] for cluster in earlier if cluster in flows.matched]
    later = partners + sorted(set(now) - set(partners))
    scale = HEIGHT / max(1, flows.items)
    left, right = _bars(earlier, before, scale), _bars(later, now, scale)
    lowest = max((bar.y + bar.height for bar in (*left, *right)), default=0.0)
    return Drawing(left, right, _bands(flows, left, right), round(lowest, 1))


def _sizes(flows: list[Flow]) -> tuple[dict[int, int], dict[int, int]]:
    before: dict[int, int] = defaultdict(int)
    now: dict[int, int] = defaultdict(int)
    for flow in flows:
        before[flow.before] += flow.items
        now[flow.now] += flow.items
    return before, now


def _bars(order: list[int], sizes: dict[int, int], scale: float) -> list[ClusterBar]:
    bars, y = [], 0.0
    for cluster in order:
        height = max(LEAST_BAR, sizes[cluster] * scale)
        bars.append(ClusterBar(cluster, sizes[cluster], round(y, 1), round(height, 1)))
        y += height + GAP
    return bars


def _bands(flows: Flows, left: list[ClusterBar], right: list[ClusterBar]) -> list[Band]:
    """Return the bands, those of items that stayed first, so that the others are painted over them."""
    place = {bar.cluster: number for number, bar in enumerate(right)}
    starts = _slices(left, sorted(flows.flows, key=lambda flow: place[flow.now]), lambda flow: flow.before)
    place = {bar.cluster: number for number, bar in enumerate(left)}
    ends = _slices(right, sorted(flows.flows, key=lambda flow: place[flow.before]), lambda flow: flow.now)
    ordered = sorted(flows.flows, key=lambda flow: (flow.moved, flow.before, flow.now))
    return [Band(flow, _path(*starts[flow], *ends[flow])) for flow in ordered]


def _slices(
    bars: list[ClusterBar], flows: list[Flow], cluster_of: Callable[[Flow], int]
) -> dict[Flow, tuple[float, float]]:
    """Return which part of its bar, from and to, each flow has: one below the other in their order."""
    by_cluster = {bar.cluster: bar for bar in bars}
    taken = {bar.cluster: bar.y for bar in bars}
    slices = {}
    for flow in flows:
        bar = by_cluster[cluster_of(flow)]
        top = taken[bar.cluster]
        taken[bar.cluster] = top + bar.height * flow.items / bar.items
        slices[flow] = (round(top, 1), round(taken[bar.cluster], 1))
    return slices


def _path(top: float, bottom: float, top_now: float, bottom_now: float) -> str:
    return f"M0,{top} C50,{top} 50,{top_now} 100,{top_now} L100,{bottom_now} C50,{bottom_now} 50,{bottom} 0,{bottom} Z"
