"""Which structure the answers go by: candidates, weighed by how well they predict answers that they have not seen.

Answers alone cannot repair a clustering everywhere: a fit to a handful of them may be worse than none, and where
classes are curved a linear model needs many. So four candidates are weighed: DCRC on the features, DCRC on these and
the eigenvectors of a graph of neighbours, and K-means and spectral clustering, which no answer can spoil. The scores of
all four are linear in the same features, so a weighted mean of scores (a logarithmic opinion pool) is one model again.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.cluster import KMeans

from tercet_algorithms.answers.patterns import Array, Errors, answer_table, log_likelihood
from tercet_algorithms.answers.reading import Constraints
from tercet_algorithms.common.feature_space import FeatureSpace
from tercet_algorithms.common.model_selection import answer_folds
from tercet_algorithms.dcrc.belief import sampled_answers
from tercet_algorithms.dcrc.pooling import COUNT

FEATURES, GRAPH, KMEANS, SPECTRAL = CANDIDATES = ("features", "graph", "kmeans", "spectral")
# So many eigenvectors for each cluster.
VECTORS = 3
# From so many items on, features alone: folds and graph would take as long as the fit.
MOST_ITEMS = 20_000
_N_FOLDS = 5
# A fold's fit: K-means, and one start of either kind that is made from answers.
_STARTS = 3
# Scores are divided by one of these, so that a candidate is as sure as it is right.
_TEMPERATURES = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0)
# A candidate with less weight is left out, and so is a clustering whose sizes have less entropy, relative to log K.
_LEAST_WEIGHT, _LOPSIDED = 0.02, 0.65


class Weighing(NamedTuple):
    """How much each candidate counts, and what its scores are divided by, in the order of CANDIDATES."""

    weights: Array
    temperatures: Array
    clusterings: dict[str, Array]  # K-means and spectral clustering as weights (K, width + 1)
    n_answers: int  # that there were to weigh by; 0 where nothing was weighed

    @property
    def needs_graph(self) -> bool:
        """Whether a candidate that sees eigenvectors of the graph has weight."""
        return bool(self.of(GRAPH) or self.of(SPECTRAL))

    def of(self, name: str) -> float:
        """Return the weight of a candidate."""
        return float(self.weights[CANDIDATES.index(name)])

    def by_name(self) -> dict[str, float]:
        """Return the weight of every candidate."""
        return {name: self.of(name) for name in CANDIDATES}

    def to_arrays(self) -> dict[str, Array]:
        """Return plain arrays."""
        models = {f"clustering_{name}": W for name, W in self.clusterings.items()}
        return {
            "candidate_weights": self.weights,
            "candidate_temperatures": self.temperatures,
            "candidate_answers": np.asarray(self.n_answers),
            **models,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "Weighing":
        """Return what `to_arrays` has written; the features alone where there is nothing of it."""
        if "candidate_weights" not in arrays:
            return ALONE
        names = (name for name in CANDIDATES if f"clustering_{name}" in arrays)
        models = {name: arrays[f"clustering_{name}"] for name in names}
        n_answers = int(arrays["candidate_answers"])
        return cls(arrays["candidate_weights"], arrays["candidate_temperatures"], models, n_answers)

    def shares(self, names: Iterable[str]) -> dict[str, float]:
        """Return what the scores of each candidate are multiplied by where only some are there; 0 for other names."""
        total = sum(self.of(name) for name in names if name in CANDIDATES)
        temperature = dict(zip(CANDIDATES, self.temperatures, strict=True))
        return {name: self.of(name) / total / temperature[name] if name in CANDIDATES else 0.0 for name in names}

    def without_graph(self, n_features: int) -> "Weighing":
        """Return the same for a space without the eigenvectors."""
        return self._replace(
            clusterings={name: np.delete(W, slice(n_features, -1), 1) for name, W in self.clusterings.items()}
        )


ALONE = Weighing(np.array([1.0, 0, 0, 0]), np.ones(4), {}, 0)


def clusterings(X: Array, n_features: int, n_clusters: int) -> dict[str, Array]:
    """Return the weights (K, D + R + 1) of K-means and spectral clustering in the rows of X (N, D + R + 1).

    Those of a mixture of round clusters of equal width. Without a lopsided clustering.
    """
    columns = {KMEANS: slice(0, n_features), SPECTRAL: slice(n_features, n_features + max(n_clusters - 1, 1))}
    models = {}
    for name, chosen in columns.items():
        points = X[:, chosen].astype(np.float64)
        kmeans = KMeans(n_clusters, n_init=10, random_state=0).fit(points)
        shares = np.bincount(kmeans.labels_, minlength=n_clusters) / len(X)
        entropy = -np.sum(shares * np.log(np.maximum(shares, 1e-12)))
        if entropy < _LOPSIDED * np.log(n_clusters):
            continue
        centres, variance = kmeans.cluster_centers_, max(kmeans.inertia_ / points.size, 1e-12)
        W = np.zeros((n_clusters, X.shape[1]))
        W[:, chosen] = centres / variance
        W[:, -1] = -np.square(centres).sum(axis=1) / (2 * variance)
        models[name] = W
    return models


def weigh(model: Any, features: Array, space: FeatureSpace, constraints: Constraints) -> Weighing:
    """Return the weights by held-out answers.

    Parameters
    ----------
    model : DCRC
        With the parameters of the fit, but for features as they are in the space, and one start.
    features : array of shape (N, D)
    space : FeatureSpace
        With a graph.
    constraints : Constraints
    """
    rng = np.random.RandomState(0)  # the same answers say the same, whatever the fit's own seed
    n_answers = len(constraints)
    constraints, items = sampled_answers(constraints, len(features), rng)
    X = space.transform(features[items])
    asked, n_features = np.unique(constraints.triplets), features.shape[1]
    log_likelihoods = np.full((len(CANDIDATES), len(_TEMPERATURES)), -np.inf)
    log_likelihoods[:2] = 0
    model.set_params(n_init=_STARTS, n_moves=0, warm_start=False)
    for fold in answer_folds(constraints, _N_FOLDS, rng):
        held_out = np.isin(np.arange(len(constraints)), fold)
        answers, unseen = constraints.select(~held_out), constraints.select(held_out)
        for number, width in enumerate((n_features, X.shape[1])):
            model.fit(X[:, :width], **answers.fit_arguments())
            log_likelihoods[number] += _judge(_scores(model, X[:, :width], unseen), unseen, model.epsilon)
    design = np.column_stack([X, np.ones(len(X))])
    models = clusterings(design, n_features, model.n_clusters)
    for name, W in models.items():
        scores = np.zeros((len(X), model.n_clusters))
        scores[asked] = design[asked] @ W.T
        log_likelihoods[CANDIDATES.index(name)] = _judge(scores, constraints, model.epsilon)
    best = log_likelihoods.max(axis=1)
    weights = softmax(COUNT * best)
    weights[weights < _LEAST_WEIGHT] = 0
    learned = int(best[:2].argmax())
    weights[learned] = max(weights[learned], _LEAST_WEIGHT)  # one that goes on learning from answers stays
    models = {name: W for name, W in models.items() if weights[CANDIDATES.index(name)]}
    temperatures = np.array(_TEMPERATURES)[log_likelihoods.argmax(axis=1)]
    return Weighing(weights / weights.sum(), temperatures, models, n_answers)


def _scores(model: Any, X: Array, constraints: Constraints) -> Array:
    """Return the scores (N, K) of the items that answers are about, and 0 for all others."""
    asked = np.unique(constraints.triplets)
    scores = np.zeros((len(X), model.n_clusters))
    W = model._pool_of_starts()
    scores[asked] = X[asked] @ W[:, :-1].T + W[:, -1]
    return scores


def _judge(scores: Array, answers: Constraints, epsilon: Errors) -> Array:
    """Return the sum of log P(answer) at each temperature."""
    return np.array(
        [
            log_likelihood(
                np.exp(log_softmax(scores / temperature, axis=1)),
                answers.triplets,
                answers.answers,
                answers.kinds,
                lambda kind: answer_table(kind, epsilon),
                answers.counts(),
            )
            for temperature in _TEMPERATURES
        ]
    )
