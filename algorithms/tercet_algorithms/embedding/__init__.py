"""An embedding learned from answers alone: points of items, for when nothing else is known about them.

- point: the place of one item, (d,); embedding: the points of all items, (N, d)
- odds: of two items being alike, 1 / (1 + squared distance of their points)
- coefficients: the six numbers that are learned beside the points: three offsets, three log odds of answers
- offset: added to the log weight of a pattern; 0 where the pattern is as likely as distances say
- slip: an answer that is not the right one for its pattern
- bound: the log likelihood of the answers less the penalties, which a fit maximises
"""
