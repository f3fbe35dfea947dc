"""Proposes segments of a long recording: stretches where a band of frequencies is louder than its own noise.

The noise of a band is what its quietest third hardly exceeds, over the whole recording: hum and wind raise the noise
of their own bands and no others. A sound that never pauses is noise by this rule, and is not proposed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tercet.sounds.decoding import Samples, describe_sound, read_blocks
from tercet.sounds.picture_settings import window_for
from tercet.sounds.selection import Selection

Energies = NDArray[np.float32]

MOST_BANDS = 24
BINS_A_BAND = 4  # and more: the mean of so many hardly ever leaps over the threshold by chance
NOISE_PERCENTILE = 30
MOMENTS_TOGETHER = 3
SILENCE = 1e-12  # of full scale: below it there is nothing, as in what a program has made
ACTIVE_SHARE = 0.1  # of a segment's moments, for a band to count in its frequency range
LABEL = "segment"


@dataclass(frozen=True)
class SegmentSettings:
    """What counts as a segment: frequency range, decibels above the noise, and times in seconds.

    Stretches closer than `smallest_gap` are one, those shorter than `shortest` are left out; `pad` is added at both
    ends.
    """

    low_hz: float = 300.0
    high_hz: float = 11_000.0
    threshold_db: float = 10.0
    smallest_gap: float = 0.1
    shortest: float = 0.03
    pad: float = 0.05

    def __post_init__(self) -> None:
        """Raise ValueError for settings that make no sense."""
        if not 0 <= self.low_hz < self.high_hz:
            raise ValueError("low_hz has to lie below high_hz, and neither below zero")
        if not 1 <= self.threshold_db <= 80:
            raise ValueError("threshold_db has to lie between 1 and 80")
        if min(self.smallest_gap, self.shortest, self.pad) < 0 or max(self.smallest_gap, self.pad) > 60:
            raise ValueError("smallest_gap, shortest and pad have to be seconds from 0 to 60")


def segment_recording(path: Path, settings: SegmentSettings, until: float | None = None) -> list[Selection]:
    """Return the segments of a recording of any length, or of its first `until` seconds; it is read block by block."""
    info = describe_sound(path)
    seconds = info.seconds if until is None else min(until, info.seconds)
    return propose_segments(read_blocks(path, 0.0, seconds), info.rate, seconds, settings)


def propose_segments(
    blocks: Iterable[Samples], rate: int, seconds: float, settings: SegmentSettings
) -> list[Selection]:
    """Return the segments of a sound that comes in blocks."""
    bands = _Bands(rate, settings)
    if bands.edges.size < 2:
        return []
    pieces = [*bands.energies(blocks)]
    if not sum(map(len, pieces)):
        return []
    energies = np.concatenate(pieces)
    noise = np.maximum(np.percentile(energies, NOISE_PERCENTILE, axis=0), SILENCE)
    loud = energies > noise * 10.0 ** (settings.threshold_db / 10.0)
    step = bands.hop / rate
    stretches = _joined(loud.any(axis=1), settings.smallest_gap / step)
    selections: list[Selection] = []
    for begin, end in stretches:
        if (end - begin) * step >= settings.shortest:
            active = np.flatnonzero(loud[begin:end].mean(axis=0) >= ACTIVE_SHARE)
            low, high = bands.hertz[active[0]], bands.hertz[active[-1] + 1]
            first, last = begin * step - settings.pad, end * step + settings.pad
            selections.append(Selection(max(first, 0.0), min(last, seconds), low, high, LABEL, row=len(selections) + 1))
    return selections


class _Bands:
    """Bands of frequencies that widen with their height, and the energy in each from moment to moment."""

    def __init__(self, rate: int, settings: SegmentSettings) -> None:
        """Divide the frequency range into bands, up to half the sampling rate."""
        self.width = max(8, round(window_for(settings.high_hz) * rate))
        self.hop = self.width // 2
        size = 1 << (self.width - 1).bit_length()
        self.size = size
        self.window = np.hanning(self.width + 1)[:-1].astype(np.float32)
        self.window *= 2.0 / self.window.sum()
        first, last = (round(min(hz, rate / 2) * size / rate) for hz in (settings.low_hz, settings.high_hz))
        wished = np.geomspace(max(first, 1), max(last, 2), MOST_BANDS + 1)
        edges = [max(first, 1)]
        for edge in wished[1:]:
            if edge - edges[-1] >= BINS_A_BAND:
                edges.append(round(edge))
        self.edges = np.array(edges if edges[-1] > max(first, 1) else edges[:1], dtype=np.intp)
        self.hertz = [float(edge * rate / size) for edge in self.edges]

    def energies(self, blocks: Iterable[Samples]) -> Iterator[Energies]:
        """Yield mean powers, a row a moment and a column a band, each the mean of three moments."""
        waiting = np.zeros(self.width // 2, dtype=np.float32)
        before = np.empty((0, self.edges.size - 1), dtype=np.float32)
        for block in _pieces(blocks, self.width):
            samples = np.concatenate([waiting, block])
            count = max(0, (samples.size - self.width) // self.hop + 1)
            windows = np.lib.stride_tricks.sliding_window_view(samples, self.width)[:: self.hop] if count else None
            waiting = samples[count * self.hop :]
            if windows is not None:
                before = np.concatenate([before, self._powers(windows)])
                yield _moving_mean(before)
                before = before[1 - MOMENTS_TOGETHER :]

    def _powers(self, windows: Samples) -> Energies:
        fourier = np.fft.rfft(windows * self.window, self.size)[:, : self.edges[-1]]
        power = np.square(fourier.real, dtype=np.float32) + np.square(fourier.imag, dtype=np.float32)
        return np.asarray(np.add.reduceat(power, self.edges[:-1], axis=1) / np.diff(self.edges), dtype=np.float32)


def _pieces(blocks: Iterable[Samples], at_least: int) -> Iterator[Samples]:
    """Yield blocks of a size that is worth a transform; one that is too long is divided."""
    step = max(at_least * 64, 1 << 17)
    for block in blocks:
        for begin in range(0, len(block), step):
            yield np.asarray(block[begin : begin + step], dtype=np.float32)


def _moving_mean(values: Energies) -> Energies:
    """Return the mean of each three rows that follow each other; two rows fewer."""
    if len(values) < MOMENTS_TOGETHER:
        return values[:0]
    windows = np.lib.stride_tricks.sliding_window_view(values, MOMENTS_TOGETHER, axis=0)
    return np.asarray(windows.mean(axis=-1), dtype=np.float32)


def _joined(active: NDArray[np.bool_], smallest_gap: float) -> list[tuple[int, int]]:
    """Return first moment and the one after the last of each stretch; stretches with a small gap between are one."""
    changes = np.flatnonzero(np.diff(active.astype(np.int8), prepend=0, append=0))
    stretches: list[tuple[int, int]] = []
    for begin, end in zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True):
        if stretches and begin - stretches[-1][1] < smallest_gap:
            stretches[-1] = (stretches[-1][0], end)
        else:
            stretches.append((begin, end))
    return stretches
