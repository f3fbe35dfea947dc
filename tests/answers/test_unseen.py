"""Answers without a response time: which ones are listed, left out of runs by one request, and put back by one."""

import uuid

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from tercet.database import Database
from tercet.labeling import holds
from tercet.models import Answer, Decision, Source, Triplet
from tests.answers.conftest import PAGE, SONGS, World, stored
from tests.factories import row_counts

PLACE = f"{SONGS}/unseen-answers/set-aside"


@pytest.fixture
def unseen(world: World, database: Database) -> World:
    """Answers 1, 4 and 5 have no time: 1 and 4 of the queue, 5 imported; 6 is of the queue but imported too."""
    with database.transaction() as session:
        session.execute(update(Answer).where(Answer.number.in_([1, 4, 5, 6])).values(response_ms=None))
        queued = select(Answer.triplet_id).where(Answer.number.in_([1, 4, 6]))
        session.execute(update(Triplet).where(Triplet.id.in_(queued)).values(source=Source.RANDOM))
        session.execute(update(Triplet).where(Triplet.id.not_in(queued)).values(source=Source.CLIENT))
        imported = uuid.uuid5(uuid.NAMESPACE_URL, "row 6")
        session.execute(update(Answer).where(Answer.number.in_([5, 6])).values(response_ms=None))
        session.execute(update(Answer).where(Answer.number == 6).values(id=imported))
        session.execute(update(Answer).where(Answer.number == 5).values(id=uuid.uuid5(uuid.NAMESPACE_URL, "row 5")))
    return world


def listed(client: TestClient) -> list[int]:
    return [answer["number"] for answer in client.get(f"{SONGS}/answers?state=unseen").json()["answers"]]


def aside(database: Database) -> list[int]:
    with database.reading() as session:
        return sorted(session.scalars(select(Answer.number).where(Answer.set_aside_id.is_not(None))))


def test_all_are_left_out_by_one_request_and_put_back_by_one(
    analyst: TestClient, unseen: World, database: Database
) -> None:
    assert listed(analyst) == [4, 1]
    done = analyst.post(PLACE)
    assert (done.status_code, done.json()) == (201, {"used": 0, "set_aside": 2})
    assert aside(database) == [1, 4]
    assert listed(analyst) == [4, 1], "set aside, they are listed still"
    with database.reading() as session:
        logged = session.execute(select(Decision.labeler_id, Decision.answers, Decision.unseen, Decision.by_id)).all()
    assert sorted(logged) == sorted((who.id, 1, True, unseen.analyst.id) for who in (unseen.ada, unseen.ben))
    assert analyst.post(PLACE).status_code == 409
    done = analyst.delete(PLACE)
    assert (done.status_code, done.json()) == (200, {"used": 2, "set_aside": 0})
    assert aside(database) == []
    assert analyst.delete(PLACE).status_code == 409


def test_other_decisions_stand_beside_it(analyst: TestClient, unseen: World, database: Database) -> None:
    analyst.post(PLACE)
    ada = f"{SONGS}/labelers/{unseen.ada.id}/set-aside"
    assert analyst.post(ada, json={}).json()["answers"] == 2, "those that were still used"
    assert analyst.delete(PLACE).json() == {"used": 2, "set_aside": 0}
    assert aside(database) == [3, 6], "what was set aside with all of a labeler's stays so"
    analyst.post(PLACE)
    assert analyst.delete(ada).json()["answers"] == 2
    assert aside(database) == [1, 4], "and the other way round"


def test_putting_back_says_nothing_of_labelers(analyst: TestClient, unseen: World, database: Database) -> None:
    """A labeler whose answers an analyst has put back is never held: these were about pictures, not about people."""
    analyst.post(PLACE)
    analyst.delete(PLACE)
    with database.reading() as session:
        assert holds.put_back(session, unseen.project.id) == set()
    holds.check(database, unseen.project.id, [unseen.ada.id], {unseen.ada.id: "guesses"})
    with database.reading() as session:
        assert holds.reasons_by_labeler(session, unseen.project.id) == {unseen.ada.id: "guesses"}


@pytest.mark.only_on("sqlite")
def test_the_page_says_how_many_and_does_it_by_forms(analyst: TestClient, unseen: World, database: Database) -> None:
    html = {"Accept": "text/html"}
    assert "<strong>2 answers</strong> came from the labeling page" in analyst.get(PAGE, headers=html).text
    done = analyst.post(f"{PAGE[: -len('answers')]}unseen-answers/set-aside", follow_redirects=False)
    assert (done.status_code, done.headers["location"]) == (303, f"{PAGE}#unseen")
    page = analyst.get(PAGE, headers=html).text
    assert "<strong>2 answers</strong> are set aside for having no response time" in page.replace("\n", "")
    assert "1 answer without a response time" in page
    analyst.post(f"{PAGE[: -len('answers')]}unseen-answers/put-back")
    assert stored(database, 1).set_aside_id is None


@pytest.mark.only_on("sqlite")
def test_a_project_without_any_says_nothing(analyst: TestClient, database: Database) -> None:
    before = row_counts(database)
    assert "without a response time." not in analyst.get(PAGE, headers={"Accept": "text/html"}).text
    assert analyst.post(PLACE).status_code == 409
    assert row_counts(database) == before
