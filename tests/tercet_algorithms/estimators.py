"""The estimators that keep one contract, in the variants worth testing, and small data to try them on."""

import copy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest

from tercet_algorithms import DCRC, DCRCCV, SKLR
from tercet_algorithms.answers.simulated_labelers import distance_answers, random_triplets, true_answers

N_ITEMS, N_FEATURES, N_CLUSTERS = 60, 7, 3


@dataclass(frozen=True, eq=False)
class Variant:
    """An estimator with the parameters that make it this variant, small enough for many fits."""

    name: str
    estimator: type
    parameters: dict[str, Any] = field(default_factory=dict)

    def make(self, n_clusters=N_CLUSTERS, **parameters):
        return self.estimator(n_clusters, **{"random_state": 0, **self.parameters, **parameters})

    def make_warm(self):
        """One whose refits continue, where that is offered."""
        return self.make(warm_start=True) if self.saves else self.make()

    @property
    def saves(self):
        """Whether its state can be saved, to predict or to go on from there."""
        return hasattr(self.estimator, "set_state_arrays")

    @property
    def keeps_single(self):
        """Whether posteriors of single precision features are of single precision too, as the docstring says."""
        return issubclass(self.estimator, DCRC | DCRCCV)

    def __str__(self):
        return self.name


class Answered:
    """Fits with answers that follow from X alone, so that checks which know only X meet them too."""

    def fit(self, X, y=None):
        points = np.asarray(X) if isinstance(X, np.ndarray | list) else np.empty(0)
        triplets, answers = np.empty((0, 3), np.int64), []
        if points.ndim == 2 and points.dtype.kind in "iuf" and len(points) > 4 and np.isfinite(points).all():
            rng = np.random.default_rng(0)
            triplets = random_triplets(len(points), 20, rng)
            answers = distance_answers(points, triplets, rng, sharpness=1e6)
        return super().fit(X, triplets=triplets, answers=answers, labelers=np.arange(len(answers)) % 2)


class AnsweredDCRC(Answered, DCRC):
    """DCRC with answers."""


class AnsweredSKLR(Answered, SKLR):
    """SKLR with answers."""


class AnsweredDCRCCV(Answered, DCRCCV):
    """DCRCCV with answers."""


SMALL = {"n_init": 2, "n_moves": 1}
# Where a variant changes nothing about beliefs, choosing one would take nine fits more, and where the features alone
# show what it changes, finding the graph too takes twice as long.
SURE = {**SMALL, "epsilon": 0.05}
PLAIN = {**SURE, "candidates": "features"}
SKLR_SMALL = {"n_init": 2, "n_neighbors": 15}
VARIANTS = [
    Variant("DCRC", DCRC, SMALL),
    Variant("DCRC em", DCRC, {**PLAIN, "solver": "em"}),
    Variant("DCRC hard", DCRC, {**PLAIN, "epsilon": 0}),
    Variant("DCRC without balance and dnk", DCRC, {**PLAIN, "balance": False, "use_dnk": False}),
    Variant("DCRC exact kernel", DCRC, {**SMALL, "kernel": "rbf"}),
    Variant("DCRC nystroem", DCRC, {**SURE, "kernel": "nystroem", "n_components": 30}),
    Variant("DCRC random features", DCRC, {**SURE, "kernel": "rff", "n_components": 50}),
    Variant("DCRC learned tables", DCRC, {**SMALL, "labeler_tables": "learn"}),
    Variant("DCRC learned tables em", DCRC, {**PLAIN, "labeler_tables": "learn", "solver": "em"}),
    Variant("SKLR", SKLR, SKLR_SMALL),
    Variant("SKLR hard", SKLR, {**SKLR_SMALL, "C": np.inf}),
    Variant("SKLR by projections", SKLR, {**SKLR_SMALL, "solver": "projection"}),
    Variant("SKLR as in the paper", SKLR, {**SKLR_SMALL, "solver": "paper", "C": np.inf}),
    Variant("SKLR nystroem", SKLR, {**SKLR_SMALL, "low_rank": "nystroem", "max_rank": 30, "mapping": "strict"}),
    Variant("DCRCCV", DCRCCV, {**SMALL, "tau": (0.5, 1.0), "lam": 2**-8, "epsilon": (0.05, 0.15), "cv": 3}),
]
SAVING = [variant for variant in VARIANTS if variant.saves]
# One variant of each estimator stands for the others, whose tests are heavy; DCRC for DCRCCV too, which fits it.
FIRST_OF_EACH = {"DCRC", "SKLR"}


