"""The data sets of the tables, with true classes: files of a folder that is given, and scikit-learn's own.

Tables need the same names, the same rows and the same standardising everywhere; a file that is not there is
left out with a word, so that everything still runs on scikit-learn's sets alone.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn import datasets as bundled

from benchmarks import rounds

FILES = ("balance_scale", "ionosphere", "letters_ijlt", "vehicle", "letter_carroll", "birdsong_hja")
BUNDLED: dict[str, Callable[..., tuple[np.ndarray, np.ndarray]]] = {
    "iris": bundled.load_iris,
    "wine": bundled.load_wine,
    "breast_cancer": bundled.load_breast_cancer,
    "digits": bundled.load_digits,
    "digits389": bundled.load_digits,
}
# Small ones first, so that a round shows something early.
NAMES: tuple[str, ...] = (
    "iris",
    "wine",
    "balance_scale",
    "ionosphere",
    "digits389",
    "breast_cancer",
    "vehicle",
    "letter_carroll",
)
NAMES += ("digits", "letters_ijlt", "birdsong_hja")


def parser(description: str | None, *, jobs: int = 2, needs_files: bool = False) -> argparse.ArgumentParser:
    """Return a parser of what an experiment on several data sets is told."""
    arguments = rounds.parser(description, jobs=jobs)
    without = "" if needs_files else "; without it scikit-learn's sets alone"
    arguments.add_argument("--data", type=Path, required=needs_files, help=f"folder of the .npz files{without}")
    arguments.add_argument("--datasets", type=lambda text: text.split(","), help="comma-separated; all by default")
    return arguments


@dataclass(frozen=True)
class Dataset:
    """Standardised features (constant columns dropped) and classes numbered from 0."""

    name: str
    X: np.ndarray
    y: np.ndarray

    @property
    def n_clusters(self) -> int:
        return int(self.y.max()) + 1


def load(name: str, folder: Path | None) -> Dataset:
    """Raises FileNotFoundError where a file is needed and not there."""
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        if name == "digits389":
            chosen = np.isin(y, (3, 8, 9))
            X, y = X[chosen], y[chosen]
    else:
        if folder is None:
            raise FileNotFoundError(f"{name} needs --data, the folder of {name}.npz")
        with np.load(folder / f"{name}.npz") as arrays:
            X, y = arrays["X"], arrays["y"]
    X = X[:, np.ptp(X, axis=0) > 0].astype(np.float64)
    return Dataset(name, (X - X.mean(axis=0)) / X.std(axis=0), np.unique(y, return_inverse=True)[1])


def available(names: list[str] | None, folder: Path | None) -> list[str]:
    """The names that can be loaded, in the order of NAMES; says which cannot."""
    unknown = set(names or ()) - set(NAMES)
    if unknown:
        raise ValueError(f"no such data set: {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    rows = []
    for name in NAMES:
        if names is not None and name not in names:
            continue
        if name in BUNDLED or (folder is not None and (folder / f"{name}.npz").exists()):
            rows.append(name)
        else:
            print(f"left out: {name}, {name}.npz is not in --data")
    return rows
