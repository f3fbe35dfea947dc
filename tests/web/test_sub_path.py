"""The service below a path of a host that other services share: no address of ours leads out of it."""

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urljoin, urlsplit

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from tercet import Client
from tercet.cli import cli
from tercet.database import Database
from tercet.main import create_app
from tercet.models import Role
from tercet.settings import Settings, asset
from tercet.storage import Storage
from tests.dashboard.results import add_result
from tests.factories import add_features, add_member, make_project, make_token, signed_in
from tests.web.proxies import proxy_of, served

pytestmark = pytest.mark.only_on("sqlite")
PATH = "/tercet"
HTML = {"Accept": "text/html"}
ADDRESS = re.compile(r'\s(?:href|src|action|formaction|data-[a-z-]+)="(/[^"]*)"')
JSON_ADDRESS = re.compile(r'"(/[^"\s]*)"')


class Stripping:
    """What reaches the app from a proxy that takes the path off."""

    def __init__(self, app: FastAPI) -> None:
        self.app, self.state = app, app.state

    async def __call__(self, scope: dict, receive: object, send: object) -> None:
        if scope["type"] == "http":
            assert scope["path"].startswith(f"{PATH}/"), scope["path"]
            scope = {**scope, "path": scope["path"][len(PATH) :], "raw_path": scope["raw_path"][len(PATH) :]}
        await self.app(scope, receive, send)


@pytest.fixture
def below(settings: Settings) -> Settings:
    return settings.model_copy(update={"public_url": f"https://example.org{PATH}/"})


@pytest.fixture(params=["strips", "passes on"])
def owner(
    request: pytest.FixtureRequest, below: Settings, database: Database, storage: Storage
) -> Iterator[TestClient]:
    """The owner and administrator of a project with items, features, a run and a link, behind a proxy."""
    with database.transaction() as session:
        project = make_project(session, n_items=12, n_clusters=3)
        project.guidelines = "Read [the guide](/help/guides/songs) first."
        add_features(session, storage, project, np.eye(12))
        add_result(session, storage, project, 1, [1, 2, 3] * 4)
        user = add_member(session, project, Role.OWNER)
        user.is_admin = True
    app = create_app(below)
    with signed_in(Stripping(app) if request.param == "strips" else app, user) as client:  # type: ignore[arg-type]
        client.base_url = "https://example.org"  # type: ignore[assignment]
        yield client


def addresses(page: str) -> set[str]:
    """The addresses of this host in the HTML of a page."""
    return {unescape(address) for address in ADDRESS.findall(page) if not address.startswith("//")}


@pytest.mark.parametrize("owner", ["passes on"], indirect=True)
def test_no_address_of_any_page_leads_out(owner: TestClient) -> None:
    visited, waiting = set(), [f"{PATH}/", f"{PATH}/projects/songs/label", f"{PATH}/join/nonsense", f"{PATH}/nowhere"]
    while waiting:
        address = waiting.pop()
        path = urlsplit(address).path
        if path in visited or path.startswith(f"{PATH}/static/") or "/events" in path:
            continue
        visited.add(path)
        response = owner.get(address, headers=HTML, follow_redirects=False)
        assert response.status_code < 500, address
        if location := response.headers.get("location"):
            waiting.append(urljoin(address, location))
        if response.headers.get("content-type", "").startswith("text/html") and "/report" not in path:
            linked = addresses(response.text)
            assert linked, address
            for each in linked:
                assert each == PATH or each.startswith(f"{PATH}/"), (address, each)
                assert not each.startswith(f"{PATH}{PATH}"), (address, each)
            waiting += [each for each in linked if f'action="{each}"' not in response.text]
        elif "json" in response.headers.get("content-type", "") and "openapi" not in path:
            for each in JSON_ADDRESS.findall(response.text):
                assert each.startswith(f"{PATH}/"), (address, each)
    parts = {path.removeprefix(f"{PATH}/projects/songs") for path in visited}
    assert {"", "/label", "/answers", "/runs", "/compare", "/export", "/imports", "/settings", "/audit"} <= parts
    assert {f"{PATH}/account", f"{PATH}/system", f"{PATH}/help/guides/songs", f"{PATH}/api/docs"} <= visited
    assert len(visited) > 50


