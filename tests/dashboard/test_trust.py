"""Whether clusters can be believed: where the curve is drawn, with chance and ceiling, and what the page says."""

import numpy as np
import pytest
from fastapi import FastAPI

from tercet.dashboard.trust import HEIGHT, trust_of
from tercet.database import Database
from tercet.models import Role
from tercet.runs.schemas import RunOut
from tercet.storage import Storage
from tests.dashboard.results import add_result
from tests.factories import add_features, add_member, make_project, signed_in

pytestmark = pytest.mark.only_on("sqlite")

POINTS = [[50, 0.5, 0.35, 0.65], [120, 0.7, 0.55, 0.82], [200, 0.8, 0.66, 0.9]]
METRICS = {
    "accuracy_curve": {"points": POINTS, "chance": 0.42, "ceiling": 0.9},
    "confused_pairs": [{"first": 1, "second": 3, "items": 4}],
}


def test_the_curve_is_drawn_to_scale_and_its_levels_show(app: FastAPI, database: Database, storage: Storage) -> None:
    with database.transaction() as session:
        project = make_project(session, n_items=9)
        add_features(session, storage, project, np.eye(9))
        labels = [1, 1, 1, 2, 2, 2, 3, 3, 3]
        runs = [add_result(session, storage, project, n, labels, items_moved=n, **METRICS) for n in (1, 2)]
        owner = add_member(session, project, Role.OWNER)
        first, second = (RunOut.of(run) for run in runs)
    trust = trust_of(second, [second, first])
    assert trust.kept == [1 - 1 / 9, 1 - 2 / 9]
    curve = trust.curve
    assert curve is not None
    assert curve.ceiling_y is not None
    assert [point.x for point in curve.points] == [25, 60, 100]
    shares = [*(point.share for point in curve.points), curve.chance, 0.9]
    downs = [*(point.y for point in curve.points), curve.chance_y, curve.ceiling_y]
    # One straight scale: a share of 1 is at the top.
    np.testing.assert_allclose(np.polyval(np.polyfit(shares, downs, 1), [1.0]), [0], atol=0.3)
    assert all(0 <= down <= HEIGHT for down in downs)
    with signed_in(app, owner) as client:
        page = client.get("/projects/songs").text
    assert "by chance 42&nbsp;%" in page
    assert "at best 90&nbsp;%" in page
    assert "77.8&nbsp;% of the items kept their cluster" in page
    assert 'data-between="1,3"' in page


def test_a_ceiling_that_is_not_known_is_not_drawn() -> None:
    assert trust_of(None, []).curve is None
    run = RunOut.model_construct(metrics={"accuracy_curve": {"points": POINTS, "chance": 0.5, "ceiling": None}})
    curve = trust_of(run, []).curve
    assert curve is not None
    assert curve.ceiling is curve.ceiling_y is None
