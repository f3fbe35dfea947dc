"""CMBC: clustering with model-level constraints (Gondek, Vaithyanathan and Garg, 2005): "find another clustering".

Data hold more than one clustering, and the strongest hides the others. Given the clusterings that are known, or
features whose groups are of no interest, the estimator finds a clustering that shares as little information with them
as possible.
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.cmbc.coding import Binarize
from tercet_algorithms.cmbc.known_clusterings import KnownClusterings, nmi, read_known
from tercet_algorithms.cmbc.methods import Method, MethodOptions, MethodPlan, make_plan
from tercet_algorithms.cmbc.mixture import Update
from tercet_algorithms.cmbc.penalty import Bound
from tercet_algorithms.cmbc.search import COLDEST, DIFFERENT, Callback, CMBCSearch, CMBCSolution, CMBCState
from tercet_algorithms.common.estimator import Estimator
from tercet_algorithms.common.features import (
    check_features,
    check_features_of,
    check_no_target,
    remember_features,
    row_names,
)
from tercet_algorithms.common.links import ItemLinks, read_links, read_start
from tercet_algorithms.common.parameters import (
    BOOLEAN,
    NUMBER_FROM_0,
    POSITIVE_INTEGER,
    POSITIVE_NUMBER,
    Constraint,
    number_between,
    one_of,
)


@dataclass(eq=False, repr=False)
class CMBC(ClusterMixin, Estimator):  # type: ignore[misc]  # scikit-learn is untyped
    """A clustering of the items that differs from those already known.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters K. They are equally likely a priori.
    method : {"cmbc", "em", "dibws", "regress-out"}, default="cmbc"
        "cmbc" maximises (3.14); "em" is the same model without the known clusterings (annealed EM); "dibws" is the
        information bottleneck with side information (5.19); "regress-out" subtracts from the features their least
        squares fit on the known clusterings, and clusters the residuals by k-means. See Notes for which to choose.
    gamma : float or "auto", default="auto"
        Weight of the difference from the known clusterings against the likelihood (a mean over items), in [0, 1), for
        "dibws" at least 0. "auto" looks among 1 - gamma = 10^-0.5, 10^-1, ..., 10^-7.5, for "dibws" among gamma = 0.5,
        0.65, ..., 19.7, each 1.3 times the last, by halving, for the smallest gamma whose clustering shares less than
        0.05 of the information of every known one (and of the negative features together): the mutual information less
        its expectation by chance, over the smaller entropy. A warning says if there is none.
    update : {"exact", "batch", "partial"}, default="exact"
        The M-step: its maximum, by Newton steps; one sweep over the coordinates (CMBCbu); or one coordinate after
        each E-step (CMBCpm), about as slow as the maximum. "dibws" has "exact", whose steps are halved until the
        objective gains, and "batch", the paper's update, which cycles where noise is large.
    bound : {"variance", "joint"}, default="variance"
        Lower bound of H(C, Y-): (3.7) with d = K V cells ("joint"), or with the smallest factor that keeps the penalty
        concave ("variance"). The penalty is then the variance of p(y- | c) over the clusters and nothing else; "joint"
        also favours flat p(y- | c), and merges many clusters before they differ from the known ones.
    binarize : {"thermometer"} or None, default="thermometer"
        How numbers become bits: by whether they exceed the lower quartile, the median, the upper quartile. Binary
        columns stay as they are; with None all columns must be binary.
    standardize : bool, default=True
        Whether "regress-out" brings columns to mean 0 and variance 1 first, unless all are binary.
    n_init : int, default=5
        Number of starts at the gamma that is chosen; the best objective wins.
    anneal_rate : float in (0, 1), default=0.5
        Factor from one temperature to the next (the paper's alpha).
    T0 : float or "auto", default="auto"
        First temperature; "auto" is twice the largest eigenvalue of the features' correlations.
    T_end : float, default=1.0
        Last temperature. At 1 the fit ends with (3.14) itself; below, clusters are fitted to items that belong to
        one cluster alone, down to 0 for hard assignments as in the paper, which is worse where noise is large.
    tol : float, default=1e-4
        EM at a temperature has converged when no parameter changes by more.
    max_iter : int, default=200
        Most iterations at one temperature.
    n_jobs : int or None, default=None
        Number of processes that anneal from different starts once gamma is chosen, as in joblib. The result does not
        depend on it. With several, `callback` is called after groups of whole anneals.
    verbose : bool or int, default=False
        Whether to print a line after every temperature.
    random_state : int, RandomState or None, default=None
        Seed of the starts; an int makes fits reproducible.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        Cluster of every item.
    posterior_, responsibilities_ : ndarray of shape (N, K)
        p(c_k | y+), the same array under two names. Bits count as independent given the cluster, which thermometer
        bits are not, so these probabilities are overconfident.
    theta_ : ndarray of shape (K, m)
        p(y+_j = 1 | c_k) of every bit; with "regress-out" (K, D), the centres of the residuals.
    gamma_ : float
        The gamma that was chosen; 0 where the method has none.
    objective_ : float
        (3.14); for "dibws" (5.19), with the links that are kept; for "regress-out" minus the mean squared distance to
        the centres.
    objective_trace_ : ndarray
        The objective before every iteration of the winning start, each at its own temperature.
    known_nmi_ : ndarray of shape (c,)
        I(C; L) / H(L) with every known clustering L, over the items where it is known.
    n_clusters_ : int
        Number of clusters that have items; a warning says if they are fewer than K.
    n_iter_ : int
        Number of iterations of the winning start.
    converged_ : bool
        Whether the winning start converged at its last temperature.
    n_features_in_, feature_names_in_
        Number and names of the columns of X.

    Notes
    -----
    "regress-out" is the simpler rival and hard to beat. Where features are numbers and clusters round (Gaussian ones,
    rotated or not) it finds more than "cmbc", which uses only bits of them, and is several times faster. Prefer "cmbc"
    where features are bits, the more so the noisier they are, or pixel-like; where known clusters differ in more than
    their means, say in spread, which regressing out leaves; and for items whose known clusters are unknown. Figures:
    benchmarks/results/papers_cmbc.txt.

    Known clusterings enter only as the sets of items that share a combination of all of them; the codes themselves and
    redundant columns do not matter. Where there are more than 64 combinations, each known clustering and each negative
    feature is avoided by itself: many combinations have too few items each to be told from chance.

    With "cmbc" and "em", more than 2,000 items are annealed through a random 2,000 of them, unless they go on from
    given clusters; the best anneal then continues with all.

    Links between items multiply the probability of their clusters. The E-step of "cmbc" and "em" is then a mean-field
    one, which raises a lower bound of (3.14); "dibws" adds the links that are kept to its objective, and the k-means of
    "regress-out" pays for those that are not. `predict` knows nothing of links: they are about the fitted items.

    References
    ----------
    D. Gondek, S. Vaithyanathan and A. Garg, "Clustering with model-level constraints", SIAM International Conference
    on Data Mining (2005). Equation numbers are those of this paper; corrections stand in the functions concerned.

    Examples
    --------
    Twelve features show one grouping, six another one. The first is known, so the second is found:

    >>> import numpy as np
    >>> from tercet_algorithms import CMBC
    >>> strong, weak = np.random.RandomState(0).randint(2, size=(2, 100))
    >>> X = np.column_stack([strong] * 12 + [weak] * 6)
    >>> model = CMBC(2, random_state=0).fit(X, known=strong)
    >>> bool(np.all(model.labels_ == weak) or np.all(model.labels_ != weak))
    True
    >>> model.predict_proba(X[:3]).shape
    (3, 2)
    >>> bool(np.all(model.predict(X) == model.labels_))
    True
    """

    n_clusters: int = 2
    _: KW_ONLY
    method: Method = "cmbc"
    gamma: float | Literal["auto"] = "auto"
    update: Update = "exact"
    bound: Bound = "variance"
    binarize: Binarize | None = "thermometer"
    standardize: bool = True
    n_init: int = 5
    anneal_rate: float = 0.5
    T0: float | Literal["auto"] = "auto"
    T_end: float = 1.0
    tol: float = 1e-4
    max_iter: int = 200

    _parameter_constraints: ClassVar[dict[str, Constraint | str]] = Estimator._parameter_constraints | {
        "n_clusters": POSITIVE_INTEGER,
        "method": one_of("cmbc", "em", "dibws", "regress-out"),
        "gamma": [*one_of("auto"), *NUMBER_FROM_0],
        "update": one_of("exact", "batch", "partial"),
        "bound": one_of("joint", "variance"),
        "binarize": [*one_of("thermometer"), None],
        "standardize": BOOLEAN,
        "n_init": POSITIVE_INTEGER,
        "anneal_rate": number_between(0, 1, "neither"),
        "T0": [*one_of("auto"), *POSITIVE_NUMBER],
        "T_end": NUMBER_FROM_0,
        "tol": NUMBER_FROM_0,
        "max_iter": POSITIVE_INTEGER,
    }

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        known: Any = None,
        negative_features: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
        must_weights: Any = None,
        cannot_weights: Any = None,
        start: Any = None,
        callback: Callback | None = None,
        resume: CMBCState | None = None,
    ) -> Self:
        """Find a clustering of the rows of X that differs from the known ones.

        Parameters
        ----------
        X : array-like or DataFrame of shape (N, D)
            Features (y+), one row per item.
        y : None
            Not used; see `known`.
        known : array-like of shape (N,) or (N, c), optional
            Integer cluster codes of one or c known clusterings, -1 where an item's cluster is not known: the item is
            then left out of that clustering, and clustered like the others.
        negative_features : array-like of shape (N, m-), optional
            Binary features whose groups are to be avoided. Without these and `known` nothing is avoided.
        must_link, cannot_link : array-like of shape (L, 2), optional
            Pairs of items that belong into one cluster, or into two: item positions, or names from the index of a
            DataFrame. They are factors of the probability of clusters, see Notes.
        must_weights, cannot_weights : array-like of shape (L,), optional
            How much each link counts, at least 0; one of weight 1 as much as all features of an item together. A
            repeated pair has the largest of its weights.
        start : array-like of int, shape (N,), optional
            Clusters, 0 to K - 1, to go on from: instead of annealing from `n_init` random starts there is one fit at
            the last temperature, whose clusters keep their numbers.
        callback : callable, optional
            Called with a `CMBCState` after every temperature. When it raises `StopFit` the fit ends with the best
            anneal so far.
        resume : CMBCState, optional
            A state to continue from, of a fit with the same X, y- and parameters.

        Returns
        -------
        self : CMBC

        Raises
        ------
        ValueError
            With the row, value or parameter that is wrong.
        TypeError
            Where X is sparse.
        """
        self._check_parameters()
        features = check_features(X, self, self.n_clusters)
        check_no_target(y, len(features))
        known_clusterings = read_known(known, negative_features, len(features))
        pairs = must_link, cannot_link, must_weights, cannot_weights
        links = read_links(*pairs, len(features), row_names(X))
        labels = read_start(start, len(features), self.n_clusters)
        rng = check_random_state(self.random_state)
        plan = make_plan(features, known_clusterings, self._options(links, labels), rng)
        search = self._search(plan, known_clusterings, labels)
        seed = int(rng.randint(2**31))
        state = search.first_state(seed) if resume is None else resume
        search.check_resumable(state)
        state, stopped = search.run(state, callback, self.verbose)
        best = search.best(state)
        self._store_result(best, plan, features, known_clusterings, has_links=links is not None)
        remember_features(self, X)
        self._warn(best, stopped, chosen=not search.has_one_gamma)
        return self

    def predict_proba(self, X: Any, known: Any = None, negative_features: Any = None) -> Array:
        """Return the probability of every cluster for the rows of X.

        "cmbc" and "em" need the features alone; "regress-out" and "dibws" also need what `fit` was given of y-.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, D)
        known, negative_features : array-like, optional
            As in `fit`, for these items. A known cluster that no fitted item has counts as unknown.

        Returns
        -------
        ndarray of shape (n, K)

        Raises
        ------
        ValueError
            Where y- is missing or a value is wrong.
        """
        check_is_fitted(self, "theta_")
        features = check_features_of(self, X)
        y_minus = None
        if self._needs_known:
            y_minus = self._known.read_new_items(known, negative_features, len(features))
        return self._fitted.posterior(features, y_minus)

    def predict(self, X: Any, known: Any = None, negative_features: Any = None) -> Array:
        """Return the most likely cluster of every row of X.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, D)
        known, negative_features : array-like, optional
            As in `predict_proba`.

        Returns
        -------
        ndarray of int, shape (n,)

        Raises
        ------
        ValueError
            Where y- is missing or a value is wrong.
        """
        labels: Array = self.predict_proba(X, known, negative_features).argmax(axis=1)
        return labels

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.method != "dibws" and self.gamma != "auto" and self.gamma >= 1:
            raise ValueError(f"gamma must be 'auto' or in [0, 1), got {self.gamma!r}; only 'dibws' takes more")
        if self.method == "dibws" and self.update == "partial":
            raise ValueError("update must be 'exact' or 'batch' with method='dibws', got 'partial'")

    def _options(self, links: ItemLinks | None, start: Array | None) -> MethodOptions:
        return MethodOptions(
            self.n_clusters,
            self.method,
            self.gamma,
            self.update,
            self.bound,
            self.binarize,
            self.standardize,
            links,
            start,
        )

    def _search(self, plan: MethodPlan, known: KnownClusterings, start: Array | None) -> CMBCSearch:
        coldest = max(self.T_end, COLDEST)
        hottest = None if self.T0 == "auto" else self.T0
        return CMBCSearch(
            plan.model_at,
            plan.gammas,
            known.clusterings_to_avoid(),
            self.n_clusters,
            n_init=self.n_init if start is None else 1,
            anneal_rate=self.anneal_rate,
            first_temperature=hottest if start is None else coldest,
            last_temperature=coldest,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            start=start,
        )

    def _store_result(
        self, solution: CMBCSolution, plan: MethodPlan, features: Array, known: KnownClusterings, *, has_links: bool
    ) -> None:
        self._known, self._needs_known = known, plan.needs_known
        self._fitted = plan.fitted(solution.gamma, solution.position)
        self.posterior_ = self.responsibilities_ = (
            plan.model_at(solution.gamma).posterior(solution.position)
            if has_links
            else self._fitted.posterior(features, known)
        )
        self.labels_: Array = self.posterior_.argmax(axis=1)
        self.theta_ = self._fitted.theta
        self.gamma_, self.objective_, self.objective_trace_ = solution.gamma, solution.objective, solution.values
        self.known_nmi_ = np.array([nmi(self.labels_, codes) for codes in known.codes.T])
        self.n_clusters_ = len(np.unique(self.labels_))
        self.n_iter_, self.converged_ = len(solution.values), solution.converged

    def _warn(self, solution: CMBCSolution, stopped: bool, chosen: bool) -> None:
        if self.n_clusters_ < self.n_clusters:
            message = f"CMBC found {self.n_clusters_} clusters, not {self.n_clusters}: no more are told apart here"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        if stopped:
            return
        if not self.converged_:
            message = f"CMBC stopped after {self.n_iter_} iterations without converging; raise max_iter or tol"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        if chosen and solution.likeness >= DIFFERENT:
            message = (
                f"CMBC found no clustering that shares less than {DIFFERENT} of the known ones beyond chance; "
                f"the best one shares {solution.likeness:.2f}"
            )
            warnings.warn(message, UserWarning, stacklevel=3)
