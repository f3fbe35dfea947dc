"""Metric learners of the metric-learn package, run in an environment of their own.

metric-learn 0.7 works only with scikit-learn < 1.8, so it cannot share a process with the project. This file needs
nothing but numpy and metric-learn: it reads a line "METHOD INPUT.npz OUTPUT.npz" at a time, fits, writes the learned
linear map and answers "ok" or the reason why not. benchmarks.baselines starts it and talks to it.
"""

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from metric_learn import ITML, LSML, MMC  # type: ignore[import-not-found]  # only in that environment

# LSML's regulariser outweighs the comparisons on standardised features; on larger numbers it does not.
LSML_SCALE = 1000.0


def itml(gamma: float, max_iter: int = 1000) -> Callable[[Any], np.ndarray]:
    def fit(given: Any) -> np.ndarray:
        model = ITML(gamma=gamma, max_iter=max_iter, random_state=0)
        learned: np.ndarray = model.fit(given["X"][given["pairs"]], given["signs"]).components_
        return learned

    return fit


def mmc(given: Any) -> np.ndarray:
    model = MMC(diagonal=True, init="identity", random_state=0)
    learned: np.ndarray = model.fit(given["X"][given["pairs"]], given["signs"]).components_
    return learned


def lsml(scale: float) -> Callable[[Any], np.ndarray]:
    def fit(given: Any) -> np.ndarray:
        anchor, near, far = given["comparisons"].T
        quadruplets = scale * given["X"][np.column_stack([anchor, near, anchor, far])]
        learned: np.ndarray = LSML(random_state=0).fit(quadruplets).components_
        return learned

    return fit


METHODS = {
    "itml-0.1": itml(0.1),
    "itml-1": itml(1.0),
    "itml-1-short": itml(1.0, max_iter=100),  # with thousands of pairs a full one takes minutes
    "lsml": lsml(1.0),
    "lsml-scaled": lsml(LSML_SCALE),
    "mmc": mmc,
}


def main() -> None:
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        method, source, target = line.rstrip("\n").split("\t")
        try:
            with np.load(source) as arrays:
                components = METHODS[method](arrays)
            if not np.isfinite(components).all():
                raise ValueError("the learned metric is not finite")
            np.savez(target, components=components)
            print("ok", flush=True)
        except Exception as error:  # noqa: BLE001  # whatever a learner dies of belongs in the table
            print(f"{type(error).__name__}: {error}".replace("\n", " ")[:200], flush=True)


if __name__ == "__main__":
    main()
