"""Sound as pictures: WAV files in, spectrograms out.

A labeler compares songs by eye before listening, so the picture must be the same for every clip of a
project: one frequency range, one time scale, the noise kept dark and a faint call still visible. The
measurements in `audio_features` start from the same spectrogram.
"""

import io
import struct
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from scipy.io import wavfile
from scipy.ndimage import gaussian_filter

Array = NDArray[np.float64]

PICTURE_SIZE = (480, 320)
THUMBNAIL_SIZE = (120, 80)
TOP_HZ = 11_000.0

WINDOW_SECONDS = 0.016  # resolves trills of 40 a second and whistles 100 Hz apart
HOP_SECONDS = 0.003
MOST_COLUMNS = 4_000
FLOOR_DB = -120.0  # what digital silence is drawn and measured as

# From a blue-black ground through violet and orange to pale yellow. Lightness rises evenly, so the
# picture still reads in grey and for colour-blind eyes, and its edge stands out on white and on black.
ANCHOR_COLOURS = (
    (13, 13, 30),
    (35, 24, 72),
    (79, 32, 109),
    (128, 44, 116),
    (179, 62, 98),
    (223, 92, 66),
    (247, 143, 42),
    (250, 199, 70),
    (253, 247, 190),
)
COLOURS = 32  # so few that the file stays small, so many that no step shows


# What scipy raises on files that are broken in one way or another; only a plain ValueError explains itself.
UNREADABLE = (ValueError, EOFError, struct.error, ZeroDivisionError, TypeError, UnboundLocalError)


class Spectrogram(NamedTuple):
    """Power in decibels, one row a frequency (Hz, rising), one column a time (seconds)."""

    db: Array
    frequencies: Array
    times: Array


def read_wav(content: bytes) -> tuple[Array, int]:
    """Samples in [-1, 1], mixed to one channel, and the sampling rate of a PCM or float WAV file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wavfile.WavFileWarning)  # metadata chunks are no fault
            rate, raw = wavfile.read(io.BytesIO(content))
    except UNREADABLE as error:
        raise ValueError(f"not a WAV file of PCM or float samples: {_fault(content, error)}") from error
    if rate < 1 or raw.size == 0:
        raise ValueError(f"the WAV file holds no sound: {raw.size} samples at {rate} Hz")
    samples = _to_unit_range(raw)
    if not np.isfinite(samples).all():
        raise ValueError("the WAV file holds samples that are not numbers (NaN or infinity)")
    return (samples.mean(axis=1) if samples.ndim == 2 else samples), int(rate)


def _fault(content: bytes, error: Exception) -> str:
    if content[:4] not in (b"RIFF", b"RIFX", b"RF64") or content[8:12] != b"WAVE":
        return "it does not begin with a RIFF/WAVE header"
    explains_itself = type(error) is ValueError
    return str(error) if explains_itself else "its header is damaged or the file ends too early"


def _to_unit_range(raw: NDArray[np.generic]) -> Array:
    if raw.dtype == np.uint8:
        return (raw.astype(np.float64) - 128.0) / 128.0
    if raw.dtype.kind == "i":
        return raw.astype(np.float64) / float(2 ** (8 * raw.dtype.itemsize - 1))
    return raw.astype(np.float64)


def spectrogram(samples: NDArray[np.floating], rate: int) -> Spectrogram:
    """The power of short overlapping windows in dB; a full-scale sine peaks at 0 dB.

    Column j is centred on sample j * hop. Windows of a long recording lie further apart, so that it needs
    no more memory than one of twelve seconds.
    """
    # A periodic Hann window. scipy.signal and scipy.fft have both, but take a third of the server's start to import.
    window = np.hanning(max(8, round(WINDOW_SECONDS * rate)) + 1)[:-1]
    half = window.size // 2
    hop = max(1, round(HOP_SECONDS * rate), -(-len(samples) // MOST_COLUMNS))
    padded = np.pad(np.asarray(samples, dtype=np.float64), (half, window.size))
    columns = max(1, -(-len(samples) // hop))
    pieces = np.lib.stride_tricks.sliding_window_view(padded, window.size)[::hop][:columns]
    fourier = np.fft.rfft(pieces * (2.0 / window.sum() * window), 1 << (window.size - 1).bit_length())
    power = (fourier.real**2 + fourier.imag**2).T
    db = 10.0 * np.log10(np.maximum(power, 10.0 ** (FLOOR_DB / 10.0)))
    frequencies = np.linspace(0.0, rate / 2.0, db.shape[0])
    return Spectrogram(db, frequencies, np.arange(columns) * hop / rate)


def picture_and_thumbnail(
    samples: NDArray[np.floating], rate: int, *, seconds: float | None = None
) -> tuple[bytes, bytes]:
    """The PNG of a clip, and the same small and bare for maps and lists, of one look at the sound.

    `seconds` is what the full width stands for: give every clip of a project the same. A shorter clip is centred
    on the dark ground. The picture marks the kilohertz at its left edge and the tenths of a second at the lower one.
    """
    sight = _look_at(samples, rate, seconds)
    return _png(sight, PICTURE_SIZE, ticks=True), _png(sight, THUMBNAIL_SIZE, ticks=False)


class _Sight(NamedTuple):
    """What is to be seen of a clip, before it is given a size."""

    brightness: Array  # 0..1, one row a frequency
    frequencies: Array  # Hz, rising
    duration: float  # seconds
    span: float  # seconds that the full width stands for


def _look_at(samples: NDArray[np.floating], rate: int, seconds: float | None) -> _Sight:
    sound, duration = spectrogram(samples, rate), len(samples) / rate
    return _Sight(_brightness(sound.db), sound.frequencies, duration, max(seconds or duration, duration, 0.05))


def _png(sight: _Sight, size: tuple[int, int], ticks: bool) -> bytes:
    picture = Image.fromarray(_levels(sight, size))
    picture.putpalette(_palette())
    if ticks:
        _draw_ticks(picture, sight.span)
    out = io.BytesIO()
    picture.save(out, "PNG", compress_level=6)
    return out.getvalue()


def _levels(sight: _Sight, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Colour numbers of the picture's pixels, top row first."""
    width, height = size
    columns = min(width, max(1, round(width * sight.duration / sight.span)))
    frequencies = np.linspace(TOP_HZ, 0.0, height)
    rows = np.interp(frequencies, sight.frequencies, np.arange(sight.frequencies.size))
    stretched = Image.fromarray(sight.brightness.astype(np.float32)).resize(
        (columns, sight.brightness.shape[0]), Image.Resampling.BILINEAR
    )
    across = np.asarray(stretched, dtype=np.float64)
    lower = np.floor(rows).astype(np.intp)
    upper = np.minimum(lower + 1, across.shape[0] - 1)
    part = (rows - lower)[:, None]
    pixels = (1.0 - part) * across[lower] + part * across[upper]
    pixels[frequencies > sight.frequencies[-1]] = 0.0
    levels = np.zeros((height, width), dtype=np.uint8)
    start = (width - columns) // 2
    levels[:, start : start + columns] = np.rint(pixels * (COLOURS - 1)).astype(np.uint8)
    return levels


