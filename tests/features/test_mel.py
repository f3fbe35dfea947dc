"""Mel spectrograms: tones stand in their bands, loudness and steady noise do not matter."""

import numpy as np
import pytest

from tercet.features.mel import BANDS, mel_spectrogram


def sing(hz: float, seconds: float = 0.5, rate: int = 22_050) -> np.ndarray:
    time = np.arange(round(seconds * rate)) / rate
    tone = np.hanning(len(time)) * np.sin(2 * np.pi * hz * time)
    return np.pad(tone, rate // 5).astype(np.float32)


@pytest.mark.parametrize("rate", [16_000, 22_050, 48_000])
def test_a_frame_every_ten_milliseconds(rate):
    mel = mel_spectrogram(sing(2000, rate=rate), rate, 300, 7000)
    assert mel.shape == (pytest.approx(0.9 * 100, abs=2), BANDS)
    assert mel.min() >= 0
    assert mel.max() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("hz", [600, 1500, 3000, 6000])
def test_a_tone_stands_in_the_band_of_its_pitch(hz):
    def to_mel(value):
        return 2595 * np.log10(1 + value / 700)

    loudest = mel_spectrogram(sing(hz), 22_050, 300, 8000).sum(axis=0).argmax()
    place = (to_mel(hz) - to_mel(300)) / (to_mel(8000) - to_mel(300)) * (BANDS + 1) - 1
    assert loudest == pytest.approx(place, abs=1)


def test_loudness_does_not_matter():
    near = mel_spectrogram(sing(2500), 22_050, 300, 8000)
    np.testing.assert_allclose(mel_spectrogram(0.01 * sing(2500), 22_050, 300, 8000), near, atol=1e-3)


def test_sampling_rates_look_alike():
    narrow = mel_spectrogram(sing(2500, rate=22_050), 22_050, 300, 8000)
    wide = mel_spectrogram(sing(2500, rate=44_100), 44_100, 300, 8000)
    size = min(len(narrow), len(wide))
    assert np.abs(narrow[:size] - wide[:size]).mean() < 0.02


def test_steady_noise_is_taken_off():
    rng = np.random.default_rng(0)
    song = sing(2500)
    noisy = mel_spectrogram(song + rng.normal(0, 0.02, len(song)).astype(np.float32), 22_050, 300, 8000)
    loud = noisy.sum(axis=0)
    assert loud.argmax() == mel_spectrogram(song, 22_050, 300, 8000).sum(axis=0).argmax()
    assert np.median(noisy) < 0.5


@pytest.mark.parametrize("samples", [np.zeros(22_050), np.zeros(1), np.zeros(10)])
def test_silence_is_zeros(samples):
    assert not mel_spectrogram(samples.astype(np.float32), 22_050, 300, 8000).any()


def test_bands_above_half_of_the_rate_are_silent():
    mel = mel_spectrogram(sing(2000, rate=8_000), 8_000, 300, 11_000)
    assert np.isfinite(mel).all()
    assert not mel[:, -1].any()
