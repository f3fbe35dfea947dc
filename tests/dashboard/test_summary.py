"""The figures of a small project, against numbers counted by hand, on both databases."""

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import event, select
from sqlalchemy.orm import Session

from tercet.dashboard import queries, service
from tercet.database import Database
from tercet.models import Answer, Project, Role, Run, User, now
from tercet.runs.schemas import RunOut
from tests.dashboard.results import add_answers
from tests.factories import add_member, make_project, make_token, signed_in


def add_run(session: Session, project: Project, number: int, status: str = "done", **values: object) -> Run:
    run = Run(project_id=project.id, number=number, algorithm="dcrc", status=status, due_at=now(), **values)
    session.add(run)
    session.flush()
    return run


@pytest.fixture
def analyst(database: Database) -> User:
    """An analyst of the project `songs`, whose seven answers come from two people."""
    with database.transaction() as session:
        project = make_project(session, n_items=5, rerun_answers=10)
        owner = add_member(session, project, Role.ANALYST, "Ada")
        bo, cy = (add_member(session, project, Role.LABELER, name) for name in ("Bo", "Cy"))
        add_answers(session, project, bo, [("yes", 1000, 2, False), ("dnk", 3000, 0, False), ("no", 9000, 0, True)])
        add_answers(session, project, bo, [("no", None, 0, False), ("no", 2000, 0.9, False)])
        add_answers(session, project, cy, [("yes", 800, 3, False), ("yes", 900, 3, True)])
        add_run(session, project, 1, answers_to=0, metrics={"n_clusters": 3})
        metrics = {"prequential_accuracy": 0.5, "prequential_answers": 4, "items_moved": 2}
        add_run(session, project, 2, answers_from=0, answers_to=4, finished_at=now(), metrics=metrics)
        add_run(session, project, 3, "failed", answers_from=4, answers_to=5, error="It did not fit.")
    return owner


def read(app: FastAPI, user: User) -> dict:
    with signed_in(app, user) as client:
        response = client.get("/api/v1/projects/songs/summary")
        assert response.status_code == 200, response.text
        return response.json()


def test_answers_are_counted_without_the_withdrawn_ones(app: FastAPI, analyst: User) -> None:
    answers = read(app, analyst)["answers"]
    assert (answers["total"], answers["last_hour"], answers["withdrawn"]) == (5, 3, 2)


def test_labelers_busiest_first(app: FastAPI, analyst: User) -> None:
    assert read(app, analyst)["answers"]["labelers"] == [
        {"name": "Bo", "answers": 4, "last_hour": 3, "dnk_share": 0.25, "median_ms": 2000},
        {"name": "Cy", "answers": 1, "last_hour": 0, "dnk_share": 0.0, "median_ms": 800},
    ]


def test_habits_are_of_the_newest_answers_only(app: FastAPI, analyst: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "RECENT", 4)  # answers 4 to 7: Bo's no (no time), no (2000), Cy's yes
    bo = read(app, analyst)["answers"]["labelers"][0]
    assert (bo["answers"], bo["dnk_share"], bo["median_ms"]) == (4, 0.0, 2000)


def test_counting_goes_on_from_the_last_look(app: FastAPI, database: Database, analyst: User) -> None:
    with signed_in(app, analyst) as client:
        client.get("/api/v1/projects/songs/summary")
        with database.transaction() as session:
            project = session.get_one(Project, 1)
            cy = session.scalars(select(User).where(User.name == "Cy")).one()
            add_answers(session, project, cy, [("no", 700, 0, False)] * 5)
            session.scalars(select(Answer).where(Answer.number == 1)).one().withdrawn_at = now()
        figures = client.get("/api/v1/projects/songs/summary").json()["answers"]
    assert (figures["total"], figures["withdrawn"]) == (9, 3)
    assert [(labeler["name"], labeler["answers"]) for labeler in figures["labelers"]] == [("Cy", 6), ("Bo", 3)]


def test_latest_is_the_newest_done_run_and_runs_are_newest_first(app: FastAPI, analyst: User) -> None:
    summary = read(app, analyst)
    assert summary["latest"]["number"] == 2
    assert [(run["number"], run["status"]) for run in summary["runs"]] == [(3, "failed"), (2, "done"), (1, "done")]
    assert summary["runs"][0]["error"] == "It did not fit."


def test_next_run_waits_for_the_rest_of_the_rule(app: FastAPI, analyst: User) -> None:
    # 7 answers were numbered and the failed run had taken 5 of them: 2 of 10 are there.
    assert read(app, analyst)["next_run"] == {
        "state": "waiting",
        "number": None,
        "after_answers": 8,
        "due_at": None,
        "progress": None,
        "starved": False,
        "note": "",
    }


