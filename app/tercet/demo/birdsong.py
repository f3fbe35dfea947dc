"""Synthetic bird-song syllables of fourteen patterns, most of which people can distinguish.

The demonstration needs real sounds whose true groups are known, and it must run without a network and
without anybody's recordings. A syllable is a frequency contour under an amplitude envelope, with harmonics,
vibrato, trill and breath, sung by one of a few birds with a pitch, tempo and timbre of their own, and
recorded outdoors: echo, wind, hum and other birds. The variation is chosen so that patterns overlap in
what a program measures (features alone reach an adjusted Rand index of about a half) and people do better.
"""

import io
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import soundfile
from numpy.typing import NDArray
from scipy.signal import fftconvolve

Array = NDArray[np.float64]

SAMPLE_RATE = 22_050
FADE_SAMPLES = 220  # a hundredth of a second, so that clips start and end without a click
BIRDS = 24
SITES = ("creek", "ridge", "old-growth", "clearing", "road")
FIRST_DAY = date(2025, 5, 3)


@dataclass(frozen=True)
class Pattern:
    """What all renditions of one syllable share. Contours are (place in 0..1, octaves from `hz`) points."""

    name: str
    share: float  # how common it is, relative to the others
    hz: float
    seconds: float
    contour: tuple[tuple[float, float], ...] = ((0.0, 0.0), (1.0, 0.0))
    harmonics: tuple[float, ...] = (1.0, 0.12)
    vibrato_hz: float = 0.0
    vibrato_octaves: float = 0.0
    trill_hz: float = 0.0  # notes a second, silent in between
    note_octaves: float = 0.0  # how far each note of a trill falls
    breath: float = 0.0  # share of noise instead of tone
    gap: tuple[float, float] | None = None  # a silence, as places in 0..1


PATTERNS = (
    Pattern("rising whistle", 75, 3000, 0.42, ((0, -0.35), (0.5, -0.05), (1, 0.5))),
    Pattern("falling whistle", 70, 3100, 0.42, ((0, 0.5), (0.5, -0.05), (1, -0.35))),
    Pattern("dip", 45, 3200, 0.44, ((0, 0.4), (0.5, -0.4), (1, 0.4))),
    Pattern("arch", 55, 3000, 0.42, ((0, -0.4), (0.5, 0.4), (1, -0.4))),
    Pattern("flat whistle", 60, 3300, 0.45),
    Pattern("two notes", 40, 3100, 0.5, ((0, 0.28), (0.47, 0.28), (0.53, -0.22), (1, -0.22)), gap=(0.44, 0.56)),
    Pattern("slow trill", 45, 3700, 0.75, trill_hz=9, note_octaves=0.45),
    Pattern("fast trill", 50, 3900, 0.65, trill_hz=22, note_octaves=0.4),
    Pattern("rising trill", 30, 3500, 0.65, ((0, -0.35), (1, 0.45)), trill_hz=16, note_octaves=0.4),
    Pattern("warble", 45, 3200, 0.55, vibrato_hz=13, vibrato_octaves=0.26),
    Pattern("buzz", 40, 4600, 0.5, harmonics=(1.0, 0.05), vibrato_hz=75, vibrato_octaves=0.16, breath=0.15),
    Pattern(
        "nasal call",
        35,
        950,
        0.35,
        ((0, -0.08), (0.4, 0.1), (1, -0.12)),
        (0.5, 0.9, 1.0, 0.8, 0.55, 0.3, 0.15),
    ),
    Pattern("chip", 65, 4300, 0.09, ((0, 0.55), (1, -0.5)), (1.0, 0.25, 0.05)),
    Pattern("rasp", 25, 3600, 0.35, ((0, 0.08), (1, -0.12)), (1.0, 0.3), 38, 0.3, breath=0.85),
)
PATTERN_NAMES = tuple(pattern.name for pattern in PATTERNS)


