"""A recording to work with."""

from pathlib import Path

import numpy as np
import pytest

from tests.sounds.support import RATE, sine, sound_file


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording of two seconds with two tones of a quarter of a second in faint noise."""
    rng = np.random.default_rng(0)
    samples = 0.001 * rng.normal(size=2 * RATE)
    samples[5_000:10_000] += 0.3 * sine(3_000)[:5_000]
    samples[RATE : RATE + 5_000] += 0.3 * sine(5_000)[:5_000]
    path = tmp_path / "dawn.wav"
    path.write_bytes(sound_file(samples))
    return path
