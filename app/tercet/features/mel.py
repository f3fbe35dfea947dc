"""Mel spectrograms: the power of a sound in bands that are evenly spaced to the ear, cleaned of steady noise."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]

BANDS = 40
HOP_SECONDS = 0.010
WINDOW_SECONDS = 0.025
RANGE_DB = 50.0  # cells this far below the loudest one are silence


def mel_spectrogram(samples: Rows, rate: int, low_hz: float, high_hz: float) -> Rows:
    """Return loudness from 0 (silence, steady noise) to 1 (the loudest cell), (frames, BANDS), a frame every 10 ms.

    Bands above half of the sampling rate are silent. All is relative to the loudest cell, so that the same sound
    recorded from further away is the same.
    """
    power = _frames(samples, rate) @ _filters(rate, low_hz, high_hz)
    noise = np.percentile(power, 15, axis=0)
    noise = np.minimum(noise, 4.0 * np.median(noise))
    top = power.max(initial=0.0)
    if top <= 1e-12:
        return np.zeros_like(power)
    clean = np.maximum(power - 2.0 * noise, 0.0)
    top = max(float(clean.max()), 1e-12)
    db = 10.0 * np.log10(clean / top + 10.0 ** (-RANGE_DB / 10.0))
    # Some processors round the logarithm of the floor down, others up; cells at the floor are 0 on all.
    return np.asarray(np.where(clean > 0.0, np.maximum(1.0 + db / RANGE_DB, 0.0), 0.0), dtype=np.float32)


def _frames(samples: Rows, rate: int) -> Rows:
    """Return the power spectrum of windows of 25 ms every 10 ms."""
    from scipy.fft import rfft  # here, because it takes a third of the server's start to import

    size, hop = max(8, round(WINDOW_SECONDS * rate)), max(1, round(HOP_SECONDS * rate))
    padded = np.pad(np.asarray(samples, dtype=np.float32), (size // 2, size))
    pieces = np.lib.stride_tricks.sliding_window_view(padded, size)[::hop][: max(1, -(-len(samples) // hop))]
    spectrum = rfft(pieces * _window(size), _fft_size(size))
    return np.asarray(spectrum.real**2 + spectrum.imag**2, dtype=np.float32)


@lru_cache(maxsize=8)
def _window(size: int) -> Rows:
    window = np.hanning(size + 1)[:-1]
    return np.asarray(2.0 * window / window.sum(), dtype=np.float32)


def _fft_size(size: int) -> int:
    return 1 << (size - 1).bit_length()


@lru_cache(maxsize=16)
def _filters(rate: int, low_hz: float, high_hz: float) -> Rows:
    """Return triangular filters (frequencies, BANDS) of unit height, each at least one frequency wide."""
    size = _fft_size(max(8, round(WINDOW_SECONDS * rate)))
    hz = np.arange(size // 2 + 1) * rate / size
    edges = _hz(np.linspace(_mel(low_hz), _mel(high_hz), BANDS + 2))
    step = rate / size
    lower = np.minimum(edges[:-2], edges[1:-1] - step)
    upper = np.maximum(edges[2:], edges[1:-1] + step)
    rising = (hz[:, None] - lower) / (edges[1:-1] - lower)
    falling = (upper - hz[:, None]) / (upper - edges[1:-1])
    return np.asarray(np.clip(np.minimum(rising, falling), 0.0, None), dtype=np.float32)


def _mel(hz: float | NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(2595.0 * np.log10(1.0 + np.asarray(hz) / 700.0))


def _hz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(700.0 * (10.0 ** (mel / 2595.0) - 1.0))
