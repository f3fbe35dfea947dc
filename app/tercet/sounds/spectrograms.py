"""Draws spectrograms.

A labeler compares songs by eye before listening, so the picture must be the same for every clip of a
project: one frequency range, one time scale, the noise kept dark and a faint call still visible. The
numbers of `measures` start from the same spectrogram.
"""

import io
import zlib
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from tercet.sounds.colour_maps import COLOURS, palette
from tercet.sounds.picture_settings import PictureSettings

Values = NDArray[np.float32]
Frequencies = NDArray[np.float64]

PICTURE_SIZE = (600, 400)
MOST_WIDTH = 10 * PICTURE_SIZE[0]
THUMBNAIL_SIZE = (120, 80)

WINDOW_SECONDS = 0.016  # resolves trills of 40 a second and whistles 100 Hz apart
STEPS_A_WINDOW = 16 / 3
MOST_COLUMNS = 6_000
SAMPLES_AT_ONCE = 1 << 20  # so that a long recording needs no more memory than a short one
FLOOR_DB = -120.0  # what digital silence is drawn and measured as
LEAKAGE = np.float32(1e-6)  # of the power of a sound reaches frequencies that it does not have (-60 dB)
LEAST_CONTRAST_DB = 24.0
TYPICAL_CELLS = 10_000
SOFT = np.array([0.21, 0.58], dtype=np.float32)  # of the neighbours, and of the cell itself
INK = ((150, 150, 175), (110, 110, 130))  # of the marks, on a dark and on a light ground


class Spectrogram(NamedTuple):
    """Power, one row a frequency (Hz, rising), one column a time (seconds); a full-scale sine reaches 1."""

    power: Values
    frequencies: Frequencies
    times: Frequencies

    @property
    def db(self) -> Values:
        """Return the power in decibels, -120 for silence."""
        floor = np.float32(10.0 ** (FLOOR_DB / 10.0))
        # The natural logarithm, which numpy takes of several numbers at once, as it does not of other bases.
        db = np.float32(10.0 / np.log(10.0)) * np.log(np.maximum(self.power, floor))
        return np.asarray(np.maximum(db, FLOOR_DB), dtype=np.float32)  # some processors round a little below

    def between(self, low_hz: float, high_hz: float) -> "Spectrogram":
        """Return the rows of a frequency range, without what windows leak of louder sounds outside of it."""
        begin, end = np.searchsorted(self.frequencies, [low_hz, np.nextafter(high_hz, np.inf)])
        power = self.power[begin:end]
        outside = [part.max(axis=0) for part in (self.power[:begin], self.power[end:]) if len(part)]
        if outside:
            power = np.where(power < LEAKAGE * np.max(outside, axis=0), np.float32(0.0), power)
        return Spectrogram(power, self.frequencies[begin:end], self.times)


