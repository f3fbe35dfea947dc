"""Work of minutes leaves a place to what people wait for; previews come first, and progress is counted."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tercet.database import Database
from tercet.features.computing import compute
from tercet.features.inputs import FeatureInput
from tercet.features.recipes import default_recipe
from tercet.jobs import lifecycle
from tercet.jobs.queries import MANY, MANY_BYTES
from tercet.models import BackgroundJob, Import, ImportFile, Item, JobKind, Project, Purpose, Run
from tercet.runs.lifecycle import Claim
from tercet.runs.schedule import request_side_run
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker.engine import Engine
from tercet.worker.supervisor import LONG_SECONDS, SubmittedTask, Supervisor
from tests.factories import make_project
from tests.intake.conftest import wav
from tests.jobs.test_job_lifecycle import make_import
from tests.runs.support import get_run, make_songs, request, wait_for
from tests.worker.test_supervisor import supervised


class PlacesOnly(Engine):
    """An engine of so many places, whose tasks never end."""

    def __init__(self, places: int) -> None:
        self._places = places
        self.calls: list[bool] = []
        self.ended: list[str] = []

    def places(self) -> int:
        return self._places

    @property
    def is_called_up(self) -> bool:
        return self.calls[-1:] == [True]

    def call_up(self, wanted: bool) -> None:
        self.calls.append(wanted)

    def submit(self, function: Any, *arguments: Any, key: str, done: Any) -> Any:
        return UNDER_WAY

    def end_worker_of(self, key: str) -> None:
        self.ended.append(key)


class _UnderWay:
    key = "under way"

    def done(self) -> bool:
        return False

    def release(self) -> None:
        pass


UNDER_WAY = _UnderWay()


def make_large_project(database: Database, key: str, n_items: int = MANY + 1, media: str | None = None) -> int:
    with database.transaction() as session:
        project = make_project(session, key, n_items=n_items)
        if media:
            values = {"media": media, "media_type": "audio/wav", "media_seconds": 20.0}
            session.execute(sa.update(Item).where(Item.project_id == project.id).values(**values))
        return project.id


def queue(
    database: Database, project_id: int, kind: JobKind = JobKind.MAKE_FEATURES, subject: int | None = None
) -> int:
    with database.transaction() as session:
        return lifecycle.queue(session, project_id, kind, subject=subject).id


@pytest.fixture
def look(database: Database, settings: Settings) -> Callable[[int], list[tuple[str, int]]]:
    """What a supervisor of so many places submits at one look: the kinds of jobs by project, or runs."""

    def submit(places: int) -> list[tuple[str, int]]:
        supervisor = Supervisor(database, settings, PlacesOnly(places))
        supervisor._next_upkeep = float("inf")
        supervisor._look()
        taken = []
        with database.reading() as session:
            for task in supervisor.submitted:
                if isinstance(task.claim, lifecycle.JobClaim):
                    row = session.get_one(BackgroundJob, task.claim.job_id)
                    taken.append((row.kind, row.project_id))
                else:
                    taken.append(("run", task.claim.project_id))
        return taken

    return submit


def test_long_work_leaves_one_place(database: Database, storage: Storage, look: Any) -> None:
    large, another = make_large_project(database, "large"), make_large_project(database, "another")
    queue(database, large)
    queue(database, another)
    small = make_songs(database, storage)
    assert look(2) == [("make_features", large)], "one place stays free, whoever else has long work"
    request(database, small)
    queue(database, small)
    assert look(2) == [("make_features", another), ("run", small)]
    queue(database, large)
    assert look(1) == [("make_features", small)]


def test_what_a_living_worker_is_at_is_not_taken_over(database: Database, storage: Storage, settings: Settings) -> None:
    """A busy machine may leave no time to renew a lease; only when the worker is gone does another begin again."""
    project = make_songs(database, storage)
    queue(database, project)
    request(database, project)
    supervisor = Supervisor(database, settings, PlacesOnly(4))
    supervisor._next_upkeep = float("inf")
    supervisor._look()
    assert len(supervisor.submitted) == 2
    for task in supervisor.submitted:
        supervisor._release(task.claim)  # as when the lease ran out
    supervisor._look()
    assert len(supervisor.submitted) == 2
    elsewhere = Supervisor(database, settings, PlacesOnly(4))
    elsewhere._next_upkeep = float("inf")
    elsewhere._look()
    assert len(elsewhere.submitted) == 2, "another server cannot know, and takes over what is silent"


@pytest.mark.parametrize(("is_cancelled", "status"), [(False, "failed"), (True, "cancelled")])
def test_a_run_whose_time_is_up_is_given_up_with_its_worker_before_its_lease_ends(
    database: Database, storage: Storage, settings: Settings, is_cancelled: bool, status: str
) -> None:
    project = make_songs(database, storage)
    queue(database, project)
    run_id = request(database, project)
    engine = PlacesOnly(4)
    supervisor = Supervisor(database, settings, engine)
    supervisor._next_upkeep = float("inf")
    supervisor._look()
    with database.transaction() as session:
        session.execute(sa.update(Run).values(cancel_requested=is_cancelled))
    supervisor.place = supervisor.place._replace(run_hours=0.0)
    supervisor._look()
    assert (get_run(database, run_id).status, engine.ended) == ("running", []), "it may stop by itself until then"
    supervisor.lease_seconds = 0.0
    supervisor._look()
    run = get_run(database, run_id)
    assert (run.status, run.lease_expires_at, bool(run.error)) == (status, None, not is_cancelled)
    assert engine.ended == ["under way"], "and not that of the background job"
    assert len(supervisor.submitted) == 1


def test_one_place_is_for_all(database: Database, look: Any) -> None:
    large = make_large_project(database, "large")
    queue(database, large)
    assert look(1) == [("make_features", large)]


@pytest.mark.only_on("sqlite")
def test_a_comparison_is_long(database: Database, storage: Storage, look: Any) -> None:
    project, large = make_songs(database, storage), make_large_project(database, "large")
    queue(database, large)
    with database.transaction() as session:
        request_side_run(session, session.get_one(Project, project), Purpose.COMPARISON, "dcrc", {})
    assert look(2) == [("make_features", large)]
    assert look(3) == [("run", project)]


@pytest.mark.parametrize(
    ("files", "size", "items", "is_long"),
    [(3, 10, 3, False), (MANY + 1, 10, None, True), (1, MANY_BYTES + 1, None, True), (1, 10, MANY + 1, True)],
)
def test_an_import_is_long_by_its_files_bytes_or_items(
    database: Database, tmp_path: Path, storage: Storage, files: int, size: int, items: int | None, is_long: bool
) -> None:
    number = make_import(database, storage, tmp_path, 1)
    with database.transaction() as session:
        row = session.get_one(Import, number)
        row.report = {} if items is None else {"items": items}
        session.execute(sa.delete(ImportFile))
        session.add_all(
            ImportFile(import_id=number, path=str(n), size=size, received=size, blob="x") for n in range(files)
        )
    claim = lifecycle.claim_next(database, 15, long_ones=False)
    assert (claim is None) == is_long
    if is_long:
        claim = lifecycle.claim_next(database, 15)
        assert claim is not None
        assert claim.is_long


def test_previews_come_first(database: Database, storage: Storage, tmp_path: Path) -> None:
    for key in ("a", "b", "c"):
        queue(database, make_large_project(database, key, n_items=3))
    make_import(database, storage, tmp_path, 1)
    claim = lifecycle.claim_next(database, 15)
    with database.reading() as session:
        assert session.get_one(BackgroundJob, claim.job_id).kind == JobKind.CHECK_IMPORT


@pytest.mark.heavy
@pytest.mark.only_on("sqlite")
def test_a_preview_comes_while_features_of_somebody_else_are_computed(
    database: Database, storage: Storage, settings: Settings, tmp_path: Path
) -> None:
    storage.put("sound.wav", wav(seconds=20.0, rate=48_000))
    large = make_large_project(database, "large", n_items=4_000, media="sound.wav")
    features = queue(database, large)

    def row(number: int) -> BackgroundJob:
        with database.reading() as session:
            return session.get_one(BackgroundJob, number)

    with supervised(database, settings, workers=2):
        wait_for(lambda: "of 4,000" in row(features).note or "of 400" in row(features).note)
        number = make_import(database, storage, tmp_path, 2)
        wait_for(lambda: (database_row := find(database, number)) is not None and database_row.status == "ready")
        assert row(features).status == "running"
        with database.transaction() as session:
            lifecycle.cancel(session, session.get_one(BackgroundJob, features))
        wait_for(lambda: row(features).status == "cancelled")


def find(database: Database, number: int) -> Import | None:
    with database.reading() as session:
        return session.get(Import, number)


def test_progress_is_counted(tmp_path: Path) -> None:
    inputs = []
    for number in range(3):
        path = tmp_path / f"{number}.wav"
        path.write_bytes(wav(seconds=0.5, rate=16_000, hz=500.0 * (number + 1)))
        inputs.append(FeatureInput(str(number), media_type="audio/wav", path=path))
    heard: list[tuple[float, str]] = []
    compute(default_recipe(inputs), inputs, None, lambda share, words: heard.append((share, words)))
    words = [text for _, text in heard]
    assert [f"Learning patterns: {n} of 3 recordings" in words for n in (1, 2, 3)] == [True] * 3
    assert [f"Measuring {n} of 3 recordings" in words for n in (1, 2, 3)] == [True] * 3
    shares = [share for share, _ in heard]
    assert shares == sorted(shares)


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize("is_long", [False, True])
def test_the_last_worker_is_called_up_while_others_are_at_what_takes_long(
    database: Database, storage: Storage, settings: Settings, is_long: bool
) -> None:
    engine = PlacesOnly(1)
    supervisor = Supervisor(database, settings, engine)
    began = time.monotonic() - (0 if is_long else 2 * LONG_SECONDS)
    supervisor._call_up()
    for since in (time.monotonic(), time.monotonic() - 2 * LONG_SECONDS):
        supervisor.submitted[:] = [SubmittedTask(UNDER_WAY, Claim(1, 1, 1), since)]
        supervisor._call_up()
    assert engine.calls == [False] * 3, "what takes a second calls nobody up, nor what nobody waits for"
    if not is_long:
        request(database, make_songs(database, storage))
    supervisor.submitted[:] = [SubmittedTask(UNDER_WAY, Claim(99, 99, 1, is_long), began)]
    supervisor._call_up()
    supervisor.submitted.clear()
    supervisor._call_up()
    assert engine.calls[3:] == [True, True], "there may be more of the kind"
    supervisor._called_up_until = 0.0
    supervisor.submitted.append(SubmittedTask(UNDER_WAY, Claim(1, 1, 1), time.monotonic()))
    supervisor._call_up()
    supervisor.submitted.clear()
    supervisor._call_up()
    assert engine.calls[5:] == [True, False], "it is not ended at its work"
