"""Decodes sound files of all formats that libsndfile reads, in blocks; errors are plain sentences.

Whole sounds are held in float32, mixed to one channel. What is too long for that is read block by block, so that
memory does not grow with the file.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from tercet.sounds.containers import check_length, count_mp3_samples, format_of

Samples = NDArray[np.float32]
Source = Path | BinaryIO

BLOCK_SAMPLES = 1 << 18
LOWEST_RATE, HIGHEST_RATE = 100, 1_000_000
MOST_SAMPLES = 60_000_000  # of one sound in memory: 20 minutes at 48 kHz
MOST_SAMPLES_A_BYTE = 5_000  # silence in FLAC and Opus reaches some hundreds
LOUDEST = 2.0**32  # programs that write whole numbers as floats reach 2 ** 31
TAIL_FRAMES = 64
LONGEST_MP3_END = 10_000  # what encoders add at both ends, and decoders take away
EXACT = {"PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"}  # what WAV holds without a change
DAMAGED = "cannot be decoded: the header is damaged, or the file is of a kind that is not supported ({error})"


@dataclass(frozen=True)
class Sound:
    """A recording in memory: samples mixed to one channel, full scale at 1."""

    samples: Samples
    rate: int
    channels: int
    seconds: float
    format: str


@dataclass(frozen=True)
class SoundInfo:
    """The header of a recording; `encoding` is libsndfile's name for the sample format: PCM_16, VORBIS, ..."""

    rate: int
    channels: int
    frames: int
    seconds: float
    format: str
    encoding: str


def is_sound(first_bytes: bytes) -> bool:
    """Return whether the first bytes, at least 16, are those of a sound that can be decoded."""
    return format_of(first_bytes) is not None


def describe_sound(source: Source) -> SoundInfo:
    """Read the header; raise ValueError if it does not fit the length of the file."""
    with _opened(source) as (_, info):
        return info


def read_sound(source: Source, most_seconds: float = np.inf) -> Sound:
    """Decode a recording, or its beginning; raise ValueError saying what is wrong with it.

    `seconds` of what is returned are those of the whole recording.
    """
    with _opened(source) as (file, info):
        frames = int(min(info.frames, most_seconds * info.rate))
        if frames > MOST_SAMPLES:
            raise ValueError(
                f"{info.seconds / 60:.0f} minutes at {info.rate:,} Hz are too long for one sound: at most "
                f"{MOST_SAMPLES / info.rate / 60:.0f} minutes. Cut it by a selection table, or into segments"
            )
        samples = np.empty(frames, dtype=np.float32)
        for begin, block in _blocks(file, 0, frames):
            samples[begin : begin + block.size] = block
    return Sound(samples, info.rate, info.channels, info.seconds, info.format)


def read_blocks(source: Source, begin: float = 0.0, end: float | None = None) -> Iterator[Samples]:
    """Yield a stretch of a recording, from `begin` to `end` in seconds, block by block and mixed to one channel."""
    with _opened(source) as (file, info):
        first, last = _frames_of(info, begin, end)
        yield from (block for _, block in _blocks(file, first, last))


def cut_clip(source: Source, begin: float, end: float) -> bytes:
    """Return a stretch of a recording as a WAV file with the same channels and, where WAV can hold them, samples."""
    with _opened(source) as (file, info):
        first, last = _frames_of(info, begin, end)
        if (last - first) * info.channels > MOST_SAMPLES:
            raise ValueError(f"a segment of {(last - first) / info.rate:,.0f} seconds is too long for one item")
        encoding = info.encoding if info.encoding in EXACT else "PCM_16"
        numbers = {"FLOAT": "float32", "DOUBLE": "float64"}.get(encoding, "int32")
        out = io.BytesIO()
        with soundfile.SoundFile(out, "w", info.rate, info.channels, encoding, format="WAV") as clip:
            for begin, size in _steps(first, last, info.channels):
                clip.write(_read(file, first + begin, size, numbers))
    return out.getvalue()


def resample(samples: Samples, rate: int, new_rate: int) -> Samples:
    """Return the samples at another rate, low-pass filtered."""
    if rate == new_rate:
        return samples
    return np.asarray(soxr.resample(samples, rate, new_rate), dtype=np.float32)


