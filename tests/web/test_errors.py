"""A database that is away, as when its server restarts, costs nobody more than a moment."""

import asyncio
import uuid

import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from tercet.accounts.access import Caller, hash_token
from tercet.database import Database
from tercet.labeling.answer_writer import AnswerWriter
from tercet.labeling.schemas import AnswerIn
from tercet.labeling.service import StoredAnswers
from tercet.labeling.sql import answers
from tercet.models import ProjectView, Role
from tests.conftest import run_on_postgres
from tests.factories import add_member, make_project, make_session, signed_in
from tests.loops import run

# SQLite is a file, and never away.
pytestmark = pytest.mark.only_on("postgres")

PATH = "/api/v1/projects/songs/answers"


def answer() -> dict[str, object]:
    return {"id": str(uuid.uuid4()), "triplet": ["item-0", "item-1", "item-2"], "answer": "yes"}


def shut(postgres_url: str, name: str, open_again: bool = False) -> None:
    run_on_postgres(postgres_url, f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS {str(open_again).lower()}')
    if not open_again:
        run_on_postgres(
            postgres_url, f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{name}'"
        )


def test_a_database_that_is_away_is_said_to_be_and_is_found_again(
    app: FastAPI, database: Database, database_url: str, postgres_url: str
) -> None:
    with database.transaction() as session:
        labeler = add_member(session, make_project(session, n_items=5), Role.LABELER)
    name = sa.make_url(database_url).database
    assert name
    with signed_in(app, labeler) as client:
        assert client.post(PATH, json=answer()).status_code == 201
        shut(postgres_url, name)
        try:
            for _ in range(2):  # a connection that was lost, and one that cannot be opened
                response = client.post(PATH, json=answer())
                assert response.status_code == 503
                assert response.headers["content-type"] == "application/problem+json"
                assert response.headers["retry-after"] == "2"
                assert "Try again" in response.json()["detail"]
        finally:
            shut(postgres_url, name, open_again=True)
        assert client.post(PATH, json=answer()).status_code == 201


def test_those_who_wait_together_are_told_at_once_that_the_database_is_away(
    database: Database, database_url: str, postgres_url: str
) -> None:
    with database.transaction() as session:
        labeler = add_member(session, make_project(session, n_items=5), Role.LABELER)
        caller = Caller(session=hash_token(make_session(session, labeler.id)))
    name = sa.make_url(database_url).database
    assert name
    database.close()
    tried: list[object] = []
    sa.event.listen(database.engine, "do_connect", lambda *given: tried.append(given))
    writer = AnswerWriter(database)

    async def send() -> list[StoredAnswers | BaseException]:
        sent = [AnswerIn.model_validate(answer()) for _ in range(5)]
        stores = [writer.store(caller, "songs", [answer]) for answer in sent]
        return await asyncio.gather(*stores, return_exceptions=True)

    shut(postgres_url, name)
    try:
        assert [type(heard) for heard in run(send())] == [sa.exc.OperationalError] * 5
    finally:
        shut(postgres_url, name, open_again=True)
    assert len(tried) == 1, "not once for each"


def test_a_connection_lost_between_looking_up_and_storing_is_told_like_any_other(
    database: Database, database_url: str, postgres_url: str
) -> None:
    with database.transaction() as session:
        project = make_project(session, n_items=5)
        labeler = add_member(session, project, Role.LABELER)
    new = answers.NewAnswer(uuid.uuid4(), 1, 2, 3, labeler.id, "yes", None)

    def store() -> None:
        with database.transaction() as session:
            connection = session.connection()
            pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
            run_on_postgres(postgres_url, f"SELECT pg_terminate_backend({pid}, 10000)")
            with pytest.raises(sa.exc.OperationalError, match="past SQLAlchemy") as caught:
                answers.add(connection, ProjectView.of(project), [new])
            raise caught.value

    with pytest.raises(sa.exc.OperationalError):
        store()
    with database.transaction() as session:
        assert session.execute(sa.text("SELECT 1")).scalar_one() == 1
