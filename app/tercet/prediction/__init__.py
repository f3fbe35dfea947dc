"""Clusters of new items from a run's model: numpy alone, for the web process and for anyone who has downloaded one.

- model: the arrays of a run that predictions need; `worker/outputs/models.py` makes them from an estimator
- score: of an item and a cluster, linear in the item's inputs; probabilities are the softmax of the scores
- inputs: what the scores are linear in: standardised columns, with eigenvectors of a graph of
  neighbours or without, kernel values with some items, waves, or bits
- vote: used in place of scores where clusters are defined for the fitted items alone (bag labels)
"""
