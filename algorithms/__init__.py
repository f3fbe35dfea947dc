"""Estimators that turn answers about triplets into clusters, scikit-learn style; they know nothing of the app."""

from algorithms.dcrc import DCRC
from algorithms.fitting import FitState, StopFit
from algorithms.layout import cluster_map
from algorithms.matching import match_clusters

__all__ = ["DCRC", "FitState", "StopFit", "cluster_map", "match_clusters"]
