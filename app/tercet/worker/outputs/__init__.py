"""Computes from a finished fit what pages show: metrics, map, reports, questions, resolutions.

- metrics: the figures of a run that an analyst sees, kept in its row.
- cluster map: two coordinates for every item.
- report: how probable the run finds every answer, and how far it agrees with every labeler.
- questions: the triplets that are worth asking, for the labelers' queue.
- resolution: a number of clusters; those of every number are stored where the algorithm learns a space to cut them in.
"""
