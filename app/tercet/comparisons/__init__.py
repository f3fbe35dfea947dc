"""Compares systems on the same held-out answers: pages and REST; `worker/comparison` computes it.

- comparison: a run whose result is figures about several systems instead of clusters.
- system: an algorithm of the catalogue, or plain k-means as the baseline.
- rival: a system that the recommended one is compared with: the next best one and the baseline.
- verdict: the figures in sentences.
"""
