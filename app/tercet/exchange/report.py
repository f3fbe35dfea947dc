"""A run as one self-contained HTML page, to send, print or archive."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from sqlalchemy.orm import Session

from tercet import __version__
from tercet.catalogue import forms
from tercet.catalogue.algorithms import ALGORITHMS
from tercet.exchange import queries
from tercet.items.media_types import CONTENT_TYPES
from tercet.models import FeatureSet, Project, Run, now
from tercet.runs import results, sentences, service
from tercet.runs.schemas import ClusterItem, ClusterOut, RunOut
from tercet.settings import asset
from tercet.storage import Storage
from tercet.web.rendering import fill

MOST_POINTS = 3_000
MOST_PICTURES = 300
LARGEST_PICTURE = 64 * 1024
STYLES = ("web/style.css", "dashboard/dashboard.css", "exchange/report.css")
WIDTH, HEIGHT, MARGIN = 720, 480, 8


class Point(NamedTuple):
    """An item on the map, in the units of the drawing."""

    x: float
    y: float
    cluster: int


@dataclass(frozen=True)
class Example:
    """An item as the report shows it: its picture as a data URI, or its text."""

    label: str
    confidence: float | None
    picture: str | None


@dataclass(frozen=True)
class ClusterSection:
    """A cluster with its examples."""

    cluster: ClusterOut
    typical: list[Example]
    uncertain: list[Example]


def render_report(session: Session, storage: Storage, project: Project, run: Run, key: str, *, names: bool) -> str:
    """Return the page as text, with labelers by their names or by pseudonyms."""
    out = RunOut.of(run)
    clusters = service.clusters(session, storage, project, run, key)
    people = queries.answers_by_person(session, project.id, run.answers_to or 0, with_names=names)
    result = results.load_cached(storage, key)
    in_use = result.labels > 0  # all but the items that are set aside or deleted
    points = _points(results.coordinates(storage, key)[in_use], result.labels[in_use])
    n_items = int(in_use.sum())
    return fill(
        "exchange/report.html",
        project=project,
        run=out,
        algorithm=ALGORITHMS[run.algorithm],
        parameters=forms.texts(run.algorithm, run.parameters),
        description=sentences.describe(out),
        sections=_sections(session, storage, project, clusters),
        points=points,
        n_points=n_items,
        size=(WIDTH, HEIGHT),
        people=people,
        features=session.get(FeatureSet, run.feature_set_id) if run.feature_set_id else None,
        n_items=n_items,
        mean_confidence=float(result.confidence[in_use].mean()) if n_items else None,
        made_at=now(),
        version=__version__,
        styles=Markup("\n").join(Markup((asset("static") / name).read_text()) for name in STYLES),  # noqa: S704 - ours
    )


def _points(coordinates: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> list[Point]:
    """Return the coordinates of the items in the drawing; of very many, a fixed sample."""
    chosen = np.arange(len(labels))
    if len(labels) > MOST_POINTS:
        chosen = np.sort(np.random.default_rng(0).choice(len(labels), MOST_POINTS, replace=False))
    if not len(chosen):
        return []
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    room = np.array([WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN])
    places = MARGIN + (coordinates[chosen] - low) / np.where(high > low, high - low, 1) * room
    return [Point(float(x), float(HEIGHT - y), int(k)) for (x, y), k in zip(places, labels[chosen], strict=True)]


def _sections(session: Session, storage: Storage, project: Project, clusters: list[ClusterOut]) -> list[ClusterSection]:
    """Return the clusters with examples, few enough to keep the page small."""
    most = max(1, MOST_PICTURES // (2 * max(len(clusters), 1)))
    shown = [(cluster, cluster.exemplars[:most], cluster.uncertain[:most]) for cluster in clusters]
    keys = [item.key for _, typical, uncertain in shown for item in (*typical, *uncertain)][: 2 * MOST_PICTURES]
    pictures = queries.thumbnails(session, project.id, keys)

    def examples(items: Iterable[ClusterItem]) -> list[Example]:
        return [
            Example(item.text or item.key, item.confidence, _data_uri(storage, pictures.get(item.key)))
            for item in items
        ]

    return [ClusterSection(cluster, examples(typical), examples(uncertain)) for cluster, typical, uncertain in shown]


def _data_uri(storage: Storage, key: str | None) -> str | None:
    """Return a small picture as a data URI; None where there is none."""
    if key is None or not storage.exists(key):
        return None
    content = storage.get(key)
    kind = CONTENT_TYPES.get(PurePosixPath(key).suffix, "")
    if len(content) > LARGEST_PICTURE or not kind.startswith("image/"):
        return None
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
