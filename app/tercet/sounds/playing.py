"""Sends recordings that browsers can play: unchanged where possible, else converted to WAV on the fly.

A WAV file is made of formats that browsers do not know, of rates above 192 kHz, and where somebody asks for a level
loudness or for another speed. Speed changes the rate that the header tells and leaves the samples alone, which is how
recordings of bats are made audible: ten times slower is ten times lower.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from tercet.sounds.decoding import MOST_SAMPLES, Samples, SoundInfo, describe_sound, read_blocks

TYPES = {
    "WAV": "audio/wav",
    "FLAC": "audio/flac",
    "OGG": "audio/ogg",
    "MP3": "audio/mpeg",
    "AIFF": "audio/aiff",
    "W64": "audio/x-w64",
    "CAF": "audio/x-caf",
    "AU": "audio/basic",
}
PLAYABLE_FORMATS = {"WAV", "WAVEX", "FLAC", "OGG", "MP3"}
PLAYABLE_WAV = {"PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT"}
HIGHEST_PLAYED_RATE = 192_000
LOWEST_PLAYED_RATE = 3_000
ULTRASOUND_RATE = 96_000  # what is made of higher rates
SLOWEST, FASTEST = 0.02, 50.0

MOMENT_SECONDS = 0.05
SOUNDING_DB = 20.0  # a moment counts as sounding if it is at most so much below the loudest one
LEVEL_DB = -20.0  # of the sounding part, against full scale
MOST_GAIN_DB = 60.0
HIGHEST_PEAK = 0.89  # -1 dB


@dataclass(frozen=True)
class Playing:
    """How a recording is to be played: at its own loudness or levelled, and at which speed."""

    level: bool = False
    speed: float = 1.0

    @property
    def name(self) -> str:
        """Return a suffix for names of cached files; empty where the recording is unchanged."""
        return "-level" * self.level + (f"-x{self.speed:g}" if self.speed != 1.0 else "")


def plays_as_it_is(info: SoundInfo) -> bool:
    """Return whether browsers play the file itself."""
    if info.format not in PLAYABLE_FORMATS or info.rate > HIGHEST_PLAYED_RATE:
        return False
    return info.encoding in PLAYABLE_WAV or not info.format.startswith("WAV")


def to_played_wav(stream: BinaryIO, playing: Playing) -> bytes:
    """Return a recording as a 16-bit WAV file of one channel; raise ValueError if it cannot be decoded."""
    info = describe_sound(stream)
    if info.frames > MOST_SAMPLES:
        raise ValueError(f"{info.seconds / 60:.0f} minutes are too long to be converted for playing")
    gain = _levelling_gain(stream, info) if playing.level else 1.0
    told_rate, made_rate = _rates(info.rate, playing.speed)
    out = io.BytesIO()
    with soundfile.SoundFile(out, "w", told_rate, 1, "PCM_16", format="WAV") as wav:
        for block in _at_rate(read_blocks(stream), info.rate, made_rate):
            wav.write(np.clip(block * np.float32(gain), -1.0, 1.0))
    return out.getvalue()


def _rates(rate: int, speed: float) -> tuple[int, int]:
    """Return the rate that the header tells, and the one that the samples are brought to before."""
    played_rate = max(1, round(rate * speed))
    if played_rate > HIGHEST_PLAYED_RATE:
        return ULTRASOUND_RATE, max(1, round(ULTRASOUND_RATE / speed))
    if played_rate < LOWEST_PLAYED_RATE:
        return LOWEST_PLAYED_RATE, round(LOWEST_PLAYED_RATE / speed)
    return played_rate, rate


def _at_rate(blocks: Iterator[Samples], rate: int, new_rate: int) -> Iterator[Samples]:
    if new_rate == rate:
        yield from blocks
        return
    stream = soxr.ResampleStream(rate, new_rate, 1, dtype="float32")
    for block in blocks:
        yield np.asarray(stream.resample_chunk(block), dtype=np.float32)
    yield np.asarray(stream.resample_chunk(np.empty(0, dtype=np.float32), last=True), dtype=np.float32)


def _levelling_gain(stream: BinaryIO, info: SoundInfo) -> float:
    """Return what brings the sounding part to the level, so far as no peak is clipped.

    The sounding part is what lies within 20 dB of the loudest twentieth of a second: silence around a call does not
    count. Weighting by the human ear, as in broadcasting, would make ultrasound and infrasound louder than they are.
    """
    moment = max(1, round(MOMENT_SECONDS * info.rate))
    power, peak = _powers_and_peak(read_blocks(stream), moment)
    loudest = power.max(initial=0.0)
    if loudest <= 0.0:
        return 1.0
    sounding = power[power >= loudest * 10.0 ** (-SOUNDING_DB / 10.0)].mean()
    gain = min(10.0 ** (LEVEL_DB / 20.0) / np.sqrt(sounding), 10.0 ** (MOST_GAIN_DB / 20.0))
    return float(min(gain, HIGHEST_PEAK / peak))


def _powers_and_peak(blocks: Iterator[Samples], moment: int) -> tuple[NDArray[np.float64], float]:
    """Return the mean power of every moment, and the largest sample."""
    powers, peak, left_over = [], 0.0, np.empty(0, dtype=np.float32)
    for block in blocks:
        peak = max(peak, float(np.abs(block).max()))
        samples = np.concatenate([left_over, block])
        used = samples.size // moment * moment
        powers.append(np.square(samples[:used].reshape(-1, moment), dtype=np.float64).mean(axis=1))
        left_over = samples[used:]
    if left_over.size:
        powers.append(np.array([np.square(left_over, dtype=np.float64).sum() / moment]))
    return np.concatenate(powers), peak
