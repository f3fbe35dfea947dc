"""Sounds made by code, and files of them in every format."""

import io

import numpy as np
import soundfile

RATE = 22_050


def sine(hz: float, seconds: float = 0.5, rate: int = RATE) -> np.ndarray:
    """A tone of full scale."""
    return np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)


def sound_file(samples: np.ndarray, rate: int = RATE, kind: str = "WAV", encoding: str = "PCM_16") -> bytes:
    """The bytes of a file of sound."""
    out = io.BytesIO()
    soundfile.write(out, samples, rate, subtype=encoding, format=kind)
    return out.getvalue()
