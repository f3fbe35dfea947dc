"""Recipes as data and in words, and what they make of real files."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image
from sklearn.datasets import load_digits

from tercet.demo.birdsong import make_syllables
from tercet.features.computing import compute
from tercet.features.decoding import MOST_SECONDS
from tercet.features.inputs import FeatureInput
from tercet.features.media import Remark
from tercet.features.recipes import GroupSettings, Recipe, default_recipe, describe
from tercet.features.scaling import total_variance

RANGE = (300.0, 11_000.0)


def silent(share: float, words: str) -> None:
    """Hear no progress."""


@pytest.fixture(scope="module")
def songs(tmp_path_factory) -> tuple[list[FeatureInput], np.ndarray]:
    """Forty synthetic songs as FLACs, and their patterns."""
    folder = tmp_path_factory.mktemp("songs")
    syllables = make_syllables(40, 0)
    for syllable in syllables:
        soundfile.write(folder / f"{syllable.key}.flac", syllable.samples, syllable.sample_rate)
    inputs = [FeatureInput(s.key, media_type="audio/flac", path=folder / f"{s.key}.flac") for s in syllables]
    return inputs, np.array([s.pattern for s in syllables])


@pytest.fixture(scope="module")
def digits(tmp_path_factory) -> tuple[list[FeatureInput], np.ndarray]:
    """Sixty grey pictures of digits."""
    folder = tmp_path_factory.mktemp("digits")
    X, y = load_digits(return_X_y=True)
    for number, row in enumerate(X[:60]):
        Image.fromarray((row.reshape(8, 8) * 15).astype(np.uint8)).save(folder / f"{number:02d}.png")
    paths = sorted(folder.glob("*.png"))
    return [FeatureInput(path.stem, media_type="image/png", path=path) for path in paths], y[:60]


def nearest_share(values: np.ndarray, y: np.ndarray) -> float:
    distances = ((values[:, None] - values[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    return float((y[distances.argmin(axis=1)] == y).mean())


def test_a_recipe_survives_json():
    recipe = Recipe((GroupSettings("sound_codes", 16, 0.5), GroupSettings("plugin:birdnet")), seed=7)
    assert Recipe.from_dict(json.loads(json.dumps(recipe.as_dict()))) == recipe


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({}, "a recipe is an object with 'groups'"),
        ({"groups": 5}, "a recipe is an object with 'groups'"),
        ({"groups": []}, "at least one group"),
        ({"groups": [{"kind": "smells"}]}, "'smells' is not a kind of features"),
        ({"groups": [{"kind": "plugin:"}]}, "'plugin:' is not a kind of features"),
        ({"groups": [{"kind": "sound_codes", "numbers": -1}]}, "a group has 0 to 1000 numbers, not -1"),
        ({"groups": [{"kind": "sound_codes", "weight": 0}]}, "a group's weight is above 0"),
        ({"groups": [{"kind": "sound_codes", "weight": float("nan")}]}, "a group's weight is above 0"),
        ({"groups": [{"kind": "sound_codes"}] * 2}, "'sound_codes' is in the recipe twice"),
        ({"groups": [{"kind": "sound_codes"}], "version": 9}, "recipes of version 9 cannot be read"),
    ],
)
def test_what_is_no_recipe_is_refused_with_a_sentence(data, sentence):
    with pytest.raises(ValueError, match=sentence):
        Recipe.from_dict(data)


def test_the_default_depends_on_what_the_items_are():
    def sources(inputs):
        return list(dict.fromkeys(group.source for group in default_recipe(inputs).groups))

    sound = FeatureInput("a", text="a wren", media_type="audio/wav", path=Path("a.wav"))
    picture = FeatureInput("b", media_type="image/png", path=Path("b.png"))
    assert sources([sound] * 30) == ["audio"]
    assert sources([picture] * 30) == ["image"]
    assert sources([sound, picture]) == ["audio", "image"]
    assert sources([sound] * 30 + [picture]) == ["audio"]
    assert sources([FeatureInput("c", text="a wren", details={"hz": 3})]) == ["text"]
    assert sources([FeatureInput("d", details={"hz": 3})]) == ["table"]


def test_words():
    recipe = Recipe((GroupSettings("sound_measures"), GroupSettings("sound_codes", 32, 0.5)))
    assert describe(recipe, RANGE) == (
        "33 measurements of each sound between 0.3 and 11 kHz and "
        "up to 32 numbers learned from these recordings (weight 0.5)"
    )
    assert describe(Recipe((GroupSettings("text_words", 50),))) == "up to 50 numbers for the words of each text"
    grey = Recipe((GroupSettings("picture_shapes", 32), GroupSettings("picture_colours", 16)))
    counts = {"picture_shapes": 30, "picture_colours": 0}
    assert describe(grey, None, counts) == "30 numbers for the shapes in each picture", "they have no colours"


def test_songs_of_one_pattern_are_near(songs):
    inputs, y = songs
    progress: list[float] = []
    table = compute(default_recipe(inputs), inputs, RANGE, lambda share, words: progress.append(share))
    assert table.values.dtype == np.float32
    assert np.isfinite(table.values).all()
    assert table.values.shape == (40, len(table.names)) == (40, len(table.groups))
    assert len(set(table.names)) == len(table.names)
    assert table.faults == []
    assert table.words.startswith("33 measurements of each sound between 0.3 and 11 kHz, 32 numbers learned from")
    assert nearest_share(table.values, y) > 3 * (np.bincount(y)[y] - 1).mean() / 39
    assert progress == sorted(progress)
    assert progress[-1] == 1


def test_each_group_has_an_equal_share_of_variance_or_as_its_weight_says(songs):
    inputs, _ = songs
    recipe = Recipe((GroupSettings("sound_measures"), GroupSettings("sound_outline", 8, 2.0)))
    table = compute(recipe, inputs, RANGE, silent)
    of_group = np.array(table.groups)
    shares = [total_variance(table.values[:, of_group == group.kind]) for group in recipe.groups]
    assert shares[1] == pytest.approx(2 * shares[0], rel=1e-3)
    assert sum(shares) == pytest.approx(table.values.shape[1], rel=1e-3)


def test_the_same_items_give_the_same_features(songs):
    inputs, _ = songs
    first, second = (compute(default_recipe(inputs), inputs, RANGE, silent).values for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_what_is_learned_from_few_items_is_the_same_in_any_order(songs):
    inputs, _ = songs
    order = np.random.default_rng(0).permutation(len(inputs))
    recipe = default_recipe(inputs)
    first = compute(recipe, inputs, RANGE, silent).values
    shuffled = compute(recipe, [inputs[place] for place in order], RANGE, silent).values
    np.testing.assert_allclose(shuffled, first[order], atol=2e-3)


def test_another_seed_learns_other_patterns_that_say_about_the_same(songs):
    inputs, _ = songs
    groups = (GroupSettings("sound_codes", 16),)
    first, second = (compute(Recipe(groups, seed), inputs, RANGE, silent).values for seed in (0, 1))
    assert not np.array_equal(first, second)
    distances = [((X[:, None] - X[None]) ** 2).sum(axis=2).ravel() for X in (first, second)]
    assert np.corrcoef(*distances)[0, 1] > 0.8


def test_bad_recordings_are_average_and_named(songs, tmp_path):
    inputs, _ = songs
    soundfile.write(tmp_path / "silence.wav", np.zeros(22_050), 22_050)
    soundfile.write(tmp_path / "endless.wav", np.full(22_050, np.nan), 22_050, subtype="FLOAT")
    (tmp_path / "text.wav").write_text("this is no recording")
    soundfile.write(tmp_path / "empty.wav", np.zeros(0), 22_050)
    names = ("silence", "endless", "text", "empty", "absent")
    bad = [FeatureInput(name, media_type="audio/wav", path=tmp_path / f"{name}.wav") for name in names]
    table = compute(default_recipe(inputs), [*inputs, *bad, FeatureInput("bare")], RANGE, silent)
    assert [fault.key for fault in table.faults] == [*names, "bare"]
    sentences = {fault.key: fault.detail for fault in table.faults}
    assert sentences["silence"].startswith("the recording has only silence")
    assert sentences["endless"].startswith("the recording holds samples that are not numbers")
    assert sentences["text"].startswith("the recording is no sound that can be read")
    assert sentences["empty"].startswith("the file holds no sound")
    assert sentences["bare"].startswith("it has no recording")
    assert not table.values[len(inputs) :].any()
    alone = compute(default_recipe(inputs), inputs, RANGE, silent).values
    scale = np.linalg.norm(table.values[:40]) / np.linalg.norm(alone)
    np.testing.assert_allclose(table.values[:40], scale * alone, atol=2e-3)


def test_a_long_recording_is_cut_with_a_word(songs, tmp_path):
    inputs, _ = songs
    samples = np.random.default_rng(0).normal(0, 0.1, round(8_000 * (MOST_SECONDS + 1)))
    samples[: len(samples) // 2] = 0
    soundfile.write(tmp_path / "long.wav", samples, 8_000)
    long = FeatureInput("long", media_type="audio/wav", path=tmp_path / "long.wav")
    table = compute(Recipe((GroupSettings("sound_measures"),)), [*inputs, long], RANGE, silent)
    assert table.faults == [
        Remark("long", "the recording is longer than 120 seconds; the part after that is not used", is_measured=True)
    ]
    assert table.values[-1].any()


def test_the_range_ends_where_the_recordings_end(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(4):
        tone = np.sin(2 * np.pi * rng.uniform(500, 3000) * np.arange(4_000) / 8_000) * np.hanning(4_000)
        soundfile.write(tmp_path / f"{number}.wav", tone, 8_000)
    inputs = [FeatureInput(path.stem, media_type="audio/wav", path=path) for path in sorted(tmp_path.glob("*.wav"))]
    assert "between 0.3 and 4 kHz" in compute(default_recipe(inputs), inputs, None, silent).words


def test_pictures_of_one_digit_are_near(digits):
    inputs, y = digits
    table = compute(default_recipe(inputs), inputs, None, silent)
    assert nearest_share(table.values, y) > 0.8
    assert set(table.groups) == {"picture_shapes", "picture_codes"}  # grey pictures have no colours


def test_pictures_of_every_kind_of_pixel(digits, tmp_path):
    inputs, _ = digits
    rng = np.random.default_rng(0)
    for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I", "F", "I;16"):
        levels = rng.integers(0, 256, (12, 20, 3)).astype(np.uint8)
        if mode == "I;16":
            picture = Image.fromarray(levels[:, :, 0].astype(np.uint16) * 200)
        else:
            picture = Image.fromarray(levels).convert(mode)
        picture.save(tmp_path / f"{mode.replace(';', '')}.tiff")
    paths = sorted(tmp_path.glob("*.tiff"))
    more = [FeatureInput(path.stem, media_type="image/tiff", path=path) for path in paths]
    table = compute(default_recipe(inputs), [*inputs, *more], None, silent)
    assert table.faults == []
    assert table.values[len(inputs) :].any(axis=1).all()


def test_bad_pictures_are_average_and_named(digits, tmp_path):
    inputs, _ = digits
    Image.fromarray(np.zeros((40, 40), dtype=np.uint8)).save(tmp_path / "whole.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "whole.png").read_bytes()[:50])
    (tmp_path / "text.png").write_text("<svg>")
    bad = [FeatureInput(name, media_type="image/png", path=tmp_path / f"{name}.png") for name in ("cut", "text")]
    table = compute(default_recipe(inputs), [*inputs, *bad], None, silent)
    sentence = "the picture cannot be decoded"
    assert table.faults == [Remark("cut", sentence), Remark("text", sentence)]
    assert not table.values[-2:].any()


def test_colours_tell_pictures_apart_whatever_their_shapes(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(20):
        pixels = np.full((24, 24, 3), ((200, 40, 40), (40, 60, 200))[number % 2]) + rng.normal(0, 8, (24, 24, 3))
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(tmp_path / f"{number:02d}.png")
    inputs = [FeatureInput(path.stem, media_type="image/png", path=path) for path in sorted(tmp_path.glob("*.png"))]
    table = compute(Recipe((GroupSettings("picture_colours", 4),)), inputs, None, silent)
    assert nearest_share(table.values, np.arange(20) % 2) == 1


def test_texts_and_tables():
    birds = [FeatureInput(f"b{n}", text=f"a {bird} sings at dawn") for n, bird in enumerate(("wren", "robin", "tit"))]
    rocks = [FeatureInput(f"r{n}", text=f"heavy {rock} layers below") for n, rock in enumerate(("chalk", "basalt"))]
    texts = compute(default_recipe(birds), [*birds, *rocks, FeatureInput("x")], None, silent)
    assert texts.faults == [Remark("x", "its text has no word in common with the others")]
    rows = [
        FeatureInput(str(n), details={"hz": n, "site": "creek" if n % 2 else "ridge", "id": f"k{n}"}) for n in range(9)
    ]
    table = compute(default_recipe(rows), rows, None, silent)
    assert table.names == ["hz", "site = ridge", "site = creek"]
    assert table.words == "3 numbers from the columns of the table: measurements, dates and categories"


def test_items_that_do_not_differ_are_refused():
    rows = [FeatureInput(str(n), details={"hz": 3}) for n in range(9)]
    with pytest.raises(ValueError, match="the items do not differ in anything that these features measure"):
        compute(default_recipe(rows), rows, None, silent)
    with pytest.raises(ValueError, match="there are no items"):
        compute(default_recipe(rows), [], None, silent)


def test_only_bad_files_are_refused(tmp_path):
    (tmp_path / "a.wav").write_text("no")
    inputs = [FeatureInput("a", media_type="audio/wav", path=tmp_path / "a.wav")] * 3
    with pytest.raises(ValueError, match="the items do not differ"):
        compute(default_recipe(inputs), inputs, None, silent)


def test_a_report_that_raises_stops_the_work(songs):
    inputs, _ = songs

    class Cancelled(Exception):
        """What the caller raises."""

    def stop(share: float, words: str) -> None:
        if share > 0.5:
            raise Cancelled

    with pytest.raises(Cancelled):
        compute(default_recipe(inputs), inputs, RANGE, stop)
