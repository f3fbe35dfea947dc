"""The drawing of scores against numbers of clusters: places against arithmetic, ticks, sentences, and the page."""

from datetime import UTC, datetime

import numpy as np
import pytest
from fastapi import FastAPI
from sqlalchemy import select

from tercet.alternatives.score_curve import ABOVE, BELOW, HEIGHT, MOST_NAMED, Curve, curve_of
from tercet.database import Database
from tercet.models import Project, Role, Run
from tercet.runs.schemas import RunOut
from tercet.storage import Storage
from tests.dashboard.results import add_result
from tests.factories import add_features, add_member, make_project, signed_in


def made(chosen: int, mean: list[float], error: float = 0.1, scoring: str = "log_score") -> Curve:
    """The curve of a run that tried 2 clusters, 3, and so on."""
    numbers = list(range(2, 2 + len(mean)))
    scores = {"n_clusters": numbers, "mean": mean, "standard_error": [error] * len(mean)}
    curve = curve_of(run({"clusters_curve": scores, "chosen": {"n_clusters": chosen}}, scoring))
    assert curve is not None
    return curve


def run(metrics: dict[str, object], scoring: str = "log_score") -> RunOut:
    values = dict.fromkeys(RunOut.model_fields)
    numbers = {"starved": False} | dict.fromkeys(("number", "progress", "attempts", "answers_from", "answers_to"), 1)
    words = dict.fromkeys(("purpose", "name", "status", "algorithm", "reason"), "")
    fields = {"metrics": metrics, "parameters": {"scoring": scoring}, "created_at": datetime.now(UTC)}
    return RunOut.model_validate({**values, **numbers, **words, **fields})


def test_places_are_to_scale() -> None:
    # From -1.1, a bar's lower end, to 0.1, another's upper end; the middle score is exactly between.
    points = made(3, [-1.0, -0.5, 0.0, -0.5]).points
    low, high = HEIGHT - BELOW, ABOVE
    per_score = (low - high) / 1.2
    assert [point.x for point in points] == [12.5, 37.5, 62.5, 87.5]
    assert points[2].top == high
    assert points[0].bottom == low
    assert [point.y for point in points] == pytest.approx(
        [low - per_score * up for up in (0.1, 0.6, 1.1, 0.6)], abs=0.06
    )
    assert [point.is_chosen for point in points] == [False, True, False, False]


def test_what_is_within_chance_of_the_best_lies_above_the_line() -> None:
    curve = made(3, [-0.9, -0.45, -0.4, -0.55])
    assert [point.n_clusters for point in curve.points if point.y <= curve.within] == [3, 4]


@pytest.mark.parametrize(
    ("mean", "error", "expected"),
    [
        ([-0.9, -0.6], 0.05, ["−0.9", "−0.8", "−0.7", "−0.6"]),
        ([0.6, 0.93], 0.01, ["0.6", "0.7", "0.8", "0.9"]),
        ([-3.0, -1.0], 0.0, ["−3.0", "−2.5", "−2.0", "−1.5", "−1.0"]),
        ([-0.512, -0.511], 0.0, ["−0.5120", "−0.5118", "−0.5116", "−0.5114", "−0.5112", "−0.5110"]),
        ([-30.0, -5.0], 0.0, ["−30", "−25", "−20", "−15", "−10", "−5"]),
    ],
)
def test_ticks_are_round(mean: list[float], error: float, expected: list[str]) -> None:
    ticks = made(2, mean, error).ticks
    assert [text for _, text in ticks] == expected
    assert all(ABOVE <= down <= HEIGHT - BELOW for down, _ in ticks)


def test_equal_scores_are_a_line() -> None:
    assert len({point.y for point in made(2, [-0.5, -0.5, -0.5], 0.0).points}) == 1


@pytest.mark.parametrize("count", [2, 8, 9, 41])
def test_no_more_numbers_are_written_than_there_is_room_for(count: int) -> None:
    named = [point.is_named for point in made(2, [-0.5] * count).points]
    assert min(count, MOST_NAMED) / 2 < sum(named) <= MOST_NAMED


def test_the_sentence_says_what_was_taken_and_why() -> None:
    assert made(3, [-0.9, -0.4, -0.5]).sentence == (
        "Of 2 to 4 clusters, 3 predicted held-out answers best and were chosen."
    )
    assert made(3, [-0.9, -0.45, -0.4]).sentence == (
        "Of 2 to 4 clusters, 4 predicted held-out answers best; 3 were chosen, "
        "the fewest that did as well but for chance."
    )


def test_runs_with_a_number_that_was_set_have_none() -> None:
    assert curve_of(run({})) is None
    assert curve_of(run({"chosen": {"n_clusters": 3}})) is None


@pytest.mark.parametrize(("scoring", "said"), [("log_score", "Log score"), ("accuracy", "Share predicted")])
def test_the_page_draws_it(app: FastAPI, database: Database, storage: Storage, scoring: str, said: str) -> None:
    curve = {"n_clusters": [2, 3, 4], "mean": [-0.9, -0.45, -0.4], "standard_error": [0.05, 0.06, 0.07]}
    with database.transaction() as session:
        project = make_project(session, n_items=12)
        add_features(session, storage, project, np.eye(12))
        add_result(session, storage, project, 1, [1, 2, 3] * 4)
        add_result(session, storage, project, 2, [1, 2, 3] * 4, clusters_curve=curve, chosen={"n_clusters": 3})
        done_run = session.scalars(select(Run).where(Run.number == 2)).one()
        done_run.algorithm, done_run.parameters = "dcrc-cv", {"scoring": scoring}
        owner = add_member(session, session.get_one(Project, project.id), Role.OWNER)
    with signed_in(app, owner) as client:
        page = client.get("/projects/songs/runs/2").text
        assert 'id="curve"' not in client.get("/projects/songs/runs/1").text
    assert page.count("<circle") == 3
    assert page.count('<circle class="chosen"') == 1
    assert f'<title id="curve-title">{said} of held-out answers, by number of clusters</title>' in page
    assert '<td class="number">−0.450</td><td class="number">0.060</td>' in page
