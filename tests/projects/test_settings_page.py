"""The settings page: what each role may do there, forms with mistakes in them, links shown once."""

import re
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.accounts.access import hash_token
from tercet.database import Database
from tercet.models import Item, Membership, Project, Role, ShareLink, User
from tests.factories import add_member, make_project, signed_in

PAGE = "/projects/songs/settings"
SETTINGS = {
    "name": "Songs",
    "question_text": "Which?",
    "guidelines": "Listen.\r\nTwice.",
    "n_clusters": "3",
    "redundancy": "2",
    "informative_share": "0.25",
    "rerun_answers": "12",
    "rerun_idle_seconds": "5",
    "rerun_max_seconds": "60.5",
}


@pytest.fixture
def people(database: Database) -> dict[str, User]:
    """One member of each role."""
    with database.transaction() as session:
        project = make_project(session)
        return {role.value: add_member(session, project, role) for role in Role}


@pytest.fixture
def owner(app: FastAPI, people: dict[str, User]) -> Iterator[TestClient]:
    with signed_in(app, people["owner"]) as client:
        client.headers["Accept"] = "text/html"
        yield client


def stored(database: Database) -> Project:
    with database.reading() as session:
        return session.scalars(sa.select(Project)).one()


def test_settings_are_saved_and_shown(owner: TestClient, database: Database) -> None:
    page = owner.post(PAGE, data=SETTINGS)
    assert (page.status_code, str(page.url).endswith("?done=saved")) == (200, True)
    assert "Saved." in page.text
    project = stored(database)
    assert (project.question_text, project.guidelines) == ("Which?", "Listen.\nTwice.")
    assert (project.redundancy, project.informative_share, project.rerun_max_seconds) == (2, 0.25, 60.5)
    assert 'value="60.5"' in page.text


@pytest.mark.parametrize(
    ("field", "value"),
    [("n_clusters", "0"), ("n_clusters", "many"), ("name", ""), ("rerun_idle_seconds", "nan"), ("redundancy", "1.5")],
)
def test_a_mistake_is_shown_beside_what_was_typed(
    owner: TestClient, database: Database, field: str, value: str
) -> None:
    page = owner.post(PAGE, data={**SETTINGS, "question_text": "kept <b>", field: value})
    assert page.status_code == 422
    assert f'id="{field}-problem"' in page.text
    assert "kept &lt;b&gt;" in page.text
    assert stored(database).question_text == ""


def test_an_algorithm_and_its_parameters_are_chosen(owner: TestClient, database: Database) -> None:
    chosen = {"algorithm": "dcrc", "dcrc.epsilon": "0.2", "dcrc.n_moves": "", "dcrc.balance": "false"}
    page = owner.post(PAGE, data={**SETTINGS, **chosen})
    assert stored(database).parameters == {"epsilon": 0.2, "balance": False}
    assert re.search(r'name="dcrc.epsilon"[^>]*value="0.2"', page.text)
    assert re.search(r'name="dcrc.n_moves"[^>]*placeholder="20" value=""', page.text)
    owner.post(PAGE, data={**SETTINGS, **chosen, "dcrc.balance": ""})
    assert stored(database).parameters == {"epsilon": 0.2}, "what was emptied is as by default again"


def test_a_wrong_parameter_is_marked_in_its_algorithm(owner: TestClient, database: Database) -> None:
    page = owner.post(PAGE, data={**SETTINGS, "algorithm": "dcrc", "dcrc.epsilon": "1 in 3", "name": "New"})
    assert page.status_code == 422
    assert re.search(r'name="dcrc.epsilon"[^>]*aria-invalid="true"[^>]*value="1 in 3"', page.text)
    assert 'id="dcrc.epsilon-problem"' in page.text
    assert (stored(database).name, stored(database).parameters) == ("Songs", {})
    unknown = owner.post(PAGE, data={**SETTINGS, "algorithm": "kmeanz"})
    assert (unknown.status_code, 'id="algorithm-problem"' in unknown.text) == (422, True)


def test_more_clusters_than_items(owner: TestClient, database: Database) -> None:
    with database.transaction() as session:
        project = session.scalars(sa.select(Project)).one()
        session.add_all(Item(project_id=project.id, key=f"i{i}", position=i) for i in range(4))
    page = owner.post(PAGE, data={**SETTINGS, "n_clusters": "5"})
    assert page.status_code == 422
    assert 'id="n_clusters-problem"' in page.text
    assert stored(database).n_clusters == 3


