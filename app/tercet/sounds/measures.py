"""Measures of a sound: one row of numbers a clip.

Clusters need features, and people who upload sounds should not have to compute them. Every number is computed from the
spectrogram without its steady noise, has a unit, and can be explained to a biologist: duration, pitch, contour, trill
and vibrato, purity. Clips of silence get zeros rather than NaN.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tercet.sounds.picture_settings import window_for
from tercet.sounds.spectrograms import Spectrogram, Values, row_quantiles, spectrogram

Array = NDArray[np.float64]

FEATURE_NAMES = (
    "duration_s",
    "sounding_share",
    "notes_per_s",
    "envelope_peak_place",
    "envelope_centre_place",
    "envelope_spread_share",
    "time_entropy",
    "amplitude_modulation_hz",
    "amplitude_modulation_depth",
    "peak_khz",
    "centroid_khz",
    "bandwidth_khz",
    "quantile05_khz",
    "quantile25_khz",
    "quantile50_khz",
    "quantile75_khz",
    "quantile95_khz",
    "frequency_entropy",
    "frequency_flatness",
    "momentary_bandwidth_khz",
    "momentary_entropy",
    "contour_start_khz",
    "contour_end_khz",
    "contour_lowest_khz",
    "contour_highest_khz",
    "contour_rise_octaves",
    "contour_bend_octaves",
    "contour_roughness_octaves",
    "contour_steepness_octaves_per_s",
    "frequency_modulation_hz",
    "frequency_modulation_depth_octaves",
    "harmonicity",
    "harmonic_spacing_khz",
)

ABOVE_NOISE = 6.0  # a cell counts as sound if its power is so many times the steady noise of its row
DYNAMIC_RANGE = 1e-4  # ... and within 40 dB of the loudest cell
AUDIBLE = 0.03  # a moment counts as sounding if it has this share of the loudest moment's power (-15 dB)
SILENCE = 1e-10  # power below which there is nothing to measure (-100 dB)


@dataclass(frozen=True)
class SoundingPart:
    """The sounding part of a clip: power (frequency x time) without noise, and its ridge, the loudest row."""

    power: Values
    hz: Array
    step: float  # seconds between columns
    envelope: Array  # power of each column
    sounding: NDArray[np.bool_]
    ridge: Array  # Hz, one value a column, interpolated through silent columns


def measure_sound(samples: NDArray[np.floating], rate: int, low_hz: float = 300.0, high_hz: float = 11_000.0) -> Array:
    """Return the measures named in FEATURE_NAMES, in that order, as finite float64.

    Nothing below `low_hz` or above `high_hz` is looked at, so that wind and hum do not count and recorders with
    different sampling rates can be compared. The higher the range, the shorter the windows.
    """
    return measure(spectrogram(samples, rate, window_for(high_hz)), low_hz, high_hz)


def measure(picture: Spectrogram, low_hz: float, high_hz: float) -> Array:
    """Return the measures of a spectrogram; see `measure_sound`."""
    sound = _sounding_part(picture, low_hz, high_hz)
    if sound is None:
        return np.zeros(len(FEATURE_NAMES))
    values = {**_timing(sound), **_spectrum(sound), **_moments(sound), **_contour(sound), **_harmonics(sound)}
    return np.array([values[name] for name in FEATURE_NAMES])


def _sounding_part(picture: Spectrogram, low_hz: float, high_hz: float) -> SoundingPart | None:
    """Return the clip without its noise and its quiet ends; None if nothing is left."""
    audible = picture.between(low_hz, high_hz)
    hz = audible.frequencies
    if hz.size < 3:
        return None
    power = without_noise(audible.power)
    envelope = power.sum(axis=0, dtype=np.float64)
    if envelope.max(initial=0.0) < SILENCE:
        return None
    sounding = _smooth(envelope, 3) > AUDIBLE * envelope.max()
    columns = np.flatnonzero(sounding & (envelope > 0))
    inside = slice(columns[0], columns[-1] + 1)
    power, envelope, sounding = power[:, inside], envelope[inside], sounding[inside]
    clear = np.flatnonzero(sounding & (envelope > 0))
    ridge = np.interp(np.arange(envelope.size), clear, _ridge(power[:, clear], hz))
    step = float(picture.times[1] - picture.times[0]) if picture.times.size > 1 else 0.0
    return SoundingPart(power, hz, step, envelope, sounding, ridge)


def without_noise(power: Values) -> Values:
    """Return the power without each row's steady noise: its quiet moments, bounded by the clip's typical level.

    The bound keeps a tone that fills its whole row from being mistaken for a hum.
    """
    steady = row_quantiles(power, 0.15)
    noise = np.minimum(steady, 4.0 * np.median(steady)) * np.float32(2.0)
    floor = np.maximum(ABOVE_NOISE * noise, np.float32(DYNAMIC_RANGE) * power.max(initial=0.0))
    return np.asarray(np.where(power > floor, power - noise, np.float32(0.0)), dtype=np.float32)


def _ridge(power: Values, hz: Array) -> Array:
    """Return the frequency of each column's loudest row, refined by the centre of mass of its neighbours."""
    top = np.clip(power.argmax(axis=0), 1, hz.size - 2)
    columns = np.arange(power.shape[1])
    around = np.stack([power[top + offset, columns] for offset in (-1, 0, 1)])
    offset = (around[2] - around[0]) / np.maximum(around.sum(axis=0), SILENCE**2)
    return np.asarray(hz[top] + offset * (hz[1] - hz[0]), dtype=np.float64)


