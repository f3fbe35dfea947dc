"""Runs of SKLR: warm starts, checkpoints, cancelling, and clusters of every number without another fit."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sqlalchemy import update

from tercet.database import Database
from tercet.models import Run
from tercet.runs import results
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker.job import run_job
from tercet.worker.outputs import resolutions
from tercet_algorithms.sklr.search import Learning, LearningState
from tests.runs.support import answer_truly, blobs, compute, get_run, make_songs, place, request, request_and_claim
from tests.worker.steps import before_each_step

# What is computed does not depend on the kind of database; how runs are stored is tested on both elsewhere.
pytestmark = pytest.mark.only_on("sqlite")


@pytest.fixture
def project(database: Database, storage: Storage) -> int:
    project = make_songs(database, storage, algorithm="sklr", parameters={"n_init": 3})
    answer_truly(database, project, 60)
    return project


def rows_of(storage: Storage, run: Run) -> np.ndarray:
    return np.frombuffer(results.load_resolutions(storage, run.result), np.uint8).reshape(-1, 60)


def test_one_run_gives_every_resolution(database: Database, storage: Storage, settings: Settings, project: int) -> None:
    run_id = request(database, project)
    assert compute(database, settings) == "done"
    run = get_run(database, run_id)
    result = results.load(storage, run.result)
    assert adjusted_rand_score(blobs(60)[1], result.labels) > 0.9
    rows = rows_of(storage, run)
    assert (rows.shape, run.metrics["most_clusters"]) == ((29, 60), 30)
    np.testing.assert_array_equal(rows[1], result.labels)  # its own number is its own result
    assert [set(row) for row in rows] == [set(range(1, k + 1)) for k in range(2, 31)]
    assert 2 <= run.metrics["suggested_clusters"] <= 30
    answers = results.answer_report(storage, run)
    assert len(answers.numbers) == 60
    assert answers.probabilities.mean() > 0.6


def test_numbers_stay_from_one_resolution_to_the_next() -> None:
    X, y = blobs(90, 6)
    rows = resolutions.cut(X, y + 1, 6, None)
    np.testing.assert_array_equal(rows[4], y + 1)
    stays = [np.mean(finer == coarser) for finer, coarser in zip(rows[1:], rows[:-1], strict=True)]
    assert min(stays) > 0.4
    assert np.mean(stays) > 0.7
    again = resolutions.cut(X, y + 1, 6, rows)
    assert np.mean(again == rows) > 0.9


@pytest.mark.parametrize(("n", "k", "shape"), [(1, 1, (0, 1)), (2, 1, (1, 2)), (3, 2, (2, 3)), (5, 5, (4, 5))])
def test_few_items_have_few_resolutions(n: int, k: int, shape: tuple[int, int]) -> None:
    labels = np.arange(n) % k + 1
    rows = resolutions.cut(np.eye(n), labels, k, None)
    assert rows.shape == shape
    assert all(set(row) == set(range(1, number + 1)) for number, row in enumerate(rows, start=2))


def test_the_next_run_goes_on_and_lets_the_old_state_go(
    database: Database, storage: Storage, settings: Settings, project: int
) -> None:
    first = request(database, project)
    compute(database, settings)
    second = request(database, project, parameters={"n_clusters": 4})
    compute(database, settings)
    earlier, two = get_run(database, first), get_run(database, second)
    assert (earlier.metrics["warm_start"], two.metrics["warm_start"]) == (False, True)
    assert two.metrics["n_clusters"] == 4
    assert results.load_state(storage, earlier.result) == {}
    assert results.load_state(storage, two.result) != {}


def test_after_another_algorithm_it_begins_anew(database: Database, settings: Settings, project: int) -> None:
    request(database, project, algorithm="dcrc", parameters={"n_init": 2, "n_moves": 0})
    compute(database, settings)
    run_id = request(database, project)
    assert compute(database, settings) == "done"
    run = get_run(database, run_id)
    assert (run.algorithm, run.metrics["warm_start"]) == ("sklr", False)
    assert run.metrics["items_moved"] < 60


def test_a_stopped_fit_goes_on_from_its_checkpoint(
    database: Database, settings: Settings, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly = {"solver": "projection", "tol": 1e-8, "max_iter": 30}
    straight = request(database, project, parameters=slowly)
    compute(database, settings)
    with database.transaction() as session:
        session.execute(update(Run).values(status="cancelled"))
    run_id = request_and_claim(database, project, parameters=slowly)
    seen = []

    def die_at_the_third(state: LearningState) -> None:
        seen.append(state.iteration)
        if len(seen) == 3:
            raise KeyboardInterrupt

    before_each_step(monkeypatch, Learning, die_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        run_job(place(settings), run_id)
    assert 0 < get_run(database, run_id).progress < 1
    assert run_job(place(settings), run_id) == "done"
    assert seen[3] == seen[2] == 2
    run = get_run(database, run_id)
    assert run.metrics["resumed_iteration"] == 2
    assert run.metrics["divergence"] == pytest.approx(get_run(database, straight).metrics["divergence"], rel=1e-4)
