"""Labeling below a path of a host that other services share, behind a proxy that takes the path off."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tercet.accounts import service
from tercet.main import create_app
from tercet.models import Project
from tercet.settings import Settings
from tests.browser.conftest import LiveServer, make_board
from tests.browser.test_label import press_and_see, settle, shown, standing_answers, wait_for_paint
from tests.factories import session_cookie
from tests.web.proxies import proxy_of, served

pytestmark = pytest.mark.browser
PATH = "/tercet"


@pytest.mark.heavy
def test_labeling_and_the_dashboard_below_a_path(live_server: LiveServer, browser: Browser) -> None:
    project, ada = make_board(live_server)
    with live_server.database.transaction() as session:
        link = service.make_share_link(session, session.get_one(Project, project.id))
    url = str(live_server.database.url)
    settings = Settings(
        database_url=url, storage_url=live_server.storage.root, workers=0, public_url=f"http://127.0.0.1{PATH}"
    )
    with served(create_app(settings)) as server, proxy_of(server, PATH, strips=True) as host:
        context = browser.new_context()
        context.on("request", lambda request: requests.append(request.url))
        requests: list[str] = []
        page = context.new_page()
        page.goto(f"{host}{PATH}/join/{link}?participant=Lea")
        page.locator("main button").click()
        wait_for_paint(page)
        assert all(address.startswith(f"{PATH}/api/v1/") for address in shown(page))
        for key in "ynd":
            press_and_see(page, key)
        settle(page)
        assert len(standing_answers(live_server, project)) == 3
        scope = page.evaluate("navigator.serviceWorker.ready.then(({ scope }) => scope)")
        assert scope == f"{host}{PATH}/projects/{project.key}/label"
        context.set_offline(True)
        page.reload()
        expect(page.get_by_role("status")).to_contain_text("offline, keep going")
        context.set_offline(False)

        context.clear_cookies()
        cookie = {"name": "tercet", "value": session_cookie(live_server.database, ada), "url": f"{host}{PATH}/"}
        context.add_cookies([cookie])
        with page.expect_response(lambda response: response.url.endswith("/events")) as events:
            page.goto(f"{host}{PATH}/projects/{project.key}")
        assert events.value.ok
        expect(page.get_by_role("link", name="Dashboard")).to_have_attribute("aria-current", "page")
        outside = {url for url in requests if not urlsplit(url).path.startswith(f"{PATH}/") and "blob:" not in url}
        assert outside == set()
        context.close()