def test_every_file_that_a_page_names_is_there(owner: TestClient) -> None:
    page = owner.get(f"{PATH}/projects/songs/label").text
    files = [address for address in addresses(page) if "/static/" in address or address.endswith("/manifest")]
    assert len(files) > 4
    for address in files:
        assert owner.get(address).status_code == 200, address
    manifest = owner.get(f"{PATH}/projects/songs/label/manifest").json()
    assert manifest["start_url"] == manifest["scope"] == f"{PATH}/projects/songs/label"
    assert manifest["icons"][0]["src"].startswith(f"{PATH}/static/")


def test_scripts_name_no_address_at_the_top_of_the_host() -> None:
    literal = re.compile(r"""(?<!local\()(?<!\*=)["'`]/(?:api|projects|static|join|help|label-worker)[/.]""")
    for path in asset("static").rglob("*.js"):
        assert not literal.search(path.read_text()), (
            f"{path.name}: local() of static/web/address.js puts the path before"
        )


def test_redirects_cookies_and_links_stay_below(owner: TestClient) -> None:
    slash = owner.get(f"{PATH}/account/", follow_redirects=False)
    assert slash.headers["location"] == f"https://example.org{PATH}/account"
    made = owner.post(f"{PATH}/api/v1/projects/songs/runs", json={}, headers={"Origin": "https://example.org"})
    assert made.headers["location"].startswith(f"{PATH}/api/v1/projects/songs/runs/")
    assert owner.get(made.headers["location"]).json()["number"] == made.json()["number"]
    link = owner.post(f"{PATH}/api/v1/projects/songs/share-links", json={}).json()["url"]
    assert link.startswith(f"https://example.org{PATH}/join/")
    owner.cookies.clear()
    assert owner.get(link).headers["set-cookie"].count(f"Path={PATH}/join") == 1
    joined = owner.post(link, data={"name": "Lea"}, follow_redirects=False)
    assert joined.headers["location"] == f"{PATH}/projects/songs/label"
    assert f"Path={PATH};" in joined.headers["set-cookie"]
    assert owner.get(joined.headers["location"]).status_code == 200
    chosen = owner.post(f"{PATH}/language", data={"language": "de", "back": "/projects/songs/label"})
    assert str(chosen.url) == f"https://example.org{PATH}/projects/songs/label"
    assert chosen.headers["content-language"] == "de"
    signed_out = owner.post(f"{PATH}/sign-out", follow_redirects=False)
    assert signed_out.headers["location"] == f"{PATH}/"
    assert f"Path={PATH};" in signed_out.headers["set-cookie"]


def test_openapi_names_the_path(owner: TestClient) -> None:
    assert owner.get(f"{PATH}/openapi.json").json()["servers"] == [{"url": PATH}]
    assert f"https://example.org{PATH}/api/v1/projects" in owner.get(f"{PATH}/api/docs").text


@pytest.mark.parametrize("public_url", ["example.org/tercet", "https://example.org/a b", "https://example.org/x?y"])
def test_an_address_that_is_none(public_url: str) -> None:
    with pytest.raises(ValueError, match="public_url"):
        Settings(public_url=public_url)


def test_the_client_behind_real_proxies(below: Settings, database: Database) -> None:
    with database.transaction() as session:
        token = make_token(session, add_member(session, make_project(session, n_items=6), Role.OWNER))
    with served(create_app(below)) as server:
        for strips in (True, False):
            with proxy_of(server, PATH, strips=strips) as host, Client(host + PATH, token) as client:
                project = client.project("songs")
                assert len(project.items()) == 6
                assert project.answer(project.ask(1)[0], "yes").stored == 1
                assert project.make_share_link().url.startswith(f"https://example.org{PATH}/join/")
                command = ["remote", "projects", "--server", host + PATH, "--token", token]
                assert "songs" in CliRunner().invoke(cli, command).stdout
