"""K-means as the plain baseline of comparisons: what the features alone say, without answers and bag labels."""

from typing import Any

from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from algorithms.sklr import ANSWER_EPSILON
from algorithms.sklr_clusters import soft_assignments, within_variance
from app.clustering.fitted import Fit
from app.clustering.material import Material


def fit_kmeans(parameters: dict[str, Any], material: Material) -> Fit:
    """Cluster the standardised features; how sure it is comes from round clusters of one width."""
    features = StandardScaler().fit_transform(material.features)
    model = KMeans(parameters["n_clusters"], n_init=10, random_state=parameters["random_state"]).fit(features)
    variance = within_variance(features, model.cluster_centers_)
    return Fit(
        labels=model.labels_,
        posterior=soft_assignments(features, model.cluster_centers_, variance),
        state={},
        lower_bound=None,
        n_iter=int(model.n_iter_),
        converged=True,
        warm_start=False,
        searched_answers=0,
        epsilon=ANSWER_EPSILON,
    )
