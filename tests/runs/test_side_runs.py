"""Runs beside the project's own: they wait in a row, change nothing that labelers meet, and never become `latest`."""

import numpy as np
import pytest
from sqlalchemy import select

from tercet.database import Database
from tercet.errors import Invalid
from tercet.models import ClusterNote, Event, Project, Run, Source, Triplet
from tercet.runs import lifecycle, queries, results
from tercet.runs.schedule import request_alternative, request_run
from tercet.settings import Settings
from tercet.storage import Storage
from tests.runs.support import answer_truly, compute, get_run, make_songs, request


def queue_alternative(database: Database, project_id: int, **parameters: object) -> int:
    """Queue an alternative and give its id."""
    with database.transaction() as session:
        return request_alternative(session, session.get_one(Project, project_id), "dcrc", parameters).id


def latest(database: Database, project_id: int) -> Run:
    with database.reading() as session:
        latest = queries.find_run(session, project_id, "latest")
        assert latest is not None
        return latest


@pytest.fixture
def songs(database: Database, storage: Storage) -> int:
    return make_songs(database, storage)


def test_several_alternatives_wait_beside_the_one_run_that_gathers_answers(database: Database, songs: int) -> None:
    alternatives = [queue_alternative(database, songs), queue_alternative(database, songs)]
    first, second = request(database, songs), request(database, songs)
    assert first == second
    assert [get_run(database, run_id).number for run_id in (*alternatives, first)] == [1, 2, 3]


def test_only_one_run_of_any_purpose_is_computed_at_a_time(database: Database, songs: int) -> None:
    queue_alternative(database, songs)
    request(database, songs)
    assert lifecycle.claim_next(database, 15) is not None
    assert lifecycle.claim_next(database, 15) is None


def test_a_wrong_alternative_names_the_field_and_queues_nothing(database: Database, songs: int) -> None:
    with pytest.raises(Invalid) as caught:
        queue_alternative(database, songs, n_clusters=61)
    assert [error.field for error in caught.value.errors] == ["n_clusters"]
    with database.reading() as session:
        assert session.scalars(select(Run)).all() == []


def test_an_alternative_stands_beside_and_changes_nothing_else(
    database: Database, storage: Storage, settings: Settings, songs: int
) -> None:
    current = request(database, songs)
    assert compute(database, settings) == "done"
    with database.reading() as session:
        queue = session.scalars(select(Triplet.id).where(Triplet.source == Source.INFORMATION)).all()
    answer_truly(database, songs, 20)
    beside = queue_alternative(database, songs, n_clusters=2)
    assert compute(database, settings) == "done"
    current_run, alternative = get_run(database, current), get_run(database, beside)
    assert latest(database, songs).id == current
    assert (alternative.answers_to, alternative.metrics["n_answers"]) == (20, 20), "it uses the answers like other runs"
    assert "items_moved" not in alternative.metrics, "no run came before it"
    assert current_run.result is not None
    assert alternative.result is not None
    assert results.load(storage, alternative.result).n_clusters == 2
    here, there = results.coordinates(storage, current_run.result), results.coordinates(storage, alternative.result)
    assert np.array_equal(here, there), "the same items lie in the same places"
    assert results.load_state(storage, current_run.result), "the next run still continues from here"
    with database.reading() as session:
        after = session.scalars(select(Triplet.id).where(Triplet.source == Source.INFORMATION)).all()
        events = session.scalars(select(Event).where(Event.kind == "clusters")).all()
    assert after == queue, "labelers' questions stay those of the current clustering"
    assert [event.payload for event in events] == [{"run": current_run.number}], "open dashboards keep what they show"


@pytest.mark.heavy(but="sqlite")
def test_answers_an_alternative_used_still_bring_the_next_run(
    database: Database, settings: Settings, songs: int
) -> None:
    request(database, songs)
    compute(database, settings)
    answer_truly(database, songs, 5)
    queue_alternative(database, songs)
    compute(database, settings)
    with database.transaction() as session:
        run = request_run(session, session.get_one(Project, songs), reason="answers")
    compute(database, settings)
    done = get_run(database, run.id)
    assert (done.number, done.answers_from, done.answers_to) == (3, 0, 5)
    assert done.metrics["prequential_answers"] == 5


def test_names_of_clusters_stay_on_their_side(database: Database, songs: int) -> None:
    ids = [request(database, songs), queue_alternative(database, songs)]
    with database.transaction() as session:
        for run_id, name in zip(ids, ("thrush", "morning"), strict=True):
            session.add(ClusterNote(project_id=songs, run_id=run_id, cluster=1, name=name))
    with database.reading() as session:
        named = [queries.cluster_notes(session, session.get_one(Run, run_id))[1].name for run_id in ids]
    assert named == ["thrush", "morning"]
