"""How much groups of features count by default: what makes clusters clearest, unless the difference is small."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import soundfile
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from tercet.features.computing import compute
from tercet.features.inputs import FeatureInput
from tercet.features.recipes import WEIGHTS_BY_SPECTRUM, GroupSettings, Recipe, default_recipe, weightings
from tercet.features.weighing import clearest

RATE = 22_050
RANGE = (300.0, 11_000.0)
WEIGHTS = ([1.0, 0.25], [0.25, 1.0])


def clusters(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows (n, 8) in four clear clusters."""
    return (4 * np.eye(8)[np.arange(n) % 4] + rng.normal(0, 0.5, (n, 8))).astype(np.float32)


@pytest.mark.parametrize("clear", [0, 1])
def test_the_group_in_which_items_fall_into_clusters_counts_most(clear):
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=(80, 8)).astype(np.float32), clusters(80, rng)]
    if clear == 0:
        groups.reverse()
    assert clearest(groups, WEIGHTS, 4, 0) == WEIGHTS[clear]


def test_a_small_difference_changes_nothing():
    rows = clusters(80, np.random.default_rng(0))
    groups = [rows, np.random.default_rng(1).permutation(rows, axis=1)]
    assert clearest(groups, WEIGHTS, 4, 0) == WEIGHTS[0]
    assert clearest(groups, WEIGHTS[::-1], 4, 0) == WEIGHTS[1]


@pytest.mark.parametrize(("n", "n_clusters"), [(7, 4), (80, 1), (1, 4), (0, 4)])
def test_few_items_or_one_cluster_change_nothing(n, n_clusters):
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=(n, 8)).astype(np.float32), clusters(n, rng)]
    assert clearest(groups, WEIGHTS, n_clusters, 0) == WEIGHTS[0]


def test_items_that_are_all_alike_change_nothing():
    groups = [np.ones((20, 8), dtype=np.float32)] * 2
    assert clearest(groups, WEIGHTS, 4, 0) == WEIGHTS[0]


def test_only_the_default_groups_of_sounds_have_a_choice():
    sound = default_recipe([FeatureInput("a", media_type="audio/wav", path=Path("a.wav"))])
    by_spectrum = weightings(sound)[1]
    assert {group.kind: group.weight for group in by_spectrum.groups} == WEIGHTS_BY_SPECTRUM
    assert weightings(by_spectrum) == [by_spectrum, sound], "its own weights come first"
    own = Recipe((GroupSettings("sound_measures"), GroupSettings("sound_codes", 32)))
    assert weightings(own) == [own]


@pytest.mark.heavy
def test_words_that_differ_in_the_order_of_their_sounds_are_weighed_by_their_spectrum(tmp_path):
    """Three bands of noise in each of their six orders, so that what is measured of a whole word is much the same."""
    rng = np.random.default_rng(0)
    orders = list(permutations((1500, 3500, 6500)))
    for number in range(72):
        word = np.concatenate([band(hz * rng.uniform(0.93, 1.07), rng) for hz in orders[number % 6]])
        soundfile.write(tmp_path / f"{number:02d}.wav", 0.5 * word, RATE)
    inputs = [FeatureInput(path.stem, media_type="audio/wav", path=path) for path in sorted(tmp_path.glob("*.wav"))]
    plain, weighed = (compute(default_recipe(inputs), inputs, RANGE, lambda *_: None, k) for k in (None, 6))
    assert {group.kind: group.weight for group in weighed.fitted.recipe.groups} == WEIGHTS_BY_SPECTRUM
    assert "33 measurements of each sound between 0.3 and 11 kHz (weight 0.5)" in weighed.words
    before, after = (
        adjusted_rand_score(np.arange(72) % 6, KMeans(6, n_init=10, random_state=0).fit_predict(table.values))
        for table in (plain, weighed)
    )
    assert after > max(before, 0.95)


def band(hz: float, rng: np.random.Generator) -> np.ndarray:
    """Return a piece of noise about a frequency, of varying length and loudness."""
    n = int(rng.uniform(0.1, 0.2) * RATE)
    frequencies = np.fft.rfftfreq(n, 1 / RATE)
    noise = rng.normal(size=(2, len(frequencies)))
    samples = np.fft.irfft((noise[0] + 1j * noise[1]) * np.exp(-0.5 * ((frequencies - hz) / 250) ** 2), n)
    return rng.uniform(0.3, 1.0) * np.hanning(n) ** 0.3 * samples / np.abs(samples).max()
