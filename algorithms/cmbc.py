"""CMBC: clustering with model-level constraints (Gondek, Vaithyanathan and Garg, 2005): "find another clustering".

Data hold more than one grouping, and the strongest hides the others. Given the groupings that are known, or features
whose groups are of no interest, the estimator finds a clustering that tells as little of them as possible.
"""

import warnings
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from algorithms.cmbc_coding import Binarize
from algorithms.cmbc_known import Known, nmi, read_known
from algorithms.cmbc_methods import Method, Options, Plan, make_plan
from algorithms.cmbc_mixture import Update
from algorithms.cmbc_penalty import Bound
from algorithms.cmbc_search import COLDEST, DIFFERENT, Callback, CMBCState, Search, Solution
from algorithms.patterns import Array
from algorithms.validation import check_features, check_features_of


class CMBC(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """A clustering of the items that is not one of those already known.

    When to prefer which method: "regress-out" is the simpler rival and hard to beat. Where features are numbers and
    clusters round (Gaussian ones, rotated or not) it finds more than "cmbc", which sees only bits of them, and is
    several times faster. Take "cmbc" where features are bits, the more so the noisier they are, or pixel-like; where
    known clusters differ in more than their means, say in spread, which regressing out leaves (13 species of birds:
    NMI with them .16 after regressing out, .07 with "cmbc"); and where items must be placed of which nobody knows the
    known clusters. Figures are in benchmarks/results/papers_cmbc.txt.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K. They count as equally likely.
    method : "cmbc", "em", "dibws" or "regress-out"
        "cmbc" maximises (3.14); "em" is the same model without knowing anything (annealed EM); "dibws" is the
        information bottleneck with side information (5.19); "regress-out" subtracts from the features what the
        known clusters' means explain, by least squares, and clusters the rest by k-means.
    gamma : float or "auto"
        How much being different weighs against the likelihood (a mean over items), in [0, 1). "auto" seeks among
        1 - gamma = 10^-0.5, 10^-1, ..., 10^-7.5, by halving, the smallest gamma whose clustering tells less than 0.05
        of every known one (and of negative features together): the mutual information less what chance gives, over
        the smaller entropy. A warning says if there is none.
    update : "exact", "batch" or "partial"
        The M-step: its maximum, by Newton steps; one sweep over the coordinates (CMBCbu); or one coordinate after
        each E-step (CMBCpm), several times slower. "dibws" knows "exact", whose steps are halved until the objective
        gains, and "batch", the paper's update, which cycles where noise is large.
    bound : "variance" or "joint"
        Lower bound of H(C, Y-): (3.7) with d = K V cells ("joint"), or with the least factor that keeps the penalty
        concave. Then the penalty is the variance of p(y- | c) over the clusters and nothing else; "joint" also wants
        every p(y- | c) flat, and for many clusters merges them before they are unlike the known ones.
    binarize : "thermometer" or None
        How numbers become bits: above the lower quartile, the median, the upper quartile? Binary columns stay as
        they are; with None there may be no others.
    standardize : bool
        Whether "regress-out" brings columns to mean 0 and variance 1 first, unless all are binary.
    n_init : int
        Number of starts at the gamma that is taken; the best objective wins.
    anneal_rate : float in (0, 1)
        Factor from one temperature to the next (the paper's alpha).
    T0 : float or "auto"
        First temperature; "auto" is twice the largest eigenvalue of the features' correlations.
    T_end : float
        Last temperature. At 1 the fit ends with (3.14) itself; below, clusters are fitted to items that belong to
        one cluster alone, down to 0 for hard assignments as in the paper, which finds less where noise is large.
    tol : float
        A temperature is done when no parameter moves by more.
    max_iter : int
        Most iterations at one temperature.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : (N,) cluster of every item
    posterior_, responsibilities_ : (N, K) p(c_k | y+), the same array. Bits count as independent given the
        cluster, which thermometer bits are not: it is surer than it should be
    theta_ : (K, m) p(y+_j = 1 | c_k) of every bit; with "regress-out" (K, D) centres of the residuals
    gamma_ : the gamma that was taken; 0 where it means nothing
    objective_, objective_trace_ : (3.14), for "regress-out" minus the mean squared distance; and its value before
        every iteration of the winning start, each at its own temperature
    known_nmi_ : (c,) I(C; L) / H(L) with every known clustering L, over the items where it is known
    n_clusters_ : int, clusters that have items; a warning says if they are fewer than K
    n_iter_, converged_, n_features_in_

    Notes
    -----
    Known clusterings enter only as which items share a combination of all of them; which codes they have and how
    many columns say the same does not matter. Where there are more than 64 combinations, each known clustering and
    each negative feature is avoided by itself: of many combinations each has too few items to tell it from chance.

    More than 2,000 items are annealed through a random 2,000 of them; the best anneal then goes on with all.
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        method: Method = "cmbc",
        gamma: float | Literal["auto"] = "auto",
        update: Update = "exact",
        bound: Bound = "variance",
        binarize: Binarize | None = "thermometer",
        standardize: bool = True,
        n_init: int = 5,
        anneal_rate: float = 0.5,
        T0: float | Literal["auto"] = "auto",
        T_end: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.method = method
        self.gamma = gamma
        self.update = update
        self.bound = bound
        self.binarize = binarize
        self.standardize = standardize
        self.n_init = n_init
        self.anneal_rate = anneal_rate
        self.T0 = T0
        self.T_end = T_end
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        known: Any = None,
        negative_features: Any = None,
        callback: Callback | None = None,
        resume: CMBCState | None = None,
    ) -> Self:
        """Cluster the rows of X (N, D).

        `known` (N,) or (N, c) are integer cluster codes of one or c known clusterings, -1 where an item's cluster is
        not known: it then has no part in what features tell of known clusters, but is clustered like the others.
        `negative_features` (N, m-) are binary. With neither nothing is avoided. `callback(state)` is called after
        every temperature; when it raises StopFit the fit ends with the best so far. `resume` continues from such a
        state, given the same X, y- and parameters. Raises ValueError with the row, value or parameter that is wrong.
        """
        self._check_parameters()
        features = check_features(X)
        if self.n_clusters > len(features):
            raise ValueError(f"n_clusters={self.n_clusters} is more than the number of items, {len(features)}")
        given = read_known(known, negative_features, len(features))
        rng = check_random_state(self.random_state)
        plan = make_plan(features, given, self._options(), rng)
        search = self._search(plan, given)
        seed = int(rng.randint(2**31))
        state = search.first_state(seed) if resume is None else resume
        search.check_resumable(state)
        state, stopped = search.run(state, callback)
        best = search.best(state)
        self._keep(best, plan, features, given)
        self._warn(best, stopped, sought=not search.is_given)
        return self

    def predict_proba(self, X: Any, known: Any = None, negative_features: Any = None) -> Array:
        """How likely every cluster is, shape (N, K).

        "cmbc" and "em" need features alone. "regress-out" and "dibws" need of the items what `fit` was given: a
        known cluster that is not one of the fitted ones counts as unknown. Raises ValueError where it is missing.
        """
        check_is_fitted(self, "theta_")
        features = check_features_of(self, X)
        given = self._known.read_more(known, negative_features, len(features)) if self._needs_known else None
        return self._fitted.posterior(features, given)

    def predict(self, X: Any, known: Any = None, negative_features: Any = None) -> Array:
        """Most likely cluster of every row of X; see `predict_proba`."""
        labels: Array = self.predict_proba(X, known, negative_features).argmax(axis=1)
        return labels

    def _check_parameters(self) -> None:
        gamma, T0 = self.gamma, self.T0
        most = np.inf if self.method == "dibws" else 1
        expected = {
            "n_clusters": (self.n_clusters >= 1, "at least 1"),
            "method": (
                self.method in ("cmbc", "em", "dibws", "regress-out"),
                "'cmbc', 'em', 'dibws' or 'regress-out'",
            ),
            "gamma": (
                gamma == "auto" or (not isinstance(gamma, str) and 0 <= gamma < most),
                "'auto' or in [0, 1) ('dibws': at least 0)",
            ),
            "update": (self.update in ("exact", "batch", "partial"), "'exact', 'batch' or 'partial'"),
            "bound": (self.bound in ("joint", "variance"), "'joint' or 'variance'"),
            "binarize": (self.binarize in ("thermometer", None), "'thermometer' or None"),
            "n_init": (self.n_init >= 1, "at least 1"),
            "anneal_rate": (0 < self.anneal_rate < 1, "between 0 and 1"),
            "T0": (T0 == "auto" or (not isinstance(T0, str) and 0 < T0 < np.inf), "'auto' or above 0"),
            "T_end": (0 <= self.T_end < np.inf, "at least 0"),
            "tol": (self.tol >= 0, "at least 0"),
            "max_iter": (self.max_iter >= 1, "at least 1"),
        }
        for name, (good, words) in expected.items():
            if not good:
                raise ValueError(f"{name} must be {words}, got {getattr(self, name)!r}")
        if self.method == "dibws" and self.update == "partial":
            raise ValueError("update must be 'exact' or 'batch' with method='dibws', got 'partial'")

    def _options(self) -> Options:
        return Options(
            self.n_clusters,
            self.method,
            self.gamma,
            self.update,
            self.bound,
            self.binarize,
            self.standardize,
        )

    def _search(self, plan: Plan, given: Known) -> Search:
        return Search(
            plan.model_at,
            plan.gammas,
            given.unwanted(),
            self.n_clusters,
            n_init=self.n_init,
            anneal_rate=self.anneal_rate,
            first_temperature=None if self.T0 == "auto" else self.T0,
            last_temperature=max(self.T_end, COLDEST),
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def _keep(self, solution: Solution, plan: Plan, features: Array, given: Known) -> None:
        self._known, self._needs_known = given, plan.needs_known
        self._fitted = plan.fitted(solution.gamma, solution.position)
        self.posterior_ = self.responsibilities_ = self._fitted.posterior(features, given)
        self.labels_: Array = self.posterior_.argmax(axis=1)
        self.theta_ = self._fitted.theta
        self.gamma_, self.objective_, self.objective_trace_ = solution.gamma, solution.objective, solution.values
        self.known_nmi_ = np.array([nmi(self.labels_, codes) for codes in given.codes.T])
        self.n_clusters_ = len(np.unique(self.labels_))
        self.n_iter_, self.converged_ = len(solution.values), solution.converged
        self.n_features_in_ = features.shape[1]

    def _warn(self, solution: Solution, stopped: bool, sought: bool) -> None:
        if self.n_clusters_ < self.n_clusters:
            message = f"CMBC found {self.n_clusters_} clusters, not {self.n_clusters}: no more are told apart here"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        if stopped:
            return
        if not self.converged_:
            message = f"CMBC stopped after {self.n_iter_} iterations without converging; raise max_iter or tol"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        if sought and solution.likeness >= DIFFERENT:
            message = (
                f"CMBC found no clustering that tells less than {DIFFERENT} of the known ones beyond chance; "
                f"the one kept tells {solution.likeness:.2f}"
            )
            warnings.warn(message, UserWarning, stacklevel=3)
