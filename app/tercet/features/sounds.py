"""Groups of features of a recording: measurements, learned codes, and its outline in time and pitch."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tercet.features.codes import PatchCodes
from tercet.features.decoding import Samples
from tercet.features.mel import BANDS, mel_spectrogram
from tercet.sounds.measures import FEATURE_NAMES, measure_sound

Rows = NDArray[np.float32]
Range = tuple[float, float]  # Hz

DEFAULT_RANGE = (300.0, 11_000.0)  # where the project's settings have none
PATCH_FRAMES = 16  # 160 ms: a note of a song, a syllable of a word
PATCH_STEP = 2
OUTLINE_MOMENTS = 16
OUTLINE_BANDS = BANDS // 2
AUDIBLE = 0.1  # share of the largest loudness from which a moment belongs to the audible part


@dataclass(frozen=True)
class Recording:
    """A decoded recording, and its mel spectrogram (frames, bands), which two groups use."""

    samples: Samples
    rate: int
    mel: Rows

    @property
    def is_silent(self) -> bool:
        """Return whether nothing is louder than steady noise."""
        return not self.mel.any()


def recording_of(samples: Samples, rate: int, sound_range: Range) -> Recording:
    """Return a recording in the form that the groups use."""
    return Recording(samples, rate, mel_spectrogram(samples, rate, *sound_range))


class SoundMeasures:
    """Measurements of a sound; nothing is learned, so the row of a recording does not depend on others."""

    names = FEATURE_NAMES
    width = len(names)

    def __init__(self, sound_range: Range) -> None:
        self._range = sound_range

    def row(self, recording: Recording) -> Rows:
        """Return the measurements of one recording."""
        values = measure_sound(recording.samples, recording.rate, *self._range)
        return np.asarray(values, dtype=np.float32)


class SoundCodes(PatchCodes):
    """How similar patches of a recording are to patterns learned from all: mean, deviation and maximum in time."""

    n_pools = 3

    def collect_patches(self, recording: Recording, n_patches: int, rng: np.random.Generator) -> None:
        """Collect some patches of a recording to learn from."""
        patches = _patches(recording.mel)
        self._patches.append(np.ascontiguousarray(patches[rng.permutation(len(patches))[:n_patches]]))

    def row(self, recording: Recording) -> Rows:
        """Return one recording's codes pooled over time."""
        if self.codebook is None:
            return np.zeros(0, dtype=np.float32)
        codes = self.codebook.activations(_flat(_patches(recording.mel)[::PATCH_STEP]))
        return np.concatenate([codes.mean(axis=0), codes.std(axis=0), codes.max(axis=0)])


class SoundOutline:
    """The mel spectrogram of the audible part of a recording, stretched to sixteen moments."""

    width = OUTLINE_MOMENTS * OUTLINE_BANDS

    def row(self, recording: Recording) -> Rows:
        """Return one recording's outline."""
        loudness = recording.mel.sum(axis=1)
        sounding = np.flatnonzero(loudness > AUDIBLE * loudness.max())
        if sounding.size == 0:
            return np.zeros(self.width, dtype=np.float32)
        mel = recording.mel[sounding[0] : sounding[-1] + 1]
        mel = mel.reshape(len(mel), OUTLINE_BANDS, -1).mean(axis=2)
        times = np.linspace(0, len(mel) - 1, OUTLINE_MOMENTS, dtype=np.float32)
        before = times.astype(np.intp)
        after = np.minimum(before + 1, len(mel) - 1)
        part = (times - before)[:, None]
        return np.asarray((1 - part) * mel[before] + part * mel[after], dtype=np.float32).ravel()


def _patches(mel: Rows) -> Rows:
    """Return a view of the patches around each frame, (frames, bands, PATCH_FRAMES)."""
    padded = np.pad(mel, ((PATCH_FRAMES // 2, PATCH_FRAMES - 1 - PATCH_FRAMES // 2), (0, 0)))
    return np.lib.stride_tricks.sliding_window_view(padded, PATCH_FRAMES, axis=0)


def _flat(patches: Rows) -> Rows:
    return patches.reshape(len(patches), -1)
