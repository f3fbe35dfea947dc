"""The report of a run: what it says, what it leaves out, and how large it may get."""

import numpy as np
import pytest

from tercet.database import Database
from tercet.exchange import report
from tercet.models import Project
from tercet.runs.service import find_result
from tercet.storage import Storage
from tests.archives.world import Place, fill

pytestmark = pytest.mark.only_on("sqlite")


def page(database: Database, storage: Storage, project_id: int) -> str:
    with database.reading() as session:
        project = session.get_one(Project, project_id)
        return report.render_report(session, storage, project, *find_result(session, project, "latest"), names=True)


def test_what_it_says(database: Database, storage: Storage) -> None:
    text = page(database, storage, fill(Place(database, storage)))
    assert "Listen.\nTwice. Ünïcode ✓" in text
    assert "thrush" in text
    assert text.count("<circle") == 12
    assert text.count("data:image/png;base64,") == 12
    # One of the six was withdrawn and one is set aside.
    assert '<th scope="row">Bo</th><td class="number">1</td>' in text
    assert '<th scope="row">Cy</th><td class="number">3</td>' in text
    assert "example.org" not in text
    assert "http" not in text.replace("http-equiv", ""), "it asks for nothing"


def test_a_picture_that_is_lost_or_large(database: Database, storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    project_id = fill(Place(database, storage))
    monkeypatch.setattr(report, "LARGEST_PICTURE", 10)
    text = page(database, storage, project_id)
    assert "data:image" not in text
    assert "song 3" in text


def test_very_many_points_are_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MOST_POINTS", 50)
    places = np.random.default_rng(0).standard_normal((400, 2))
    points = report._points(places, np.arange(400) % 3 + 1)
    assert len(points) == 50
    assert points == report._points(places, np.arange(400) % 3 + 1)
    assert all(0 <= point.x <= report.WIDTH and 0 <= point.y <= report.HEIGHT for point in points)
    alike = report._points(np.ones((5, 2)), np.ones(5, dtype=int))
    assert all(np.isfinite([point.x, point.y]).all() for point in alike)
    assert report._points(np.empty((0, 2)), np.empty(0, dtype=int)) == []
