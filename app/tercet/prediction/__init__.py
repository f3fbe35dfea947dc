"""Predicts clusters of new items with a run's model, with numpy only, in the web process and in downloaded models.

- model: the arrays of a run that predictions need; `worker/outputs/models.py` makes them from an estimator
- score: of an item and a cluster, linear in the item's inputs; probabilities are the softmax of the scores
- inputs: the columns that scores are linear in, by the kind of the model: "linear" are standardised features, "graph"
  these with eigenvectors of a graph of neighbours, "rbf" and "adaptive" kernel values with some items, "waves" random
  Fourier features, "bits" features compared with thresholds
- vote: a model without scores, where clusters are defined for the fitted items only (bag labels): its nearest fitted
  items vote
"""
