"""Answers set aside and put back: what runs, questions, counts, exports, events and the log make of it."""

import json
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from tercet.database import Database
from tercet.labeling.queue import lease_next
from tercet.models import Answer, Decision, Event, Project, Role, Run, RunStatus, Triplet, now
from tercet.projects.deleting import remove_project
from tercet.runs.lifecycle import claim_next
from tercet.runs.schedule import answers_arrived
from tercet.storage import Storage
from tercet.worker import inputs
from tercet.worker.inputs import JobInputs
from tercet.worker.outputs.answering import agreement
from tests.answers.conftest import SONGS, World, answer, stored
from tests.factories import add_member, make_project, row_counts, signed_in


def aside(client: TestClient, world: World, number: int, reason: str = "") -> dict[str, Any]:
    done = client.post(f"{SONGS}/answers/{world.ids[number - 1]}/set-aside", json={"reason": reason})
    assert done.status_code == 201, done.text
    return dict(done.json())


def back(client: TestClient, world: World, number: int) -> dict[str, Any]:
    done = client.delete(f"{SONGS}/answers/{world.ids[number - 1]}/set-aside")
    assert done.status_code == 200, done.text
    return dict(done.json())


def pinned(database: Database, storage: Storage) -> JobInputs:
    """What the waiting run would compute with now."""
    with database.transaction() as session:
        for waiting in session.scalars(select(Run).where(Run.status == RunStatus.QUEUED)):
            waiting.due_at = now()
        session.flush()
        session.expire_all()
        run = session.scalars(select(Run).where(Run.status == RunStatus.QUEUED)).one()
    claimed = claim_next(database, 60)
    assert claimed is not None
    assert claimed.run_id == run.id
    with database.reading() as session:
        claimed_run = session.get_one(Run, run.id)
    return inputs.load(database, storage, claimed_run)


def priority(database: Database, number: int) -> float | None:
    with database.reading() as session:
        of = select(Triplet.priority).join(Answer, Answer.triplet_id == Triplet.id).where(Answer.number == number)
        return session.scalars(of).one()


def test_a_run_leaves_out_what_is_set_aside_and_takes_in_what_is_put_back(
    analyst: TestClient, world: World, database: Database, storage: Storage
) -> None:
    for number in (2, 4, 5):
        aside(analyst, world, number)
    back(analyst, world, 2)
    assert pinned(database, storage).numbers.tolist() == [1, 2, 3, 6]


def test_a_run_says_how_far_people_agree_in_what_it_uses(
    analyst: TestClient, world: World, database: Database, storage: Storage
) -> None:
    aside(analyst, world, 5)
    assert "krippendorff_alpha" not in agreement(pinned(database, storage)), (
        "two who say the same of one question tell nothing"
    )
    with database.transaction() as session:
        session.execute(update(Run).where(Run.status == RunStatus.RUNNING).values(status=RunStatus.CANCELLED))
    back(analyst, world, 5)
    # Two yes and a no: two of three pairs differ, as many as would by chance.
    assert agreement(pinned(database, storage))["krippendorff_alpha"] == pytest.approx(0.0)


def test_who_when_and_why_are_kept(analyst: TestClient, world: World, database: Database) -> None:
    decision = aside(analyst, world, 4, "  answered without looking ")
    assert (decision["verdict"], decision["answers"], decision["reason"]) == (
        "set aside",
        1,
        "answered without looking",
    )
    listed = analyst.get(f"{SONGS}/answers", params={"state": "set-aside"}).json()["answers"]
    assert [(answer["number"], answer["set_aside"]["by"]) for answer in listed] == [(4, "Ann")]
    assert listed[0]["set_aside"] == {"at": decision["created_at"], "by": "Ann", "reason": "answered without looking"}
    back(analyst, world, 4)
    log = [(row.verdict, row.answer_number, row.by_id, row.labeler_id) for row in decisions(database)]
    assert log == [
        ("set aside", 4, world.analyst.id, world.ben.id),
        ("put back", 4, world.analyst.id, world.ben.id),
    ]


@pytest.fixture
def full(world: World, database: Database) -> World:
    """The same with one answer wanted for each question, so that every question here has enough."""
    with database.transaction() as session:
        session.get_one(Project, world.project.id).redundancy = 1
    return world


def test_everything_is_as_before_once_it_is_put_back(analyst: TestClient, full: World, database: Database) -> None:
    def state() -> list[tuple[Any, ...]]:
        with database.reading() as session:
            rows = select(Answer.number, Answer.set_aside_id, Triplet.priority).join(Triplet)
            return sorted(tuple(row) for row in session.execute(rows))

    before = state()
    for number in (1, 4):
        aside(analyst, full, number)
    analyst.post(f"{SONGS}/labelers/{full.ada.id}/set-aside", json={})
    assert state() != before
    analyst.delete(f"{SONGS}/labelers/{full.ada.id}/set-aside")
    for number in (1, 4):
        back(analyst, full, number)
    assert state() == before


