"""What every response carries, which requests are refused at the door, and what never reaches the log."""

import logging
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.datastructures import Headers

from tercet.accounts import service
from tercet.database import Database
from tercet.main import create_app
from tercet.models import Role, Scope, User
from tercet.request_context import request_id
from tercet.settings import Settings
from tercet.web.logs import JsonFormatter, OneASecond, WithRequestId, shown_path
from tercet.web.security import HEADERS, OriginCheck
from tests.factories import add_member, make_project, make_token, make_user, signed_in

# One kind of database is enough here: nothing of this depends on it.
pytestmark = pytest.mark.only_on("sqlite")

HTML = {"Accept": "text/html"}


@pytest.fixture
def owner(database: Database) -> User:
    with database.transaction() as session:
        return add_member(session, make_project(session), Role.OWNER)


@pytest.fixture
def token(database: Database, owner: User) -> str:
    with database.transaction() as session:
        return make_token(session, owner)


@pytest.fixture
def browser(app: FastAPI, owner: User) -> Iterator[TestClient]:
    with signed_in(app, owner) as client:
        del client.headers["Sec-Fetch-Site"]
        yield client


@pytest.mark.parametrize(
    "path",
    ["/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/static/web/style.css", "/nowhere", "/sign-in/x"],
)
def test_every_response_carries_the_headers(anonymous: TestClient, path: str) -> None:
    for accept in ("text/html", "application/json"):
        headers = anonymous.get(path, headers={"Accept": accept}).headers
        assert {name: headers[name] for name in HEADERS} == HEADERS
        assert headers["Cache-Control"]
        assert headers["X-Request-ID"]
        assert float(headers["Server-Timing"].removeprefix("app;dur=")) >= 0


def test_the_policy_allows_no_foreign_and_no_inline_code(anonymous: TestClient) -> None:
    policy = anonymous.get("/healthz").headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "script-src" not in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    for directive in ("frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'", "object-src 'none'"):
        assert directive in policy


def test_only_the_labeling_page_is_framed_and_only_by_listed_origins(settings: Settings, database: Database) -> None:
    lists = settings.model_copy(update={"frame_origins": "http://localhost:8888, https://hub.example.org"})
    with TestClient(create_app(lists)) as client:
        for path in ("/join/x", "/projects/songs/label"):
            headers = client.get(path).headers
            assert (
                "frame-ancestors http://localhost:8888 https://hub.example.org;" in headers["Content-Security-Policy"]
            )
            assert "X-Frame-Options" not in headers
        for path in ("/", "/projects/songs", "/projects/songs/settings", "/join/x/y", "/api/v1/projects/songs/label"):
            assert "frame-ancestors 'none'" in client.get(path).headers["Content-Security-Policy"], path
            assert client.get(path).headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize("origins", ["*", "http://a b", "https://a.example; script-src *", "ftp://a.example"])
def test_origins_of_frames_are_origins(origins: str) -> None:
    with pytest.raises(ValueError, match="frame_origins"):
        Settings(frame_origins=origins)


def test_a_crash_is_answered_with_the_headers_and_no_detail(app: FastAPI) -> None:
    def crash() -> None:
        raise RuntimeError("the secret inside")

    app.add_api_route("/crash", crash)
    with TestClient(app, raise_server_exceptions=False) as client:
        for headers in (HTML, {}):
            answer = client.get("/crash", headers=headers)
            assert answer.status_code == 500
            assert answer.headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]
            assert "secret" not in answer.text
            assert "X-Request-ID" in answer.headers


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://testserver"}, False),
        ({"Origin": "http://testserver"}, True),
        ({"Origin": "https://testserver"}, True),
        ({"Origin": "http://testserver:81"}, False),
        ({"Origin": "http://testserver.example.org"}, False),
        ({"Origin": "http://example.org"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": ""}, False),
        ({}, False),
    ],
)
def test_changes_with_a_cookie_need_our_own_origin(browser: TestClient, headers: dict[str, str], allowed: bool) -> None:
    answer = browser.post("/sign-out", headers=headers, follow_redirects=False)
    assert answer.status_code == (303 if allowed else 403)
    if not allowed:
        assert answer.headers["content-type"] == "application/problem+json"
        assert browser.get("/account", headers=headers).status_code == 200, "looking is allowed from anywhere"


def test_a_foreign_page_gets_a_page(browser: TestClient) -> None:
    answer = browser.post("/sign-out", headers={"Sec-Fetch-Site": "cross-site", **HTML})
    assert answer.status_code == 403
    assert "came from another site" in answer.text


def test_a_foreign_page_cannot_sign_a_browser_in(database: Database, anonymous: TestClient) -> None:
    with database.transaction() as session:
        link = service.make_sign_in_link(session, make_user(session))
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://example.org"}):
        assert anonymous.post(f"/sign-in/{link}", headers=headers).status_code == 403
    assert anonymous.post(f"/sign-in/{link}", follow_redirects=False).status_code == 303


