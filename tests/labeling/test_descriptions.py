"""Sounds in words: questions carry the measures that were taken of the recordings, read back from the features."""

from pathlib import Path

import numpy as np
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

from tercet.demo.birdsong import make_syllables, to_wav
from tercet.features.computing import compute
from tercet.features.inputs import FeatureInput
from tercet.features.recipes import GroupSettings, Recipe
from tercet.models import FeatureSet, Item
from tercet.sounds.measures import FEATURE_NAMES, measure_sound
from tercet.web.zip_stream import npy_bytes, npz_bytes
from tests.labeling.conftest import SONGS, World

RANGE = (300.0, 11_000.0)
SILENT = 11  # the last item


def test_questions_about_sounds_carry_their_measures(
    app: FastAPI, ada: TestClient, world: World, tmp_path: Path
) -> None:
    storage = app.state.storage
    sounds = [(syllable.samples, syllable.sample_rate) for syllable in make_syllables(SILENT, seed=3)]
    sounds.append((np.zeros(8000, dtype=np.float32), 22_050))
    for place, sound in enumerate(sounds):
        (tmp_path / f"item-{place}").write_bytes(to_wav(*sound))
    inputs = [
        FeatureInput(path.name, "", {}, "audio/wav", path) for path in (tmp_path / f"item-{i}" for i in range(12))
    ]
    recipe = Recipe((GroupSettings("sound_measures", 0, 2.0),))
    table = compute(recipe, inputs, RANGE, lambda *_: None)
    with app.state.database.transaction() as session:
        for item in session.scalars(select(Item)):
            item.media_type = "audio/wav"
        n, d = table.values.shape
        features = FeatureSet(project_id=world.project.id, version=1, n=n, d=d, feature_names=table.names)
        features.blob = storage.put_content("features", npy_bytes(table.values), ".npy")
        features.learned = storage.put_content("features", npz_bytes(table.fitted.arrays()), ".npz")
        features.recipe = {**recipe.as_dict(), "group_of_column": table.groups}
        session.add(features)
    questions = ada.get(f"{SONGS}/triplets/next", params={"n": 60}).json()["triplets"]
    shown = {key: item["measures"] for question in questions for key, item in question["items"].items()}
    assert len(shown) == 12
    assert shown.pop(f"item-{SILENT}") is None, "of silence nothing is said"
    for key, measures in shown.items():
        samples, rate = sounds[int(key.removeprefix("item-"))]
        values = dict(zip(FEATURE_NAMES, measure_sound(samples, rate, *RANGE), strict=True))
        np.testing.assert_allclose(
            [measures["seconds"], measures["low_khz"], measures["high_khz"]],
            [values["duration_s"], values["quantile05_khz"], values["quantile95_khz"]],
            atol=0.06,
        )
        assert measures["notes"] == max(1, round(values["notes_per_s"] * values["duration_s"]))
        rise, bend = values["contour_rise_octaves"], values["contour_bend_octaves"]
        if rise > max(abs(bend), 0.1):
            assert measures["contour"] == "rising"
        if -rise > max(abs(bend), 0.1):
            assert measures["contour"] == "falling"
    assert {measures["contour"] for measures in shown.values()} >= {"rising", "falling"}
    ahead = ada.post(f"{SONGS}/triplets/ahead", params={"n": 5}).json()["triplets"]
    assert all(item["measures"] == shown.get(key) for question in ahead for key, item in question["items"].items())
