"""Every page under axe's rules, light and dark, on a desk and on a phone, and never wider than its window."""

from dataclasses import dataclass

import pytest
from fastapi.routing import iter_route_contexts
from playwright.sync_api import ViewportSize
from sqlalchemy.orm import Session

from tercet.accounts import invitations, service
from tercet.main import create_app
from tercet.models import Import, ImportSource, Membership, Project, Role, Run, User, now
from tercet.settings import Settings
from tests.browser.conftest import LiveServer, OpenPage, assert_accessible, assert_no_wider_than_the_window, make_board
from tests.browser.walking import assert_walkable
from tests.dashboard.results import add_result
from tests.factories import add_member, make_project, make_user

# One kind of database is enough: the pages do not depend on it.
pytestmark = [pytest.mark.browser, pytest.mark.only_on("sqlite")]

DESK, PHONE = ViewportSize(width=1280, height=844), ViewportSize(width=390, height=844)
# What answers programs and not people, or leads elsewhere.
FOR_PROGRAMS = {
    "/label-worker.js",
    "/projects/{project}/label/manifest",
    "/openapi.json",
    "/healthz",
    "/readyz",
    "/metrics",
    "/sign-in/openid",
    "/sign-in/openid/callback",
}


@dataclass(frozen=True)
class World:
    """A project with clusters, one with nothing in it, links, and an owner of both."""

    full: Project
    empty: Project
    owner: User
    labeler: User
    newcomer: User
    admin: User
    join: str
    sign_in: str
    invitation: str


@dataclass(frozen=True)
class View:
    """A page as somebody sees it: by which route, at which address, with which status."""

    route: str
    address: str
    status: int = 200
    who: str = "owner"


VIEWS = {
    "home": View("/", "/"),
    "sign in with a password": View("/sign-in", "/sign-in", who="nobody"),
    "sign in": View("/sign-in/{token}", "/sign-in/{world.sign_in}"),
    "an old sign-in link": View("/sign-in/{token}", "/sign-in/unknown", 404),
    "join": View("/join/{token}", "/join/{world.join}"),
    "an old share link": View("/join/{token}", "/join/unknown", 404),
    "invitation": View("/invitation/{token}", "/invitation/{world.invitation}", who="nobody"),
    "an old invitation": View("/invitation/{token}", "/invitation/unknown", 404),
    "system": View("/system", "/system", who="admin"),
    "people": View("/users", "/users", who="admin"),
    "account": View("/account", "/account"),
    "nobody signed in": View("/account", "/account", 401, who="nobody"),
    "a new project": View("/projects/new", "/projects/new"),
    "home without projects": View("/", "/", who="newcomer"),
    "imports": View("/projects/{project}/imports", "/projects/{world.full.key}/imports"),
    "an import": View("/projects/{project}/imports/{number}", "/projects/{world.full.key}/imports/1"),
    "no such import": View("/projects/{project}/imports/{number}", "/projects/{world.full.key}/imports/9", 404),
    "settings": View("/projects/{project}/settings", "/projects/{world.full.key}/settings"),
    **{
        f"settings: {section}": View("/projects/{project}/settings", f"/projects/{{world.full.key}}/settings#{section}")
        for section in ("items", "labelers", "clustering", "features", "webhooks", "project")
    },
    "settings refused": View("/projects/{project}/settings", "/projects/{world.full.key}/settings", 403, who="labeler"),
    "dashboard": View("/projects/{project}", "/projects/{world.full.key}"),
    "a new dashboard": View("/projects/{project}", "/projects/{world.empty.key}"),
    "runs": View("/projects/{project}/runs", "/projects/{world.full.key}/runs"),
    "no runs": View("/projects/{project}/runs", "/projects/{world.empty.key}/runs"),
    "two runs": View("/projects/{project}/changes", "/projects/{world.full.key}/changes?run=1&since=2"),
    "nothing to compare": View("/projects/{project}/changes", "/projects/{world.empty.key}/changes", 404),
    "a run": View("/projects/{project}/runs/{run}", "/projects/{world.full.key}/runs/1"),
    "an alternative": View("/projects/{project}/runs/{run}", "/projects/{world.full.key}/runs/2"),
    "an alternative that waits": View("/projects/{project}/runs/{run}", "/projects/{world.full.key}/runs/3"),
    "no such run": View("/projects/{project}/runs/{run}", "/projects/{world.full.key}/runs/9", 404),
    "alternatives": View("/projects/{project}/alternatives", "/projects/{world.full.key}/alternatives"),
    "no alternatives": View("/projects/{project}/alternatives", "/projects/{world.empty.key}/alternatives"),
    "export": View("/projects/{project}/export", "/projects/{world.full.key}/export"),
    "nothing to export": View("/projects/{project}/export", "/projects/{world.empty.key}/export"),
    "restore": View("/restore", "/restore"),
    "audit log": View("/projects/{project}/audit", "/projects/{world.full.key}/audit"),
    "answers": View("/projects/{project}/answers", "/projects/{world.full.key}/answers"),
    "no answers": View("/projects/{project}/answers", "/projects/{world.empty.key}/answers"),
    "no such project": View("/projects/{project}", "/projects/unknown", 404),
    "label": View("/projects/{project}/label", "/projects/{world.full.key}/label", who="labeler"),
    "nothing to label": View("/projects/{project}/label", "/projects/{world.empty.key}/label"),
    "no such page": View("", "/unknown", 404),
    "a comparison": View("/projects/{project}/compare", "/projects/{world.full.key}/compare"),
    "no comparison": View("/projects/{project}/compare", "/projects/{world.empty.key}/compare"),
    "help": View("/help", "/help", who="nobody"),
    "a guide": View("/help/guides/{name}", "/help/guides/formats", who="nobody"),
    "every number": View("/help/numbers", "/help/numbers", who="nobody"),
    "which system when": View("/help/systems", "/help/systems", who="nobody"),
    "estimators": View("/help/estimators", "/help/estimators", who="nobody"),
    "an estimator": View("/help/estimators/{name}", "/help/estimators/DCRC", who="nobody"),
    "client": View("/help/client", "/help/client", who="nobody"),
    "architecture": View("/help/architecture", "/help/architecture", who="nobody"),
    "design": View("/help/design", "/help/design", who="nobody"),
    "api docs": View("/api/docs", "/api/docs"),
}