def test_its_question_is_asked_of_others_again(
    analyst: TestClient, full: World, database: Database, app: FastAPI
) -> None:
    aside(analyst, full, 4)
    assert priority(database, 4) == 1.0
    with database.transaction() as session:
        project = session.get_one(Project, full.project.id)
        asked = {
            person.name: lease_next(session, project, person.id, 1, 60).triplets for person in (full.ben, full.cem)
        }
    triplet = (full.items[1], full.items[2], full.items[3])
    assert [held.triplet for held in asked["Cem"]] == [triplet]
    assert triplet not in [held.triplet for held in asked["Ben"]], "whoever gave the answer is not asked again"
    back(analyst, full, 4)
    assert priority(database, 4) is None


def test_a_question_with_enough_other_answers_is_not_asked_again(
    analyst: TestClient, full: World, database: Database
) -> None:
    aside(analyst, full, 5)
    assert priority(database, 5) is None, "Ada and Ben answered it too"


def test_a_labeler_who_answers_it_again_ends_it(analyst: TestClient, full: World, database: Database) -> None:
    aside(analyst, full, 4)
    with database.transaction() as session:
        project = session.get_one(Project, full.project.id)
        answer(session, project, full.cem, (full.items[1], full.items[2], full.items[3]), "yes")
    assert priority(database, 4) is None
    back(analyst, full, 4)
    assert priority(database, 4) is None


def test_the_labelers_own_counts_stay(app: FastAPI, analyst: TestClient, world: World) -> None:
    def progress() -> dict[str, int]:
        with signed_in(app, world.ben) as client:
            return dict(client.get(f"{SONGS}/triplets/next").json()["progress"])

    before = progress()
    assert before == {"mine": 2, "mine_today": 2, "project_answers": 6}
    aside(analyst, world, 2)
    aside(analyst, world, 4)
    assert progress() == before


