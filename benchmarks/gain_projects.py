"""Simulated projects for what further answers buy: clusters after every batch of answers, kept as files.

Real and synthetic sets, people's errors, random questions or those of the policy with a random one among twenty, and
refits as the app makes them. One file a project, so that what is forecast from it can be computed again at once.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks import datasets
from benchmarks.datasets import Dataset
from benchmarks.questions import SONGS, songs
from benchmarks.rounds import Row, Task
from tercet.worker.fits.dcrc import MOST_BESIDE, MOVED_ITEMS
from tercet_algorithms import DCRC
from tercet_algorithms.answers.pool import random_questions
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers

BATCH, N_BATCHES = 50, 8
MOST_ITEMS = 300
MOVES = 10
RANDOM_SHARE = 0.05
SYNTHETIC = {"blobs_3": (3, 4, 1.6), "blobs_6": (6, 8, 1.0), "blobs_12": (12, 10, 1.2), "moons": (4, 2, 0.0)}
SETS = (SONGS, "blobs_6", "vehicle", "blobs_12", "wine", "digits", "blobs_3", "letters_ijlt", "moons", "iris")
SETTINGS = ("policy", "random")


class Trajectory(NamedTuple):
    """A project's clusters after 0, 25, 50, ... answers."""

    y: np.ndarray  # (N,) true classes
    posteriors: np.ndarray  # (batches + 1, N, K)
    with_people: np.ndarray  # (batches + 1,) whether answers were taken to err as people do
    triplets: np.ndarray  # (M, 3)
    answers: np.ndarray  # (M,) 1, -1, 0
    is_random: np.ndarray  # (M,)
    ari: np.ndarray  # (batches + 1,)


def path_of(folder: Path, task: Task) -> Path:
    return folder / f"{task.dataset}-{task.setting}-{task.seed}.npz"


def read(path: Path) -> Trajectory:
    with np.load(path) as arrays:
        return Trajectory(**{name: arrays[name] for name in Trajectory._fields})


def load(name: str, seed: int, folder: Path | None) -> Dataset:
    """At most so many items of a set, others for every seed."""
    rng = np.random.default_rng(seed)
    if name == SONGS:
        return songs(seed)
    if name in SYNTHETIC:
        return synthetic(name, rng)
    data = datasets.load(name, folder)
    chosen = rng.permutation(len(data.X))[:MOST_ITEMS]
    return Dataset(name, data.X[chosen], data.y[chosen])


def synthetic(name: str, rng: np.random.Generator) -> Dataset:
    """Gaussian clusters that overlap, or four half circles, two pairs that reach into one another."""
    n_clusters, n_features, spread = SYNTHETIC[name]
    y = rng.integers(n_clusters, size=300)
    if spread:
        X = spread * rng.normal(size=(n_clusters, n_features))[y] + rng.normal(size=(len(y), n_features))
    else:
        angle = np.pi * (rng.random(len(y)) + y % 2)
        X = np.column_stack([np.cos(angle) + y % 2 + 3.5 * (y // 2), np.sin(angle) + 0.5 * (y % 2)])
        X += 0.15 * rng.normal(size=X.shape)
    return Dataset(name, (X - X.mean(axis=0)) / X.std(axis=0), y)


def simulate(task: Task, folder: Path, data_folder: Path | None) -> Row:
    """Label a project and keep its clusters after every batch."""
    data = load(task.dataset, task.seed, data_folder)
    rng = np.random.default_rng(task.seed)
    scaling = {"standardize": task.dataset != SONGS}
    moves = min(MOVES, MOVED_ITEMS // len(data.X))
    model = DCRC(data.n_clusters, n_moves=moves, random_state=task.seed, **scaling).fit(data.X)
    model.set_params(n_init=1 + MOST_BESIDE, warm_start=True)
    kept: dict[str, list[Any]] = {"posteriors": [], "with_people": [], "ari": []}
    keep(kept, model, data)
    triplets, answers, is_random = np.empty((0, 3), int), np.empty(0, int), np.empty(0, bool)
    for _ in range(N_BATCHES):
        drawn = random_questions(len(data.X), BATCH, np.arange(len(data.X)), rng)
        chance = np.ones(BATCH, bool)
        if task.setting == "policy":
            chosen = model.suggest(BATCH, asked=triplets, X=data.X, random_state=rng)[0]
            chance = rng.random(BATCH) < RANDOM_SHARE
            drawn = np.where(chance[:, None], drawn, chosen)
        triplets, is_random = np.concatenate([triplets, drawn]), np.concatenate([is_random, chance])
        answers = np.concatenate([answers, noisy_answers(data.y, drawn, TABLE_IV, rng)])
        model.set_params(random_state=int(rng.integers(2**31)))
        model.fit(data.X, triplets=triplets, answers=answers)
        keep(kept, model, data)
    arrays = {name: np.array(values) for name, values in kept.items()}
    asked = {"triplets": triplets.astype(np.int32), "answers": answers, "is_random": is_random}
    np.savez(path_of(folder, task), y=data.y, **arrays, **asked)
    return {"ari": kept["ari"]}


def keep(kept: dict[str, list[Any]], model: DCRC, data: Dataset) -> None:
    kept["posteriors"].append(model.posterior_.astype(np.float16))
    kept["with_people"].append(model.epsilon_ == "people")
    kept["ari"].append(float(adjusted_rand_score(data.y, model.labels_)))
