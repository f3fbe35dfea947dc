"""Clusters in words: said only of what separates them, in any unit, from sounds, texts, columns and named features."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from sqlalchemy import select

from tercet.database import Database
from tercet.features.fitted import FittedRecipe
from tercet.features.recipes import GroupSettings, Recipe
from tercet.features.scaling import to_one_scale
from tercet.models import Bag, FeatureSet, Item, Project, Role, now
from tercet.runs import results
from tercet.settings import Settings
from tercet.sounds.measures import FEATURE_NAMES
from tercet.storage import Storage
from tercet.worker.outputs.cluster_words import ASPECTS, Items, describe
from tercet.worker.outputs.separation import LEVEL, telling_interval, telling_values
from tests.factories import add_features, add_member, make_project, signed_in
from tests.runs.support import blobs, compute, get_run, make_songs, request

# What is computed does not depend on the kind of database; how runs are stored is tested on both elsewhere.
pytestmark = pytest.mark.only_on("sqlite")


def items_of(labels: np.ndarray, **kinds: Any) -> Items:
    nothing: dict[str, Any] = {"texts": [""] * len(labels), "details": [{}] * len(labels), "sounds": {}, "features": {}}
    return Items(labels, **{**nothing, **kinds})


def random_labels(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """Clusters of uneven sizes, none of them empty."""
    return np.concatenate([np.arange(1, k + 1), rng.choice(k, n - k, p=rng.dirichlet(np.ones(k))) + 1])


@pytest.mark.heavy
def test_of_clusters_that_do_not_differ_nothing_is_said() -> None:
    projects, loud = 300, 0
    for seed in range(projects):
        rng = np.random.default_rng(seed)
        labels = random_labels(rng, 80, 5)
        features = {
            "bell": rng.normal(size=80),
            "heavy": rng.standard_cauchy(80),
            "count": rng.poisson(0.7, 80).astype(float),
            "often missing": np.where(rng.random(80) < 0.4, np.nan, rng.random(80)),
        }
        recorders, sizes = rng.choice(list("ABC"), 80).tolist(), rng.random(80).tolist()
        details = [{"recorder": name, "size": size} for name, size in zip(recorders, sizes, strict=True)]
        texts = [" ".join(rng.choice(list("abcdefgh"), 3)) for _ in range(80)]
        words = describe(items_of(labels, texts=texts, details=details, features=features), 5)
        loud += any(words.values())
    # Three kinds of words, each at its level: about 3 % at most; 7 % would be four standard deviations more.
    assert loud / projects <= 3 * LEVEL + 4 * np.sqrt(3 * LEVEL / projects)


def test_the_chance_of_an_interval_is_that_of_its_order_statistics() -> None:
    rng = np.random.default_rng(0)
    is_member = np.arange(60) < 20
    samples = rng.exponential(size=(4000, 60))
    # One comparison: an interval that two thirds of the others miss comes by chance less often than the level.
    share = np.mean([telling_interval(values, is_member, 1) is not None for values in samples])
    assert share <= LEVEL


@pytest.mark.parametrize("change", [np.exp, lambda x: 1000 * x + 7, np.cbrt])
def test_units_and_other_scales_with_the_same_order_change_nothing(change: Callable[[Any], Any]) -> None:
    rng = np.random.default_rng(1)
    is_member = np.arange(90) < 30
    for shift in (0, 1, 3):
        values = rng.normal(size=90) + shift * is_member
        before, after = (telling_interval(column, is_member, 10) for column in (values, change(values)))
        assert (before is None) == (after is None)
        if before is not None and after is not None:
            assert (before.below, before.above) == (after.below, after.above)
            np.testing.assert_allclose(change(np.array([before.low, before.high])), [after.low, after.high])
    assert before is not None, "three deviations apart"


def test_a_middle_that_others_miss_on_both_sides_is_said() -> None:
    values = np.concatenate([np.linspace(4, 5, 30), np.linspace(0, 3, 40), np.linspace(6, 9, 40)])
    interval = telling_interval(values, np.arange(110) < 30, 20)
    assert interval is not None
    assert (interval.below, interval.above) == (0.5, 0.5)
    assert 4 <= interval.low <= interval.median <= interval.high <= 5


@pytest.mark.parametrize("members", [0, 1, 90])
def test_a_cluster_without_items_or_without_others_has_no_interval(members: int) -> None:
    assert telling_interval(np.linspace(0, 1, 90), np.arange(90) < members, 1) is None


def test_values_are_ordered_by_how_much_more_frequent_and_how_rare_they_are() -> None:
    counts = np.array([[30, 20, 10, 0, 30], [5, 0, 10, 30, 30]])
    # 25/30 log(60/35) is less than 20/30 log(60/20).
    assert telling_values(counts, np.array([30, 30]), 0.1) == [[1, 0], [3]]
    assert telling_values(counts, np.array([30, 30]), 0.9) == [[0], [3]]


def test_sounds_are_described_by_what_sets_them_apart() -> None:
    rng = np.random.default_rng(2)
    labels = np.repeat([1, 2, 3, 4], 25)
    sounds = {name: rng.random(100) for name in FEATURE_NAMES}
    sounds["duration_s"] = np.where(labels == 1, 0.5, 1.5) + 0.02 * rng.random(100)
    low = np.choose(labels - 1, [3.1, 3.1, 6.2, 3.1]) + 0.05 * rng.random(100)
    for name, more in (("quantile05_khz", 0), ("quantile50_khz", 1), ("quantile95_khz", 1.9), ("peak_khz", 0.9)):
        sounds[name] = low + more
    sounds["contour_bend_octaves"] = 0.01 * rng.normal(size=100)
    sounds["contour_rise_octaves"] = np.choose(labels - 1, [0.0, 0.8, 0.0, -0.6]) + 0.01 * rng.normal(size=100)
    sounds["notes"] = np.where(labels == 4, 4.0, 2.0)
    words = describe(items_of(labels, sounds=sounds), 4)
    assert words == {1: ["0.51 s", "level"], 2: ["rising"], 3: ["6.2–8.1 kHz", "level"], 4: ["falling", "4 notes"]}


def test_every_measure_that_words_go_by_exists() -> None:
    assert {name for aspect in ASPECTS for name in aspect.measures} <= {*FEATURE_NAMES, "notes"}


def test_texts_and_columns_are_described_by_what_sets_them_apart() -> None:
    rng = np.random.default_rng(3)
    labels = np.repeat([1, 2, 3], 40)
    topics = np.array([["refund", "order"], ["login", "password"], ["hello", "thanks"]])
    texts = [f"the {rng.choice(list('xyz'))} {' '.join(topics[label - 1])}" for label in labels]
    details = [
        {
            "recorder": "B" if label == 2 and place % 10 else "A",
            "weight": float(label == 3) * 10 + rng.random(),
            "day": f"2026-05-{1 + 10 * (label == 3) + place % 3:02d}",
            "comment": rng.choice(["", "good"]),
        }
        for place, label in enumerate(labels)
    ]
    words = describe(items_of(labels, texts=texts, details=details), 3)
    assert words[1] == ["“order”", "“refund”"]
    assert words[2] == ["“login”", "“password”", "mostly recorder B"]
    assert words[3][:2] == ["“hello”", "“thanks”"]
    assert words[3][2].startswith("weight 10"), words
    assert words[3][3] == "day 2026-05-11–2026-05-13"


def test_runs_describe_their_clusters(app: FastAPI, database: Database, storage: Storage, settings: Settings) -> None:
    project = make_songs(database, storage, parameters={})
    with database.transaction() as session:
        features = session.scalars(select(FeatureSet).where(FeatureSet.project_id == project)).one()
        features.feature_names = ["length", "pitch", "noise", "rise"]
        bags = [Bag(project_id=project, key=key) for key in ("rec-1", "rec-2")]
        session.add_all(bags)
        session.flush()
        rows = session.scalars(select(Item).where(Item.project_id == project).order_by(Item.position)).all()
        for item, true_class in zip(rows, blobs(60)[1].tolist(), strict=True):
            item.bag_id = bags[true_class == 1].id
        rows[4].set_aside_at = now()
    run_id = request(database, project)
    assert compute(database, settings) == "done"
    run = get_run(database, run_id)
    assert run.result is not None
    labels = results.load(storage, run.result).labels
    words = run.metrics["cluster_words"]
    middle = int(labels[1])
    assert "mostly from rec-2" in words[str(middle)]
    ranges = [word for texts in words.values() for word in texts if not word.startswith("mostly")]
    assert ranges
    values = dict(zip(features.feature_names, blobs(60)[0].T, strict=True))
    for cluster, texts in words.items():
        for name, _, span in (word.partition(" ") for word in texts if not word.startswith("mostly")):
            low, high = map(float, span.split("–"))
            inside = (values[name] >= low - 0.01) & (values[name] <= high + 0.01)
            assert np.mean(inside[labels == int(cluster)]) >= 0.7
            assert np.mean(inside[labels != int(cluster)]) <= 0.34
    with database.transaction() as session:
        analyst = add_member(session, session.get_one(Project, project), Role.ANALYST)
    with signed_in(app, analyst) as client:
        clusters = client.get("/api/v1/projects/songs/runs/latest/clusters").json()["clusters"]
        page = client.get("/projects/songs").text
    assert {str(cluster["cluster"]): cluster["words"] for cluster in clusters if cluster["words"]} == words
    assert ", ".join(words[str(middle)]) in page


def test_sounds_are_described_in_their_units_though_features_have_one_scale(
    database: Database, storage: Storage, settings: Settings
) -> None:
    rng, every = np.random.default_rng(5), np.ones(60, dtype=bool)
    classes = blobs(60)[1]
    raw = (rng.standard_normal((3, len(FEATURE_NAMES)))[classes] + 0.3 * rng.random((60, len(FEATURE_NAMES)))) / 100
    raw[:, FEATURE_NAMES.index("duration_s")] = 0.25 + 0.5 * classes
    raw[:, FEATURE_NAMES.index("harmonicity")] = 0.5  # constant: its scale is 0
    reduction, factor = to_one_scale(raw.astype(np.float32), every), np.float32(0.7)
    recipe = Recipe((GroupSettings("sound_measures"),))
    learned = {"mean": reduction.mean, "matrix": reduction.matrix, "factor": np.array(factor)}
    storage.put_arrays("learned.npz", FittedRecipe(recipe, (300.0, 11_000.0), {"sound_measures": learned}).arrays())
    with database.transaction() as session:
        project = make_project(session, n_items=60, n_clusters=3)
        features = add_features(session, storage, project, factor * reduction.rows(raw.astype(np.float32), every))
        features.recipe = {**recipe.as_dict(), "group_of_column": ["sound_measures"] * len(FEATURE_NAMES)}
        features.learned, features.feature_names = "learned.npz", list(FEATURE_NAMES)
    run_id = request(database, project.id)
    assert compute(database, settings) == "done"
    run = get_run(database, run_id)
    assert run.result is not None
    labels = results.load(storage, run.result).labels
    lengths = {
        int(cluster): float(text.removesuffix(" s"))
        for cluster, texts in run.metrics["cluster_words"].items()
        for text in texts
        if text.endswith(" s")
    }
    assert set(lengths) == {1, 2, 3}
    for cluster, length in lengths.items():
        assert length == pytest.approx(float(np.median(0.25 + 0.5 * classes[labels == cluster])), rel=0.05)
