"""How a project looks in a notebook: its clusters as a table, and its map as a picture."""

from html import escape

import numpy as np
from numpy.typing import NDArray

from tercet.projects.schemas import ProjectOut
from tercet.runs.schemas import ClusterList

MOST_POINTS = 3_000
SIDE = 320


def overview(
    project: ProjectOut, clusters: ClusterList | None = None, points: NDArray[np.float32] | None = None
) -> str:
    """Return a project as HTML, with the clusters (N, 4) of its map if it has any."""
    title = f"<b>{escape(project.name)}</b> ({escape(project.key)}), {project.answers:,} answers"
    if clusters is None or points is None:
        return f"<div>{title}<p>No clusters yet.</p></div>"
    hues = {cluster.cluster: round(360 * n / len(clusters.clusters)) for n, cluster in enumerate(clusters.clusters)}
    rows = "".join(
        f'<tr><td style="color:{_colour(hues, cluster.cluster)}">&#9679;</td><td>{cluster.cluster}</td>'
        f"<td>{escape(cluster.name)}</td><td>{cluster.size:,}</td></tr>"
        for cluster in clusters.clusters
    )
    head = "<tr><th></th><th>cluster</th><th>name</th><th>items</th></tr>"
    table = f"<table>{head}{rows}</table>"
    return (
        f'<div>{title}, run {clusters.run}<div style="display:flex;gap:2em;align-items:flex-start">'
        f"{_picture(points, hues)}{table}</div></div>"
    )


def _colour(hues: dict[int, int], cluster: int) -> str:
    return f"hsl({hues[cluster]} 65% 45%)" if cluster in hues else "#888"


def _picture(points: NDArray[np.float32], hues: dict[int, int]) -> str:
    """Return the map as SVG; of very many items, some evenly spaced ones."""
    points = points[:: -(-len(points) // MOST_POINTS) or 1]
    low, high = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
    places = 6 + (SIDE - 12) * (points[:, :2] - low) / np.maximum(high - low, 1e-9).max()
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{SIDE - y:.1f}" r="2.5" fill="{_colour(hues, int(cluster))}"/>'
        for (x, y), cluster in zip(places, points[:, 2], strict=True)
    )
    return f'<svg width="{SIDE}" height="{SIDE}" role="img" aria-label="map of the items">{dots}</svg>'