def _smooth(values: Array, width: int) -> Array:
    return np.convolve(np.pad(values, width // 2, mode="edge"), np.full(width, 1.0 / width), "valid")


def _timing(sound: SoundingPart) -> dict[str, float]:
    seconds = max(sound.envelope.size * sound.step, 1e-3)
    loud = sound.envelope / sound.envelope.sum()
    place = np.linspace(0.0, 1.0, loud.size) if loud.size > 1 else np.array([0.5])
    centre = float(loud @ place)
    starts = np.count_nonzero(np.diff(sound.sounding.astype(int), prepend=0) == 1)
    modulation_hz, depth = _modulation(np.sqrt(loud / loud.max()), sound.step)
    return {
        "duration_s": seconds,
        "sounding_share": float(sound.sounding.mean()),
        "notes_per_s": starts / seconds,
        "envelope_peak_place": float(place[_smooth(loud, 5).argmax()]),
        "envelope_centre_place": centre,
        "envelope_spread_share": float(np.sqrt(loud @ (place - centre) ** 2)),
        "time_entropy": _entropy(loud),
        "amplitude_modulation_hz": modulation_hz,
        "amplitude_modulation_depth": depth,
    }


def _spectrum(sound: SoundingPart) -> dict[str, float]:
    mean = sound.power.sum(axis=1, dtype=np.float64)
    mean /= mean.sum()
    khz = sound.hz / 1000.0
    centroid = float(mean @ khz)
    cumulative = np.cumsum(mean)
    quantiles = {f"quantile{q:02d}_khz": float(np.interp(q / 100.0, cumulative, khz)) for q in (5, 25, 50, 75, 95)}
    return {
        "peak_khz": float(khz[mean.argmax()]),
        "centroid_khz": centroid,
        "bandwidth_khz": float(np.sqrt(mean @ (khz - centroid) ** 2)),
        "frequency_entropy": _entropy(mean),
        "frequency_flatness": float(np.exp(np.log(mean + 1e-6).mean()) / (mean + 1e-6).mean()),
        **quantiles,
    }


def _moments(sound: SoundingPart) -> dict[str, float]:
    """Measure how wide and how noisy the sound is at one moment, whatever its contour does; averaged by loudness."""
    khz = sound.hz / 1000.0
    share = sound.power / np.maximum(sound.envelope, SILENCE**2).astype(np.float32)
    centre = khz @ share
    spread = np.sqrt(np.maximum((khz**2) @ share - centre**2, 0.0))
    filled = np.where(share > 0, share, 1.0)
    entropy = -(share * np.log(filled)).sum(axis=0) / np.log(khz.size)
    loud = np.sqrt(sound.envelope)
    return {
        "momentary_bandwidth_khz": float(np.average(spread, weights=loud)),
        "momentary_entropy": float(np.average(entropy, weights=loud)),
    }


def _contour(sound: SoundingPart) -> dict[str, float]:
    """Measure the ridge as a curve in octaves: its ends, its straight rise, its bend, and the modulation around it."""
    octaves = np.log2(np.maximum(sound.ridge, sound.hz[0]))
    place = np.linspace(-1.0, 1.0, octaves.size) if octaves.size > 1 else np.zeros(1)
    design = np.stack([np.ones_like(place), place, place**2 - 1.0 / 3.0], axis=1)
    weight = np.sqrt(np.sqrt(sound.envelope))[:, None]
    fit = np.linalg.lstsq(design * weight, octaves * weight[:, 0], rcond=None)[0]
    residual = octaves - design @ fit
    edge = max(1, octaves.size // 10)
    modulation_hz, depth = _modulation(residual, sound.step)
    steps = np.abs(np.diff(_smooth(octaves, 3)))
    return {
        "contour_start_khz": float(np.median(sound.ridge[:edge])) / 1000.0,
        "contour_end_khz": float(np.median(sound.ridge[-edge:])) / 1000.0,
        "contour_lowest_khz": float(np.percentile(sound.ridge, 5)) / 1000.0,
        "contour_highest_khz": float(np.percentile(sound.ridge, 95)) / 1000.0,
        "contour_rise_octaves": float(2.0 * fit[1]),
        "contour_bend_octaves": float(fit[2]),
        "contour_roughness_octaves": float(residual.std()),
        "contour_steepness_octaves_per_s": float(np.median(steps)) / sound.step if steps.size else 0.0,
        "frequency_modulation_hz": modulation_hz,
        "frequency_modulation_depth_octaves": depth,
    }


def _modulation(values: Array, step: float) -> tuple[float, float]:
    """Return rate (Hz) and depth (amplitude) of the strongest repetition of at least three cycles in a curve."""
    if values.size < 12 or step <= 0.0:
        return 0.0, 0.0
    taper = np.hanning(values.size)
    size = 4 * values.size
    amplitude = np.abs(np.fft.rfft((values - values.mean()) * taper, size)) * 2.0 / taper.sum()
    rates = np.fft.rfftfreq(size, step)
    amplitude[rates < 3.0 / (values.size * step)] = 0.0
    best = int(amplitude.argmax())
    return float(rates[best]), float(amplitude[best])


def _harmonics(sound: SoundingPart) -> dict[str, float]:
    """Measure how regularly the spectrum repeats along frequency, and at what spacing, by its autocorrelation."""
    from scipy.fft import irfft, next_fast_len, rfft  # a web process draws sounds and measures none

    level = np.log(sound.power / sound.power.max() + np.float32(DYNAMIC_RANGE))
    level -= level.mean(axis=0)
    spectrum = rfft(level, next_fast_len(2 * level.shape[0]), axis=0)
    correlation = irfft((spectrum.real**2 + spectrum.imag**2).mean(axis=1))[: level.shape[0]]
    if correlation[0] <= 0.0:
        return {"harmonicity": 0.0, "harmonic_spacing_khz": 0.0}
    correlation = correlation / correlation[0]
    first_dip = int(np.argmax(correlation <= 0.0))
    best = first_dip + int(correlation[first_dip:].argmax())
    bin_khz = float(sound.hz[1] - sound.hz[0]) / 1000.0
    return {"harmonicity": float(max(correlation[best], 0.0)), "harmonic_spacing_khz": best * bin_khz}


def _entropy(share: Array) -> float:
    """Return the Shannon entropy as a part of its largest possible value: 0 all in one place, 1 spread evenly."""
    filled = share[share > 0.0]
    return float(-(filled * np.log(filled)).sum() / np.log(share.size)) if share.size > 1 else 0.0