def spectrogram(
    samples: NDArray[np.floating], rate: int, window_seconds: float = WINDOW_SECONDS, most_columns: int = MOST_COLUMNS
) -> Spectrogram:
    """Return the power of short overlapping windows.

    Column j begins with the window that is centred on its time. In a long recording a column holds the loudest of
    several windows, which overlap still: a call of some milliseconds keeps its power however long the recording is.
    """
    from scipy.fft import rfft  # here, because it takes a third of the server's start to import

    # A periodic Hann window.
    window = np.hanning(max(8, round(window_seconds * rate)) + 1)[:-1].astype(np.float32)
    hop = max(1, round(window.size / STEPS_A_WINDOW))
    if len(samples) > hop * most_columns:
        hop = max(hop, min(window.size // 2, -(-len(samples) // most_columns)))
    together = max(1, -(-len(samples) // (hop * most_columns)))
    columns = max(1, -(-len(samples) // (hop * together)))
    size = 1 << (window.size - 1).bit_length()
    power = np.empty((size // 2 + 1, columns), dtype=np.float32)
    scale = np.float32(2.0) / window.sum()
    for begin, pieces in _windows(samples, window.size, hop, together, columns):
        fourier = rfft(pieces * (scale * window), size)  # in float32, eight times as fast as numpy's
        loud = np.square(fourier.real) + np.square(fourier.imag)
        loudest = loud.reshape(-1, together, loud.shape[1]).max(axis=1)
        power[:, begin : begin + len(loudest)] = loudest.T
    return Spectrogram(power, np.linspace(0.0, rate / 2.0, len(power)), np.arange(columns) * hop * together / rate)


def _windows(
    samples: NDArray[np.floating], width: int, hop: int, together: int, columns: int
) -> Iterator[tuple[int, Values]]:
    """Yield number of the first column and windows, `together` of them for each column; beyond the ends is silence."""
    step = max(1, SAMPLES_AT_ONCE // (width * together))
    for begin in range(0, columns, step):
        last = min(begin + step, columns)
        first_sample = begin * together * hop - width // 2
        end_sample = (last * together - 1) * hop - width // 2 + width
        inside = np.asarray(samples[max(first_sample, 0) : max(end_sample, 0)], dtype=np.float32)
        before = max(-first_sample, 0)
        padded = np.pad(inside, (before, end_sample - first_sample - before - inside.size))
        yield begin, np.lib.stride_tricks.sliding_window_view(padded, width)[::hop]


def picture_and_thumbnail(
    samples: NDArray[np.floating], rate: int, settings: PictureSettings, *, with_marks: bool = False
) -> tuple[bytes, bytes]:
    """Return the PNG of a clip, and a small one for maps and lists.

    A clip shorter than the time scale is centred on the ground; a longer one gets a picture that is wider in
    proportion, and a thumbnail of its loudest stretch. Marks, if asked for, show frequencies at the left edge and
    times at the lower one. The labeling page asks for none: it zooms, and draws its own over the picture.
    """
    sound = spectrogram(samples, rate, settings.window_seconds)
    return draw(sound, len(samples) / rate, settings, with_marks=with_marks)


def draw(
    sound: Spectrogram, duration: float, settings: PictureSettings, *, with_marks: bool = False
) -> tuple[bytes, bytes]:
    """Return picture and thumbnail of a spectrogram of a clip that lasts `duration` seconds."""
    visible = sound.between(settings.low_hz, settings.high_hz)
    bright = _brightness(visible.db, settings.dynamic_range_db)
    visible_part = _VisiblePart(bright, visible.frequencies, duration, max(duration, settings.seconds))
    width, height = PICTURE_SIZE
    wide = min(max(width, round(width * duration / settings.seconds)), MOST_WIDTH)
    levels = _levels(visible_part, (wide, height), settings)
    if wide == width:
        small = _brightest_of_blocks(levels)
    else:
        small = _levels(_loudest_stretch(visible_part, settings.seconds), THUMBNAIL_SIZE, settings)
    if with_marks:
        levels[_marks(wide, visible_part.span, settings)] = COLOURS
    return _png(levels, settings), _png(small, settings)


class _VisiblePart(NamedTuple):
    """What the pictures of a clip show, before it is scaled to their sizes."""

    brightness: Values  # 0..1, one row a frequency
    frequencies: Frequencies  # Hz, rising
    duration: float  # seconds
    span: float  # seconds that the full width stands for


def _loudest_stretch(visible_part: _VisiblePart, seconds: float) -> _VisiblePart:
    """Return the brightest part of a clip that is as long as the time scale."""
    columns = visible_part.brightness.shape[1]
    width = max(1, round(columns * seconds / visible_part.duration)) if visible_part.duration > seconds else columns
    if width >= columns:
        return visible_part
    until = np.concatenate([[0.0], np.cumsum(visible_part.brightness.sum(axis=0, dtype=np.float64))])
    begin = int((until[width:] - until[:-width]).argmax())
    return _VisiblePart(visible_part.brightness[:, begin : begin + width], visible_part.frequencies, seconds, seconds)


def _brightest_of_blocks(levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a picture at the size of a thumbnail."""
    times = PICTURE_SIZE[0] // THUMBNAIL_SIZE[0]
    rows = np.maximum.reduce([levels[first::times] for first in range(times)])
    return np.asarray(np.maximum.reduce([rows[:, first::times] for first in range(times)]))


def _png(levels: NDArray[np.integer], settings: PictureSettings) -> bytes:
    colours = palette(settings.colour_map)
    picture = Image.fromarray(levels.astype(np.uint8, copy=False))
    ink = INK[sum(colours[0]) > 384]
    picture.putpalette([channel for colour in (*colours, ink) for channel in colour])
    out = io.BytesIO()
    # Runs of one colour, which is what a dark ground is made of: as small as by the usual way, in half the time.
    picture.save(out, "PNG", compress_type=zlib.Z_RLE)
    return out.getvalue()


def _levels(visible_part: _VisiblePart, size: tuple[int, int], settings: PictureSettings) -> NDArray[np.uint8]:
    """Return the colour numbers of the picture's pixels, top row first."""
    width, height = size
    columns = min(width, max(1, round(width * visible_part.duration / visible_part.span)))
    levels = np.zeros((height, width), dtype=np.uint8)
    if visible_part.frequencies.size > 1:
        hertz = np.linspace(settings.low_hz, settings.high_hz, height)
        rows = np.interp(hertz, visible_part.frequencies, np.arange(visible_part.frequencies.size))
        across = _fit_columns(visible_part.brightness, columns)
        pixels = _fit_columns(across.T, height, rows).T
        pixels[hertz > visible_part.frequencies[-1] + visible_part.frequencies[1] - visible_part.frequencies[0]] = 0.0
        start = (width - columns) // 2
        levels[:, start : start + columns] = np.rint(pixels[::-1] * (COLOURS - 1)).astype(np.uint8)
    return levels


def _fit_columns(values: Values, columns: int, places: Frequencies | None = None) -> Values:
    """Return as many columns as asked for: the brightest of several, or what lies between two neighbours.

    `places` says where in `values` the new columns lie; without, they are spread evenly.
    """
    size = values.shape[1]
    if places is None:
        places = np.linspace(0.0, size - 1.0, columns) if size > 1 else np.zeros(columns)
    if size > columns:
        edges = np.rint((places[1:] + places[:-1]) / 2.0).astype(np.intp)
        starts = np.concatenate([[round(places[0])], np.maximum(edges, round(places[0]))])
        return np.asarray(np.maximum.reduceat(values, np.minimum(starts, size - 1), axis=1), dtype=np.float32)
    lower = np.floor(places).astype(np.intp)
    part = (places - lower).astype(np.float32)
    upper = np.minimum(lower + 1, size - 1)
    return np.asarray((1.0 - part) * values[:, lower] + part * values[:, upper], dtype=np.float32)


def _brightness(db: Values, dynamic_range_db: float) -> Values:
    """Return decibels as 0..1: steady noise dark, the loudest sound bright, what is in between by its loudness.

    Half of each row's own median is taken off, which dims hum and wind without hiding a long whistle.
    """
    if db.size == 0 or db.max() <= FLOOR_DB + 1.0:
        return np.zeros_like(db)
    smooth = _softened(_softened(db).T).T
    some = slice(None, None, max(1, smooth.size // TYPICAL_CELLS))  # columns, from which the typical levels are taken
    typical = smooth[:, some]
    quieter = np.float32(0.5) * np.maximum(row_quantiles(typical, 0.5) - np.median(typical), 0.0)
    floor = float(np.percentile(typical - quieter, 75)) + 2.0
    flat = smooth - quieter
    top = float(flat.max())
    # A tone in silence and a call in noise both keep contrast.
    floor = min(max(floor, top - dynamic_range_db), top - LEAST_CONTRAST_DB)
    return np.asarray(np.clip((flat - floor) / (top - floor), 0.0, 1.0), dtype=np.float32)


def _softened(values: Values) -> Values:
    """Return the values smoothed along their rows, as by a normal curve of 0.7 cells."""
    inside = np.concatenate([values[:, :1], values, values[:, -1:]], axis=1)
    return np.asarray(SOFT[1] * values + SOFT[0] * (inside[:, :-2] + inside[:, 2:]), dtype=np.float32)


def row_quantiles(values: Values, share: float) -> Values:
    """Return a quantile of each row, as a column. Sorting float32 is six times as fast as `np.percentile`."""
    ordered = np.sort(values, axis=1)
    place = share * (values.shape[1] - 1)
    below = int(place)
    above = min(below + 1, values.shape[1] - 1)
    part = np.float32(place - below)
    return np.asarray((1 - part) * ordered[:, [below]] + part * ordered[:, [above]], dtype=np.float32)


@lru_cache(maxsize=8)
def _marks(width: int, span: float, settings: PictureSettings) -> NDArray[np.bool_]:
    """Return where the ink of the marks lies in a picture."""
    picture = Image.new("L", (width, PICTURE_SIZE[1]))
    _draw_frequencies(picture, settings)
    _draw_times(picture, span)
    return np.asarray(picture) > 0


def _draw_frequencies(picture: Image.Image, settings: PictureSettings) -> None:
    height = picture.size[1]
    pen = _pen(picture)
    low, high = settings.low_hz, settings.high_hz
    step = _round_step((high - low) / 6.0)
    unit, name = (1_000.0, "kHz") if step >= 200 else (1.0, "Hz")
    numbers = [number for number in range(int(low // step) + 1, int(high // step) + 1) if number * step < high]
    for number in numbers:
        y = round((height - 1) * (high - number * step) / (high - low))
        text = f"{number * step / unit:g}"
        pen.line((0, y, 5, y), fill=COLOURS)
        pen.text((8, y), f"{text} {name}" if number == numbers[0] else text, COLOURS, _font(), anchor="lm")


def _draw_times(picture: Image.Image, span: float) -> None:
    width, height = picture.size
    pen = _pen(picture)
    step = _round_step(span * PICTURE_SIZE[0] / width / 8.0)
    for number in range(1, int(span / step) + 1):
        x = round(width * number * step / span)
        pen.line((x, height - 6, x, height - 1), fill=COLOURS)
    pen.text((round(width * step / span) + 4, height - 2), f"{step:g} s", COLOURS, _font(), anchor="lb")


def _pen(picture: Image.Image) -> ImageDraw.ImageDraw:
    pen = ImageDraw.Draw(picture)
    pen.fontmode = "1"  # no grey edges: the palette has one colour for ink
    return pen


@cache
def _font() -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    return ImageFont.load_default(size=11)


def _round_step(smallest: float) -> float:
    """Return the next of 1, 2, 5, 10, 20, ... that is not smaller."""
    power = 10.0 ** np.floor(np.log10(smallest))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= smallest * (1 - 1e-9)))