@dataclass(frozen=True)
class Bird:
    """One individual: what makes all its syllables sound alike whatever their pattern."""

    name: str
    site: str
    octaves: float
    tempo: float
    brightness: float
    distance: float


@dataclass(frozen=True)
class Syllable:
    """One recorded syllable. `pattern` is its true class."""

    key: str
    pattern: int
    samples: NDArray[np.float32]
    sample_rate: int
    bird: str
    site: str
    recorded: str


def make_syllables(n: int = 600, seed: int = 0) -> list[Syllable]:
    """Return `n` syllables in random order; the same seed makes the same sounds."""
    rng, birds, patterns = _draw_birds_and_patterns(n, seed)
    syllables = []
    for key, pattern in patterns.items():
        bird = birds[rng.integers(BIRDS)]
        samples = _record(_sing(PATTERNS[pattern], bird, rng), bird, birds, rng)
        day = FIRST_DAY + timedelta(days=int(rng.integers(40)))
        syllables.append(
            Syllable(
                key,
                pattern,
                samples,
                SAMPLE_RATE,
                bird.name,
                bird.site,
                day.isoformat(),
            )
        )
    return syllables


def true_patterns(n: int = 600, seed: int = 0) -> dict[str, int]:
    """Return the pattern of every syllable, by its key, without making their sounds."""
    return _draw_birds_and_patterns(n, seed)[2]


def to_wav(samples: NDArray[np.floating], rate: int = SAMPLE_RATE) -> bytes:
    """Return a 16-bit PCM WAV file of samples in [-1, 1]; louder ones are clipped."""
    out = io.BytesIO()
    whole = np.rint(np.clip(samples, -1.0, 1.0) * 32767.0).astype(np.int16)
    soundfile.write(out, whole, rate, subtype="PCM_16", format="WAV")
    return out.getvalue()


def _draw_birds_and_patterns(n: int, seed: int) -> tuple[np.random.Generator, list[Bird], dict[str, int]]:
    """Draw the birds, and the pattern of each of the `n` syllables."""
    rng = np.random.default_rng(seed)
    birds = [_make_bird(number, rng) for number in range(BIRDS)]
    digits = max(3, len(str(n)))
    numbered = enumerate(_pattern_of_each(n, rng), start=1)
    return rng, birds, {f"syllable-{number:0{digits}d}": pattern for number, pattern in numbered}


def _pattern_of_each(n: int, rng: np.random.Generator) -> list[int]:
    """Return every pattern at its share of `n`, to the nearest whole syllable, shuffled."""
    edges = np.cumsum([0.0, *(pattern.share for pattern in PATTERNS)])
    counts = np.diff(np.rint(n * edges / edges[-1])).astype(int)
    return [int(p) for p in rng.permutation(np.repeat(np.arange(len(PATTERNS)), counts))]


def _make_bird(number: int, rng: np.random.Generator) -> Bird:
    return Bird(
        name=f"bird-{number + 1:02d}",
        site=SITES[number % len(SITES)],
        octaves=float(rng.normal(0.0, 0.17)),
        tempo=float(np.exp(rng.normal(0.0, 0.15))),
        brightness=float(np.exp(rng.normal(0.0, 0.5))),
        distance=float(rng.uniform(0.0, 1.0)),
    )


def _sing(pattern: Pattern, bird: Bird, rng: np.random.Generator) -> Array:
    """Return one rendition without echo and noise, with a peak of 1."""
    seconds = pattern.seconds / bird.tempo * float(np.exp(rng.normal(0.0, 0.18)))
    size = round(min(max(seconds, 0.05), 1.0) * SAMPLE_RATE)
    place = np.linspace(0.0, 1.0, size)
    time = np.arange(size) / SAMPLE_RATE
    trill = pattern.trill_hz * bird.tempo * float(np.exp(rng.normal(0.0, 0.14)))
    note = (time * trill) % 1.0
    octaves = _contour(pattern, place, rng) + bird.octaves + rng.normal(0.0, 0.05)
    octaves += pattern.note_octaves * (0.5 - note) * (1.0 if trill else 0.0)
    octaves += _vibrato(pattern, bird, time, rng)
    hz = pattern.hz * 2.0**octaves
    tone = _tone(hz, pattern, bird, rng)
    sound = (1.0 - pattern.breath) * tone + pattern.breath * _breath(hz, rng)
    sound *= _envelope(pattern, place, note if trill else None, rng)
    return np.asarray(sound / np.abs(sound).max(), dtype=np.float64)


