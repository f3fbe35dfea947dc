"""Estimators that turn answers about triplets into clusters, scikit-learn style; they know nothing of the app."""

from algorithms.bag_naming import bag_prior
from algorithms.bag_search import SpectralState
from algorithms.bags import BagSpectralClustering
from algorithms.cross_validation import DCRCCV
from algorithms.dcrc import DCRC
from algorithms.fitting import FitState, StopFit
from algorithms.layout import cluster_map
from algorithms.matching import match_clusters
from algorithms.sklr import SKLR
from algorithms.sklr_search import LearningState

__all__ = [
    "DCRC",
    "DCRCCV",
    "SKLR",
    "BagSpectralClustering",
    "FitState",
    "LearningState",
    "SpectralState",
    "StopFit",
    "bag_prior",
    "cluster_map",
    "match_clusters",
]