@contextmanager
def _opened(source: Source) -> Iterator[tuple[soundfile.SoundFile, SoundInfo]]:
    """Open a recording after checking its header."""
    stream = source.open("rb", buffering=0) if isinstance(source, Path) else source
    try:
        size = check_length(stream)
        # libsndfile reads a descriptor faster than a Python object, and looks at no name.
        handle = stream.fileno() if isinstance(source, Path) else stream
        with soundfile.SoundFile(handle, closefd=False) as file:
            yield file, _checked(file, stream, size)
    except soundfile.SoundFileError as error:
        raise ValueError(DAMAGED.format(error=_reason(error))) from error
    finally:
        if isinstance(source, Path):
            stream.close()


def _reason(error: Exception) -> str:
    """Return what libsndfile says, without the name of the file."""
    return str(getattr(error, "error_string", error)).rstrip(".")


def _checked(file: soundfile.SoundFile, stream: BinaryIO, size: int) -> SoundInfo:
    frames, rate = file.frames, file.samplerate
    if frames < 1:
        raise ValueError("the file holds no sound: its length is zero")
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise ValueError(f"a sampling rate of {rate:,} Hz cannot be: {LOWEST_RATE} Hz to {HIGHEST_RATE:,} Hz are read")
    if frames * file.channels > MOST_SAMPLES_A_BYTE * size:
        raise ValueError(f"the header claims {frames:,} frames, more than {size:,} bytes can hold")
    if file.format == "FLAC":
        _check_tail(file)
    if file.format == "MP3" and count_mp3_samples(stream) > frames + LONGEST_MP3_END:
        raise ValueError(
            "an MP3 file of varying bit rate whose first frame does not tell its length: it would be read in part "
            "alone. Convert it to FLAC or WAV"
        )
    return SoundInfo(rate, file.channels, frames, frames / rate, file.format, file.subtype)


def _check_tail(file: soundfile.SoundFile) -> None:
    try:
        file.seek(max(0, file.frames - TAIL_FRAMES))
        complete = len(file.read(TAIL_FRAMES)) == min(TAIL_FRAMES, file.frames)
        file.seek(0)
    except soundfile.SoundFileError:
        complete = False
    if not complete:
        raise ValueError(f"the file is cut off: its header tells of {file.frames:,} frames, the last ones are missing")


def _frames_of(info: SoundInfo, begin: float, end: float | None) -> tuple[int, int]:
    """Return the first frame of a stretch and the one after its last; raise ValueError if it is not within."""
    last = info.frames if end is None else round(end * info.rate)
    first = round(begin * info.rate)
    if not 0 <= first < last or last > info.frames + info.rate // 20:
        raise ValueError(
            f"{begin:g} to {info.seconds if end is None else end:g} s is no stretch of a recording "
            f"of {info.seconds:g} s"
        )
    return first, min(last, info.frames)


def _steps(first: int, last: int, channels: int) -> Iterator[tuple[int, int]]:
    step = max(1, BLOCK_SAMPLES // channels)
    for begin in range(first, last, step):
        yield begin - first, min(step, last - begin)


def _read(file: soundfile.SoundFile, first: int, size: int, numbers: str) -> NDArray[Any]:
    """Return frames of all channels from the first one on.

    The frames of MP3 need what lies before them, and soundfile seeks after every read: so much more is read before.
    """
    before = min(first, file.samplerate // 2) if file.format == "MP3" else 0
    if file.tell() != first - before:
        file.seek(first - before)
    frames: NDArray[Any] = file.read(before + size, dtype=numbers, always_2d=True)
    frames = frames[before:]
    if len(frames) < size and file.format == "MP3":  # its length may be an estimate, and silence at the end no harm
        frames = np.pad(frames, ((0, size - len(frames)), (0, 0)))
    return frames


def _blocks(file: soundfile.SoundFile, first: int, last: int) -> Iterator[tuple[int, Samples]]:
    """Yield offset and samples of the blocks of a stretch; raise ValueError where the file breaks off."""
    for begin, size in _steps(first, last, file.channels):
        block = _read(file, first + begin, size, "float32")
        if len(block) < size:
            raise ValueError(f"the samples break off after {(first + begin + len(block)) / file.samplerate:g} s")
        with np.errstate(over="ignore", invalid="ignore"):  # what comes of them is refused in the next line
            mixed: Samples = block[:, 0] if block.shape[1] == 1 else block.mean(axis=1, dtype=np.float32)
        if not np.abs(mixed).max(initial=0.0) < LOUDEST:  # false for what is not a number, too
            raise ValueError("holds samples that are not numbers, infinite, or larger than any sound")
        yield begin, mixed
