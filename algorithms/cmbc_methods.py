"""CMBC's methods side by side: what each makes of the data, and over which gammas it is searched.

The estimator only checks, searches and keeps; here is the one place that knows that "cmbc" and "em" are mixtures of
bits, "dibws" an information bottleneck and "regress-out" k-means of residuals.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from algorithms.cmbc_bottleneck import Bottleneck, FittedBottleneck
from algorithms.cmbc_coding import Binarize, make_coding
from algorithms.cmbc_known import Known
from algorithms.cmbc_mixture import FittedMixture, Mixture, Update
from algorithms.cmbc_penalty import Bound, make_penalty
from algorithms.cmbc_regress import Residuals, fitted_residuals, regress
from algorithms.cmbc_search import Model
from algorithms.patterns import Array

Method = Literal["cmbc", "em", "dibws", "regress-out"]

# 1 - gamma is 10^-0.5, 10^-1, ...: how little the likelihood has to weigh shrinks with the number of features. They
# are 2^4 - 1, so that four anneals choose among them.
_GAMMAS = tuple(1 - 10 ** (-half / 2) for half in range(1, 16))
# The same for "dibws", whose gamma weighs I(C; Y-) against I(C; Y+): the paper takes 2.5714 and 1.2222.
_BOTTLENECK_GAMMAS = tuple(0.5 * 1.3**power for power in range(15))
# More combinations of all that is known than this are taken part by part.
_COMBINATIONS = 64
# Anneals see so many items at most, at random; the best of them then goes on with all.
_ANNEALED = 2000


class Fitted(Protocol):
    """What is left of a fit."""

    @property
    def theta(self) -> Array:
        """Parameters of the clusters, (K, m), or their centres, (K, D)."""

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
    if options.method == "dibws":
        return _bottleneck(X, known, options)
    return _mixture(X, known, options, rng)


def _mixture(X: Array, known: Known, options: Options, rng: np.random.RandomState) -> Plan:
    coding = make_coding(X, options.binarize)
    bits = coding.bits(X)
    penalty = make_penalty(bits, known.whole_or_parts(_COMBINATIONS), options.n_clusters, options.bound)
    few = bits if len(bits) <= _ANNEALED else bits[np.sort(rng.choice(len(bits), _ANNEALED, replace=False))]

    def model_at(gamma: float) -> Mixture:
        return Mixture(bits, few, penalty.at(gamma), options.update)

    def fitted(gamma: float, position: Array) -> FittedMixture:
        return FittedMixture(coding, position)

    gammas = (0.0,) if options.method == "em" else _gammas(known, options.gamma, _GAMMAS)
    return Plan(gammas, model_at, fitted, needs_known=False)


def _bottleneck(X: Array, known: Known, options: Options) -> Plan:
    coding, parts = make_coding(X, options.binarize), known.parts()
    bits, parallel = coding.bits(X), options.update == "batch"

    def model_at(gamma: float) -> Bottleneck:
        return Bottleneck(bits, parts, gamma, options.n_clusters, parallel)

    def fitted(gamma: float, q: Array) -> FittedBottleneck:
        return FittedBottleneck(coding, model_at(gamma).centroids(q), gamma)

    gammas = _gammas(known, options.gamma, _BOTTLENECK_GAMMAS)
    return Plan(gammas, model_at, fitted, needs_known=bool(parts))


def _gammas(known: Known, given: float | Literal["auto"], choice: tuple[float, ...]) -> tuple[float, ...]:
    """The gammas to choose from; 0 alone where there is nothing to avoid."""
    if not known.parts():
        return (0.0,)
    return choice if given == "auto" else (float(given),)


def _residuals(X: Array, known: Known, options: Options) -> Plan:
    regression = regress(X, known, options.standardize)
    model = Residuals(regression.residuals(X, known), options.n_clusters)

    def fitted(gamma: float, position: Array) -> Fitted:
        return fitted_residuals(regression, model, position)

    return Plan((0.0,), lambda gamma: model, fitted, needs_known=bool(known.parts()))
