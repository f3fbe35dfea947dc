"""What analysts change in clusters by hand: they move items, merge and split clusters, or say what belongs together.

- edit: one such change; it is stored as links and takes effect with the next run
- link: a pair of items that shall be in one cluster (alike) or in two, which every system honours
- typical items: those that analysts call typical of their cluster, then those that the current run is surest of; items
  that are moved are linked with some of them
- an edit holds as far as the clusters of a run agree with its links
"""
