"""Sign-in links work once and start a clean session; share links make labelers, each once."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import delete, func, select, update

from tercet.accounts import service
from tercet.accounts.access import hash_token
from tercet.accounts.usage import Uses
from tercet.database import Database
from tercet.errors import NotFound
from tercet.models import BrowserSession, Lease, Membership, Project, Role, ShareLink, SignInLink, User, now
from tests.factories import add_member, make_project, make_user, signed_in

SAME_SITE = {"Sec-Fetch-Site": "same-origin", "Accept": "text/html"}


def sign_in_link(database: Database, name: str = "Ada") -> str:
    with database.transaction() as session:
        return service.make_sign_in_link(session, make_user(session, name))


def share_link(database: Database, **values: object) -> str:
    with database.transaction() as session:
        return service.make_share_link(session, make_project(session, **values))


def count(database: Database, table: type) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def test_looking_at_a_link_does_not_use_it(database: Database, anonymous: TestClient) -> None:
    token = sign_in_link(database)
    for _ in range(3):
        page = anonymous.get(f"/sign-in/{token}", headers=SAME_SITE)
        assert page.status_code == 200
        assert "set-cookie" not in page.headers
    signed = anonymous.post(f"/sign-in/{token}", headers=SAME_SITE, follow_redirects=False)
    assert (signed.status_code, signed.headers["location"]) == (303, "/")
    assert "Ada" in anonymous.get("/account").text


def test_a_link_works_once(database: Database, app: FastAPI) -> None:
    token = sign_in_link(database)
    with TestClient(app) as first, TestClient(app) as second:
        assert first.post(f"/sign-in/{token}", follow_redirects=False).status_code == 303
        for answer in (second.post(f"/sign-in/{token}", headers=SAME_SITE), second.get(f"/sign-in/{token}")):
            assert answer.status_code == 404
            assert "tercet user link" in answer.text
        assert second.get("/account").status_code == 401


def test_of_two_who_use_a_link_at_once_one_succeeds(database: Database) -> None:
    token = sign_in_link(database)

    def use(_: int) -> bool:
        try:
            with database.transaction() as session:
                service.use_sign_in_link(session, token)
        except NotFound:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(use, range(8))) == 1


def test_an_expired_link_signs_nobody_in(database: Database, anonymous: TestClient) -> None:
    token = sign_in_link(database)
    with database.transaction() as session:
        session.execute(update(SignInLink).values(expires_at=now() - timedelta(seconds=1)))
    assert anonymous.post(f"/sign-in/{token}").status_code == 404


def test_signing_in_drops_what_the_browser_carried(database: Database, anonymous: TestClient) -> None:
    for name in ("Before", "After"):
        anonymous.post(f"/sign-in/{sign_in_link(database, name)}", headers=SAME_SITE, follow_redirects=False)
    page = anonymous.get("/account").text
    assert "After" in page
    assert "Before" not in page


def test_signing_out(database: Database, anonymous: TestClient) -> None:
    anonymous.post(f"/sign-in/{sign_in_link(database)}", headers=SAME_SITE, follow_redirects=False)
    assert anonymous.get("/account").status_code == 200
    assert anonymous.post("/sign-out", headers=SAME_SITE, follow_redirects=False).status_code == 303
    assert anonymous.get("/account").status_code == 401


def test_only_hashes_are_kept(database: Database) -> None:
    sign_in, share = sign_in_link(database), share_link(database)
    with database.reading() as session:
        assert session.scalars(select(SignInLink.token_hash)).all() == [hash_token(sign_in)]
        assert session.scalars(select(ShareLink.token_hash)).all() == [hash_token(share)]


def test_joining_makes_a_labeler(database: Database, anonymous: TestClient) -> None:
    token = share_link(database, guidelines="Listen to <b>pitch</b> first.")
    page = anonymous.get(f"/join/{token}", headers=SAME_SITE)
    assert "Listen to &lt;b&gt;pitch&lt;/b&gt; first." in page.text
    assert count(database, User) == 0
    done = anonymous.post(f"/join/{token}", headers=SAME_SITE, data={"name": ""}, follow_redirects=False)
    assert (done.status_code, done.headers["location"]) == (303, "/projects/songs/label")
    with database.reading() as session:
        joined = session.execute(select(User.name, Membership.role).join(Membership)).one()
    assert tuple(joined) == ("Labeler 1", Role.LABELER)


def test_coming_back_is_no_second_labeler(database: Database, anonymous: TestClient) -> None:
    token = share_link(database)
    for _ in range(2):
        anonymous.post(f"/join/{token}", data={"name": "Ada"}, headers=SAME_SITE, follow_redirects=False)
    assert count(database, User) == count(database, Membership) == 1
    assert "signed in as <strong>Ada</strong>" in anonymous.get(f"/join/{token}").text


def come(client: TestClient, token: str, participant: str) -> None:
    """Open the link and press its button, as a browser does."""
    page = client.get(f"/join/{token}", params={"participant": participant}, headers=SAME_SITE).text
    sent = re.findall(r'name="participant" value="([^"]*)"', page)
    assert sent == [participant]
    client.post(f"/join/{token}", data={"participant": sent[0]}, headers=SAME_SITE, follow_redirects=False)


def shown_names(database: Database) -> list[str | None]:
    with database.reading() as session:
        return list(session.scalars(select(Membership.participant).order_by(Membership.id)))


def test_a_participant_goes_on_in_the_same_browser(database: Database, app: FastAPI) -> None:
    token = share_link(database)
    with TestClient(app) as client:
        for participant in ("worker 7", "worker 7", "worker 8", "worker 7"):
            come(client, token, participant)
    assert shown_names(database) == ["worker 7", "worker 8"]


def test_a_name_is_no_way_to_come_in_as_somebody_else(database: Database, app: FastAPI) -> None:
    with database.transaction() as session:
        project = make_project(session)
        token = service.make_share_link(session, project)
        add_member(session, project, Role.ANALYST, "Bo")
        service.imported_labeler(session, project, "Cy")
    for participant in ("Ada", "Ada", "Ada", "Bo", "Cy"):
        with TestClient(app) as another_browser:
            come(another_browser, token, participant)
    assert shown_names(database) == [None, "Cy", "Ada", "Ada (2)", "Ada (3)", "Bo (2)", "Cy (2)"]
    assert count(database, User) == 7


def test_names_of_any_length_are_told_apart(database: Database) -> None:
    token = share_link(database)
    for browser in ("one", "another"):
        with database.transaction() as session:
            service.join(session, token, service.Visitor(None, browser), participant="x" * 200)
    assert shown_names(database) == ["x" * 200, "x" * 190 + " (2)"]


def test_presses_of_the_button_in_one_browser_make_one_labeler(database: Database) -> None:
    token = share_link(database)

    def press(_: int) -> int:
        with database.transaction() as session:
            return service.join(session, token, service.Visitor(None, "a secret"), participant="worker 7").user.id

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(press, range(8)))) == 1
    assert count(database, User) == 1


def test_a_labeler_of_a_link_belongs_to_one_project(database: Database, app: FastAPI) -> None:
    with database.transaction() as session:
        first = service.make_share_link(session, make_project(session, "first"))
        second = service.make_share_link(session, make_project(session, "second"))
    with TestClient(app, headers=SAME_SITE) as client:
        for token, own_project, other_project in (
            (first, "first", "second"),
            (second, "second", "first"),
            (first, "first", "second"),
        ):
            come(client, token, "Ada")
            assert client.get(f"/projects/{own_project}/label").status_code == 200
            assert client.get(f"/projects/{other_project}/label").status_code == 404
    with database.reading() as session:
        projects = session.execute(select(Membership.user_id, Membership.project_id)).all()
    assert len({user for user, _ in projects}) == len(projects) == 2, "who came back to the first is who they were"


def test_people_with_an_account_come_as_themselves_to_every_project(database: Database, app: FastAPI) -> None:
    with database.transaction() as session:
        person = make_user(session, "Ada")
        tokens = [service.make_share_link(session, make_project(session, key)) for key in ("first", "second")]
    with signed_in(app, person) as client:
        for token in tokens:
            come(client, token, "")
    with database.reading() as session:
        assert set(session.scalars(select(Membership.user_id))) == {person.id}


@pytest.mark.parametrize("role", [Role.ANALYST, Role.OWNER])
def test_a_share_link_never_opens_a_labeler_with_rights(database: Database, role: Role) -> None:
    visitor = service.Visitor(None, "a secret")
    token = share_link(database)
    with database.transaction() as session:
        user = service.join(session, token, visitor, participant="worker 7").user
        session.execute(update(Membership).where(Membership.user_id == user.id).values(role=role))
    with database.transaction() as session:
        another = service.join(session, token, visitor, participant="worker 7").user
    assert another.id != user.id
    with database.reading() as session:
        assert session.scalar(select(Membership.role).where(Membership.user_id == another.id)) == Role.LABELER


def test_a_member_who_opens_the_link_keeps_their_role(database: Database, app: FastAPI) -> None:
    with database.transaction() as session:
        project = make_project(session)
        owner = add_member(session, project, Role.OWNER)
        token = service.make_share_link(session, project)
    with signed_in(app, owner) as client:
        client.post(f"/join/{token}", follow_redirects=False)
    with database.reading() as session:
        assert session.scalars(select(Membership.role)).all() == [Role.OWNER]


@pytest.mark.parametrize("end", ["revoke", "archive", "unknown"])
def test_a_dead_share_link_says_so(database: Database, anonymous: TestClient, end: str) -> None:
    token = share_link(database)
    with database.transaction() as session:
        project = session.scalars(select(Project)).one()
        link = session.scalars(select(ShareLink)).one()
        if end == "revoke":
            service.revoke_share_link(session, project, link.id)
        if end == "archive":
            project.archived_at = now()
    token = "unknown" if end == "unknown" else token
    for answer in (anonymous.get(f"/join/{token}", headers=SAME_SITE), anonymous.post(f"/join/{token}")):
        assert answer.status_code == 404
        assert "revoked it" in answer.text
    assert count(database, User) == 0


def make_link(database: Database, key: str = "songs", **bounds: object) -> str:
    with database.transaction() as session:
        return service.make_share_link(session, make_project(session, key, n_items=6), **bounds)  # type: ignore[arg-type]


def press(client: TestClient, token: str, **data: str) -> int:
    return client.post(f"/join/{token}", data=data, headers=SAME_SITE, follow_redirects=False).status_code


def test_an_open_link_lets_in_so_many_and_no_more(database: Database, app: FastAPI) -> None:
    token = make_link(database, most=2)
    with TestClient(app) as first, TestClient(app) as second, TestClient(app) as third:
        assert [press(client, token) for client in (first, second, third)] == [303, 303, 409]
        assert press(first, token) == 303, "who is in comes back"
    assert count(database, Membership) == 2


def test_a_link_that_expired_ends_who_came_by_it(database: Database, app: FastAPI) -> None:
    token = make_link(database, days=1)
    with TestClient(app) as client, TestClient(app) as late:
        assert press(client, token) == 303
        with database.reading() as session:
            assert session.scalars(select(BrowserSession.expires_at)).one() <= now() + timedelta(days=1)
        with database.transaction() as session:
            session.execute(update(ShareLink).values(expires_at=now()))
            session.execute(update(BrowserSession).values(expires_at=now(), until=now()))
            cookie_hash = session.scalars(select(BrowserSession.token_hash)).one()
        Uses(database).note_session(cookie_hash)
        assert client.get("/projects/songs/label").status_code == 401, "use does not keep it longer"
        assert press(late, token) == 404
        assert "has expired" in late.get(f"/join/{token}", headers=SAME_SITE).text


def test_a_personal_link_is_one_labeler_in_every_browser(database: Database, app: FastAPI) -> None:
    token = make_link(database, labeler="Ada")
    with TestClient(app) as desk, TestClient(app) as phone:
        assert "signed in as <strong>Ada</strong>" in desk.get(f"/join/{token}", headers=SAME_SITE).text
        assert press(desk, token) == press(phone, token, participant="Bo", name="Cy") == 303
        assert count(database, User) == count(database, Membership) == 1
        with database.transaction() as session:
            project, link = session.scalars(select(Project)).one(), session.scalars(select(ShareLink)).one()
            again = service.renew_share_link(session, project, link.id)
        assert (press(phone, token), press(phone, again)) == (404, 303)
        with database.transaction() as session:
            session.execute(delete(Membership))
        assert press(phone, again) == 404, "who was removed does not come back by it"
    assert count(database, User) == 1


def test_revoking_a_link_ends_sessions_and_leases_at_once(database: Database, app: FastAPI) -> None:
    token = make_link(database)
    with database.transaction() as session:
        person = make_user(session, "Ada")
        project = session.scalars(select(Project)).one()
        owner = add_member(session, project, Role.OWNER)
        other = service.make_share_link(session, project)
    with TestClient(app) as client, TestClient(app) as untouched, signed_in(app, person) as of_ada:
        assert press(client, token) == press(of_ada, token) == press(untouched, other) == 303
        url = "/api/v1/projects/songs/triplets/next"
        assert client.get(url).json()["triplets"]
        with database.transaction() as session:
            link = session.scalars(select(ShareLink).order_by(ShareLink.id)).first()
            labeler = session.scalars(select(User.id).where(User.name == "Labeler 1")).one()
            assert session.scalar(select(func.count()).where(Lease.labeler_id == labeler)) > 0
        with signed_in(app, owner) as settings:
            done = settings.post(f"/projects/songs/settings/share-links/{link.id}/revoke", follow_redirects=False)
            assert done.status_code == 303
        assert client.get(url).status_code == 401
        assert (of_ada.get(url).status_code, of_ada.get("/account").status_code) == (404, 200)
        assert untouched.get(url).status_code == 200
    with database.reading() as session:
        assert session.scalar(select(func.count()).where(Lease.labeler_id == labeler)) == 0


def test_a_removed_labeler_is_signed_out(database: Database, app: FastAPI) -> None:
    token = make_link(database)
    with database.transaction() as session:
        owner = add_member(session, session.scalars(select(Project)).one(), Role.OWNER)
    with TestClient(app) as client, signed_in(app, owner) as settings:
        assert press(client, token) == 303
        with database.reading() as session:
            labeler = session.scalars(select(User.id).where(User.name == "Labeler 1")).one()
        settings.post(f"/projects/songs/settings/members/{labeler}/remove")
        assert client.get("/account").status_code == 401


def test_links_on_the_settings_page(database: Database, app: FastAPI) -> None:
    with database.transaction() as session:
        owner = add_member(session, make_project(session), Role.OWNER)
    with signed_in(app, owner) as client:
        url = "/projects/songs/settings/share-links"
        made = client.post(url, data={"labeler": "Ada <b>", "days": "30", "most": ""})
        assert made.status_code == 201
        assert "Ada &lt;b&gt;" in made.text
        assert client.post(url, data={"labeler": "", "days": "", "most": "12"}).status_code == 201
        page = client.get("/projects/songs/settings").text
        assert "0 of 12" in page
        for wrong in ({"days": "0"}, {"most": "-1"}, {"days": "many"}, {"days": str(2**64)}, {"labeler": "x" * 201}):
            assert client.post(url, data=wrong).status_code == 422
        with database.reading() as session:
            first = session.scalars(select(ShareLink).order_by(ShareLink.id)).first()
        old = re.findall(r"/join/([\w-]+)", made.text)[0]
        renewed = client.post(f"{url}/{first.id}/renew")
        [new] = re.findall(r"/join/([\w-]+)", renewed.text)
        assert renewed.headers["Cache-Control"] == "no-store"
        assert client.get(f"/join/{old}").status_code == 404
        assert client.get(f"/join/{new}").status_code == 200
