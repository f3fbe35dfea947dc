"""Estimators that turn answers about triplets into clusters, scikit-learn style; they know nothing of the app."""

from algorithms.bag_naming import bag_prior
from algorithms.bag_search import SpectralState
from algorithms.bags import BagSpectralClustering
from algorithms.cmbc import CMBC
from algorithms.cmbc_search import CMBCState
from algorithms.cross_validation import DCRCCV
from algorithms.dcrc import DCRC
from algorithms.fitting import FitState, StopFit
from algorithms.held_out_scores import SearchState
from algorithms.layout import cluster_map
from algorithms.matching import match_clusters
from algorithms.sklr import SKLR
from algorithms.sklr_search import LearningState

__all__ = [
    "CMBC",
    "DCRC",
    "DCRCCV",
    "SKLR",
    "BagSpectralClustering",
    "CMBCState",
    "FitState",
    "LearningState",
    "SearchState",
    "SpectralState",
    "StopFit",
    "bag_prior",
    "cluster_map",
    "match_clusters",
]
