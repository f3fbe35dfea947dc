"""Withdrawn answers are put back, and everything that came by a labeling link is set aside and put back in one step."""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from tercet.database import Database
from tercet.labeling import holds
from tercet.models import Answer, Lease, Membership, Role, User
from tests.answers.conftest import PAGE, SONGS, World, answer
from tests.factories import add_member, signed_in


@pytest.fixture
def owner(app: FastAPI, database: Database, world: World) -> Iterator[TestClient]:
    with database.transaction() as session:
        ruth = add_member(session, world.project, Role.OWNER, "Ruth")
    with signed_in(app, ruth) as client:
        yield client


def withdraw(client: TestClient, world: World, *numbers: int) -> None:
    for number in numbers:
        assert client.delete(f"{SONGS}/answers/{world.ids[number - 1]}").status_code == 200


def counting(database: Database) -> list[int]:
    with database.reading() as session:
        return sorted(session.scalars(select(Answer.number).where(Answer.counts)))


def test_a_withdrawn_answer_is_put_back(analyst: TestClient, world: World, database: Database) -> None:
    withdraw(analyst, world, 1)
    assert counting(database) == [2, 3, 4, 5, 6]
    done = analyst.delete(f"{SONGS}/answers/{world.ids[0]}/set-aside")
    assert (done.status_code, done.json()["verdict"], done.json()["answers"]) == (200, "put back", 1)
    assert counting(database) == [1, 2, 3, 4, 5, 6]
    with database.reading() as session:
        assert session.scalars(select(Lease)).all() == [], "it is not asked again"
    again = analyst.delete(f"{SONGS}/answers/{world.ids[0]}/set-aside")
    assert (again.status_code, again.json()["detail"]) == (
        409,
        "Answer 1 is used: it is neither set aside nor withdrawn.",
    )


def test_one_that_was_answered_again_stays_withdrawn(analyst: TestClient, world: World, database: Database) -> None:
    withdraw(analyst, world, 1, 3)
    with database.transaction() as session:
        a, b, c = world.items[:3]
        answer(session, world.project, world.ada, (a, b, c), "no")
    refused = analyst.delete(f"{SONGS}/answers/{world.ids[0]}/set-aside")
    assert refused.status_code == 409
    assert "answer 7 stands" in refused.json()["detail"]
    done = analyst.delete(f"{SONGS}/labelers/{world.ada.id}/withdrawn")
    assert (done.status_code, done.json()["answers"]) == (200, 1)
    assert counting(database) == [2, 3, 4, 5, 6, 7]
    assert analyst.delete(f"{SONGS}/labelers/{world.ada.id}/withdrawn").status_code == 409


def test_whoever_withdrew_everything_is_listed_and_undone_on_the_page(
    analyst: TestClient, world: World, database: Database
) -> None:
    withdraw(analyst, world, 1, 3, 6)
    people = {row["name"]: row for row in analyst.get(f"{SONGS}/labelers").json()["labelers"]}
    assert (people["Ada"]["answers"], people["Ada"]["withdrawn"], people["Ben"]["withdrawn"]) == (0, 3, 0)
    assert "Put 3 withdrawn back" in analyst.get(PAGE).text
    where = f"{PAGE[: -len('answers')]}labelers/{world.ada.id}/put-withdrawn-back"
    done = analyst.post(where, follow_redirects=False)
    assert (done.status_code, done.headers["location"]) == (303, f"{PAGE}#labelers")
    assert counting(database) == [1, 2, 3, 4, 5, 6]
    assert "withdrawn by their labeler" in analyst.get(PAGE).text
    with database.reading() as session:
        assert holds.put_back(session, world.project.id) == set(), "it says nothing of how they answer"


def test_what_came_by_a_link_is_set_aside_and_put_back_in_one_step(
    owner: TestClient, world: World, database: Database
) -> None:
    link = owner.post(f"{SONGS}/share-links", json={"most": 5}).json()
    assert link["url"].startswith("http://testserver/join/")
    with database.transaction() as session:
        came = Membership.user_id.in_([world.ada.id, world.cem.id, world.labeler.id])
        session.execute(update(Membership).where(came).values(link_id=link["id"]))
        session.execute(update(User).values(email=None).where(User.id.in_(select(Membership.user_id).where(came))))
    assert owner.delete(f"{SONGS}/share-links/{link['id']}").json()["revoked_at"] is not None
    [listed] = owner.get(f"{SONGS}/share-links").json()["links"]
    assert (listed["id"], listed["arrived"]) == (link["id"], 3)
    assert "Answers by this link, of 3 people" in owner.get("/projects/songs/settings").text
    place = f"{SONGS}/share-links/{link['id']}/set-aside"
    done = owner.post(place, json={"reason": "a robot"})
    assert (done.status_code, done.json()) == (201, {"verdict": "set aside", "labelers": 2, "answers": 4})
    assert counting(database) == [2, 4]
    assert owner.post(place, json={}).status_code == 409
    assert owner.delete(place).json() == {"verdict": "put back", "labelers": 2, "answers": 4}
    assert counting(database) == [1, 2, 3, 4, 5, 6]
    pages = f"{PAGE[: -len('answers')]}share-links/{link['id']}"
    assert owner.post(f"{pages}/set-aside", data={"reason": "a robot"}).status_code == 200
    assert counting(database) == [2, 4]
    owner.post(f"{pages}/put-back")
    assert counting(database) == [1, 2, 3, 4, 5, 6]


def test_links_over_rest_are_made_renewed_and_refused_once_revoked(owner: TestClient) -> None:
    link = owner.post(f"{SONGS}/share-links", json={"labeler": "Gus", "days": 3}).json()
    assert (link["labeler"], link["arrived"], link["revoked_at"]) == ("Gus", 1, None)
    renewed = owner.post(f"{SONGS}/share-links/{link['id']}/renew").json()
    assert renewed["id"] == link["id"]
    assert renewed["url"] != link["url"]
    assert owner.get(link["url"]).status_code == 404
    assert owner.get(renewed["url"]).status_code == 200
    owner.delete(f"{SONGS}/share-links/{link['id']}")
    assert owner.post(f"{SONGS}/share-links/{link['id']}/renew").status_code == 409
    wrong = owner.post(f"{SONGS}/share-links", json={"days": 4000})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "days")
