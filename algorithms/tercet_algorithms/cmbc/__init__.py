"""CMBC, clustering with model-level constraints, and its rivals: "find another clustering".

- `known_clusterings`: y-, the clusterings and negative features that the new clustering is to differ from
- combination v: the codes of one item in all parts of y-; only the sets of items that share one matter
- `coding`: y+, the features as bits
- `Model`: what is annealed, one of `mixture` ("cmbc", "em"), `bottleneck` ("dibws"), `regression` ("regress-out")
- position: the unknowns of a model, theta (K, m), q (N, K) or centres (K, D)
- `penalty`: gamma times the bound of H(C | Y-); `m_step`: its maximisation together with the likelihood
- anneal: one start taken from a high to a low temperature; `search`: which anneals a fit makes, at which gamma
- likeness: information that two clusterings share beyond chance
"""
