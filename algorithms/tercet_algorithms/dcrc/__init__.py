"""DCRC: discriminative clustering with relative constraints, and its cross-validation.

- constrained item: one that occurs in an answer or a link; q (n, K) are their posteriors
- stand-in: an item that stands for a cluster, so that others can be put there without a word about the stand-in
- evidence: answers, links and bag labels as P(observation | pattern) and P(label set | cluster)
- objective, bound: the lower bound of the log likelihood (Eqs 9 and 10), maximized over the weights W (K, D + 1)
- start: one maximization from one initial W; a move is a start from the best solution so far, with one cluster
  dissolved and another split
- outer iteration: 20 L-BFGS steps, between two callbacks; stage: the iterations under one epsilon of the schedule that
  leads to hard answers
- belief: how answers are assumed to err (their table), and the power that their likelihood is raised to
- group: a few similar items, several groups to a cluster; starts from answers merge groups into clusters
- table: P(answer | pattern) of a labeler for one kind of question; learner: what updates tables during a fit
- witness: the item of a bag that stands for one of the bag's labels
- space: the coordinates that W refers to, standardised columns or a kernel's features
- fold: answers held out together
- candidate: what held-out answers choose between: in `DCRCCV` a setting of the parameters, in `DCRC` the columns that a
  model sees (all features, these with eigenvectors of a graph of neighbours, or one group of features)
- pool: the weighted sum of the candidates' scores; chain: the search of one candidate
"""
