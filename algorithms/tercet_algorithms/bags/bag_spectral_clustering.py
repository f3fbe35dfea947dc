"""BagSpectralClustering: clusters of items from labels of the bags they come in (Pei and Fern, 2014).

A recording is labelled with the species heard in it, not its syllables; a picture with what it shows, not its regions.
Two bags that share many labels should fall into similar clusters: added as a reward to the objective of spectral
clustering, this gives clusters that follow the labels before anybody has answered a question.
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tercet_algorithms.answers.bag_labels import Bags, is_sparse, read_bags
from tercet_algorithms.answers.bag_naming import label_affinity
from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.bags import graph, search, spectrum
from tercet_algorithms.bags.constraints import Center
from tercet_algorithms.bags.graph import Graph
from tercet_algorithms.bags.methods import METHODS, Scale, SimilarityRecipe
from tercet_algorithms.bags.search import Callback, EmbeddedClusters, SpectralState
from tercet_algorithms.common.estimator import Estimator
from tercet_algorithms.common.features import (
    check_features,
    check_features_of,
    check_no_target,
    remember_features,
    row_names,
)
from tercet_algorithms.common.kernel_kmeans import within_variance
from tercet_algorithms.common.links import read_links, read_start
from tercet_algorithms.common.parameters import (
    NUMBER_FROM_0,
    POSITIVE_INTEGER,
    Constraint,
    one_of,
)
from tercet_algorithms.common.search import check_fingerprint, check_search, fingerprint, run_search

# Rows of eigenvectors deviate in many directions at once, so posteriors of round clusters are overconfident. With this
# multiple of sqrt(K) times the variance, the mean confidence on songs and letters is about the share of items that are
# of their cluster's commonest class, and it separates these items from the others better than the variance alone.
_WIDENING = 2.0
# Parameters that a state does not depend on.
_NOT_OF_A_STATE = ("n_init", "n_jobs", "verbose", "random_state")


@dataclass(eq=False, repr=False)
class BagSpectralClustering(ClusterMixin, Estimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Clusters from features and from labels of the bags that items come in.

    Columns of X should be of one scale (standardise them before): the graph depends on it.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K; as many as labels to find what is labelled, more to find kinds within it.
    alpha : float, default=0.7
        Weight of the bags against the features; 0 is plain spectral clustering. See `alpha_scale`.
    alpha_scale : {"auto", "absolute", "relative"}, default="auto"
        "absolute": W + alpha Q, as in the paper, where 0.5 to 1 is good and 5 too much. "relative", alpha in [0, 1):
        the largest eigenvalues of constraints and graph are as alpha to 1 - alpha, whatever the size of the data;
        needed for a graph of neighbours, which alpha itself would outweigh. "auto": "relative" for a sparse graph.
    method : str, default="both"
        How the bag labels are used; the paper's name in brackets.

        - "bag" (CSP): pairs of bags are rewarded for being alike in clusters as they are in labels (Eq 13).
        - "bag-without-links" (CSP w.o.clml): without what must-links could say.
        - "spectral" (SP): not at all.
        - "links" (SpLearn, but normalised like "bag"): pairs of items that cannot be of one label are cut from the
          graph, those of single-label bags of one label become fully alike.
        - "links-additive" (SpLearn): the same, normalised by the largest degree as in the paper's source.
        - "cannot-link": the cut alone.
        - "regularized" (SpReg): differences within single-label bags of one label are penalised.
        - "both": "bag" on the graph of "cannot-link".

        Must-links are only made where K is at most the number of labels. See Notes for which to choose.
    affinity : {"local_scaling", "precomputed"}, default="local_scaling"
        W from X: exp(-d^2 / (2 sigma_p sigma_q)), or X is W, (N, N), dense or sparse.
    n_neighbors : int or None, default=10
        Number of neighbours of each item in the graph made from X. None: all for up to 6,000 items, 20 for more.
    local_k : int, default=7
        Which nearest other item sets an item's sigma, and how many vote in `predict`.
    center : {"identity", "ones"}, default="identity"
        What mu of Eq 12 multiplies: I, as printed, or 11', which the sum over all pairs of bags (Eq 9) gives.
    n_init : int, default=10
        Starts of k-means in the embedding.
    n_jobs : int or None, default=None
        Number of threads that take one start each, as in joblib. The result does not depend on it. With several,
        `callback` is called after groups of starts.
    verbose : bool or int, default=False
        Whether to print a line after every start.
    random_state : int, RandomState or None, default=None
        Seed of the starts; an int makes fits reproducible.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        Cluster of every item.
    posterior_ : ndarray of shape (N, K)
        Probability of each cluster, were clusters round and of one width in the embedding: softmax of minus the squared
        distances to the centres over twice 2 sqrt(K) times the items' variance about them.
    embedding_ : ndarray of shape (N, K)
        Rows of the eigenvectors, scaled to length 1.
    eigenvalues_ : ndarray of shape (K,)
        Descending; their sum is the objective (Eq 13).
    cluster_centers_ : ndarray of shape (K, K)
        Centres of k-means in the embedding.
    inertia_ : float
        Sum of squared distances to them, less what the links that are kept are worth.
    label_names_ : tuple of length C
        The bag labels.
    cluster_label_affinity_ : ndarray of shape (K, C)
        Share of each label in each cluster, the most likely one given the bags.
    alpha_ : float
        The factor of Q.
    sigma_ : ndarray of shape (N,)
        Distance of every item to its `local_k`-th nearest other, by which affinities are scaled.
    bags_ : Bags
        The bags and labels as read.
    n_iter_ : int
        Iterations of the best start of k-means.
    converged_ : bool
        Whether the eigenvectors and the best start converged.
    n_features_in_, feature_names_in_
        Number and names of the columns of X.

    Notes
    -----
    On songs of 13 species with all bags labelled, normalised mutual information with the species is 0.45 without bags,
    0.55 with "bag" and 0.74 with "both"; among all pairs of items 0.42, 0.61 and 0.70, and 0.70 with "links". On
    letters of words, where nearly all bags have many labels, "both" leads too (0.53 against 0.48). With two bags in
    five labelled the methods differ little. Cutting a graph of all pairs of many features may leave little but the cut.

    References
    ----------
    Y. Pei and X. Z. Fern, "Constrained instance clustering in multi-instance multi-label learning", Pattern
    Recognition Letters 37 (2014); "local_scaling": L. Zelnik-Manor and P. Perona, NIPS 17 (2004); "links-additive":
    S. Kamvar, D. Klein and C. Manning, IJCAI (2003); "regularized": X. Ji and W. Xu, SIGIR (2006).

    Examples
    --------
    Forty recordings hold two sounds each, of one species or of two, whose names alone are noted:

    >>> import numpy as np
    >>> from tercet_algorithms import BagSpectralClustering
    >>> rng = np.random.RandomState(0)
    >>> species = rng.randint(3, size=80)
    >>> X = 6 * np.eye(3)[species] + rng.normal(size=(80, 3))
    >>> bags = np.arange(80) // 2
    >>> bag_labels = {bag: {"abc"[code] for code in species[bags == bag]} for bag in range(40)}
    >>> model = BagSpectralClustering(3, random_state=0).fit(X, bags=bags, bag_labels=bag_labels)
    >>> [str(model.label_names_[label]) for label in model.cluster_label_affinity_.argmax(axis=1)[model.labels_][:3]]
    ['a', 'b', 'a']
    >>> bool((model.predict(X) == model.labels_).mean() > 0.9)  # new items join the clusters they lie in
    True
    """

    n_clusters: int = 8
    _: KW_ONLY
    alpha: float = 0.7
    alpha_scale: Literal["auto", "absolute", "relative"] = "auto"
    method: str = "both"
    affinity: Literal["local_scaling", "precomputed"] = "local_scaling"
    n_neighbors: int | None = 10
    local_k: int = 7
    center: Center = "identity"
    n_init: int = 10

    _parameter_constraints: ClassVar[dict[str, Constraint | str]] = Estimator._parameter_constraints | {
        "n_clusters": POSITIVE_INTEGER,
        "alpha": NUMBER_FROM_0,
        "alpha_scale": one_of("auto", "absolute", "relative"),
        "method": one_of(*METHODS),
        "affinity": one_of("local_scaling", "precomputed"),
        "n_neighbors": [*POSITIVE_INTEGER, None],
        "local_k": POSITIVE_INTEGER,
        "center": one_of("identity", "ones"),
        "n_init": POSITIVE_INTEGER,
    }

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        bags: Any = None,
        bag_labels: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
        must_weights: Any = None,
        cannot_weights: Any = None,
        start: Any = None,
        callback: Callback | None = None,
        resume: SpectralState | None = None,
    ) -> Self:
        """Cluster items by their features or affinities and by the labels of their bags.

        Parameters
        ----------
        X : array-like or DataFrame of shape (N, D), or (N, N) affinities
            Features, one row per item. A precomputed affinity may be sparse.
        y : None
            Not used; see `bags` and `bag_labels`.
        bags : array-like of shape (N,), optional
            The bag of every item: anything hashable, None or NaN for no bag.
        bag_labels : mapping or array-like of shape (M, C), optional
            Labels of each bag, any iterable of hashables; a bag without is unlabelled, bags without items do not
            count. Or a table of 0 and 1, and `bags` are its rows. Without labelled bags this is plain spectral
            clustering.
        must_link, cannot_link : array-like of shape (L, 2), optional
            Pairs of items that belong into one cluster, or into two: item positions, or names from the index of a
            DataFrame. Their affinity becomes 1, or 0, and k-means in the embedding pays for pairs that it does not
            keep so.
        must_weights, cannot_weights : array-like of shape (L,), optional
            How much each link counts, at least 0; one of weight 1 as much as all that the embedding says of an item. A
            repeated pair has the largest of its weights.
        start : array-like of int, shape (N,), optional
            Clusters, 0 to K - 1, from which k-means goes on, once, and which keep their numbers.
        callback : callable, optional
            Called with a `SpectralState` after every start of k-means. When it raises `StopFit` the fit ends with the
            best start so far.
        resume : SpectralState, optional
            A state to continue from, of a fit with the same X, bags and parameters.

        Returns
        -------
        self : BagSpectralClustering

        Raises
        ------
        ValueError
            With the row, value or parameter that is wrong.
        TypeError
            Where X is sparse and no precomputed affinity.
        """
        self._check_parameters()
        check_search(callback, resume, SpectralState)
        checked = X if is_sparse(X) and self.affinity == "precomputed" else check_features(X, self)
        n_items = checked.shape[0]
        if self.n_clusters > n_items:
            raise ValueError(f"n_clusters={self.n_clusters} is more than the number of items, {n_items}")
        check_no_target(y, n_items)
        checked_bags = read_bags(bags, bag_labels, n_items=n_items)
        links = read_links(must_link, cannot_link, must_weights, cannot_weights, n_items, row_names(X))
        clusters = search.EmbeddedClusters(links, read_start(start, n_items, self.n_clusters))
        rng = check_random_state(self.random_state)
        made_of = self._fingerprint(checked, checked_bags, clusters)
        with np.errstate(under="ignore"):  # affinities of items far apart are 0, and so are their products
            if resume is None:
                resume = self._first_state(checked, checked_bags, clusters, rng, made_of)
            check_fingerprint(resume.made_of, made_of)
            advance = partial(search.advance, n_jobs=self.n_jobs, clusters=clusters)
            state, stopped = run_search(resume, advance, callback, self.verbose)
            self.bags_: Bags = checked_bags
            self._frame = None if self.affinity == "precomputed" else graph.Frame.of(checked)
            self._features = None if self._frame is None else self._frame.place(checked)
            self._store_result(state, clusters)
        remember_features(self, X)
        if not (state.converged or stopped):
            part = "k-means" if state.spectrum_converged else "the search for eigenvectors"
            hint = "" if state.spectrum_converged else "; the graph may have many components"
            warnings.warn(f"{part} did not converge{hint}", ConvergenceWarning, stacklevel=2)
        return self

    def predict(self, X: Any) -> Array:
        """Return the cluster of new items: a vote of the `local_k` nearest fitted ones, weighted by affinity.

        Spectral clustering itself is defined for fitted items alone, whose clusters are `labels_`; they too may be
        outvoted here.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, D)
            With a precomputed affinity (n, N), the affinities to the fitted items.

        Returns
        -------
        ndarray of int, shape (n,)

        Raises
        ------
        ValueError
            Where X is not finite, or has other columns than in `fit`.
        """
        check_is_fitted(self, "embedding_")
        new = check_features_of(self, X)
        votes = np.zeros((len(new), self.n_clusters))
        with np.errstate(under="ignore"):
            neighbors, weights = self._neighbors(new)
        for column in range(neighbors.shape[1]):
            votes[np.arange(len(new)), self.labels_[neighbors[:, column]]] += weights[:, column]
        labels: Array = votes.argmax(axis=1)
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        is_precomputed = self.affinity == "precomputed"
        tags.input_tags.pairwise = tags.input_tags.sparse = tags.input_tags.positive_only = is_precomputed
        return tags

    def _neighbors(self, new: Array) -> tuple[Array, Array]:
        """Return the fitted items that vote for each new one, and their weights, both (n, voters)."""
        n_voters = min(self.local_k, len(self.labels_))
        if self._frame is None:
            nearest = np.argsort(-new, axis=1, kind="stable")[:, :n_voters]
            return nearest, np.take_along_axis(new, nearest, axis=1)
        index = NearestNeighbors(n_neighbors=n_voters).fit(self._features)
        distances, nearest = index.kneighbors(self._frame.place(new))
        sigma = np.where(distances[:, -1:] > 0, distances[:, -1:], 1)  # identical to all of them: nothing to scale
        in_frame = self.sigma_ / self._frame.unit
        return nearest, softmax(-(distances / sigma) * (distances / (2 * in_frame[nearest])), axis=1)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.method == "bag-without-links" and self.center == "ones":
            raise ValueError("center='ones' has no zeros for links: use 'identity' with method='bag-without-links'")

    def _fingerprint(self, X: Any, bags: Bags, clusters: EmbeddedClusters) -> Array:
        """Return a hash of all that a state is made of; the seeds of the starts are in the state itself."""
        # A start is the same whichever thread takes it, and however many others follow.
        parameters = {name: value for name, value in self.get_params().items() if name not in _NOT_OF_A_STATE}
        matrices = [csr_array(matrix) for matrix in ([X, bags.labels] if is_sparse(X) else [bags.labels])]
        matrices += [] if clusters.links is None else [clusters.links.strengths]
        sparse = (part for matrix in matrices for part in (matrix.data, matrix.indices, matrix.indptr))
        dense = (*(() if is_sparse(X) else (X,)), *(() if clusters.start is None else (clusters.start,)))
        return fingerprint((sorted(parameters.items()), X.shape), *dense, *sparse, bags.bag_of_item)

    def _first_state(
        self, X: Any, bags: Bags, clusters: EmbeddedClusters, rng: np.random.RandomState, made_of: Array
    ) -> SpectralState:
        n_starts = self.n_init if clusters.start is None else 1
        seeds = rng.randint(np.iinfo(np.int32).max, size=n_starts)
        W, sigma = self._graph(X)
        if clusters.links is not None:
            W = graph.linked_graph(W, clusters.links)
        recipe = SimilarityRecipe(METHODS[self.method], self.alpha, self._scale(W), self.center)
        S, alpha = recipe.similarity(W, bags, self.n_clusters)
        return search.first_state(spectrum.largest(S, self.n_clusters, rng), alpha, sigma, seeds, made_of)

    def _graph(self, X: Any) -> tuple[Graph, Array]:
        if self.affinity == "precomputed":
            return graph.precomputed_graph(X), np.ones(X.shape[0])
        frame = graph.Frame.of(X)
        points = frame.place(X)
        if len(X) == 1 or (self.n_neighbors is None and len(X) <= graph.MOST_DENSE):
            W, sigma = graph.dense_graph(points, self.local_k)
        else:
            W, sigma = graph.neighbor_graph(points, self.n_neighbors or graph.AUTO_NEIGHBORS, self.local_k)
        return W, sigma * frame.unit

    def _scale(self, W: Graph) -> Scale:
        scale = self.alpha_scale if self.alpha_scale != "auto" else "relative" if is_sparse(W) else "absolute"
        if scale == "relative" and self.alpha >= 1:
            raise ValueError(f"alpha must be below 1 in the relative scale, got {self.alpha!r}")
        return scale

    def _store_result(self, state: SpectralState, clusters: EmbeddedClusters) -> None:
        self.eigenvalues_, self.alpha_, self.sigma_ = state.values, state.alpha, state.sigma
        self.embedding_: Array = search.unit_rows(state.vectors)
        self.cluster_centers_, self.inertia_ = state.centers, state.inertia
        variance = _WIDENING * np.sqrt(self.n_clusters) * within_variance(self.embedding_, state.centers)
        self.posterior_: Array = clusters.posterior(self.embedding_, state.centers, variance)
        self.labels_: Array = self.posterior_.argmax(axis=1)
        self.label_names_ = self.bags_.names
        self.cluster_label_affinity_: Array = label_affinity(np.eye(self.n_clusters)[self.labels_], self.bags_)
        self.n_iter_, self.converged_ = state.steps, state.converged
