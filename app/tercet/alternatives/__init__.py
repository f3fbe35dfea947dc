"""Alternative clusterings of a project's items, and how two groupings of the same items relate.

- alternative: a run that looks for another clustering than the known ones and leaves the current one alone.
- adopt: make a run's clustering the current one, as a new run with the same result.
- grouping: the items in groups: the clusters of a run, or the values of a column of metadata.
- contingency: how many items are in each pair of groups of two groupings.
- relation: a contingency table with the information that the groupings share, in bits.
"""
