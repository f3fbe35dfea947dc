"""Alternative clusterings of a project's items, and how two groupings of the same items relate.

- alternative: a run that looks for a clustering unlike the known ones; the current one stays.
- adopt: make a run's clustering the current one, as a new run with the same result.
- grouping: a partition of the items: the clusters of a run, or the values of a metadata column.
- contingency: how many items are in each pair of groups of two groupings.
- relation: a contingency table with the information that the groupings share, in bits.
"""
