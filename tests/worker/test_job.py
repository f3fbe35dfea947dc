"""The task, run in this process on real data and both databases: results, fencing, cancel, failure, resume."""

import errno
import time
from collections import Counter
from itertools import count, groupby, islice
from typing import Any

import numpy as np
import psycopg
import pytest
from sklearn.metrics import adjusted_rand_score
from sqlalchemy import delete, exists, select, text, update
from sqlalchemy.exc import DBAPIError, OperationalError

from tercet.database import Database
from tercet.labeling.queue import TOP_UP
from tercet.labeling.refill import SCREEN
from tercet.models import Answer, Event, FeatureSet, Item, Project, Run, Source, Triplet, now
from tercet.runs import lifecycle, results
from tercet.runs.lifecycle import Superseded
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker import checkpoints, job, outages, politeness
from tercet.worker.inputs import JobInputs, load
from tercet.worker.job import run_job
from tercet_algorithms.answers.patterns import answer_probabilities, answer_table
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tercet_algorithms.dcrc.search import DCRCSearch, FitState
from tercet_algorithms.sklr.search import Learning
from tests.runs.support import (
    PLAIN,
    add_answers,
    answer_truly,
    blobs,
    compute,
    event_kinds,
    get_run,
    make_songs,
    place,
    request,
    request_and_claim,
)
from tests.worker.steps import before_each_step, cancel_all


@pytest.fixture
def parameters() -> dict[str, object]:
    """How the project is fitted."""
    return PLAIN


@pytest.fixture
def project(database: Database, storage: Storage, parameters: dict[str, object]) -> int:
    return make_songs(database, storage, parameters=parameters)


@pytest.mark.parametrize("parameters", [{}], ids=["usual"])
def test_a_run_finds_the_clusters(database: Database, storage: Storage, settings: Settings, project: int) -> None:
    answer_truly(database, project, 40)
    run_id = request(database, project)
    assert compute(database, settings) == "done"
    run = get_run(database, run_id)
    assert (run.status, run.answers_from, run.answers_to, run.progress, run.error) == ("done", 0, 40, 1.0, None)
    assert run.metrics["n_answers"] == 40
    assert run.metrics["answers_satisfied"] > 0.9
    result = results.load(storage, run.result)
    assert adjusted_rand_score(blobs(60)[1], result.labels) > 0.9
    assert set(result.labels) == {1, 2, 3}
    np.testing.assert_array_equal(result.posterior.argmax(axis=1) + 1, result.labels)
    np.testing.assert_allclose(result.posterior.max(axis=1), result.confidence)
    points = np.frombuffer(results.load_map(storage, run.result), "<f4").reshape(-1, 4)
    assert points.shape == (60, 4)
    np.testing.assert_array_equal(points[:, 2], result.labels)
    events = list(dict.fromkeys(event_kinds(database, project)))  # progress is told as often as the machine is slow
    assert events == [("run", "queued"), ("run", "running"), ("run", "done"), ("clusters", None)]


FULL = OSError(errno.ENOSPC, "No space left on device")
AWAY = OperationalError("SELECT 1", {}, psycopg.OperationalError("the server closed the connection"))


@pytest.mark.parametrize("outage", [FULL, AWAY], ids=["disk full", "database away"])
def test_an_outage_is_waited_out_ever_longer_and_costs_no_attempt(
    database: Database, settings: Settings, project: int, monkeypatch: pytest.MonkeyPatch, outage: Exception
) -> None:
    trials, attempts = [], []

    def fail_for_a_while(*arguments: Any) -> JobInputs:
        trials.append(time.monotonic())
        attempts.append(get_run(database, run_id).attempts)
        if len(trials) < lifecycle.MAX_ATTEMPTS + 2:
            raise outage
        return load(*arguments)

    monkeypatch.setattr(outages, "FIRST_SECONDS", 0.02)
    monkeypatch.setattr(job, "load", fail_for_a_while)
    run_id = request_and_claim(database, project)
    assert run_job(place(settings), run_id) == "done"
    waits = np.diff(trials)
    assert (waits >= 0.02 * 2.0 ** np.arange(len(waits))).all()
    # Looked at while it fails: a run that has come further counts as begun once.
    assert attempts == [1] + [0] * (len(trials) - 1)


