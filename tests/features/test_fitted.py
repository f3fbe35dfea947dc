"""What a recipe learned measures items alone as it measured them among all, before and after it went through a file."""

import json

import numpy as np
import pytest
import soundfile
from PIL import Image
from sklearn.datasets import load_digits

from tercet.demo.birdsong import make_syllables
from tercet.features.computing import compute, measure_new
from tercet.features.fitted import FittedRecipe
from tercet.features.inputs import FeatureInput
from tercet.features.recipes import DEFAULTS, GroupSettings, Recipe, default_recipe, usual_group
from tests.features.test_recipes import silent


def songs(folder):
    for syllable in make_syllables(20, 0):
        soundfile.write(folder / f"{syllable.key}.flac", syllable.samples, syllable.sample_rate)
    return [FeatureInput(path.stem, media_type="audio/flac", path=path) for path in sorted(folder.glob("*.flac"))]


def digits(folder):
    for number, row in enumerate(load_digits().data[:30]):
        Image.fromarray((row.reshape(8, 8) * 15).astype(np.uint8)).save(folder / f"{number:02d}.png")
    return [FeatureInput(path.stem, media_type="image/png", path=path) for path in sorted(folder.glob("*.png"))]


def texts(folder):
    birds, stones = ("wren", "robin", "tit", "thrush"), ("chalk", "basalt", "flint", "granite")
    sentences = [f"a {bird} sings at dawn" for bird in birds] + [f"heavy {stone} layers below" for stone in stones]
    return [FeatureInput(str(number), text=text) for number, text in enumerate(sentences * 4)]


def rows(folder):
    return [FeatureInput(str(n), details={"hz": n, "site": "creek" if n % 2 else "ridge"}) for n in range(20)]


def through_a_file(fitted: FittedRecipe, path) -> FittedRecipe:
    np.savez(path, **fitted.arrays())
    with np.load(path, allow_pickle=False) as stored:
        return FittedRecipe.of_arrays(dict(stored))


@pytest.mark.parametrize("make", [songs, digits, texts, rows])
def test_items_alone_get_what_they_got_among_all(make, tmp_path):
    inputs = make(tmp_path)
    table = compute(default_recipe(inputs), inputs, None, silent)
    fitted = through_a_file(table.fitted, tmp_path / "fitted.npz")
    for some in ([3], [17, 2]):
        new = measure_new(fitted, [inputs[place] for place in some], silent)
        np.testing.assert_allclose(new.values, table.values[some], atol=2e-5)
        assert new.measured.all()
        assert not new.faults


def test_numbers_and_weights_that_somebody_chose(tmp_path):
    inputs = songs(tmp_path)
    recipe = Recipe((GroupSettings("sound_measures", 5, 2.0), GroupSettings("sound_outline", 0, 0.5)), seed=3)
    table = compute(recipe, inputs, (500.0, 9_000.0), silent)
    fitted = through_a_file(table.fitted, tmp_path / "fitted.npz")
    assert fitted.recipe == recipe
    assert fitted.sound_range == (500.0, 9_000.0)
    np.testing.assert_allclose(measure_new(fitted, inputs[:4], silent).values, table.values[:4], atol=2e-5)


def test_what_cannot_be_measured_is_named(tmp_path):
    inputs = songs(tmp_path)
    table = compute(default_recipe(inputs), inputs, None, silent)
    (tmp_path / "cut.wav").write_bytes(b"RIFF....WAVE")
    bad = [FeatureInput("cut", media_type="audio/wav", path=tmp_path / "cut.wav"), FeatureInput("bare")]
    new = measure_new(table.fitted, [inputs[0], *bad], silent)
    assert new.measured.tolist() == [True, False, False]
    assert [fault.key for fault in new.faults] == ["cut", "bare"]
    assert new.faults[1].detail == "it has no recording"


def test_pictures_of_one_colour_have_no_patterns(tmp_path):
    for number in range(6):
        Image.new("RGB", (20, 20), (40 * number, 10, 90)).save(tmp_path / f"{number}.png")
    inputs = [FeatureInput(path.stem, media_type="image/png", path=path) for path in sorted(tmp_path.glob("*.png"))]
    recipe = Recipe(tuple(map(usual_group, DEFAULTS["image"])))
    table = compute(recipe, inputs, None, silent)
    fitted = through_a_file(table.fitted, tmp_path / "fitted.npz")
    np.testing.assert_allclose(measure_new(fitted, inputs[2:4], silent).values, table.values[2:4], atol=2e-5)


@pytest.mark.parametrize("arrays", [{}, {"recipe": np.array("{}")}, {"recipe": np.array(json.dumps({"recipe": {}}))}])
def test_arrays_of_something_else(arrays):
    with pytest.raises(ValueError, match=r"what the recipe learned is not there|a recipe"):
        FittedRecipe.of_arrays(arrays)
