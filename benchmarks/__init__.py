"""Measurements that are run by hand; their results are kept as text in results/."""