def _contour(pattern: Pattern, place: Array, rng: np.random.Generator) -> Array:
    """Return the pattern's curve, its depth, timing and drift a little different each time."""
    points = np.array(pattern.contour)
    depth = float(np.exp(rng.normal(0.0, 0.32)))
    warped = place ** float(np.exp(rng.normal(0.0, 0.2)))
    sharp = np.interp(warped, points[:, 0], points[:, 1])
    width = max(3, place.size // 12)
    smooth = np.convolve(np.pad(sharp, width, mode="edge"), np.hanning(width) / np.hanning(width).sum(), "same")
    drift = rng.normal(0.0, 0.09) * (place - 0.5) * 2.0 + rng.normal(0.0, 0.05) * np.cos(2 * np.pi * place)
    return np.asarray(depth * smooth[width:-width] + drift, dtype=np.float64)


def _vibrato(pattern: Pattern, bird: Bird, time: Array, rng: np.random.Generator) -> Array:
    """Return a sinusoid around the contour: the pattern's own, or the faint tremble of any voice."""
    rate = (pattern.vibrato_hz or 9.0) * bird.tempo * float(np.exp(rng.normal(0.0, 0.12)))
    depth = (pattern.vibrato_octaves or 0.025) * float(np.exp(rng.normal(0.0, 0.3)))
    return np.asarray(depth * np.sin(2 * np.pi * (rate * time + rng.uniform())), dtype=np.float64)


def _tone(hz: Array, pattern: Pattern, bird: Bird, rng: np.random.Generator) -> Array:
    """Return the contour as a sum of harmonics, without those above the recorder's range."""
    phase = 2 * np.pi * np.cumsum(hz) / SAMPLE_RATE + rng.uniform(0, 2 * np.pi)
    brightness = bird.brightness * float(np.exp(rng.normal(0.0, 0.25)))
    sound = np.zeros_like(hz)
    for number, weight in enumerate(pattern.harmonics, start=1):
        audible = np.clip((0.46 * SAMPLE_RATE - number * hz) / 600.0, 0.0, 1.0)
        sound += weight * brightness ** min(number - 1, 2) * audible * np.sin(number * phase)
    return np.asarray(sound / np.sqrt(np.mean(sound**2) + 1e-12), dtype=np.float64)


def _breath(hz: Array, rng: np.random.Generator) -> Array:
    """Return noise in a band of about an octave around the contour: a slow random signal moved up to it."""
    width = rng.uniform(700.0, 1300.0)
    taps = np.hanning(max(5, round(SAMPLE_RATE / width)))
    quadratures = [np.convolve(rng.normal(size=hz.size), taps, "same") for _ in range(2)]
    phase = 2 * np.pi * np.cumsum(hz) / SAMPLE_RATE
    sound = quadratures[0] * np.cos(phase) - quadratures[1] * np.sin(phase)
    return np.asarray(sound / np.sqrt(np.mean(sound**2) + 1e-12), dtype=np.float64)


def _envelope(pattern: Pattern, place: Array, note: Array | None, rng: np.random.Generator) -> Array:
    """Return loudness over time: a swell with a random peak, the notes of a trill, a gap between two notes."""
    attack, decay = rng.uniform(0.08, 0.25, size=2)
    swell = np.minimum(1.0, np.minimum(place / attack, (1.0 - place) / decay))
    loud = np.sin(0.5 * np.pi * swell) ** 2 * (1.0 + rng.uniform(-0.3, 0.3) * (2.0 * place - 1.0))
    if note is not None:
        loud = loud * np.clip(np.sin(np.pi * np.clip(note / rng.uniform(0.6, 0.85), 0.0, 1.0)), 0.0, 1.0)
    if pattern.gap:
        middle, half = sum(pattern.gap) / 2, (pattern.gap[1] - pattern.gap[0]) / 2 * rng.uniform(0.3, 1.2)
        loud = loud * np.clip((np.abs(place - middle) - half) / 0.03, 0.0, 1.0)
    return np.asarray(loud, dtype=np.float64)


def _record(song: Array, bird: Bird, birds: list[Bird], rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the song as a recorder in a forest hears it, with a little of the forest before and after."""
    before, after = (round(rng.uniform(0.05, 0.1) * SAMPLE_RATE) for _ in range(2))
    clip = np.pad(song, (before, after))
    clip = _with_echo(clip, bird.distance, rng)
    clip = clip / np.abs(clip).max()
    loudness = np.sqrt(np.mean(clip[before:-after] ** 2))
    snr = 26.0 - 12.0 * bird.distance + rng.normal(0.0, 4.0)
    clip += loudness * 10.0 ** (-max(snr, 6.0) / 20.0) * _forest(clip.size, rng)
    if rng.uniform() < 0.15:
        clip += _distant_bird(clip.size, birds, rng)
    clip *= np.clip(np.minimum(np.arange(clip.size), np.arange(clip.size)[::-1]) / FADE_SAMPLES, 0.0, 1.0)
    return np.asarray(rng.uniform(0.5, 0.9) * clip / np.abs(clip).max(), dtype=np.float32)


def _with_echo(clip: Array, distance: float, rng: np.random.Generator) -> Array:
    time = np.arange(round(0.12 * SAMPLE_RATE)) / SAMPLE_RATE
    tail = rng.normal(size=time.size) * np.exp(-time / 0.03) * 0.035 * (0.3 + distance)
    tail[0] = 1.0
    return np.asarray(fftconvolve(clip, tail)[: clip.size], dtype=np.float64)


def _forest(size: int, rng: np.random.Generator) -> Array:
    """Return background of unit loudness: pink noise, at times wind (its low end) or a hum with overtones."""
    hz = np.fft.rfftfreq(size, 1.0 / SAMPLE_RATE)
    shape = 1.0 / np.sqrt(np.maximum(hz, 60.0))
    if rng.uniform() < 0.3:
        shape = shape * (1.0 + 6.0 / (1.0 + (hz / 350.0) ** 2))
    noise = np.fft.irfft(shape * (rng.normal(size=hz.size) + 1j * rng.normal(size=hz.size)), size)
    noise /= np.sqrt(np.mean(noise**2))
    if rng.uniform() < 0.15:
        time = np.arange(size) / SAMPLE_RATE
        base = rng.uniform(100.0, 240.0)
        noise += sum(0.6 / k * np.sin(2 * np.pi * base * k * time) for k in (1, 2, 3))
    return np.asarray(noise, dtype=np.float64)


def _distant_bird(size: int, birds: list[Bird], rng: np.random.Generator) -> Array:
    """Return another bird in the background, 20 to 30 dB quieter, at a random time of the clip."""
    song = _sing(PATTERNS[rng.integers(len(PATTERNS))], birds[rng.integers(len(birds))], rng)
    start = int(rng.integers(-song.size // 2, size // 2 + 1))
    clip = np.zeros(size)
    source = song[max(0, -start) : max(0, size - start)]
    clip[max(0, start) : max(0, start) + source.size] = source
    clip *= 10.0 ** (-rng.uniform(20.0, 30.0) / 20.0)
    return clip