def make_world(live: LiveServer) -> World:
    full, _ = make_board(live)
    with live.database.transaction() as session:
        full = session.get_one(Project, full.id)
        add_alternative(session, live, full)
        owner, labeler = add_member(session, full, Role.OWNER), add_member(session, full, Role.LABELER)
        empty = make_project(session, f"empty-{full.key}")
        session.add(Membership(project_id=empty.id, user_id=owner.id, role=Role.OWNER))
        session.add(Import(project_id=full.id, number=1, user_id=owner.id, source=ImportSource.PAGE))
        return World(
            full,
            empty,
            owner,
            labeler,
            make_user(session),
            make_user(session, is_admin=True),
            service.make_share_link(session, full),
            service.make_sign_in_link(session, owner),
            invitations.invite(session, full, email="bo@example.org", role=Role.ANALYST, days=7)[1],
        )


def add_alternative(session: Session, live: LiveServer, project: Project) -> None:
    """Another clustering beside the first run, and one that is still to come."""
    alternative = add_result(
        session, live.storage, project, 2, [1, 2, 3] * 10, mean_confidence=0.65, known_nmi={"run 1": 0.1}
    )
    alternative.purpose, alternative.algorithm, alternative.parameters = (
        "alternative",
        "cmbc",
        {"known_runs": [1], "known_columns": []},
    )
    session.add(Run(project_id=project.id, number=3, purpose="alternative", algorithm="cmbc", due_at=now()))


def test_every_page_is_looked_at(settings: Settings) -> None:
    routes = iter_route_contexts(create_app(settings).routes)
    pages = {route.path for route in routes if "GET" in (route.methods or ()) and not route.include_in_schema}
    assert pages - FOR_PROGRAMS == {view.route for view in VIEWS.values()} - {""}


def views_of(look: str) -> dict[str, View]:
    """The first view of each route, or all others, or in the dark and on a phone all."""
    first = {view.route: name for name, view in reversed(VIEWS.items())}.values()
    looked_at = {"first views": first, "other views": VIEWS.keys() - first}.get(look, VIEWS)
    return {name: view for name, view in VIEWS.items() if name in looked_at}


@pytest.mark.heavy(but="first")
@pytest.mark.parametrize("look", ["first views", "other views", "dark", "phone"])
def test_axe_finds_nothing_and_nothing_sticks_out(live_server: LiveServer, open_page: OpenPage, look: str) -> None:
    world = make_world(live_server)
    window = PHONE if look == "phone" else DESK
    schemes = ["dark"] if look == "dark" else ["light"]
    pages = {
        who: open_page(user, "/healthz", viewport=window)
        for who, user in (
            ("owner", world.owner),
            ("labeler", world.labeler),
            ("newcomer", world.newcomer),
            ("admin", world.admin),
            ("nobody", None),
        )
    }
    for name, view in views_of(look).items():
        page = pages[view.who]
        page.set_viewport_size(window)
        page.goto("about:blank")  # from one section to another of the same page there would be no answer
        answer = page.goto(view.address.format(world=world))
        assert answer is not None
        assert answer.status == view.status, name
        assert_accessible(page, name, schemes)
        if look in ("first views", "other views"):  # keys reach the same in the dark and on a phone
            assert_walkable(page, name)
            page.set_viewport_size(PHONE)
            assert_no_wider_than_the_window(page, name)
