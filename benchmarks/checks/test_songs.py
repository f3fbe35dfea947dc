"""Moves on the demonstration's songs: what is moved stays where it was put, and what sounds alike follows."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from benchmarks.app_loop import AppLoop
from benchmarks.edits import edited_run, misplaced
from tercet.demo.birdsong import true_patterns
from tercet.demo.files import write_songs
from tercet.features.computing import compute
from tercet.features.inputs import FeatureInput
from tercet.features.recipes import default_recipe

N_SONGS, MOVED, SEEDS = 480, 10, 5


@pytest.fixture(scope="module")
def songs() -> tuple[np.ndarray, np.ndarray]:
    """Features as the app makes them, and the patterns, from 0."""
    patterns = true_patterns(N_SONGS, 0)
    with TemporaryDirectory() as folder:
        write_songs(Path(folder), n=N_SONGS, seed=0)
        files = [FeatureInput(key, media_type="audio/wav", path=Path(folder, f"{key}.wav")) for key in patterns]
        X = compute(default_recipe(files), files, None, lambda share, words: None).values
    return X.astype(np.float64), np.unique(list(patterns.values()), return_inverse=True)[1]


def test_moved_songs_stay_and_those_that_sound_alike_follow_more_often_than_not(
    songs: tuple[np.ndarray, np.ndarray],
) -> None:
    X, y = songs
    stayed, followed = [], []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        loop = AppLoop(X, y.max() + 1, one_scale=True, seed=seed)
        songs_there, home = misplaced(y, loop.labels)
        moved = rng.permutation(songs_there)[: min(MOVED, 2 * len(songs_there) // 3)]
        alike = np.setdiff1d(songs_there, moved)
        edited_run(loop, moved, home)
        stayed.append(np.mean(loop.labels[moved] == home))
        followed.append(np.mean(loop.labels[alike] == home))
    assert min(stayed) >= 0.9
    assert np.mean(followed) > 0.5, followed
