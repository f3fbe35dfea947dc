"""DCRC: discriminative clustering with relative constraints, and its cross-validation.

- constrained item: one that occurs in an answer or a link; q (n, K) are their posteriors
- evidence: answers, links and bag labels as P(observation | pattern) and P(label set | cluster)
- objective, bound: the lower bound of the log likelihood (Eqs 9 and 10), climbed over the weights W (K, D + 1)
- start: one climb from one beginning; a move is a start that begins at the best solution, with one cluster split
- outer iteration: 20 L-BFGS steps, between two callbacks; stage: those under one epsilon, where hard answers anneal
- belief: the table that answers are taken to err by, and the power that their likelihood is taken to
- group: similar items, fewer than a cluster; starts made from answers merge them
- table: P(answer | pattern) of a labeler for one kind of question; learner: what updates tables during a fit
- witness: the item of a bag that stands for one of the bag's labels
- space: the coordinates that W belongs to, standardised columns or a kernel's features
- fold, candidate: answers held out together, and what they judge: a setting of parameters, or a structure that a model
  goes by (features, a graph of neighbours, a clustering)
- pool: models whose scores are added up; chain: the search of one candidate
"""
