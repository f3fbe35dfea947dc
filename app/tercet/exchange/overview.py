"""What the page of exports shows: what there is to take away, and how large it is where that is known."""

from dataclasses import dataclass
from importlib.util import find_spec

from sqlalchemy.orm import Session

from tercet.exchange import queries
from tercet.items.queries import item_count, latest_features
from tercet.models import FeatureSet, Project
from tercet.runs import results
from tercet.runs.queries import last_done
from tercet.runs.schemas import RunOut
from tercet.storage import Storage


@dataclass(frozen=True)
class ExportPage:
    """What the page of exports shows."""

    project: Project
    n_items: int
    run: RunOut | None
    n_clusters: int
    has_model: bool
    has_media: bool
    has_sounds: bool
    features: FeatureSet | None
    feature_bytes: int  # roughly
    has_parquet: bool


def gather(session: Session, storage: Storage, project: Project) -> ExportPage:
    """Collect it."""
    run = last_done(session, project.id)
    key = None if run is None else run.result
    features = latest_features(session, project.id)
    return ExportPage(
        project=project,
        n_items=item_count(session, project.id),
        run=RunOut.of(run) if run else None,
        n_clusters=results.load_cached(storage, key).n_clusters if key else 0,
        has_model=key is not None and storage.exists(key + results.MODEL),
        has_media=queries.has_media(session, project.id, ""),
        has_sounds=queries.has_media(session, project.id, "audio/"),
        features=features,
        feature_bytes=8 * features.n * features.d if features else 0,
        has_parquet=find_spec("pyarrow") is not None,
    )
