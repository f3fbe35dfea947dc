"""BagSpectralClustering: clusters of items from labels of the bags they come in (Pei and Fern, 2014).

A recording is labelled with the species heard in it, not its syllables; a picture with what it shows, not its
regions. Two bags that share many labels should fall into similar clusters: put as a reward into the objective of
spectral clustering, this gives clusters that follow the labels before anybody has answered a single question.
"""

import warnings
from typing import Any, Literal, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from algorithms import bag_graph, bag_search, bag_spectrum
from algorithms.bag_constraints import Center
from algorithms.bag_graph import Graph
from algorithms.bag_labels import Bags, is_sparse, read_bags
from algorithms.bag_methods import METHODS, Recipe, Scale
from algorithms.bag_naming import label_affinity
from algorithms.bag_search import Callback, SpectralState
from algorithms.patterns import Array
from algorithms.sklr_clusters import soft_assignments, within_variance
from algorithms.validation import check_features, check_features_of

# Rows of eigenvectors are wrong in many directions at once, so round clusters look far surer than they are. With so
# many times sqrt(K) their variance, the mean confidence on songs and letters is about the share of items that are
# of their cluster's commonest class, and it tells these items from the others better than with the variance alone.
_WIDENING = 2.0
# Stands for the bandwidth of a new item that is the same as all its neighbours.
_TINY = 1e-100


class BagSpectralClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Clusters from features and from labels of the bags that items come in.

    Columns of X should be of one scale (standardise them before): the graph depends on it.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K; as many as labels to find what is labelled, more to find kinds within it.
    alpha : float
        How much the bags say against the features; 0 is plain spectral clustering. See `alpha_scale`.
    alpha_scale : "auto", "absolute" or "relative"
        "absolute": W + alpha Q, as in the paper, where 0.5 to 1 is good and 5 too much. "relative", alpha in [0, 1):
        the largest eigenvalues of constraints and graph stand as alpha to 1 - alpha, whatever the size of the data;
        needed for a graph of neighbours, which alpha itself would drown. "auto": "relative" for a sparse graph or
        where `n_neighbors` is set.
    method : str
        What is made of the bag labels; the paper's name in brackets.

        - "bag" (CSP): pairs of bags are rewarded for being alike in clusters as they are in labels (Eq 13).
        - "bag-without-links" (CSP w.o.clml): without what must-links could say.
        - "spectral" (SP): nothing.
        - "links" (SpLearn, but normalised like "bag"): pairs of items that cannot be of one label are cut from the
          graph, those of single-label bags of one label become fully alike.
        - "links-additive" (SpLearn): the same, normalised by the largest degree as in the paper's source.
        - "cannot-link": the cut alone.
        - "regularized" (SpReg): differences within single-label bags of one label are penalised.
        - "both": "bag" on the graph of "cannot-link".

        Must-links are only made where K is at most the number of labels. On songs of 13 species with all bags
        labelled, normalised mutual information with the species is 0.42 without bags, 0.62 with "bag", 0.70 with
        "links" and "both", and 0.72 with "both" and `n_neighbors` 20; with two bags in five labelled the methods
        differ little. Where nearly all bags have many labels (letters of words) "links" and "both" lead again.
        Cutting a graph of all pairs of many features may leave little but the cut: prefer neighbours for it.
    affinity : "local_scaling" or "precomputed"
        How W is made of X: exp(-d^2 / (2 sigma_p sigma_q)), or X is W, (N, N), dense or sparse.
    n_neighbors : int or None
        How many neighbours each item is tied to. None: to all of up to 6,000 items, to 20 of more.
    local_k : int
        Which nearest other item sets an item's sigma, and how many vote in `predict`.
    center : "identity" or "ones"
        What mu of Eq 12 multiplies: I, as printed, or 11', which the sum over all pairs of bags (Eq 9) gives.
    n_init : int
        Starts of k-means in the embedding.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : (N,) cluster of every item
    embedding_ : (N, K) the eigenvectors' rows, of length 1
    eigenvalues_ : (K,) descending; their sum is the objective (Eq 13)
    posterior_ : (N, K) how likely each cluster is, were clusters round and of one width in the embedding: softmax of
        minus the squared distances to the centres over twice 2 sqrt(K) times the items' variance about them
    cluster_centers_, inertia_ : of k-means in the embedding
    label_names_ : the C labels
    cluster_label_affinity_ : (K, C) share of each label in each cluster, the most likely given the bags
    alpha_ : what Q was multiplied by
    bags_ : Bags, what was given
    n_iter_, converged_, n_features_in_

    References
    ----------
    Y. Pei and X. Z. Fern, "Constrained instance clustering in multi-instance multi-label learning", Pattern
    Recognition Letters 37 (2014); "local_scaling": L. Zelnik-Manor and P. Perona, NIPS 17 (2004); "links-additive":
    S. Kamvar, D. Klein and C. Manning, IJCAI (2003); "regularized": X. Ji and W. Xu, SIGIR (2006).
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = 0.7,
        alpha_scale: Literal["auto", "absolute", "relative"] = "auto",
        method: str = "bag",
        affinity: Literal["local_scaling", "precomputed"] = "local_scaling",
        n_neighbors: int | None = None,
        local_k: int = 7,
        center: Center = "identity",
        n_init: int = 10,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.alpha_scale = alpha_scale
        self.method = method
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.local_k = local_k
        self.center = center
        self.n_init = n_init
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        bags: Any = None,
        bag_labels: Any = None,
        callback: Callback | None = None,
        resume: SpectralState | None = None,
    ) -> Self:
        """Cluster the rows of X (N, D).

        `bags` (N,) names the bag of every item: anything hashable, None or NaN for no bag. `bag_labels` maps bags to
        their labels, any iterable of hashables; a bag that is missing there, or has none, is unlabelled, and bags
        without items do not count. Or it is a table (bags, labels) of 0 and 1, and `bags` are the rows. Without
        labelled bags this is plain spectral clustering. `callback(state)` is called after every start of k-means;
        when it raises StopFit the best start so far is kept. `resume` continues from such a state, given the same X,
        bags and parameters. Raises ValueError with the row, value or parameter that is wrong.
        """
        self._check_parameters()
        given = X if is_sparse(X) and self.affinity == "precomputed" else check_features(X)
        if self.n_clusters > given.shape[0]:
            raise ValueError(f"n_clusters={self.n_clusters} is more than the number of items, {given.shape[0]}")
        read = read_bags(bags, bag_labels, n_items=given.shape[0])
        rng = check_random_state(self.random_state)
        state = self._first_state(given, read, rng) if resume is None else resume
        if state.vectors.shape != (given.shape[0], self.n_clusters):
            found, expected = state.vectors.shape, (given.shape[0], self.n_clusters)
            raise ValueError(f"resume is the state of another fit: shape {found}, expected {expected}")
        state, stopped = bag_search.run(state, callback)
        self.n_features_in_ = given.shape[1]
        self.bags_: Bags = read
        self._features = None if self.affinity == "precomputed" else given
        self._keep(state)
        if not (state.converged or stopped):
            what = "k-means" if state.found else "the search for eigenvectors; the graph may be in many pieces"
            warnings.warn(f"{what} did not converge", ConvergenceWarning, stacklevel=2)
        return self

    def predict(self, X: Any) -> Array:
        """Cluster of new items (n, D): a vote of the `local_k` nearest fitted ones, each as far as it is alike.

        Spectral clustering itself knows fitted items alone, and they may be outvoted too: theirs are `labels_`.
        With a precomputed affinity rows of X (n, N) are those to the fitted items.
        """
        check_is_fitted(self, "embedding_")
        new = check_features_of(self, X)
        votes = np.zeros((len(new), self.n_clusters))
        neighbors, weights = self._neighbors(new)
        for column in range(neighbors.shape[1]):
            votes[np.arange(len(new)), self.labels_[neighbors[:, column]]] += weights[:, column]
        labels: Array = votes.argmax(axis=1)
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = self.affinity == "precomputed"
        tags.input_tags.pairwise = tags.input_tags.sparse = tags.input_tags.positive_only = given
        return tags

    def _neighbors(self, new: Array) -> tuple[Array, Array]:
        n_voters = min(self.local_k, len(self.labels_))
        if self.affinity == "precomputed":
            nearest = np.argsort(-new, axis=1, kind="stable")[:, :n_voters]
            return nearest, np.take_along_axis(new, nearest, axis=1)
        distances, nearest = NearestNeighbors(n_neighbors=n_voters).fit(self._features).kneighbors(new)
        own = np.maximum(distances[:, -1:], _TINY)
        return nearest, softmax(-np.square(distances) / (2 * own * self._sigma[nearest]), axis=1)

    def _check_parameters(self) -> None:
        expected = {
            "n_clusters": (self.n_clusters >= 1, "at least 1"),
            "alpha": (0 <= self.alpha < np.inf, "at least 0"),
            "alpha_scale": (self.alpha_scale in ("auto", "absolute", "relative"), "'auto', 'absolute' or 'relative'"),
            "method": (self.method in METHODS, f"one of {', '.join(map(repr, METHODS))}"),
            "affinity": (self.affinity in ("local_scaling", "precomputed"), "'local_scaling' or 'precomputed'"),
            "n_neighbors": (self.n_neighbors is None or self.n_neighbors >= 1, "at least 1, or None"),
            "local_k": (self.local_k >= 1, "at least 1"),
            "center": (self.center in ("identity", "ones"), "'identity' or 'ones'"),
            "n_init": (self.n_init >= 1, "at least 1"),
        }
        for name, (good, words) in expected.items():
            if not good:
                raise ValueError(f"{name} must be {words}, got {getattr(self, name)!r}")
        if self.method == "bag-without-links" and self.center == "ones":
            raise ValueError("center='ones' has no zeros for links: use 'identity' with method='bag-without-links'")

    def _first_state(self, X: Any, bags: Bags, rng: np.random.RandomState) -> SpectralState:
        seeds = rng.randint(np.iinfo(np.int32).max, size=self.n_init)
        W, sigma = self._graph(X)
        recipe = Recipe(METHODS[self.method], self.alpha, self._scale(W), self.center)
        S, alpha = recipe.similarity(W, bags, self.n_clusters)
        return bag_search.first_state(bag_spectrum.largest(S, self.n_clusters, rng), alpha, sigma, seeds)

    def _graph(self, X: Any) -> tuple[Graph, Array]:
        if self.affinity == "precomputed":
            return bag_graph.given_graph(X), np.ones(X.shape[0])
        X = X.astype(np.float64)
        if len(X) == 1 or (self.n_neighbors is None and len(X) <= bag_graph.MOST_DENSE):
            return bag_graph.dense_graph(X, self.local_k)
        return bag_graph.neighbor_graph(X, self.n_neighbors or bag_graph.AUTO_NEIGHBORS, self.local_k)

    def _scale(self, W: Graph) -> Scale:
        sparse = is_sparse(W) or self.n_neighbors is not None
        scale = self.alpha_scale if self.alpha_scale != "auto" else "relative" if sparse else "absolute"
        if scale == "relative" and self.alpha >= 1:
            raise ValueError(f"alpha must be below 1 in the relative scale, got {self.alpha!r}")
        return scale

    def _keep(self, state: SpectralState) -> None:
        self.eigenvalues_, self.alpha_, self._sigma = state.values, state.alpha, state.sigma
        self.embedding_: Array = bag_search.unit_rows(state.vectors)
        self.cluster_centers_, self.inertia_ = state.centers, state.inertia
        variance = _WIDENING * np.sqrt(self.n_clusters) * within_variance(self.embedding_, state.centers)
        self.posterior_: Array = soft_assignments(self.embedding_, state.centers, variance)
        self.labels_: Array = self.posterior_.argmax(axis=1)
        self.label_names_ = self.bags_.names
        self.cluster_label_affinity_: Array = label_affinity(np.eye(self.n_clusters)[self.labels_], self.bags_)
        self.n_iter_, self.converged_ = state.steps, state.converged
