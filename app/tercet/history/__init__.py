"""The runs of a project in the order of time, and how two of them differ: flows, items that moved, answers, parameters.

- flow: the items that are in one cluster of an earlier run and in one cluster of a later run.
- matched clusters: pairs of an earlier and a later cluster, chosen so that together they have as many items in common
  as possible; an item has moved if its two clusters are no such pair.
- effect: what fifty answers of a labeler, a block, changed from the last run before them to the first that knows them.
"""
