"""The methods of CMBC: which model each makes of the data, and which gammas are tried.

This is the only module that knows that "cmbc" and "em" are mixtures of bits, "dibws" an information bottleneck and
"regress-out" k-means of residuals; the estimator and the search work with any of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.cmbc.bottleneck import Bottleneck, FittedBottleneck
from tercet_algorithms.cmbc.coding import Binarize, make_coding
from tercet_algorithms.cmbc.known_clusterings import KnownClusterings
from tercet_algorithms.cmbc.m_step import HIGHEST, LOWEST
from tercet_algorithms.cmbc.mixture import FittedMixture, Mixture, Update
from tercet_algorithms.cmbc.penalty import Bound, make_penalty
from tercet_algorithms.cmbc.regression import Residuals, fitted_residuals, regress
from tercet_algorithms.cmbc.search import Model
from tercet_algorithms.common.linked_kmeans import scaled_links
from tercet_algorithms.common.links import ItemLinks

Method = Literal["cmbc", "em", "dibws", "regress-out"]

# 1 - gamma is 10^-0.5, 10^-1, ...: the weight that the likelihood may have shrinks with the number of features. There
# are 2^4 - 1 of them, so that four anneals choose among them by halving.
_GAMMAS = tuple(1 - 10 ** (-half / 2) for half in range(1, 16))
# The same for "dibws", whose gamma weighs I(C; Y-) against I(C; Y+): the paper takes 2.5714 and 1.2222.
_BOTTLENECK_GAMMAS = tuple(0.5 * 1.3**power for power in range(15))
# Above this many combinations each known clustering is taken by itself.
_MAX_COMBINATIONS = 64
# Above this many items, annealing uses a random sample of this size; the best anneal then continues with all items.
_MAX_ANNEALED = 2000


class FittedClusters(Protocol):
    """The result of a fit: clusters that other items can be assigned to."""

    @property
    def theta(self) -> Array:
        """Return the parameters of the clusters, (K, m), or their centres, (K, D)."""

    def posterior(self, X: Array, known: KnownClusterings | None) -> Array:
        """Return the probability of every cluster for any items, (N, K)."""


@dataclass(frozen=True)
class MethodPlan:
    """One method applied to one set of data."""

    gammas: tuple[float, ...]  # those to choose from, ascending; or a single one
    model_at: Callable[[float], Model]
    fitted: Callable[[float, Array], FittedClusters]  # from gamma and position
    needs_known: bool  # whether other items can only be assigned with their y-


@dataclass(frozen=True)
class MethodOptions:
    """The estimator's parameters that a plan depends on."""

    n_clusters: int
    method: Method
    gamma: float | Literal["auto"]
    update: Update
    bound: Bound
    binarize: Binarize | None
    standardize: bool
    links: ItemLinks | None = None  # of weight 1 where they weigh as much as all features of an item
    start: Array | None = None  # (N,) clusters to go on from


def make_plan(X: Array, known: KnownClusterings, options: MethodOptions, rng: np.random.RandomState) -> MethodPlan:
    """Return the plan of the method for features (N, D)."""
    if options.method == "regress-out":
        return _residuals(X, known, options)
    if options.method == "dibws":
        return _bottleneck(X, known, options)
    return _mixture(X, known, options, rng)


def _mixture(X: Array, known: KnownClusterings, options: MethodOptions, rng: np.random.RandomState) -> MethodPlan:
    coding = make_coding(X, options.binarize)
    bits = coding.bits(X)
    penalty = make_penalty(bits, known.combinations_or_parts(_MAX_COMBINATIONS), options.n_clusters, options.bound)
    sample, links = bits, _links_of_bits(bits, options.links)
    if len(bits) > _MAX_ANNEALED and options.start is None:
        sample = bits[np.sort(rng.choice(len(bits), _MAX_ANNEALED, replace=False))]

    def model_at(gamma: float) -> Mixture:
        return Mixture(bits, sample, penalty.at(gamma), options.update, links, options.start)

    def fitted(gamma: float, position: Array) -> FittedMixture:
        return FittedMixture(coding, position)

    gammas = (0.0,) if options.method == "em" else _gammas(known, options.gamma, _GAMMAS)
    return MethodPlan(gammas, model_at, fitted, needs_known=False)


def _bottleneck(X: Array, known: KnownClusterings, options: MethodOptions) -> MethodPlan:
    coding, parts = make_coding(X, options.binarize), known.parts()
    bits, parallel = coding.bits(X), options.update == "batch"
    links = _links_of_bits(bits, options.links)

    def model_at(gamma: float) -> Bottleneck:
        return Bottleneck(bits, parts, gamma, options.n_clusters, parallel, links)

    def fitted(gamma: float, q: Array) -> FittedBottleneck:
        return FittedBottleneck(coding, model_at(gamma).centroids(q), gamma)

    gammas = _gammas(known, options.gamma, _BOTTLENECK_GAMMAS)
    return MethodPlan(gammas, model_at, fitted, needs_known=bool(parts))


def _links_of_bits(bits: Array, links: ItemLinks | None) -> ItemLinks | None:
    """Return the links in the unit of all bits of an item, the sum of their entropies in nats."""
    if links is None:
        return None
    mean = np.clip(bits.mean(axis=0), LOWEST, HIGHEST)
    return links.times(-float(np.sum(mean * np.log(mean) + (1 - mean) * np.log1p(-mean))))


def _gammas(known: KnownClusterings, gamma: float | Literal["auto"], grid: tuple[float, ...]) -> tuple[float, ...]:
    """Return the gammas to choose from; 0 alone where there is nothing to avoid."""
    if not known.parts():
        return (0.0,)
    return grid if gamma == "auto" else (float(gamma),)


def _residuals(X: Array, known: KnownClusterings, options: MethodOptions) -> MethodPlan:
    regression = regress(X, known, options.standardize)
    residuals = regression.residuals(X, known)
    links = None if options.links is None else scaled_links(options.links, residuals)
    model = Residuals(residuals, options.n_clusters, links, options.start)

    def fitted(gamma: float, position: Array) -> FittedClusters:
        return fitted_residuals(regression, model, position)

    return MethodPlan((0.0,), lambda gamma: model, fitted, needs_known=bool(known.parts()))
