"""`tercet user ...` takes back what it gave: who is disabled, demoted, signed out or deleted is out at once."""

import uuid
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tercet.accounts import service
from tercet.cli import cli
from tercet.database import Database
from tercet.errors import Conflict
from tercet.models import Answer, Membership, Role, SignInLink, Triplet, User
from tests.factories import make_project, make_session, make_user

pytestmark = pytest.mark.only_on("sqlite")
ADA = "ada@example.org"


@pytest.fixture
def ada(database: Database) -> User:
    with database.transaction() as session:
        return service.make_user(session, "Ada", email=ADA)


def user(database_url: str, *arguments: str) -> str:
    """Run the command on the database; return what it prints, or raise what it raises."""
    environment = {"TERCET_DATABASE_URL": database_url}
    result = CliRunner().invoke(cli, ["user", *arguments], env=environment, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def again(database: Database, ada: User) -> User | None:
    with database.reading() as session:
        return session.get(User, ada.id)


def test_list(database: Database, database_url: str, ada: User) -> None:
    with database.transaction() as session:
        make_session(session, ada.id)
        session.add(User(name="Labeler 1"))
    user(database_url, "add", "root@example.org", "--admin")
    lines = user(database_url, "list").splitlines()
    assert [line.split("\t")[:4] for line in lines] == [
        [ADA, "Ada", "user", "1 sessions"],
        ["root@example.org", "root@example.org", "administrator", "0 sessions"],
    ]
    assert "last seen" in lines[0]


def test_disable_and_enable(database: Database, database_url: str, ada: User) -> None:
    with database.transaction() as session:
        make_session(session, ada.id)
        service.make_sign_in_link(session, ada)
    user(database_url, "disable", "ADA@example.org")
    assert "\tdisabled\t0 sessions" in user(database_url, "list")
    with database.reading() as session:
        assert session.query(SignInLink).count() == 0
    user(database_url, "enable", ADA)
    assert "\tuser\t0 sessions" in user(database_url, "list")


def test_promote_and_back(database: Database, database_url: str, ada: User) -> None:
    user(database_url, "promote", ADA)
    assert again(database, ada).is_admin
    with pytest.raises(Conflict, match="only administrator"):
        user(database_url, "promote", ADA, "--undo")
    user(database_url, "add", "root@example.org", "--admin")
    user(database_url, "promote", ADA, "--undo")
    assert not again(database, ada).is_admin


def test_sign_out(database: Database, database_url: str, ada: User) -> None:
    with database.transaction() as session:
        make_session(session, ada.id)
    user(database_url, "sign-out", ADA)
    assert "not signed in" in user(database_url, "list")


def test_delete_takes_no_answer_and_no_project_along(database: Database, database_url: str, ada: User) -> None:
    with database.transaction() as session:
        project = make_project(session, n_items=3)
        session.add(Membership(project_id=project.id, user_id=ada.id, role=Role.OWNER))
    with pytest.raises(Conflict, match="only owner of 'songs'"):
        user(database_url, "delete", ADA)
    with database.transaction() as session:
        session.add(Membership(project_id=project.id, user_id=make_user(session, "Bo").id, role=Role.OWNER))
        triplet = Triplet(project_id=project.id, anchor_id=1, left_id=2, right_id=3, source="random")
        session.add(triplet)
        session.flush()
        row = Answer(project_id=project.id, triplet_id=triplet.id, labeler_id=ada.id, value="yes", number=1)
        row.id = uuid.uuid4()
        session.add(row)
    with pytest.raises(Conflict, match="disable them instead"):
        user(database_url, "delete", ADA)
    with database.transaction() as session:
        session.delete(session.get(Answer, row.id))
    user(database_url, "delete", ADA)
    assert again(database, ada) is None


def test_unknown(database_url: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["user", "disable", "no@example.org"], env={"TERCET_DATABASE_URL": database_url})
    assert result.exit_code == 1
    assert "no user with the address" in str(result.exception)