def test_all_of_a_labeler_and_back_leaves_single_decisions(
    analyst: TestClient, world: World, database: Database
) -> None:
    aside(analyst, world, 3)
    done = analyst.post(f"{SONGS}/labelers/{world.ada.id}/set-aside", json={"reason": "a robot"})
    assert (done.status_code, done.json()["answers"]) == (201, 2)
    assert [stored(database, k).set_aside_id is not None for k in range(1, 7)] == [
        True, False, True, False, False, True,
    ]  # fmt: skip
    people = {person["name"]: person for person in analyst.get(f"{SONGS}/labelers").json()["labelers"]}
    assert (people["Ada"]["answers"], people["Ada"]["set_aside"], people["Ada"]["set_aside_at_once"]) == (3, 3, 2)
    done = analyst.delete(f"{SONGS}/labelers/{world.ada.id}/set-aside")
    assert (done.status_code, done.json()["answers"]) == (200, 2)
    assert [k for k in range(1, 7) if stored(database, k).set_aside_id is not None] == [3]


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_many_are_decided_in_short_transactions(
    analyst: TestClient, world: World, database: Database, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("tercet.labeling.decisions.AT_ONCE", at_once)
    for done in (
        analyst.post(f"{SONGS}/labelers/{world.ada.id}/set-aside", json={}),
        analyst.delete(f"{SONGS}/labelers/{world.ada.id}/set-aside"),
    ):
        assert done.json()["answers"] == 3
        assert sum(decision.answers for decision in decisions(database)) in (3, 6)
    assert len(decisions(database)) == 2
    with database.reading() as session:
        payloads = session.scalars(select(Event.payload).where(Event.kind == "project").order_by(Event.number)).all()
    assert payloads == [{"changed": "answers", "set aside": 3}, {"changed": "answers", "put back": 3}]


def decisions(database: Database) -> list[Decision]:
    with database.reading() as session:
        return list(session.scalars(select(Decision).order_by(Decision.id)))


def test_a_labelers_questions_come_after_all_others(analyst: TestClient, full: World, database: Database) -> None:
    analyst.post(f"{SONGS}/labelers/{full.ada.id}/set-aside", json={})
    assert [priority(database, number) for number in (1, 3, 6)] == [None, 0.0, 0.0]


def test_the_rerun_rule_and_open_pages_hear_of_it(analyst: TestClient, world: World, database: Database) -> None:
    with database.transaction() as session:
        project = session.get_one(Project, world.project.id)
        answers_arrived(session, project)
        assert session.scalar(select(func.count()).where(Run.status == RunStatus.QUEUED)) == 0, "nothing is new"
    aside(analyst, world, 4)
    with database.reading() as session:
        waiting = session.scalars(select(Run).where(Run.status == RunStatus.QUEUED)).one()
        newest = session.scalars(select(Event).order_by(Event.number.desc()).limit(2)).all()
    assert 0 < (waiting.due_at - now()).total_seconds() <= world.project.rerun_idle_seconds
    assert {event.kind for event in newest} == {"run", "project"}
    assert next(event for event in newest if event.kind == "project").payload == {"changed": "answers", "set aside": 1}
    back(analyst, world, 4)
    with database.reading() as session:
        assert session.scalar(select(func.count()).where(Run.status == RunStatus.QUEUED)) == 1


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_exports_mark_it_or_leave_it_out(analyst: TestClient, world: World, form: str) -> None:
    decision = aside(analyst, world, 4)
    every = analyst.get(f"{SONGS}/constraints", params={"format": form}).text
    stays = analyst.get(f"{SONGS}/constraints", params={"format": form, "withdrawn": False}).text
    assert (every.count(str(world.ids[3])), stays.count(str(world.ids[3]))) == (1, 0)
    if form == "ndjson":
        marks = {row["number"]: row["set_aside_at"] for row in map(json.loads, every.splitlines())}
        assert {number for number, at in marks.items() if at} == {4}
        assert marks[4][:19] == decision["created_at"][:19]
        kind = {"Content-Type": "application/x-ndjson"}
        again = analyst.post(f"{SONGS}/constraints", content=stays, headers=kind)
        assert again.json() == {"rows": 5, "stored": 0, "repeated": 5}
        refused = analyst.post(f"{SONGS}/constraints", content=every, headers=kind)
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["field"] == "set_aside_at"


def test_what_cannot_be_decided_is_refused_and_changes_nothing(
    analyst: TestClient, world: World, database: Database
) -> None:
    aside(analyst, world, 4, "once")
    analyst.delete(f"{SONGS}/answers/{world.ids[4]}")
    before = row_counts(database)
    nobody = "0d5f5c0e-6a53-4e57-9b1e-7a3cb6f1a001"
    table = [
        ("POST", f"answers/{world.ids[3]}", {}, 409, "Answer 4 is set aside already, by Ann, at "),
        ("POST", f"answers/{world.ids[4]}", {}, 409, "Answer 5 was withdrawn by its labeler"),
        ("POST", f"answers/{nobody}", {}, 404, f"no answer {nobody}"),
        ("POST", "answers/7", {}, 422, "not of the expected form"),
        ("POST", f"answers/{world.ids[0]}", {"reason": "x" * 501}, 422, "not of the expected form"),
        ("POST", f"answers/{world.ids[0]}", {"reason": "a\0b"}, 422, "not of the expected form"),
        ("POST", f"answers/{world.ids[0]}", {"why": "x"}, 422, "not of the expected form"),
        ("DELETE", f"answers/{world.ids[0]}", None, 409, "Answer 1 is used: it is neither set aside nor"),
        ("DELETE", f"answers/{nobody}", None, 404, f"no answer {nobody}"),
        ("POST", f"labelers/{world.cem.id}", {}, 409, "nothing to set aside"),
        ("POST", "labelers/999999", {}, 404, "Nobody with the number 999999"),
        ("POST", f"labelers/{2**63}", {}, 422, "not of the expected form"),
        ("DELETE", f"labelers/{world.ben.id}", None, 409, "not set aside all at once"),
        ("DELETE", "labelers/999999", None, 404, "Nobody with the number 999999"),
    ]
    for method, path, body, status, says in table:
        refused = analyst.request(method, f"{SONGS}/{path}/set-aside", json=body)
        assert (refused.status_code, says in refused.json()["detail"]) == (status, True), (path, refused.text)
    assert row_counts(database) == before
    assert [k for k in range(1, 7) if stored(database, k).set_aside_id is not None] == [4]


def test_an_answer_of_another_project_is_none_of_ours(
    analyst: TestClient, world: World, database: Database, app: FastAPI
) -> None:
    with database.transaction() as session:
        other_project = make_project(session, "other", n_items=3)
        stranger = add_member(session, other_project, Role.OWNER)
    with signed_in(app, stranger) as client:
        refused = client.post(f"/api/v1/projects/other/answers/{world.ids[0]}/set-aside", json={})
        assert refused.status_code == 404
        refused = client.post(f"/api/v1/projects/other/labelers/{world.ada.id}/set-aside", json={})
        assert refused.status_code == 404
    assert stored(database, 1).set_aside_id is None


def test_deleting_the_project_deletes_the_log(analyst: TestClient, world: World, database: Database) -> None:
    aside(analyst, world, 4)
    with database.transaction() as session:
        remove_project(session, session.get_one(Project, world.project.id))
    assert row_counts(database)["decision"] == 0