def hidden(n_items=N_ITEMS, seed=1):
    """Features and classes of items that fall into two groups at first sight, and into three classes across these.

    Without answers nobody finds the classes, with enough of them everybody does.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(n_items) % N_CLUSTERS
    groups = np.repeat(rng.integers(2, size=(n_items, 1)), N_FEATURES - N_CLUSTERS, axis=1)
    X = 5.0 * np.column_stack([np.eye(N_CLUSTERS)[y], groups])
    return X + rng.normal(scale=0.7, size=X.shape), y


def questions(y, n, seed=1, kind="relative"):
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


# What scikit-learn checks: without answers what treats features in a way of its own, and each estimator with some.
OF_FEATURES = {
    "DCRC",
    "DCRC without balance and dnk",
    "DCRC exact kernel",
    "DCRC nystroem",
    "DCRC random features",
    "SKLR",
    "SKLR nystroem",
    "DCRCCV",
}
CHECKED = [
    *(variant.make() for variant in VARIANTS if variant.name in FIRST_OF_EACH),
    AnsweredDCRC(N_CLUSTERS, **SMALL),
    AnsweredSKLR(N_CLUSTERS, **SKLR_SMALL),
]
CHECKED_TOO = [
    *(variant.make() for variant in VARIANTS if variant.name in OF_FEATURES - FIRST_OF_EACH),
    AnsweredDCRC(N_CLUSTERS, **SURE, labeler_tables="learn"),
    AnsweredDCRC(N_CLUSTERS, epsilon=0.05, n_init=1, n_moves=0, solver="em"),
    AnsweredSKLR(N_CLUSTERS, **SKLR_SMALL, solver="projection"),
    AnsweredDCRCCV(N_CLUSTERS, **SMALL, tau=(0.5, 1.0), lam=2**-8, epsilon=0.05, cv=2),
]

# What the tests of the contract are given, and the marks of tests of all variants.
X, Y = hidden()
N_ANSWERS = 100
GIVEN = questions(Y, N_ANSWERS)


def each_of(variants):
    """A mark that runs a test of each of the variants."""
    parameters = [
        variant if variant.name in FIRST_OF_EACH else pytest.param(variant, marks=pytest.mark.heavy)
        for variant in variants
    ]
    return pytest.mark.parametrize("variant", parameters, ids=str)


every, every_saving = each_of(VARIANTS), each_of(SAVING)
OF_ALL = [
    pytest.mark.uncounted,  # the tests of each estimator reach the same lines, and counting takes a quarter of the time
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:answers about only"),  # too few for the folds
]


def fitted(variant, kind="relative"):
    """The variant's fit to all answers of a kind, the test's own copy of it."""
    return copy.deepcopy(_fit_once(variant, kind))


@cache
def _fit_once(variant, kind):
    return variant.make().fit(X, **questions(Y, N_ANSWERS, kind=kind))


@cache
def watched(variant):
    """The variant's fit to what is given, and the states that a callback saw; not to be changed."""
    states = []
    return variant.make().fit(X, **GIVEN, callback=states.append), states


def assert_usable(model, n_items=N_ITEMS, n_clusters=N_CLUSTERS):
    """A fitted model whose every promise can be asked for, whatever its data were."""
    assert model.labels_.shape == (n_items,)
    assert np.issubdtype(model.labels_.dtype, np.integer)
    assert 0 <= model.labels_.min() <= model.labels_.max() < n_clusters
    assert model.posterior_.shape == (n_items, n_clusters)
    assert np.allclose(model.posterior_.sum(axis=1), 1, atol=1e-5)
    assert model.posterior_.min() >= 0
    assert model.n_features_in_ == N_FEATURES
    assert model.n_iter_ >= 0
    assert model.converged_ in (True, False)
