"""The demonstration's songs: repeatable, realistic in form, and neither too easy nor too hard."""

import io
from datetime import date

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from tercet.demo.birdsong import PATTERN_NAMES, PATTERNS, SAMPLE_RATE, make_syllables, to_wav, true_patterns
from tercet.sounds.decoding import read_sound
from tercet.sounds.measures import measure_sound


@pytest.fixture(scope="module")
def syllables():
    return make_syllables(200, seed=0)


def test_the_same_seed_gives_the_same_songs():
    first, again, another_seed = make_syllables(40, seed=3), make_syllables(40, seed=3), make_syllables(40, seed=4)
    assert [s.pattern for s in first] == [s.pattern for s in again] != [s.pattern for s in another_seed]
    assert all(np.array_equal(a.samples, b.samples) for a, b in zip(first, again, strict=True))
    assert [(s.key, s.bird, s.site, s.recorded) for s in first] == [(s.key, s.bird, s.site, s.recorded) for s in again]


def test_number_keys_and_patterns(syllables):
    assert len({s.key for s in syllables}) == len(syllables) == 200
    assert true_patterns(200, seed=0) == {s.key: s.pattern for s in syllables}
    counts = np.bincount(list(true_patterns(600, seed=0).values()), minlength=14)
    assert len(set(PATTERN_NAMES)) == len(PATTERNS) == counts.size == 14
    assert counts.min() >= 15
    assert counts.max() <= 90
    assert len({s.bird for s in syllables}) > 10
    assert len({(s.bird, s.site) for s in syllables}) == len({s.bird for s in syllables})
    assert all(date.fromisoformat(s.recorded).year == 2025 for s in syllables)


@pytest.mark.parametrize("n", [1, 14, 101])
def test_any_number_can_be_made(n):
    assert len(make_syllables(n, seed=1)) == n


def test_order_does_not_give_the_pattern_away(syllables):
    runs = np.count_nonzero(np.diff([s.pattern for s in syllables]))
    assert runs > 165


def test_samples_can_be_played(syllables):
    seconds = [len(s.samples) / s.sample_rate for s in syllables]
    assert 0.15 < min(seconds) < max(seconds) <= 1.2
    for syllable in syllables:
        assert syllable.samples.dtype == np.float32
        assert 0.3 < np.abs(syllable.samples).max() < 1.0
        assert abs(syllable.samples[0]) == abs(syllable.samples[-1]) == 0.0


def test_wav_round_trip(syllables):
    sound = read_sound(io.BytesIO(to_wav(syllables[0].samples, SAMPLE_RATE)))
    assert sound.rate == SAMPLE_RATE
    np.testing.assert_allclose(sound.samples, syllables[0].samples, atol=1.5 / 32768)


def test_louder_than_full_scale_is_clipped_not_wrapped():
    samples = read_sound(io.BytesIO(to_wav(np.array([2.0, -2.0, 0.0])))).samples
    np.testing.assert_allclose(samples, [1.0, -1.0, 0.0], atol=1e-4)


@pytest.mark.heavy
def test_features_alone_find_about_half_and_answers_can_help(syllables):
    rand_indices, accuracies = [], []
    for seed in range(3):
        songs = make_syllables(200, seed=seed) if seed else syllables
        truth = np.array([s.pattern for s in songs])
        measured = np.array([measure_sound(s.samples, s.sample_rate) for s in songs])
        scaled = StandardScaler().fit_transform(measured)
        labels = KMeans(14, n_init=10, random_state=seed).fit_predict(scaled)
        rand_indices.append(adjusted_rand_score(truth, labels))
        accuracies.append(cross_val_score(LogisticRegression(max_iter=300), scaled, truth, cv=3).mean())
    assert 0.35 <= np.mean(rand_indices) <= 0.65
    assert min(accuracies) > 0.85
