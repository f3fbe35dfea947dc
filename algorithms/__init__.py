"""Estimators that turn answers about triplets into clusters, scikit-learn style; they know nothing of the app."""

from algorithms.cross_validation import DCRCCV
from algorithms.dcrc import DCRC
from algorithms.fitting import FitState, StopFit
from algorithms.layout import cluster_map
from algorithms.matching import match_clusters
from algorithms.sklr import SKLR
from algorithms.sklr_search import LearningState

__all__ = ["DCRC", "DCRCCV", "SKLR", "FitState", "LearningState", "StopFit", "cluster_map", "match_clusters"]
