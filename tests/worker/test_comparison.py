"""Comparing systems: fair folds, figures that tell better from worse, giving way to other runs, cancelling."""

from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import update

from tercet.catalogue.algorithms import ALGORITHMS
from tercet.catalogue.compared_systems import COMPARED, light_parameters
from tercet.database import Database
from tercet.models import Project, Purpose, Run, now
from tercet.runs import lifecycle
from tercet.runs.queries import last_done
from tercet.runs.schedule import request_side_run
from tercet.runs.service import cancel_run
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker import inputs
from tercet.worker.comparison import fits
from tercet.worker.fits.outcome import Callback
from tercet.worker.job import run_job
from tercet.worker.supervisor import REST_SECONDS
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tests.factories import add_features
from tests.runs.support import NAMES, add_answers, answer_truly, compute, get_run, make_songs, place, request
from tests.worker.test_other_systems import two_ways

# What is computed does not depend on the kind of database; how runs are stored is tested on both elsewhere.
pytestmark = pytest.mark.only_on("sqlite")


def ask(database: Database, project_id: int, *systems: str, seeds: int = 2, folds: int = 3) -> int:
    """Queue a comparison and give its run's id."""
    with database.transaction() as session:
        project = session.get_one(Project, project_id)
        chosen = {name: parameters_of(name, project.n_clusters) for name in systems}
        parameters = {"systems": list(systems), "parameters": chosen, "seeds": seeds, "folds": folds}
        return request_side_run(session, project, Purpose.COMPARISON, "dcrc", parameters).id


def parameters_of(system: str, n_clusters: int) -> dict:
    if system == "kmeans":
        return {"n_clusters": n_clusters}
    parameters = {"method": "spectral"} if system == "bags" else {}
    model = ALGORITHMS[system].parameters(n_clusters=n_clusters, **parameters)
    return light_parameters(system, model.model_dump())


def rows_of(run: Run) -> dict[str, dict]:
    return {row["name"]: row for row in run.metrics["systems"]}


def test_every_system_gets_its_figures(database: Database, storage: Storage, settings: Settings) -> None:
    project = make_songs(database, storage)
    answer_truly(database, project, 60)
    run_id = ask(database, project, *COMPARED)
    assert compute(database, settings) == "done", get_run(database, run_id).error
    run = get_run(database, run_id)
    assert (run.metrics["n_answers"], run.metrics["n_folds"], run.metrics["n_seeds"]) == (60, 3, 2)
    assert [row["name"] for row in run.metrics["systems"]] == list(COMPARED)
    for row in run.metrics["systems"]:
        assert run.metrics["guess_log_score"] < row["held_out_log_score"] < 0
        assert row["held_out_accuracy"] > 0.8
        assert row["stability"] > 0.5
        assert row["answers_satisfied"] > 0.8
        assert row["seconds"] > 0
    assert run.result is None
    assert run.metrics["recommended"] in COMPARED[:-1]
    assert [rival["name"] for rival in run.metrics["rivals"]][-1] == "kmeans"


def test_a_fold_is_predicted_by_a_fit_that_has_not_seen_it(
    database: Database, storage: Storage, settings: Settings
) -> None:
    project = make_songs(database, storage)
    answer_truly(database, project, 40)
    run_id = ask(database, project, "dcrc")
    with database.reading() as session:
        assert session.get_one(Run, run_id).purpose == "comparison"
    lifecycle.claim_next(database, 15)
    run = get_run(database, run_id)
    plan = fits.make_plan(run, inputs.load(database, storage, run))
    held_out = [plan.held_out(fold) for fold in range(3)]
    np.testing.assert_array_equal(np.sum(held_out, axis=0), np.ones(40))
    for out in held_out:
        seen, unseen = plan.with_answers(~out).triplets.tolist(), plan.with_answers(out).triplets.tolist()
        assert len(seen) + len(unseen) == 40
        assert not {tuple(row) for row in seen} & {tuple(row) for row in unseen}


@pytest.mark.heavy
def test_who_reads_answers_wins_where_features_say_otherwise(
    database: Database, storage: Storage, settings: Settings
) -> None:
    """People sort by a weak grouping that the features' strong one hides."""
    X, _, weak = two_ways(90)
    project = make_songs(database, storage, 90, 2)
    with database.transaction() as session:
        add_features(session, storage, session.get_one(Project, project), X, version=2)
        triplets = random_triplets(90, 120, np.random.default_rng(0))
        add_answers(session, project, triplets, NAMES[true_answers(weak, triplets)].tolist())
    run_id = ask(database, project, "dcrc", "bags", "kmeans")
    assert compute(database, settings) == "done", get_run(database, run_id).error
    run = get_run(database, run_id)
    rows = rows_of(run)
    assert run.metrics["recommended"] == "dcrc"
    for rival in run.metrics["rivals"]:
        gap = rows["dcrc"]["held_out_log_score"] - rows[rival["name"]]["held_out_log_score"]
        assert rival["lead"] == pytest.approx(gap)
        assert rival["lead"] > 2 * rival["standard_error"] > 0


def test_too_few_answers_recommend_nothing(database: Database, storage: Storage, settings: Settings) -> None:
    project = make_songs(database, storage)
    answer_truly(database, project, 19)
    run_id = ask(database, project, "dcrc", "kmeans")
    assert compute(database, settings) == "done"
    metrics = get_run(database, run_id).metrics
    assert (metrics["n_answers"], metrics["n_folds"]) == (19, 0)
    assert "recommended" not in metrics
    assert set(metrics["systems"][0]) == {"name", "seconds", "stability", "answers_satisfied"}


