"""What runs say of the next answers, and how much they count those of doubtful labelers, through whole runs."""

import numpy as np
import pytest
from sqlalchemy import update

from tercet.database import Database
from tercet.labeling import decisions
from tercet.models import Answer, Project, Role, Run, Verdict
from tercet.runs import results
from tercet.runs.queries import lock_project
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker.inputs import load
from tests.factories import add_member
from tests.runs.support import answer_rightly, blobs, compute, get_run, make_songs, request

# What is computed does not depend on the kind of database; how runs are stored is tested on both elsewhere.
pytestmark = pytest.mark.only_on("sqlite")


def finish_run(database: Database, settings: Settings, project: int) -> Run:
    run_id = request(database, project)
    assert compute(database, settings) == "done"
    return get_run(database, run_id)


@pytest.mark.heavy
def test_what_answers_buy_is_known_once_fifty_have_bought_something(
    database: Database, storage: Storage, settings: Settings
) -> None:
    project = make_songs(database, storage, parameters={})
    first = finish_run(database, settings, project)
    assert first.metrics["stretches"] == []
    answer_rightly(database, project, blobs(60)[1], 40, 1)
    assert "expected_gain" not in finish_run(database, settings, project).metrics, "fewer than fifty"
    answer_rightly(database, project, blobs(60)[1], 30, 2)
    run = finish_run(database, settings, project)
    [(answers, moved, expected)] = run.metrics["stretches"]
    labels = [results.load(storage, done.result).labels for done in (first, run)]
    assert (answers, moved) == (70, np.count_nonzero(labels[0] != labels[1]))
    assert expected >= 0
    gains = run.metrics["expected_gain"]
    assert [gain["answers"] for gain in gains] == [50, 200]
    for gain in gains:
        assert gain["moved"]["low"] <= gain["moved"]["median"] <= gain["moved"]["high"] <= 60
        assert gain["predicted"]["low"] <= gain["predicted"]["median"] <= gain["predicted"]["high"]
    assert gains[1]["moved"]["median"] >= gains[0]["moved"]["median"]
    answer_rightly(database, project, blobs(60)[1], 60, 3)
    stretches = finish_run(database, settings, project).metrics["stretches"]
    assert [stretch[0] for stretch in stretches] == [70, 60], "the past grows"


@pytest.mark.heavy
def test_doubtful_answers_count_less_until_somebody_has_looked(
    database: Database, storage: Storage, settings: Settings
) -> None:
    project = make_songs(database, storage, parameters={})
    finish_run(database, settings, project)
    answer_rightly(database, project, blobs(60)[1], 60, 1)
    with database.transaction() as session:
        doubtful = add_member(session, session.get_one(Project, project), Role.LABELER)
        analyst = add_member(session, session.get_one(Project, project), Role.ANALYST)
        session.execute(update(Answer).where(Answer.number > 40).values(labeler_id=doubtful.id))
    run = finish_run(database, settings, project)
    assert run.result is not None
    report = results.labeler_report(storage, run)
    assert all(labeler.doubt is not None and labeler.doubt < 0.5 for labeler in report)
    arrays = storage.get_arrays(run.result + results.REPORT)
    column = np.where(arrays["labelers_labeler"] == doubtful.id, 0.6, 0.0)
    storage.put_arrays(run.result + results.REPORT, {**arrays, "labelers_doubt": column})
    results._load_report.cache_clear()
    next_run = get_run(database, request(database, project))
    next_run.answers_to = 60  # as when it begins
    weights = load(database, storage, next_run).weights
    assert weights is not None
    np.testing.assert_allclose(weights, [1.0] * 40 + [0.4] * 20)
    with database.transaction() as session:
        locked = lock_project(session, project)
        decisions.log(session, locked, Verdict.PUT_BACK, doubtful.id, analyst.id, "")
    assert load(database, storage, next_run).weights is None
    assert compute(database, settings) == "done"


@pytest.mark.parametrize("removed", ["labelers_doubt", "labelers_foreseen"])
def test_reports_from_before_are_read(database: Database, storage: Storage, settings: Settings, removed: str) -> None:
    project = make_songs(database, storage, parameters={})
    answer_rightly(database, project, blobs(60)[1], 20, 1)
    run = finish_run(database, settings, project)
    assert run.result is not None
    arrays = storage.get_arrays(run.result + results.REPORT)
    storage.put_arrays(run.result + results.REPORT, {n: a for n, a in arrays.items() if n != removed})
    results._load_report.cache_clear()
    [labeler] = results.labeler_report(storage, run)
    assert (labeler.doubt, labeler.foreseen, labeler.answers) == (None, 0, 20)
