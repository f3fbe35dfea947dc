"""Gathers what the page of exports shows: what can be exported, and its size where that is known."""

from dataclasses import dataclass
from importlib.util import find_spec

from sqlalchemy.orm import Session

from tercet.exchange import queries
from tercet.items.queries import count_in_use, latest_features
from tercet.models import FeatureSet, Project
from tercet.runs import results
from tercet.runs.queries import last_done
from tercet.runs.schemas import RunOut
from tercet.storage import Storage

MOST_MEASURED = 200  # files of media, by which the size of all is estimated


@dataclass(frozen=True)
class ExportPage:
    """What the page of exports shows."""

    project: Project
    n_items: int
    run: RunOut | None
    n_clusters: int
    has_model: bool
    takes_items: bool  # whether new ones can be measured as those of the run
    features: FeatureSet | None
    feature_bytes: int  # roughly
    has_parquet: bool
    media_bytes: int | None  # roughly; None where files cannot be measured here
    model_bytes: int | None
    n_sounds: int
    n_media: int


def gather(session: Session, storage: Storage, project: Project) -> ExportPage:
    """Collect what the page shows."""
    run = last_done(session, project.id)
    key = None if run is None else run.result
    features = latest_features(session, project.id)
    has_model = key is not None and storage.exists(key + results.MODEL)
    measured = session.get(FeatureSet, run.feature_set_id) if run and run.feature_set_id else None
    return ExportPage(
        project=project,
        n_items=count_in_use(session, project.id),
        run=RunOut.of(run) if run else None,
        n_clusters=results.load_cached(storage, key).n_clusters if key else 0,
        has_model=has_model,
        takes_items=has_model and measured is not None and measured.learned is not None,
        features=features,
        feature_bytes=8 * features.n * features.d if features else 0,
        has_parquet=find_spec("pyarrow") is not None,
        media_bytes=_media_bytes(session, storage, project.id),
        model_bytes=_model_bytes(storage, key, measured),
        n_sounds=queries.media_count(session, project.id, "audio/"),
        n_media=queries.media_count(session, project.id, ""),
    )


def _media_bytes(session: Session, storage: Storage, project_id: int) -> int | None:
    """Estimate the size of all media from a sample."""
    keys = queries.some_media(session, project_id, MOST_MEASURED)
    sizes = [size for key in keys if (size := _size(storage, key)) is not None]
    if not sizes:
        return None
    return sum(sizes) * queries.media_count(session, project_id, "") // len(sizes)


def _model_bytes(storage: Storage, key: str | None, features: FeatureSet | None) -> int | None:
    """Return the size of a run's model with what its recipe learned, before it is packed."""
    learned = [features.learned] if features is not None and features.learned else []
    sizes = [_size(storage, blob) for blob in ([key + results.MODEL, *learned] if key else [])]
    return sum(size for size in sizes if size is not None) or None


def _size(storage: Storage, key: str) -> int | None:
    """Return the size in bytes of a blob that is a local file; None elsewhere."""
    path = storage.local_path(key)
    return path.stat().st_size if path is not None and path.exists() else None