@pytest.fixture
def answered(database: Database, storage: Storage) -> int:
    """A project of songs with thirty right answers."""
    project = make_songs(database, storage)
    answer_truly(database, project, 30)
    return project


def watch_fits(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[fits.PlannedFit], object]
) -> tuple[list[fits.PlannedFit], list[fits.PlannedFit]]:
    """Have something done at the beginning of every fit; return the fits begun and those ended, as they come."""
    compute_fit = fits._compute
    begun: list[fits.PlannedFit] = []
    ended: list[fits.PlannedFit] = []

    def act_and_compute(plan: fits.ComparisonPlan, fit: fits.PlannedFit, callback: Callback) -> dict:
        begun.append(fit)
        act(fit)
        figures = compute_fit(plan, fit, callback)
        ended.append(fit)
        return figures

    monkeypatch.setattr(fits, "_compute", act_and_compute)
    return begun, ended


@pytest.mark.heavy
def test_it_gives_way_to_a_run_that_people_wait_for(
    database: Database, settings: Settings, answered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = ask(database, answered, "dcrc", "sklr")
    waits = iter([True, False])

    def ask_halfway(_: fits.PlannedFit) -> None:
        if len(begun) == 3 and next(waits):
            request(database, answered)

    begun, _ = watch_fits(monkeypatch, ask_halfway)
    monkeypatch.setattr(fits, "REPORT_SECONDS", 3_600)  # no fit is so long that it would be left
    assert compute(database, settings) == "superseded"
    run = get_run(database, run_id)
    assert (run.status, run.attempts, len(begun)) == ("queued", 0, 3)
    let_it_come_back(database, run_id)
    answer_truly(database, answered, 10, seed=1)
    assert compute(database, settings) == "done"
    with database.reading() as session:
        assert last_done(session, answered).purpose == "current", "the run that was waited for came first"
    assert compute(database, settings) == "done"
    run = get_run(database, run_id)
    assert (run.status, run.metrics["n_answers"]) == ("done", 30), "the answers that it had at first"
    assert len(begun) == len(set(begun)) == 10, "no fit was made twice"


def let_it_come_back(database: Database, run_id: int) -> None:
    """Let the time pass for which a comparison that gave way stays away."""
    run = get_run(database, run_id)
    assert run.due_at - now() > timedelta(seconds=REST_SECONDS), "answers' runs rest no longer, so they come first"
    with database.transaction() as session:
        session.execute(update(Run).where(Run.id == run_id).values(due_at=now()))


@pytest.mark.heavy
def test_a_long_fit_is_left_for_a_run_that_people_wait_for_but_not_for_ever(
    database: Database, settings: Settings, answered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = ask(database, answered, "dcrc", "kmeans")
    monkeypatch.setattr(fits, "REPORT_SECONDS", 0)
    long_fit = fits.PlannedFit("dcrc", "fold", 1)

    def ask_at_the_long_fit(fit: fits.PlannedFit) -> None:
        if fit == long_fit:
            request(database, answered)

    begun, ended = watch_fits(monkeypatch, ask_at_the_long_fit)
    for times in range(1, fits.MOST_INTERRUPTIONS + 2):
        assert compute(database, settings) == "superseded"
        assert begun.count(long_fit) == times
        assert ended.count(long_fit) == (times > fits.MOST_INTERRUPTIONS), "at last it ends first"
        let_it_come_back(database, run_id)
        assert compute(database, settings) == "done"
        assert get_run(database, run_id).status == "queued", "the run that was waited for came first"
    assert compute(database, settings) == "done", get_run(database, run_id).error
    assert len(ended) == len(set(ended)) == 7, "no fit was made twice"
    assert set(begun) == set(ended)


def test_it_can_be_cancelled(
    database: Database, storage: Storage, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_songs(database, storage)
    run_id = ask(database, project, "dcrc", "kmeans")
    monkeypatch.setattr(fits, "REPORT_SECONDS", 0)
    claim = lifecycle.claim_next(database, 15)
    assert claim
    with database.transaction() as session:
        session.execute(update(Run).where(Run.id == run_id).values(cancel_requested=True))
    assert run_job(place(settings), claim.run_id) == "superseded"
    lifecycle.release(database, run_id)
    assert lifecycle.claim_next(database, 15) is None
    assert get_run(database, run_id).status == "cancelled"


def test_cancelled_while_it_waits_it_leaves_nothing_behind(
    database: Database, storage: Storage, settings: Settings
) -> None:
    project = make_songs(database, storage)
    run_id = ask(database, project, "dcrc", "kmeans")
    lifecycle.claim_next(database, 15)
    request(database, project)
    assert run_job(place(settings), run_id) == "superseded"
    checkpoint = str(get_run(database, run_id).checkpoint)

    def cancel(wish: str) -> None:
        with database.transaction() as session:
            cancel_run(session, storage, session.get_one(Project, project), "1")
            assert storage.exists(checkpoint), "what is not committed may still be undone"
            if wish == "not meant":
                raise RuntimeError(wish)

    with pytest.raises(RuntimeError):
        cancel("not meant")
    assert (get_run(database, run_id).status, storage.exists(checkpoint)) == ("queued", True)
    cancel("meant")
    assert (get_run(database, run_id).status, storage.exists(checkpoint)) == ("cancelled", False)
