"""CMBC's methods side by side: what each makes of the data, and over which gammas it is searched.

The estimator only checks, searches and keeps; here is the one place that knows that "cmbc" and "em" are mixtures of
bits and "regress-out" k-means of residuals.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from algorithms.cmbc_coding import Binarize, make_coding
from algorithms.cmbc_known import Known
from algorithms.cmbc_mixture import FittedMixture, Mixture, Update
from algorithms.cmbc_penalty import Bound, make_penalty
from algorithms.cmbc_regress import Residuals, fitted_residuals, regress
from algorithms.cmbc_search import Model
from algorithms.patterns import Array

Method = Literal["cmbc", "em", "regress-out"]

# 1 - gamma is 10^-0.5, 10^-1, ...: how little the likelihood has to weigh shrinks with the number of features. They
# are 2^4 - 1, so that four anneals choose among them.
_GAMMAS = tuple(1 - 10 ** (-half / 2) for half in range(1, 16))
# Anneals see so many items at most, at random; the best of them then goes on with all.
_ANNEALED = 2000


class Fitted(Protocol):
    """What is left of a fit."""

    def posterior(self, X: Array, known: Known | None) -> Array:
        """How likely every cluster is for any items, (N, K)."""


@dataclass(frozen=True)
class Plan:
    """One method on one set of data."""

    gammas: tuple[float, ...]  # one, or those to choose from, ascending
    model_at: Callable[[float], Model]
    fitted: Callable[[float, Array], Fitted]  # from gamma and position
    needs_known: bool  # whether other items can only be placed with their y-


@dataclass(frozen=True)
class Options:
    """The estimator's parameters that a plan depends on."""

    n_clusters: int
    method: Method
    gamma: float | Literal["auto"]
    update: Update
    bound: Bound
    binarize: Binarize | None
    standardize: bool


def make_plan(X: Array, known: Known, options: Options, rng: np.random.RandomState) -> Plan:
    """The plan of the method for features (N, D)."""
    if options.method == "regress-out":
        return _residuals(X, known, options)
    return _mixture(X, known, options, rng)


def _mixture(X: Array, known: Known, options: Options, rng: np.random.RandomState) -> Plan:
    coding = make_coding(X, options.binarize)
    bits = coding.bits(X)
    combinations = known.combinations()
    penalty = make_penalty(bits, combinations, options.n_clusters, options.bound)

    few = bits if len(bits) <= _ANNEALED else bits[np.sort(rng.choice(len(bits), _ANNEALED, replace=False))]

    def model_at(gamma: float) -> Mixture:
        return Mixture(bits, few, penalty.at(gamma), options.update)

    def fitted(gamma: float, position: Array) -> FittedMixture:
        return FittedMixture(coding, position)

    free = options.method == "em" or combinations.max(initial=0) == 0
    gammas = (0.0,) if free else _GAMMAS if options.gamma == "auto" else (float(options.gamma),)
    return Plan(gammas, model_at, fitted, needs_known=False)


def _residuals(X: Array, known: Known, options: Options) -> Plan:
    regression = regress(X, known, options.standardize)
    model = Residuals(regression.residuals(X, known), options.n_clusters)

    def fitted(gamma: float, position: Array) -> Fitted:
        return fitted_residuals(regression, model, position)

    return Plan((0.0,), lambda gamma: model, fitted, needs_known=bool(known.parts()))
