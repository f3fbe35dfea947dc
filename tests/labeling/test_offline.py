"""What the server gives a browser to keep: questions ahead, the page without questions, its worker and manifest."""

import re
import shutil
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from tercet.labeling import offline
from tercet.models import Answer, Lease, Project, Triplet
from tercet.settings import asset
from tests.labeling.conftest import SONGS, ask, give

AHEAD = f"{SONGS}/triplets/ahead"
PAGE = "/projects/songs/label"


def draw(client: TestClient, n: int) -> list[list[str]]:
    """The questions that a labeler takes along."""
    response = client.post(AHEAD, params={"n": n})
    assert response.status_code == 201, response.text
    return [question["triplet"] for question in response.json()["triplets"]]


def test_questions_ahead_are_asked_of_nobody_else(app: FastAPI, ada: TestClient, ben: TestClient) -> None:
    """Twelve items have 660 questions: in the end all of them are asked, those ahead of one labeler alone."""
    questions = draw(ada, 150)
    assert 100 < len(questions) <= 150, "of so few items some are drawn twice"
    for_ben = draw(ben, 150)

    def as_sets(triplets: list[list[str]]) -> set[tuple[str, frozenset[str]]]:
        return {(anchor, frozenset(others)) for anchor, *others in triplets}

    assert len(as_sets(questions)) == len(questions)
    assert not as_sets(questions) & as_sets(for_ben)
    leased = ask(ben, 100)
    assert leased
    assert not as_sets(questions) & as_sets(leased)
    with app.state.database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Lease)) == len(leased), "only those of the screen"


def test_an_answer_to_one_is_an_answer_as_any(app: FastAPI, ada: TestClient) -> None:
    [triplet] = draw(ada, 1)
    assert give(ada, triplet, "no").json()["progress"]["mine"] == 1
    with app.state.database.reading() as session:
        answer = session.scalars(select(Answer)).one()
        asked = session.get_one(Triplet, answer.triplet_id)
    assert (asked.source, asked.priority) == ("random", None)


def test_too_many_in_a_minute_are_refused(ada: TestClient) -> None:
    statuses = [ada.post(AHEAD, params={"n": 200}).status_code for _ in range(16)]
    assert statuses == [201] * 15 + [429]
    assert ada.post(AHEAD, params={"n": 201}).status_code == 422


def test_a_project_without_more_questions_gives_none(app: FastAPI, ada: TestClient) -> None:
    while draw(ada, 200):
        pass
    with app.state.database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Triplet)) == 12 * 11 * 10 // 2


@pytest.mark.only_on("sqlite")
def test_the_page_without_questions_leases_none(app: FastAPI, ada: TestClient) -> None:
    page = ada.get(PAGE, params={"without_questions": True}, headers={"accept": "text/html"})
    assert page.status_code == 200
    assert re.search(r'<div id="asking"[^>]* hidden>', page.text)
    with app.state.database.reading() as session:
        assert session.scalars(select(Lease)).all() == []


@pytest.mark.only_on("sqlite")
def test_a_browser_can_install_the_page(app: FastAPI, ada: TestClient) -> None:
    with app.state.database.transaction() as session:
        session.execute(update(Project).values(name="Songs of the H. J. Andrews forest"))
    manifest = ada.get(f"{PAGE}/manifest")
    assert manifest.headers["content-type"] == "application/manifest+json"
    described = manifest.json()
    assert (described["start_url"], described["scope"], described["display"]) == (PAGE, PAGE, "standalone")
    assert len(described["short_name"]) <= 30
    for icon in described["icons"]:
        assert ada.get(icon["src"]).content.startswith(b"\x89PNG")


@pytest.mark.only_on("sqlite")
def test_the_worker_names_all_that_the_page_loads(ada: TestClient, anonymous: TestClient) -> None:
    worker = anonymous.get("/label-worker.js")
    assert worker.headers["content-type"].startswith("text/javascript")
    files = {f"/{path}" for path in re.findall(r'"(static/[^"]+)"', worker.text.partition("\n")[0])}
    page = ada.get(PAGE, headers={"accept": "text/html"}).text
    needed = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page))
    for script in {path for path in files if path.endswith(".js")}:
        source = anonymous.get(script).text
        folder = script.rpartition("/")[0]
        for name in re.findall(r'from "(\.[^"]+)"', source):
            needed.add(f"{folder}/{name}".replace("/labeling/../", "/").replace("/./", "/"))
    assert needed <= files
    assert all(anonymous.get(path).status_code == 200 for path in files)


def test_another_file_is_another_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for folder in ("static", "templates"):
        for package in offline.FOLDERS:
            shutil.copytree(asset(folder) / package, tmp_path / folder / package)
    monkeypatch.setattr(offline, "asset", lambda name: tmp_path / name)
    make = offline.worker_script.__wrapped__
    before = make()
    assert make() == before
    for changed in ("static/labeling/label.js", "static/web/style.css", "templates/web/base.html"):
        path = tmp_path / changed
        path.write_text(path.read_text() + "\n")
        assert make() != before
        before = make()
