"""The estimators that keep one contract, in the variants worth testing, and small data to try them on."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from algorithms import DCRC
from algorithms.simulate import random_triplets, true_answers

N_ITEMS, N_FEATURES, N_CLUSTERS = 60, 4, 3


@dataclass(frozen=True)
class Variant:
    """An estimator with the parameters that make it this variant, small enough for many fits."""

    name: str
    estimator: type
    parameters: dict[str, Any] = field(default_factory=dict)

    def make(self, n_clusters=N_CLUSTERS, **parameters):
        return self.estimator(n_clusters, **{"random_state": 0, **self.parameters, **parameters})

    def __str__(self):
        return self.name


SMALL = {"n_init": 2, "n_moves": 1}
VARIANTS = [
    Variant("DCRC", DCRC, SMALL),
    Variant("DCRC em", DCRC, {**SMALL, "solver": "em"}),
    Variant("DCRC hard", DCRC, {**SMALL, "epsilon": 0}),
    Variant("DCRC without balance and dnk", DCRC, {**SMALL, "balance": False, "use_dnk": False}),
]


def separated(n_items=N_ITEMS, n_clusters=N_CLUSTERS, seed=0):
    """Features and classes of blobs that cannot be missed."""
    return make_blobs(
        n_items, N_FEATURES, centers=5 * np.eye(n_clusters, N_FEATURES), cluster_std=0.7, random_state=seed
    )


def questions(y, n, seed=0, kind="relative"):
    """What `fit` takes: n random questions of a kind with their right answers."""
    triplets = random_triplets(len(y), n, np.random.default_rng(seed))
    return {"triplets": triplets, "answers": true_answers(y, triplets, kind), "kinds": kind}


def first(given, n):
    """The first n of the answers."""
    return {name: value if isinstance(value, str) else value[:n] for name, value in given.items()}


def through_npz(arrays, folder):
    """The arrays as another process reads them: saved and loaded, without pickle."""
    np.savez(folder / "arrays.npz", **arrays)
    with np.load(folder / "arrays.npz", allow_pickle=False) as saved:
        return {name: saved[name] for name in saved.files}
