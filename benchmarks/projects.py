"""Projects of Birdsong's size for benchmarks, put into a database before its server starts."""

from dataclasses import dataclass

import numpy as np

from tercet import migrate
from tercet.accounts import service as accounts
from tercet.database import Database
from tercet.intake.feature_files import Features
from tercet.intake.local import add_rows
from tercet.intake.tables import ItemRow
from tercet.models import Scope
from tercet.projects.service import create_project
from tercet.settings import Settings
from tercet.storage import Storage

KEY = "load"


@dataclass(frozen=True)
class LoadProject:
    """What a benchmark needs to come in: the project's key, its owner's token, a share link and a sign-in link."""

    key: str
    token: str
    share_path: str
    sign_in_path: str


def synthetic(n_items: int, n_features: int, n_clusters: int) -> np.ndarray:
    """Overlapping Gaussian clusters."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 1.2, (n_clusters, n_features))
    return centres[rng.integers(n_clusters, size=n_items)] + rng.normal(size=(n_items, n_features))


def make_project(settings: Settings, features: np.ndarray, n_clusters: int, key: str = KEY) -> LoadProject:
    """Migrate the database and add a project with these features."""
    settings.data.mkdir(parents=True, exist_ok=True)
    database = Database(settings.resolved_database_url())
    migrate.upgrade(database)
    with database.transaction() as session:
        owner = accounts.make_user(session, f"owner of {key}", email=f"{key}@example.org")
        project = create_project(session, owner, key=key, name=key.title(), n_clusters=n_clusters)
        token = accounts.make_api_token(session, owner, "benchmark", Scope.OWN)
        share = accounts.make_share_link(session, project)
        sign_in = accounts.make_sign_in_link(session, owner)
    rows = [ItemRow(f"item-{i:05d}") for i in range(len(features))]
    storage = Storage(settings.resolved_storage_url())
    add_rows(database, storage, key, rows, Features(features, None, [], "features"))
    database.close()
    return LoadProject(key, token, f"/join/{share}", f"/sign-in/{sign_in}")
