"""A project whose items group in two ways that have nothing to do with each other: by song and by site."""

import numpy as np
from sqlalchemy import select

from tercet.database import Database
from tercet.models import Item, Run
from tercet.storage import Storage
from tests.factories import add_features, make_project

SONGS, SITES = 3, 2


def two_ways(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, songs and sites: three columns say the song, two the site, also in one scale softer."""
    rng = np.random.default_rng(0)
    song, site = np.arange(n) % SONGS, np.arange(n) // SONGS % SITES
    features = rng.standard_normal((n, 6))
    features[:, :3] += 12 * np.eye(SONGS)[song]
    features[:, 3:5] += 6 * (site[:, None] - 0.5)
    return features, song, site


def make_two_ways(database: Database, storage: Storage, n: int = 60) -> int:
    """Add it, with the site and a number per item as metadata, and give its id."""
    features, _, site = two_ways(n)
    with database.transaction() as session:
        project = make_project(session, "songs", n_items=n, n_clusters=SONGS)
        add_features(session, storage, project, features)
        for item in session.scalars(select(Item).where(Item.project_id == project.id)):
            item.details = {"site": f"site {site[item.position]}", "number": item.position, "one": "same"}
        return project.id


def run_numbered(database: Database, number: int) -> Run:
    with database.reading() as session:
        return session.scalars(select(Run).where(Run.number == number)).one()
