"""Estimators that turn answers about triplets into clusters, in the manner of scikit-learn; they know nothing of the app."""