def test_a_labeling_link_is_shown_once(owner: TestClient, database: Database) -> None:
    response = owner.post(f"{PAGE}/share-links")
    assert (response.status_code, response.headers["cache-control"]) == (201, "no-store")
    address = re.search(r"http://testserver/join/([\w-]+)", response.text)
    assert address
    with database.reading() as session:
        link = session.scalars(sa.select(ShareLink)).one()
    assert link.token_hash == hash_token(address[1])
    later = owner.get(PAGE)
    assert address[1] not in later.text
    revoke = re.search(r'action="([^"]+/revoke)#labelers"', later.text)
    assert revoke
    assert "There is none." in owner.post(revoke[1]).text
    assert owner.get(f"/join/{address[1]}").status_code == 404


def test_members(owner: TestClient, database: Database, people: dict[str, User]) -> None:
    page = owner.post(f"{PAGE}/invitations", data={"email": "new@example.org", "role": "analyst"})
    assert "new@example.org" in page.text
    assert 'tabindex="0" role="region" aria-label="Table of members"' in page.text, "a long one scrolls by keyboard"
    wrong = owner.post(f"{PAGE}/invitations", data={"email": "nobody", "role": "boss"})
    assert (wrong.status_code, 'id="email-problem"' in wrong.text, 'id="role-problem"' in wrong.text) == (
        422,
        True,
        True,
    )
    member = owner.post(f"{PAGE}/invitations", data={"email": people["owner"].email, "role": "labeler"})
    assert (member.status_code, "is a member already" in member.text) == (409, True)
    last = owner.post(f"{PAGE}/members/{people['owner'].id}", data={"role": "labeler"})
    assert (last.status_code, "only owner" in last.text) == (409, True)
    assert owner.post(f"{PAGE}/members/{people['analyst'].id}", data={"role": "labeler"}).status_code == 200
    assert owner.post(f"{PAGE}/members/{people['labeler'].id}/remove").status_code == 200
    with database.reading() as session:
        roles = sorted(session.scalars(sa.select(Membership.role)))
    assert roles == ["labeler", "owner"]


def test_put_away_and_taken_out_again(owner: TestClient, database: Database) -> None:
    owner.post(PAGE, data={"archived": "true"})
    assert stored(database).archived_at is not None
    owner.post(PAGE, data={"archived": "false"})
    assert stored(database).archived_at is None


def test_delete_wants_the_key(owner: TestClient, database: Database) -> None:
    refused = owner.post(f"{PAGE}/delete", data={"confirm": "song"})
    assert (refused.status_code, 'id="confirm-problem"' in refused.text) == (422, True)
    assert stored(database).key == "songs"
    assert str(owner.post(f"{PAGE}/delete", data={"confirm": "songs"}).url) == "http://testserver/"
    with database.reading() as session:
        assert session.scalars(sa.select(Project)).one().deleted_at is not None
    assert owner.get(PAGE).status_code == 404


def test_an_analyst_may_save_but_not_share_or_delete(app: FastAPI, people: dict[str, User]) -> None:
    with signed_in(app, people["analyst"]) as client:
        page = client.get(PAGE).text
        assert "/share-links" not in page
        assert "/delete" not in page
        assert client.post(PAGE, data=SETTINGS).status_code == 200
        for path in ("share-links", "share-links/1/revoke", "members", "members/1/remove", "delete"):
            assert client.post(f"{PAGE}/{path}", data={"confirm": "songs"}).status_code == 403, path


def test_labelers_and_strangers_are_kept_out(app: FastAPI, people: dict[str, User], anonymous: TestClient) -> None:
    assert anonymous.get(PAGE).status_code == 401
    with signed_in(app, people["labeler"]) as client:
        assert client.get(PAGE).status_code == 403
        assert client.post(PAGE, data=SETTINGS).status_code == 403


def test_hostile_texts_are_escaped(owner: TestClient) -> None:
    hostile = '"><script>alert(1)</script>'
    texts = {"name": hostile, "question_text": hostile, "guidelines": "</textarea>" + hostile}
    page = owner.post(PAGE, data={**SETTINGS, **texts}).text
    assert "<script>alert" not in page
    assert page.count("</textarea>") == 1
