"""Comparing systems in a real browser: asked for, followed as it is computed, its table under axe, and used."""

import re

import pytest
from playwright.sync_api import expect

from tercet.models import Project, Run, RunStatus
from tercet.runs import lifecycle
from tests.browser.conftest import LiveServer, OpenPage, assert_accessible, make_board
from tests.comparisons.test_comparisons import figures

# One kind of database is enough: the page does not depend on it.
pytestmark = [pytest.mark.browser, pytest.mark.only_on("sqlite")]
ROW = {"answers_satisfied": 0.9, "stability": 0.8}


def go_on(live: LiveServer, project: Project, status: RunStatus, **values: object) -> None:
    """Do to the project's second run what a worker would, and tell open pages."""
    with live.database.transaction() as session:
        run = session.query(Run).filter_by(project_id=project.id, number=2).one()
        run.status = status
        for name, value in values.items():
            setattr(run, name, value)
        lifecycle.announce(session, run)


def done() -> dict[str, object]:
    """Figures of a comparison."""
    comparison = figures()
    return {**comparison, "systems": [{**row, **ROW} for row in comparison["systems"]], "n_folds": 5, "n_seeds": 3}


@pytest.mark.heavy
@pytest.mark.parametrize("width", [1280, 390])
def test_a_comparison_is_asked_for_followed_and_used(live_server: LiveServer, open_page: OpenPage, width: int) -> None:
    project, analyst = make_board(live_server)
    window = {"viewport": {"width": width, "height": 844}}
    page = open_page(analyst, f"/projects/{project.key}/compare", **window)
    expect(page.get_by_label("Spectral clustering with bag labels")).to_be_disabled()
    page.get_by_label("DCRC with parameters chosen by cross-validation").uncheck()
    page.get_by_role("button", name="Compare these").click()
    progress = page.get_by_role("progressbar")
    expect(progress).to_be_visible()
    assert_accessible(page, "comparing")
    go_on(live_server, project, RunStatus.RUNNING, progress=0.4)
    expect(progress).to_have_js_property("value", 0.4)
    slow = page.get_by_text("it mostly waits for a processor that other programs use")
    for is_starved in (False, True, False, True):
        go_on(live_server, project, RunStatus.RUNNING, starved=is_starved)
        expect(slow).to_be_visible(visible=is_starved)
    assert_accessible(page, "comparing-slowly")
    with live_server.database.reading() as session:
        finished = session.query(Run).filter_by(project_id=project.id, number=1).one().finished_at
    go_on(live_server, project, RunStatus.DONE, metrics=done(), progress=1.0, finished_at=finished)
    expect(page.locator("#verdict")).to_contain_text("DCRC predicts answers best")
    expect(page.get_by_role("row", name=re.compile("DCRC recommended.*in use"))).to_be_visible()
    assert_accessible(page, "compare")
    page.get_by_role("row", name=re.compile("^SKLR")).get_by_role("button").click()
    expect(page).to_have_url(re.compile(f"/projects/{project.key}#runs$"))
    with live_server.database.reading() as session:
        assert session.get_one(Project, project.id).algorithm == "sklr"


def test_without_javascript_it_is_a_plain_form(live_server: LiveServer, open_page: OpenPage) -> None:
    project, analyst = make_board(live_server)
    page = open_page(analyst, f"/projects/{project.key}/compare", java_script_enabled=False)
    page.get_by_role("button", name="Compare these").click()
    expect(page.get_by_role("heading", name="Under way")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Compare these")).to_be_visible()
