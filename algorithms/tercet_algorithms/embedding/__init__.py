"""An embedding learned from answers alone: where items lie, when nothing else is known about them.

- point: the place of one item, (d,); embedding: the points of all items, (N, d)
- odds: how much more likely two items are alike the nearer their points are, 1 / (1 + squared distance)
- offset: a number by which a pattern is likelier or less likely than distances say
- slip: an answer that is not the right one for its pattern
- bound: the log likelihood of the answers less the penalties, which a fit maximises
"""
