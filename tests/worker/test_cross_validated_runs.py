"""Runs whose parameters are chosen by answers held out: what was chosen is told, kept, and chosen anew in time."""

import numpy as np
import pytest
from sqlalchemy import update

from tercet.database import Database
from tercet.models import Project, Run
from tercet.runs import lifecycle, results
from tercet.runs.schedule import request_run
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker import job
from tercet.worker.job import run_job
from tercet_algorithms import SearchState
from tercet_algorithms.dcrc.held_out import HeldOutSearch
from tercet_algorithms.dcrc.search import DCRCSearch, FitState
from tests.runs.support import answer_truly, compute, get_run, make_songs, place, request, request_and_claim
from tests.worker.steps import before_each_step, cancel_all, checkpoint_every_step

# What is computed does not depend on the kind of database; how runs are stored is tested on both elsewhere.
pytestmark = pytest.mark.only_on("sqlite")

QUICK = {"epsilon": [0.05, 0.3], "tau": [1.0], "lam": [2**-8], "n_init": 1, "n_moves": 0, "cv": 2}


@pytest.fixture
def project(database: Database, storage: Storage) -> int:
    project = make_songs(database, storage, algorithm="dcrc-cv", parameters=QUICK)
    answer_truly(database, project, 40)
    return project


def rerun(database: Database, project: int) -> int:
    """Queue a run as new answers do."""
    with database.transaction() as session:
        return request_run(session, session.get_one(Project, project), reason="answers").id


def test_parameters_are_chosen_and_kept_until_answers_have_doubled(
    database: Database, settings: Settings, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = request(database, project)
    assert compute(database, settings) == "done"
    first = get_run(database, run_id).metrics
    assert first["chosen"]["epsilon"] == 0.05, "every answer was right"
    assert (first["chosen"]["n_clusters"], first["searched_answers"], first["warm_start"]) == (3, 40, False)
    assert "clusters_curve" not in first, "there was one number"
    assert -np.log(3) < first["held_out_score"] < 0
    with monkeypatch.context() as patched:
        patched.setattr(HeldOutSearch, "curve", None)  # another search would fail
        again_id = rerun(database, project)
        assert compute(database, settings) == "done"
    again = get_run(database, again_id).metrics
    assert (again["chosen"], again["held_out_score"]) == (first["chosen"], first["held_out_score"])
    assert (again["searched_answers"], again["warm_start"]) == (40, True)
    with database.transaction() as session:
        session.execute(update(Run).values(metrics={**again, "searched_answers": 20}))
    doubled = rerun(database, project)
    assert compute(database, settings) == "done"
    third = get_run(database, doubled).metrics
    assert (third["searched_answers"], third["warm_start"]) == (40, False)


def test_the_number_of_clusters_is_chosen_from_a_range(database: Database, settings: Settings, project: int) -> None:
    several = {"epsilon": [0.05], "fewest_clusters": 2, "most_clusters": 4}
    run_id = request(database, project, parameters=several)
    assert compute(database, settings) == "done"
    metrics = get_run(database, run_id).metrics
    assert metrics["n_clusters"] == metrics["chosen"]["n_clusters"] == 3
    curve = metrics["clusters_curve"]
    assert curve["n_clusters"] == [2, 3, 4]
    assert curve["mean"][1] > curve["mean"][0] + curve["standard_error"][1]
    assert min(curve["standard_error"]) >= 0
    with database.transaction() as session:
        session.get_one(Project, project).parameters = {**QUICK, **several}
    again_id = rerun(database, project)
    assert compute(database, settings) == "done"
    again = get_run(database, again_id).metrics
    assert (again["warm_start"], again["clusters_curve"]) == (True, curve)


def test_without_answers_there_is_nothing_to_choose_by(
    database: Database, storage: Storage, settings: Settings
) -> None:
    silent = make_songs(database, storage, key="silent", algorithm="dcrc-cv", parameters=QUICK)
    run_id = request(database, silent)
    assert compute(database, settings) == "done"
    assert get_run(database, run_id).metrics["held_out_score"] is None


def dying_at(patched: pytest.MonkeyPatch, number: int) -> list[SearchState]:
    """Have the copy of the task that runs next killed right after so many checkpoints; give their states."""
    write, states = job.Checkpoints.write, []

    def dying(self: job.Checkpoints, state: SearchState) -> None:
        write(self, state)
        states.append(state)
        if len(states) == number:
            raise KeyboardInterrupt

    checkpoint_every_step(patched)
    patched.setattr(job.Checkpoints, "write", dying)
    return states


def test_a_killed_search_goes_on_from_its_checkpoint(
    database: Database, storage: Storage, settings: Settings, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = {"fewest_clusters": 2, "most_clusters": 3}
    straight_id = request(database, project, parameters=several)
    with monkeypatch.context() as patched:
        checkpoints = dying_at(patched, -1)
        assert compute(database, settings) == "done"
    straight = get_run(database, straight_id)
    # The same once more from the beginning: as if the first had never been.
    with database.transaction() as session:
        session.execute(update(Run).values(status="cancelled"))
    run_id = request_and_claim(database, project, parameters=several)
    middle = next(number for number, state in enumerate(checkpoints) if state.start == 3 and state.iteration == 1)
    with monkeypatch.context() as patched:
        states = dying_at(patched, middle + 1)
        with pytest.raises(KeyboardInterrupt):
            run_job(place(settings), run_id)
    stopped = get_run(database, run_id)
    assert stopped.progress == pytest.approx(states[-1].fraction)
    judge, judged = HeldOutSearch._judge, []
    monkeypatch.setattr(HeldOutSearch, "_judge", lambda *given: judged.append(1) or judge(*given))
    assert run_job(place(settings), run_id) == "done"
    assert len(judged) == checkpoints[-1].start - 3, "what was scored is not fitted again"
    run = get_run(database, run_id)
    assert (run.attempts, run.metrics["resumed_start"], run.metrics["resumed_iteration"]) == (2, 3, 1)
    for name in ("chosen", "held_out_score", "lower_bound"):
        assert run.metrics[name] == straight.metrics[name]
    np.testing.assert_array_equal(
        results.load(storage, run.result).labels, results.load(storage, straight.result).labels
    )
    assert not storage.exists(stopped.checkpoint)


def test_a_search_is_cancelled_within_a_fit(
    database: Database, settings: Settings, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = request_and_claim(database, project)
    steps = []

    def cancel(state: FitState) -> None:
        steps.append(state)
        cancel_all(database)

    before_each_step(monkeypatch, DCRCSearch, cancel)
    assert run_job(place(settings), run_id) == "cancelled"
    assert len(steps) == 1
    run = get_run(database, run_id)
    assert (run.status, run.error, run.result) == ("cancelled", None, None)


def test_a_refit_between_searches_goes_on_from_its_checkpoint_too(
    database: Database, settings: Settings, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    request(database, project)
    assert compute(database, settings) == "done"
    run_id = rerun(database, project)
    lifecycle.claim_next(database, 15)
    with monkeypatch.context() as patched:
        states = dying_at(patched, 1)
        with pytest.raises(KeyboardInterrupt):
            run_job(place(settings), run_id)
    assert run_job(place(settings), run_id) == "done"
    metrics = get_run(database, run_id).metrics
    assert (metrics["resumed_iteration"], metrics["warm_start"]) == (states[0].iteration, True)
