"""Estimators that turn answers about triplets into clusters, scikit-learn style; they know nothing of the app."""

from algorithms.dcrc import DCRC
from algorithms.fitting import FitState, StopFit

__all__ = ["DCRC", "FitState", "StopFit"]
