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

DEFAULT_RANGE = (300.0, 11_000.0)  # where a project states none
PATCH_FRAMES = 16  # 160 ms: a note of a song, a syllable of a word
PATCH_STEP = 2
OUTLINE_MOMENTS = 16
OUTLINE_BANDS = BANDS // 2
AUDIBLE = 0.1  # a moment counts as sounding if it has this share of the loudest moment's loudness


@dataclass(frozen=True)
class Recording:
    """A decoded recording, and its mel spectrogram (frames, bands), which two groups look at."""

    samples: Samples
    rate: int
    mel: Rows

    @property
    def is_silent(self) -> bool:
        """Return whether nothing stands out of the noise."""
        return not self.mel.any()


def recording_of(samples: Samples, rate: int, sound_range: Range) -> Recording:
    """Return a recording as the groups look at it."""
    return Recording(samples, rate, mel_spectrogram(samples, rate, *sound_range))


class SoundMeasures:
    """What the program can measure of a sound; nothing is learned, so a clip's row is always the same."""

    names = FEATURE_NAMES
    width = len(names)

    def __init__(self, sound_range: Range) -> None:
        self._range = sound_range

    def row(self, recording: Recording) -> Rows:
        """Return the measurements of one recording."""
        values = measure_sound(recording.samples, recording.rate, *self._range)
        return np.asarray(values, dtype=np.float32)


class SoundCodes(PatchCodes):
    """How much the patches of a recording are like patterns learned from all: their mean, spread and peak in time."""

    n_pools = 3

    def look(self, recording: Recording, n_patches: int, rng: np.random.Generator) -> None:
        """Keep some patches of a recording to learn from."""
        patches = _patches(recording.mel)
        self._patches.append(np.ascontiguousarray(patches[rng.permutation(len(patches))[:n_patches]]))

    def row(self, recording: Recording) -> Rows:
        """Return one recording's codes pooled over time."""
        if self.codebook is None:
            return np.zeros(0, dtype=np.float32)
        codes = self.codebook.activations(_flat(_patches(recording.mel)[::PATCH_STEP]))
        return np.concatenate([codes.mean(axis=0), codes.std(axis=0), codes.max(axis=0)])


class SoundOutline:
    """The sounding part of a recording as a small picture: its mel spectrogram stretched to sixteen moments."""

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
