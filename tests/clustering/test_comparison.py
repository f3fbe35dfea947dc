"""Comparing systems: fair folds, figures that tell better from worse, giving way to other runs, cancelling."""

from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import update

from algorithms.simulate import random_triplets, true_answers
from app.clustering import claims, comparison, material
from app.clustering.algorithms import ALGORITHMS
from app.clustering.fitted import Callback
from app.clustering.job import run_job
from app.clustering.queries import last_done
from app.clustering.schedule import request_beside
from app.clustering.service import cancel_run
from app.clustering.supervisor import REST_SECONDS
from app.clustering.systems import COMPARED, lightly
from app.database import Database
from app.models import Project, Purpose, Run, now
from app.settings import Settings
from app.storage import Storage
from tests.clustering.support import NAMES, add_answers, answer_truly, compute, get_run, make_songs, place, request
from tests.clustering.test_other_systems import two_ways
from tests.factories import add_features


def ask(database: Database, project_id: int, *systems: str, seeds: int = 2, folds: int = 3) -> int:
    """Queue a comparison and give its run's id."""
    with database.transaction() as session:
        project = session.get_one(Project, project_id)
        chosen = {name: parameters_of(name, project.n_clusters) for name in systems}
        parameters = {"systems": list(systems), "parameters": chosen, "seeds": seeds, "folds": folds}
        return request_beside(session, project, Purpose.COMPARISON, "dcrc", parameters).id


def parameters_of(system: str, n_clusters: int) -> dict:
    if system == "kmeans":
        return {"n_clusters": n_clusters}
    parameters = {"method": "spectral"} if system == "bags" else {}
    model = ALGORITHMS[system].parameters(n_clusters=n_clusters, **parameters)
    return lightly(system, model.model_dump())


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
    claims.claim_next(database, 15)
    run = get_run(database, run_id)
    plan = comparison.plan_of(run, material.load(database, storage, run))
    held_out = [plan.held_out(fold) for fold in range(3)]
    np.testing.assert_array_equal(np.sum(held_out, axis=0), np.ones(40))
    for out in held_out:
        seen, unseen = plan.only(~out).triplets.tolist(), plan.only(out).triplets.tolist()
        assert len(seen) + len(unseen) == 40
        assert not {tuple(one) for one in seen} & {tuple(one) for one in unseen}


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


def test_it_gives_way_to_a_run_that_people_wait_for(
    database: Database, storage: Storage, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_songs(database, storage)
    answer_truly(database, project, 30)
    run_id = ask(database, project, "dcrc", "sklr")
    waits = iter([True, False])

    def when_it_is_halfway(plan: comparison.Plan, unit: comparison.Unit, callback: object) -> dict:
        made.append(unit)
        if len(made) == 3 and next(waits):
            request(database, project)
        return compute_unit(plan, unit, callback)

    made: list[comparison.Unit] = []
    compute_unit = comparison._compute
    monkeypatch.setattr(comparison, "_compute", when_it_is_halfway)
    monkeypatch.setattr(comparison, "TELL_SECONDS", 3_600)  # no fit is so long that it would be left
    assert compute(database, settings) == "superseded"
    run = get_run(database, run_id)
    assert (run.status, run.attempts, len(made)) == ("queued", 0, 3)
    stand_back(database, run_id)
    answer_truly(database, project, 10, seed=1)
    assert compute(database, settings) == "done"
    with database.reading() as session:
        assert last_done(session, project).purpose == "current", "the run that was waited for came first"
    assert compute(database, settings) == "done"
    run = get_run(database, run_id)
    assert (run.status, run.metrics["n_answers"]) == ("done", 30), "the answers that it had at first"
    assert len(made) == len(set(made)) == 10, "no fit was made twice"


def stand_back(database: Database, run_id: int) -> None:
    """Let the time pass for which a comparison that gave way stands back, in which nothing takes it up."""
    run = get_run(database, run_id)
    assert run.due_at - now() > timedelta(seconds=REST_SECONDS), "answers' runs rest no longer, so they come first"
    with database.transaction() as session:
        session.execute(update(Run).where(Run.id == run_id).values(due_at=now()))


def test_a_long_fit_is_left_for_a_run_that_people_wait_for_but_not_for_ever(
    database: Database, storage: Storage, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_songs(database, storage)
    answer_truly(database, project, 30)
    run_id = ask(database, project, "dcrc", "kmeans")
    monkeypatch.setattr(comparison, "TELL_SECONDS", 0)
    long_one = comparison.Unit("dcrc", "fold", 1)

    def when_it_is_at_the_long_one(plan: comparison.Plan, unit: comparison.Unit, callback: Callback) -> dict:
        begun.append(unit)
        if unit == long_one:
            request(database, project)
        found = compute_unit(plan, unit, callback)
        ended.append(unit)
        return found

    begun: list[comparison.Unit] = []
    ended: list[comparison.Unit] = []
    compute_unit = comparison._compute
    monkeypatch.setattr(comparison, "_compute", when_it_is_at_the_long_one)
    for times in range(1, comparison.MOST_LEFT + 2):
        assert compute(database, settings) == "superseded"
        assert begun.count(long_one) == times
        assert ended.count(long_one) == (times > comparison.MOST_LEFT), "at last it ends first"
        stand_back(database, run_id)
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
    monkeypatch.setattr(comparison, "TELL_SECONDS", 0)
    claim = claims.claim_next(database, 15)
    assert claim
    with database.transaction() as session:
        session.execute(update(Run).where(Run.id == run_id).values(cancel_requested=True))
    assert run_job(place(settings), claim.run_id) == "superseded"
    claims.release(database, run_id)
    assert claims.claim_next(database, 15) is None
    assert get_run(database, run_id).status == "cancelled"


def test_cancelled_while_it_waits_it_leaves_nothing_behind(
    database: Database, storage: Storage, settings: Settings
) -> None:
    project = make_songs(database, storage)
    run_id = ask(database, project, "dcrc", "kmeans")
    claims.claim_next(database, 15)
    request(database, project)
    assert run_job(place(settings), run_id) == "superseded"
    kept = str(get_run(database, run_id).checkpoint)

    def cancel(wish: str) -> None:
        with database.transaction() as session:
            cancel_run(session, storage, session.get_one(Project, project), "1")
            assert storage.exists(kept), "what is not committed may still be undone"
            if wish == "not meant":
                raise RuntimeError(wish)

    with pytest.raises(RuntimeError):
        cancel("not meant")
    assert (get_run(database, run_id).status, storage.exists(kept)) == ("queued", True)
    cancel("meant")
    assert (get_run(database, run_id).status, storage.exists(kept)) == ("cancelled", False)
