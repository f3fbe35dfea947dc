"""SKLR, semi-supervised kernel learning with relative comparisons: one learned kernel, clusters of any number.

- K0 ~ Z Z': the first kernel of the features and its low-rank form (`kernel`); K = Z M Z': the learned kernel
- d: squared distance under K; constraint: g d(a, b) - h d(a, e) <= t, what an answer or a link says (`constraints`)
- lam: one multiplier for each constraint, which determines M; cap: the largest value of a soft constraint's multiplier
- point: lam with the kernel and distances that follow from it (`dual`)
- `newton`, `projection`: the two ways to the optimum; triple: three items that constraints involve
- relative gradient: a violation as a share of the distances it compares; residual: the largest that remains
- blame: an answer's share in a contradiction of hard answers; suspicion: how much an answer disagrees with the rest
"""