def test_a_bearer_token_needs_no_origin(anonymous: TestClient, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}", "Origin": "http://example.org", "Sec-Fetch-Site": "cross-site"}
    answer = anonymous.post("/api/v1/projects", json={"name": "New"}, headers=headers)
    assert answer.status_code == 201


def test_a_wrong_bearer_token_is_not_replaced_by_the_cookie(browser: TestClient) -> None:
    for value in ("Bearer wrong", "Bearer ", "Basic YTpi"):
        headers = {"Authorization": value, "Sec-Fetch-Site": "same-origin"}
        assert browser.get("/account", headers=headers).status_code == 401


def test_the_public_address_counts_as_ours() -> None:
    async def app(*_: object) -> None:
        return

    check = OriginCheck(app, "https://tercet.example.org/")
    asked = {"host": "10.0.0.3:8000", "cookie": "tercet=x"}
    assert check.is_ours(Headers({**asked, "origin": "https://tercet.example.org"}))
    assert not check.is_ours(Headers({**asked, "origin": "https://example.org"}))
    assert not OriginCheck(app).is_ours(Headers({"origin": "null", "cookie": "x"}))


@pytest.fixture
def small(settings: Settings, database: Database, token: str) -> Iterator[TestClient]:
    """A client of a server that takes one megabyte."""
    app = create_app(settings.model_copy(update={"max_upload_mb": 1}))
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as client:
        yield client