def test_next_run_is_queued_then_running(app: FastAPI, database: Database, analyst: User) -> None:
    with database.transaction() as session:
        project = session.get_one(Project, 1)
        add_run(session, project, 4, "queued")
    queued = read(app, analyst)["next_run"]
    assert (queued["state"], queued["number"], queued["after_answers"]) == ("queued", 4, 8)
    assert queued["due_at"]
    with database.transaction() as session:
        add_run(session, session.get_one(Project, 1), 5, "running", progress=0.25, starved=True, answers_to=7)
    running = read(app, analyst)["next_run"]
    assert (running["state"], running["number"], running["progress"]) == ("running", 5, 0.25)
    assert running["starved"]
    assert running["after_answers"] == 10


def test_an_empty_project(app: FastAPI, database: Database) -> None:
    with database.transaction() as session:
        owner = add_member(session, make_project(session), Role.OWNER)
    summary = read(app, owner)
    assert summary["project"]["items"] == 0
    assert summary["project"]["features"] is None
    assert summary["answers"] == {"total": 0, "last_hour": 0, "withdrawn": 0, "labelers": []}
    assert summary["latest"] is None


def test_another_projects_figures_stay_out(app: FastAPI, database: Database, analyst: User) -> None:
    with database.transaction() as session:
        other_project = make_project(session, "other", n_items=3)
        add_answers(
            session, other_project, add_member(session, other_project, Role.LABELER, "Di"), [("yes", 10, 0, False)] * 9
        )
        add_run(session, other_project, 9, "running")
    summary = read(app, analyst)
    assert summary["answers"]["total"] == 5
    assert [run["number"] for run in summary["runs"]] == [3, 2, 1]


def test_a_labeler_may_not_read_it(app: FastAPI, database: Database) -> None:
    with database.transaction() as session:
        project = make_project(session)
        labeler = add_member(session, project, Role.LABELER)
        token = make_token(session, labeler)
    with TestClient(app) as client:
        response = client.get("/api/v1/projects/songs/summary", headers={"Authorization": f"Bearer {token}"})
    assert response.status_code == 403


def test_few_statements_however_many_rows(app: FastAPI, database: Database, analyst: User) -> None:
    statements: list[str] = []
    with signed_in(app, analyst) as client:
        engine = app.state.database.engine
        event.listen(engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
        assert client.get("/api/v1/projects/songs/summary").status_code == 200
    selects = [statement for statement in statements if statement.startswith("SELECT")]
    assert len(selects) <= 12, selects


def test_predicted_is_averaged_by_answers_over_five_runs() -> None:
    def run(number: int, status: str, **metrics: float) -> RunOut:
        times = dict.fromkeys(("started_at", "finished_at"))
        fields = {"algorithm": "dcrc", "parameters": {}, "reason": "answers", "answers_from": 0, "answers_to": 0}
        return RunOut(
            number=number,
            purpose="current",
            name="",
            status=status,
            progress=1,
            starved=False,
            attempts=1,
            created_at=now(),
            metrics=metrics,
            error=None,
            **times,
            **fields,
        )

    def tested(number: int, share: float, answers: int) -> RunOut:
        return run(number, "done", prequential_accuracy=share, prequential_answers=answers)

    newest_first = [
        tested(9, 1.0, 10),
        run(8, "failed"),
        tested(7, 0.5, 30),
        run(6, "done", prequential_answers=0),
        *(tested(number, 0.8, 10) for number in (5, 4, 3)),
        tested(2, 0.0, 100),
        run(1, "done"),
    ]
    prediction = service.prediction(newest_first)
    assert prediction
    assert prediction.share == pytest.approx((1.0 * 10 + 0.5 * 30 + 0.8 * 30) / 70)
    assert prediction.answers == 70
    assert prediction.history == pytest.approx([0.0, 8 / 110, 16 / 120, 24 / 130, 39 / 160, prediction.share])
    assert service.prediction(newest_first[-1:]) is None


class TestPositions:
    """The items at rows of the map."""

    def test_in_the_order_asked_for(self, app: FastAPI, analyst: User) -> None:
        with signed_in(app, analyst) as client:
            items = client.get("/api/v1/projects/songs/positions?at=3,1").json()["items"]
        assert [(item["position"], item["key"], item["media_url"]) for item in items] == [
            (3, "item-3", None),
            (1, "item-1", None),
        ]

    @pytest.mark.parametrize(
        "at", ["5", "-1", "a", "1,", "", "1;2", "٣", "9999999999999999999999", ",".join(["1"] * 501)]
    )
    def test_what_is_no_row_is_refused(self, app: FastAPI, analyst: User, at: str) -> None:
        with signed_in(app, analyst) as client:
            response = client.get("/api/v1/projects/songs/positions", params={"at": at})
        assert response.status_code == 422
        assert response.json()["errors"][0]["field"] == "at"
