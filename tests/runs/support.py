"""Projects with features and answers to fit, and a few looks at what came out."""

import time
import uuid
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import psutil
from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.labeling.triplets import make
from tercet.models import Answer, Event, Item, Membership, Project, Role, Run
from tercet.runs import lifecycle
from tercet.runs.schedule import request_run
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker.job import run_job
from tercet.worker.place import JobPlace
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tests.factories import add_features, add_member, make_project

T = TypeVar("T")
NAMES = np.array(["dnk", "yes", "no"])
# Of the plainest fit: it takes a thirtieth of the time of one that chooses among beliefs and kinds of features.
PLAIN = {"n_init": 1, "n_moves": 0, "epsilon": 0.05, "candidates": "features"}


def blobs(n: int, k: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features and true classes: k clouds that overlap a little."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return 4 * rng.standard_normal((k, 4))[y] + rng.standard_normal((n, 4)), y


def make_songs(
    database: Database, storage: Storage, n: int = 60, k: int = 3, key: str = "songs", **values: object
) -> int:
    """Add a project with features and give its id; it is fitted in the plainest way, as usual with `parameters={}`."""
    if "algorithm" not in values:
        values = {"parameters": PLAIN, **values}
    with database.transaction() as session:
        project = make_project(session, key, n_items=n, n_clusters=k, **values)
        add_features(session, storage, project, blobs(n, k)[0])
        add_member(session, project, Role.LABELER)
        return project.id


def blur(database: Database, storage: Storage, project_id: int, n: int = 60, k: int = 3) -> None:
    """Give a project other features, by which many items lie between clusters: no run is sure of them."""
    X = blobs(n, k)[0]
    with database.transaction() as session:
        blurred = X + 2 * np.random.default_rng(1).standard_normal(X.shape)
        add_features(session, storage, session.get_one(Project, project_id), blurred, version=2)


def answer_rightly(database: Database, project: int, classes: np.ndarray, count: int, seed: int = 0) -> None:
    """Store right answers to random questions about items of these classes."""
    triplets = random_triplets(len(classes), count, np.random.default_rng(seed))
    with database.transaction() as session:
        add_answers(session, project, triplets, NAMES[true_answers(classes, triplets)].tolist())


def add_answers(session: Session, project_id: int, triplets: np.ndarray, values: list[str]) -> None:
    """Store answers to triplets of positions, as one labeler would have given them."""
    project = session.get_one(Project, project_id)
    items = session.scalars(select(Item.id).where(Item.project_id == project_id).order_by(Item.position)).all()
    labeler = project_labeler(session, project_id)
    for triplet, value in zip(triplets.tolist(), values, strict=True):
        anchor, left, right = (items[position] for position in triplet)
        assert left < right
        # A run may have put the same question into the queue.
        triplet_id = make(session, project_id, [(anchor, left, right)])[anchor, left, right]
        project.answer_number += 1
        session.add(
            Answer(
                id=uuid.uuid4(),
                project_id=project_id,
                number=project.answer_number,
                triplet_id=triplet_id,
                labeler_id=labeler,
                value=value,
            )
        )
    session.flush()


def project_labeler(session: Session, project_id: int) -> int:
    """Give the id of the user whom `make_songs` added."""
    return session.scalars(select(Membership.user_id).where(Membership.project_id == project_id)).first() or 0


def answer_truly(database: Database, project_id: int, count: int, seed: int = 0) -> None:
    """Store right answers to random triplets."""
    with database.transaction() as session:
        n = len(session.scalars(select(Item.id).where(Item.project_id == project_id)).all())
        project = session.get_one(Project, project_id)
        y = blobs(n, project.n_clusters)[1]
        triplets = random_triplets(n, count, np.random.default_rng(seed))
        add_answers(session, project_id, triplets, NAMES[true_answers(y, triplets)].tolist())


def request(database: Database, project_id: int, **choice: object) -> int:
    """Queue a run and give its id."""
    with database.transaction() as session:
        return request_run(session, session.get_one(Project, project_id), reason="request", **choice).id


def request_and_claim(database: Database, project_id: int, **choice: object) -> int:
    """Queue a run, claim it as the supervisor does, and give its id."""
    run_id = request(database, project_id, **choice)
    assert lifecycle.claim_next(database, 15) is not None
    return run_id


def get_run(database: Database, run_id: int) -> Run:
    with database.reading() as session:
        return session.get_one(Run, run_id)


def event_kinds(database: Database, project_id: int) -> list[tuple[str, str | None]]:
    """Kinds of the project's events in order, with the status that each tells."""
    with database.reading() as session:
        events = session.scalars(select(Event).where(Event.project_id == project_id).order_by(Event.number))
        return [(event.kind, event.payload.get("status")) for event in events]


def place(settings: Settings, lease_seconds: float = 15.0) -> JobPlace:
    return JobPlace(settings.resolved_database_url(), settings.resolved_storage_url(), lease_seconds, 12.0)


def compute(database: Database, settings: Settings) -> str:
    """Claim the run that is due and compute it here."""
    claim = lifecycle.claim_next(database, 15)
    assert claim is not None, "no run was due"
    return run_job(place(settings), claim.run_id)


def make_hard_songs(database: Database, storage: Storage, n_init: int, key: str = "songs") -> int:
    """Add a project without any structure: each of its `n_init` starts takes a while, and nothing else does."""
    # Nothing to choose before the starts, and no graph to find.
    parameters = {"candidates": "features", "n_init": n_init, "n_moves": 0, "epsilon": 0.05}
    project_id = make_songs(database, storage, 3000, 3, key, parameters=parameters)
    rng = np.random.default_rng(1)
    with database.transaction() as session:
        project = session.get_one(Project, project_id)
        project.n_clusters = 10
        add_features(session, storage, project, rng.standard_normal((3000, 20)), version=2)
        triplets = random_triplets(3000, 1000, rng)
        add_answers(session, project_id, triplets, rng.choice(NAMES, 1000).tolist())
    return project_id


def wait_for(condition: Callable[[], T], seconds: float = 120.0) -> T:
    """Give the condition's value once it is true; fail when that takes too long."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
    return value


def ended(database: Database, run_id: int) -> Run | None:
    """Give the run if it has ended."""
    run = get_run(database, run_id)
    return run if run.status in ("done", "failed", "cancelled") else None


def worker_processes(server: int | None = None) -> list[psutil.Process]:
    """Find the worker processes of a server, of this process by default: what its fork server has forked, or a single
    one that was started by itself."""
    workers = []
    for child in psutil.Process(server).children():
        command = " ".join(child.cmdline())
        workers += child.children() if "forkserver" in command else [child] if "spawn_main" in command else []
    return workers