def test_a_body_over_the_limit(small: TestClient) -> None:
    def streamed() -> Iterator[bytes]:
        yield b'{"name": "'
        for _ in range(20):
            yield b"x" * 100_000
        yield b'"}'

    announced = b"".join(streamed())
    for body in (announced, streamed()):
        answer = small.post("/api/v1/projects", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 413
        assert answer.headers["content-type"] == "application/problem+json"
        assert "1 MB" in answer.json()["detail"]
    assert small.post("/api/v1/projects", json={"name": "Small"}).status_code == 201


MEGABYTE = 2**20


@pytest.mark.parametrize(
    ("method", "path", "megabytes"),
    [
        ("POST", "/api/v1/projects", 1),
        ("PATCH", "/api/v1/projects/songs", 1),
        ("POST", "/api/v1/projects/songs/runs", 1),
        ("POST", "/projects/songs/settings", 1),
        ("POST", "/join/unknown", 1),
        ("POST", "/api/v1/projects/songs/answers", 2),
        ("POST", "/api/v1/projects/songs/items", 4),
        ("PUT", "/api/v1/projects/songs/features", 4),
        ("POST", "/api/v1/projects/songs/constraints", 4),
    ],
)
def test_limits(settings: Settings, token: str, method: str, path: str, megabytes: int) -> None:
    """Only what may be an upload may be as large as one; what is streamed counts while it comes."""

    def streamed(size: int) -> Iterator[bytes]:
        yield b"["
        yield from (b" " * 1000 for _ in range(size // 1000))

    app = create_app(settings.model_copy(update={"max_upload_mb": 4}))
    kind = "application/json" if path.startswith("/api/") else "application/x-www-form-urlencoded"
    with TestClient(app, headers={"Authorization": f"Bearer {token}", "Content-Type": kind}) as client:
        for size, too_large in ((megabytes * MEGABYTE - 2000, False), (megabytes * MEGABYTE + 2000, True)):
            for body in (b"".join(streamed(size)), streamed(size)):
                answer = client.request(method, path, content=body)
                assert (answer.status_code == 413) == too_large, answer.text
                if too_large:
                    assert answer.headers["content-type"] == "application/problem+json"
                    assert f"larger than {megabytes} MB" in answer.json()["detail"]


def test_a_form_over_the_limit(small: TestClient) -> None:
    files = {"table": ("items.csv", b"key\n" + b"x" * 2_000_000)}
    answer = small.post("/api/v1/projects/songs/items", files=files)
    assert answer.status_code == 413


def test_cookies_are_closed_to_scripts_and_other_sites(settings: Settings, database: Database) -> None:
    for address, secure in (("", False), ("https://tercet.example.org", True)):
        with database.transaction() as session:
            link = service.make_sign_in_link(session, make_user(session))
        with TestClient(create_app(settings.model_copy(update={"public_url": address}))) as client:
            cookie = client.post(f"/sign-in/{link}", follow_redirects=False).headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert ("secure" in cookie) is secure


def test_pages_name_the_address_that_people_use(settings: Settings, database: Database) -> None:
    """Behind a proxy, a request does not say how people reach the server."""
    with database.transaction() as session:
        project = make_project(session, n_items=6)
        owner = add_member(session, project, Role.OWNER)
    app = create_app(settings.model_copy(update={"public_url": "https://tercet.example.org/"}))
    with signed_in(app, owner) as client:
        pages = [
            client.get("/api/docs", headers=HTML),
            client.post("/projects/songs/settings/share-links"),
        ]
    for page in pages:
        assert "https://tercet.example.org/" in page.text
        assert "http://testserver" not in page.text


def test_hostile_text_is_text(database: Database, app: FastAPI) -> None:
    hostile = "<script>alert(1)</script>\" onload='x"
    with database.transaction() as session:
        project = make_project(session)
        project.name = project.guidelines = project.question_text = hostile
        link = service.make_share_link(session, project)
        user = make_user(session, hostile)
        service.make_api_token(session, user, hostile, Scope.READ)
    with signed_in(app, user) as client:
        pages = [
            client.get("/account", headers=HTML),
            client.get(f"/join/{link}", headers=HTML),
            client.get(f"/join/{link}", params={"participant": hostile}, headers=HTML),
            client.get("/projects/" + hostile.replace("/", ""), headers=HTML),
        ]
    for page in pages:
        assert "<script>alert" not in page.text
        assert '" onload' not in page.text
        assert "alert(1)" in page.text


def test_secrets_stay_out_of_the_log(
    database: Database, app: FastAPI, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    with database.transaction() as session:
        user = make_user(session)
        project = make_project(session, "other")
        sign_in, share = service.make_sign_in_link(session, user), service.make_share_link(session, project)
    with caplog.at_level(logging.DEBUG), TestClient(app) as client:
        caplog.clear()
        for path in (f"/sign-in/{sign_in}", f"/join/{share}", f"/%73ign-in/{sign_in}", f"/join/{share}/"):
            client.get(path, headers=HTML)
            client.post(path, headers=HTML, data={"name": "N"}, follow_redirects=False)
        client.get("/account", headers={"Authorization": f"Bearer {token}"})
        response = client.post(
            "/account/tokens", data={"name": "t", "scope": "own"}, headers={"Origin": "http://testserver"}
        )
        assert response.status_code == 201
        secrets = [sign_in, share, token, client.cookies["tercet"]]
    lines = [r.getMessage() for r in caplog.records if r.name.startswith(("tercet", "uvicorn", "sqlalchemy"))]
    assert [line for line in lines if "/sign-in/..." in line]
    assert not [line for line in lines for secret in secrets if secret in line]
    assert not [line for line in lines if "tercet_" in line]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/projects/a b", "/projects/a%20b"),
        ("/x\nINFO forged line", "/x%0AINFO%20forged%20line"),
        ("/sign-in/abc", "/sign-in/..."),
        ("/invitation/abc", "/invitation/..."),
        ("/join/abc/\nd", "/join/..."),
        ("/joined/abc", "/joined/abc"),
    ],
)
def test_paths_in_the_log(path: str, shown: str) -> None:
    assert shown_path(path) == shown


def test_request_ids(anonymous: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    assert anonymous.get("/healthz", headers={"X-Request-ID": "from-proxy.1"}).headers["X-Request-ID"] == "from-proxy.1"
    for bad in ("a b", "x" * 65, 'a"b'):
        request_id = anonymous.get("/healthz", headers={"X-Request-ID": bad}).headers["X-Request-ID"]
        assert request_id != bad
        assert len(request_id) == 16


def test_log_lines_as_json() -> None:
    token = request_id.set("abc")
    record = logging.LogRecord("tercet", logging.INFO, "", 0, "two %s", ("\nlines",), None)
    WithRequestId().filter(record)
    request_id.reset(token)
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert '"request": "abc"' in line


def test_an_outage_is_logged_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = 100.0
    monkeypatch.setattr("tercet.web.logs.time.monotonic", lambda: moment)
    seldom = OneASecond()

    def logged(level: int, words: str, error: type[Exception]) -> str:
        fault = (error, error(), None)
        record = logging.LogRecord("tercet.web.errors", level, "", 0, words, (7,), fault)
        return record.getMessage() if seldom.filter(record) else ""

    assert [logged(logging.WARNING, "away %s", OSError) for _ in range(50)] == ["away 7", *[""] * 49]
    assert logged(logging.WARNING, "away %s", ValueError) == "away 7", "another kind"
    assert [logged(logging.INFO, "GET %s", OSError) for _ in range(3)] == ["GET 7"] * 3
    moment += 1.5
    assert logged(logging.WARNING, "away %s", OSError) == "away 7 (49 more of this kind are left out)"
    assert logged(logging.WARNING, "away %s", OSError) == ""
    moment += 1.5
    assert logged(logging.WARNING, "away %s", OSError) == "away 7 (1 more of this kind are left out)"


def test_metrics_count_by_route_and_show_no_path(database: Database, anonymous: TestClient, owner: User) -> None:
    anonymous.get("/sign-in/the-secret")
    anonymous.get("/projects/songs/nowhere")
    text = anonymous.get("/metrics").text
    assert 'tercet_requests_total{method="GET",route="/sign-in/{token}",status="404"} 1.0' in text
    assert 'route="none",status="404"} 1.0' in text
    assert "the-secret" not in text
    assert "songs" not in text


@pytest.mark.parametrize("address", ["/api/v1/projects/a%00b", "/sign-in/a%00b", "/api/v1/projects?after=a%00b"])
def test_addresses_with_a_nul_are_refused(anonymous: TestClient, address: str) -> None:
    answer = anonymous.get(address)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
    assert answer.headers["x-content-type-options"] == "nosniff"