def test_waiting_for_the_end_of_an_outage_ends_when_the_run_is_cancelled(
    database: Database, settings: Settings, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id, trials = request_and_claim(database, project), count(1)

    def fail(*_: object) -> None:
        if next(trials) > 1:
            pytest.fail("tried again, although it was cancelled")
        with database.transaction() as session:
            session.execute(update(Run).values(cancel_requested=True))
        raise FULL

    monkeypatch.setattr(job, "load", fail)
    hasty = place(settings)._replace(lease_seconds=0.1)
    monkeypatch.setattr(outages, "FIRST_SECONDS", 20.0)
    run_job(hasty, run_id)
    assert get_run(database, run_id).status == "cancelled"


def test_pauses_have_a_limit() -> None:
    assert list(islice(outages.pauses(), 7)) == [1, 2, 4, 8, 16, 30, 30]


def test_a_statement_that_is_wrong_is_no_outage(database: Database) -> None:
    with pytest.raises(DBAPIError) as wrong, database.reading() as session:
        session.execute(text("SELECT nothing FROM nowhere"))
    assert not outages.is_outage(wrong.value)


@pytest.mark.heavy(but="sqlite")
def test_a_run_refills_the_queue_with_as_many_questions_as_are_needed(
    database: Database, settings: Settings, project: int
) -> None:
    # A project's ten answers that make a run due, what one labeling page holds, and spare ones; a twentieth is random.
    queued = _queued_after_a_run(database, settings, project)
    assert queued.total() == 10 + SCREEN + TOP_UP
    assert queued[Source.INFORMATION] >= 0.8 * queued.total()
    answer_truly(database, project, 30)
    assert _queued_after_a_run(database, settings, project).total() == 30 + SCREEN + TOP_UP


def _queued_after_a_run(database: Database, settings: Settings, project: int) -> Counter[str]:
    request(database, project)
    compute(database, settings)
    # The answers of this test are stored past the queue, which may hold one of their triplets.
    open_ones = select(Triplet.source).where(
        Triplet.priority.is_not(None), ~exists().where(Answer.triplet_id == Triplet.id)
    )
    with database.reading() as session:
        return Counter(session.scalars(open_ones))


def test_withdrawn_answers_and_those_after_the_claim_are_not_used(
    database: Database, settings: Settings, project: int
) -> None:
    answer_truly(database, project, 20)
    with database.transaction() as session:
        session.execute(update(Answer).where(Answer.number <= 5).values(withdrawn_at=now()))
    run_id = request(database, project)
    claim = lifecycle.claim_next(database, 15)
    with database.transaction() as session:
        project_row = session.get_one(Project, project)
        add_answers(session, project, np.array([[57, 58, 59]]), ["dnk"])
        assert project_row.answer_number == 21
    assert claim is not None
    run_job(place(settings), run_id)
    run = get_run(database, run_id)
    assert (run.answers_to, run.metrics["n_answers"]) == (20, 15)


@pytest.mark.heavy(but="sqlite")
def test_clusters_keep_their_numbers(database: Database, storage: Storage, settings: Settings, project: int) -> None:
    answer_truly(database, project, 20)
    first = request(database, project)
    compute(database, settings)
    # Another numbering of the same clusters, as if an earlier run had found them in another order.
    before = get_run(database, first)
    arrays = storage.get_arrays(before.result + results.ARRAYS)
    turned = (arrays["labels"] % 3 + 1).astype(np.int16)
    storage.put_arrays(before.result + results.ARRAYS, {**arrays, "labels": turned})
    second = request(database, project)
    compute(database, settings)
    run = get_run(database, second)
    assert (results.load(storage, run.result).labels == turned).mean() > 0.9
    assert run.metrics["items_moved"] <= 6
    assert run.metrics["warm_start"] is True


@pytest.mark.heavy(but="sqlite")
def test_prequential_accuracy_counts_new_answers_only(
    database: Database, storage: Storage, settings: Settings, project: int
) -> None:
    answer_truly(database, project, 10)
    first = request(database, project)
    compute(database, settings)
    posterior = results.load(storage, get_run(database, first).result).posterior
    y = blobs(60)[1]
    with database.transaction() as session:
        # Same, different, same, and an answer that no clustering would predict.
        triplets = np.array([[0, 3, 4], [1, 3, 7], [2, 5, 6], [6, 8, 9]])
        assert [len({*y[row]}) for row in triplets] == [2, 2, 2, 2]
        add_answers(session, project, triplets, ["yes", "no", "yes", "yes"])
    foreseen = answer_probabilities(posterior, triplets, answer_table("relative", 0.05))
    assert foreseen.argmax(axis=1).tolist() == [0, 1, 0, 1], "yes, no, yes, no"
    second = request(database, project)
    compute(database, settings)
    metrics = get_run(database, second).metrics
    assert (metrics["prequential_answers"], metrics["prequential_accuracy"]) == (4, 0.75)
    third = request(database, project)
    compute(database, settings)
    [labeler] = results.labeler_report(storage, get_run(database, third))
    assert (labeler.answers, labeler.foreseen, labeler.expected) == (14, 4, 0.75), "later runs keep what was foreseen"
    with database.transaction() as session:
        session.scalars(select(Answer).where(Answer.number == 3)).one().withdrawn_at = now()
    fourth = request(database, project)
    compute(database, settings)
    before, after = (results.answer_report(storage, get_run(database, run)) for run in (third, fourth))
    assert after.numbers.tolist() == [1, 2, *range(4, 15)]
    np.testing.assert_array_equal(after.foreseen, np.delete(before.foreseen, 2, axis=0), "each answer its own")


def test_an_old_copy_cannot_write(database: Database, settings: Settings, project: int) -> None:
    run_id = request(database, project)
    claim = lifecycle.claim_next(database, 15)
    assert claim is not None
    old = lifecycle.begin_task(database, run_id, 15)
    new = lifecycle.begin_task(database, run_id, 15)
    assert old is not None
    assert new is not None
    assert (old.token, new.token, new.attempts) == (1, 2, 2)
    assert not lifecycle.renew(database, run_id, old.token, 15)
    with pytest.raises(Superseded), database.transaction() as session:
        lifecycle.write(session, old, progress=0.7)
    assert not lifecycle.end_from_task(database, old, "failed", "late")
    assert lifecycle.renew(database, run_id, new.token, 15)
    run = get_run(database, run_id)
    assert (run.status, run.progress) == ("running", 0.0)


def test_a_copy_that_is_overtaken_stops_and_leaves_no_trace(
    database: Database, storage: Storage, settings: Settings, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = request_and_claim(database, project)
    advance = DCRCSearch.advance

    def overtaken(search: DCRCSearch, state: object) -> object:
        if get_run(database, run_id).token == 1:
            lifecycle.begin_task(database, run_id, 15)
        return advance(search, state)

    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(DCRCSearch, "advance", overtaken)
    assert run_job(place(settings), run_id) == "superseded"
    run = get_run(database, run_id)
    assert (run.status, run.token, run.checkpoint, run.result) == ("running", 2, None, None)


@pytest.mark.heavy(but="sqlite")
@pytest.mark.parametrize("parameters", [{}], ids=["usual"])
def test_a_stopped_fit_goes_on_from_its_checkpoint(
    database: Database,
    storage: Storage,
    settings: Settings,
    project: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer_truly(database, project, 30)
    straight = request(database, project)
    compute(database, settings)
    # The same once more from the beginning: as if the first had never been.
    with database.transaction() as session:
        session.execute(update(Run).values(status="cancelled"))
    run_id = request_and_claim(database, project)
    seen = []

    def die_at_the_eighth(state: FitState) -> None:
        if len(state.seeds) == 1:  # of the short fits that choose how answers err
            return
        seen.append((state.start, state.iteration))
        if len(seen) == 8:
            raise KeyboardInterrupt

    before_each_step(monkeypatch, DCRCSearch, die_at_the_eighth)
    with pytest.raises(KeyboardInterrupt):
        run_job(place(settings), run_id)
    stopped = get_run(database, run_id)
    assert (stopped.status, stopped.token) == ("running", 1)
    assert 0 < stopped.progress < 1
    assert run_job(place(settings), run_id) == "done"
    assert seen[8] == seen[7], "the second copy began where the first was stopped"
    run = get_run(database, run_id)
    assert (run.attempts, run.token, run.answers_to) == (1, 2, 30), "it has come further since: the first attempt there"
    assert run.metrics["lower_bound"] == pytest.approx(get_run(database, straight).metrics["lower_bound"])
    assert not storage.exists(stopped.checkpoint)


def test_a_checkpoint_of_other_answers_is_not_used(
    database: Database, storage: Storage, settings: Settings, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_truly(database, project, 30)
    run_id = request_and_claim(database, project)
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.0)
    write = checkpoints.Checkpoints.write

    def dying(self: checkpoints.Checkpoints, state: object) -> None:
        write(self, state)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(checkpoints.Checkpoints, "write", dying)
        with pytest.raises(KeyboardInterrupt):
            run_job(place(settings), run_id)
    with database.transaction() as session:
        session.execute(update(Answer).where(Answer.number == 3).values(withdrawn_at=now()))
    assert run_job(place(settings), run_id) == "done"
    assert get_run(database, run_id).metrics["n_answers"] == 29


def test_a_checkpoint_of_another_version_is_not_used(
    database: Database, storage: Storage, settings: Settings, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = request_and_claim(database, project)
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.0)
    write = checkpoints.Checkpoints.write

    def of_another_version(self: checkpoints.Checkpoints, state: object) -> None:
        write(self, state)
        key = results.checkpoint_key(self.job.run, self.job.run.token)
        storage.put_arrays(key, {"digest": storage.get_arrays(key)["digest"]})
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(checkpoints.Checkpoints, "write", of_another_version)
        with pytest.raises(KeyboardInterrupt):
            run_job(place(settings), run_id)
    assert run_job(place(settings), run_id) == "done"


@pytest.mark.parametrize(("algorithm", "search"), [("dcrc", DCRCSearch), ("sklr", Learning)])
def test_a_cancelled_run_ends_cancelled(
    database: Database,
    storage: Storage,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    algorithm: str,
    search: type,
) -> None:
    project = make_songs(database, storage, algorithm=algorithm)
    answer_truly(database, project, 60)
    run_id = request_and_claim(database, project)
    before_each_step(monkeypatch, search, lambda _: cancel_all(database))
    assert run_job(place(settings), run_id) == "cancelled"
    run = get_run(database, run_id)
    assert (run.status, run.error, run.result) == ("cancelled", None, None)
    assert event_kinds(database, project)[-1] == ("run", "cancelled")


def test_a_run_that_takes_too_long_is_given_up_and_says_so(
    database: Database, settings: Settings, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_truly(database, project, 60)
    run_id = request_and_claim(database, project)
    before_each_step(monkeypatch, DCRCSearch, lambda _: time.sleep(0.05))  # time for the heartbeat to see it
    assert run_job(place(settings, 0.03)._replace(run_hours=1e-6), run_id) == "failed"
    run = get_run(database, run_id)
    assert run.error is not None
    assert run.error.startswith("It was not done after 1e-06 hours, which is as long as a run may take here")
    assert lifecycle.claim_next(database, 15) is None, "nobody takes it over"


@pytest.mark.heavy(but="sqlite")
@pytest.mark.parametrize("parameters", [{}], ids=["usual"])
def test_a_run_that_starves_says_so_until_it_does_no_longer(
    database: Database, settings: Settings, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_truly(database, project, 60)
    run_id = request_and_claim(database, project)
    monkeypatch.setattr(politeness, "starves", lambda: not said)
    said: list[bool] = []

    def give_time(_: object) -> None:
        time.sleep(0.05)  # for the heartbeat
        said.extend([True] * get_run(database, run_id).starved)

    before_each_step(monkeypatch, DCRCSearch, give_time)
    assert run_job(place(settings, 0.03), run_id) == "done"
    with database.reading() as session:
        events = session.scalars(select(Event).where(Event.kind == "run").order_by(Event.number)).all()
    assert [starved for starved, _ in groupby(event.payload["starved"] for event in events)] == [False, True, False]


def test_a_failing_run_says_why_and_does_not_block_the_next(
    database: Database, storage: Storage, settings: Settings, project: int
) -> None:
    blob = storage.put("features/broken.npy", b"this is no array")
    with database.transaction() as session:
        session.add(FeatureSet(project_id=project, version=2, n=60, d=4, blob=blob))
    run_id = request(database, project)
    assert compute(database, settings) == "failed"
    run = get_run(database, run_id)
    assert run.status == "failed"
    assert run.error is not None
    assert run.error.startswith("The computation failed: ")
    with database.transaction() as session:
        session.execute(update(FeatureSet).where(FeatureSet.version == 2).values(version=0))
    request(database, project)
    assert compute(database, settings) == "done"


def test_a_run_that_kills_its_worker_is_given_up(database: Database, settings: Settings, project: int) -> None:
    run_id = request(database, project)
    for attempt in range(lifecycle.MAX_ATTEMPTS):
        assert lifecycle.claim_next(database, 15) is not None, attempt
        assert lifecycle.begin_task(database, run_id, 15) is not None
        lifecycle.release(database, run_id)
    assert lifecycle.claim_next(database, 15) is None
    run = get_run(database, run_id)
    assert (run.status, run.attempts, run.error) == ("failed", 5, lifecycle.GAVE_UP)
    assert run_job(place(settings), run_id) == "superseded"


def test_a_run_that_lost_its_workers_begins_again_after_ever_longer_pauses(database: Database, project: int) -> None:
    run_id = request(database, project)
    assert lifecycle.claim_next(database, 15) is not None
    pauses = []
    for _ in range(lifecycle.MAX_ATTEMPTS - 1):
        assert lifecycle.begin_task(database, run_id, 15) is not None
        lifecycle.release_after_loss(database, run_id, 15)
        pauses.append(round((get_run(database, run_id).lease_expires_at - now()).total_seconds() / 15, 1))
        assert (lifecycle.claim_next(database, 15) is None) == (pauses[-1] > 0)
    assert pauses == [0.0, 0.5, 1.0, 1.0]


@pytest.mark.heavy
@pytest.mark.parametrize("parameters", [{}], ids=["usual"])
def test_a_run_whose_workers_are_killed_is_not_given_up_while_it_comes_further(
    database: Database, storage: Storage, settings: Settings, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_truly(database, project, 30)
    run_id = request_and_claim(database, project)
    steps = []

    def die_at_every_fourth(state: FitState) -> None:
        if len(state.seeds) == 1:
            return
        steps.append(state.iteration)
        if len(steps) % 4 == 0:
            raise KeyboardInterrupt

    before_each_step(monkeypatch, DCRCSearch, die_at_every_fourth)
    for _ in range(lifecycle.MAX_ATTEMPTS + 1):
        with pytest.raises(KeyboardInterrupt):
            run_job(place(settings), run_id)
    monkeypatch.undo()
    assert run_job(place(settings), run_id) == "done"
    run = get_run(database, run_id)
    assert (run.status, run.token) == ("done", lifecycle.MAX_ATTEMPTS + 2)


def test_a_task_that_starts_again_and_again_without_a_claim_is_given_up(database: Database, project: int) -> None:
    run_id = request(database, project)
    lifecycle.claim_next(database, 15)
    for _ in range(lifecycle.MAX_ATTEMPTS):
        assert lifecycle.begin_task(database, run_id, 15) is not None
    assert lifecycle.begin_task(database, run_id, 15) is None
    run = get_run(database, run_id)
    assert (run.status, run.attempts, run.error) == ("failed", 5, lifecycle.GAVE_UP)


def test_a_run_whose_project_is_deleted_just_stops(
    database: Database, settings: Settings, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = request_and_claim(database, project)

    def delete_project(_: FitState) -> None:
        with database.transaction() as session:
            session.execute(delete(Run).where(Run.id == run_id))
            session.execute(delete(Project).where(Project.id == project))

    before_each_step(monkeypatch, DCRCSearch, delete_project)
    assert run_job(place(settings), run_id) == "superseded"


@pytest.mark.heavy(but="sqlite")
def test_odd_one_out_questions_are_fitted_and_asked(database: Database, storage: Storage, settings: Settings) -> None:
    project = make_songs(database, storage, question_kind="outlier")
    y = blobs(60)[1]
    triplets = np.unique(np.sort(random_triplets(60, 60, np.random.default_rng(2)), axis=1), axis=0)
    values = np.array(["dnk", "1", "2", "3"])[true_answers(y, triplets, "outlier")]
    with database.transaction() as session:
        add_answers(session, project, triplets, values.tolist())
    run_id = request(database, project)
    assert compute(database, settings) == "done"
    run = get_run(database, run_id)
    assert run.metrics["answers_satisfied"] > 0.9
    assert adjusted_rand_score(y, results.load(storage, run.result).labels) > 0.9
    with database.reading() as session:
        asked = session.scalars(select(Triplet).where(Triplet.source == Source.INFORMATION)).all()
    assert len(asked) >= 20
    assert all(triplet.anchor_id < triplet.left_id < triplet.right_id for triplet in asked)


def test_answers_about_items_without_features_wait(database: Database, settings: Settings, project: int) -> None:
    with database.transaction() as session:
        session.add(Item(project_id=project, key="late", position=60))
        session.flush()
        add_answers(session, project, np.array([[0, 1, 2], [3, 4, 60]]), ["dnk", "yes"])
    run_id = request(database, project)
    assert compute(database, settings) == "done"
    metrics = get_run(database, run_id).metrics
    assert (metrics["n_items"], metrics["n_answers"]) == (60, 1)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tiny_projects_have_clusters_too(database: Database, storage: Storage, settings: Settings, n: int) -> None:
    tiny = make_songs(database, storage, n, 1, key="tiny")
    run_id = request(database, tiny)
    assert compute(database, settings) == "done"
    assert get_run(database, run_id).metrics["n_items"] == n