def _brightness(db: Array) -> Array:
    """Decibels as 0..1: steady noise dark, the loudest sound bright, what is in between by its loudness.

    Half of each row's own median is taken off, which dims hum and wind without hiding a long whistle.
    """
    smooth = gaussian_filter(db, 0.7)
    centre = float(np.median(smooth))
    row_noise = np.maximum(np.median(smooth, axis=1, keepdims=True) - centre, 0.0)
    flat = smooth - 0.5 * row_noise
    floor = float(np.percentile(flat, 75)) + 2.0
    top = float(flat.max())
    floor = min(max(floor, top - 60.0), top - 24.0)  # a tone in silence and a call in noise both keep contrast
    scaled: Array = np.clip((flat - floor) / (top - floor), 0.0, 1.0)
    return scaled if top > FLOOR_DB + 1.0 else np.zeros_like(scaled)


def _palette() -> list[int]:
    positions = np.linspace(0, len(ANCHOR_COLOURS) - 1, COLOURS)
    anchors = np.array(ANCHOR_COLOURS, dtype=np.float64)
    channels = [np.interp(positions, np.arange(len(anchors)), anchors[:, c]) for c in range(3)]
    ground = np.stack(channels, axis=1).round().astype(int)
    return [*ground.ravel().tolist(), 150, 150, 175]  # the last one draws the ticks


def _draw_ticks(picture: Image.Image, span: float) -> None:
    width, height = picture.size
    draw = ImageDraw.Draw(picture)
    draw.fontmode = "1"  # no grey edges: the palette has one colour for ink
    font = ImageFont.load_default(size=11)
    for khz in range(2, int(TOP_HZ / 1000) + 1, 2):
        y = round((height - 1) * (1.0 - 1000.0 * khz / TOP_HZ))
        draw.line((0, y, 5, y), fill=COLOURS)
        draw.text((8, y), f"{khz} kHz" if khz == 2 else str(khz), fill=COLOURS, font=font, anchor="lm")
    step = _tick_seconds(span)
    for number in range(1, int(span / step) + 1):
        x = round(width * number * step / span)
        draw.line((x, height - 6, x, height - 1), fill=COLOURS)
    draw.text((round(width * step / span) + 4, height - 2), f"{step:g} s", fill=COLOURS, font=font, anchor="lb")


def _tick_seconds(span: float) -> float:
    """A round step that gives between four and twelve ticks."""
    return next((step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0) if span / step <= 12), 30.0)
