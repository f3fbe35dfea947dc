"""The parameters of each algorithm that a project or a run may set, each with its bounds and what it does.

These descriptions are the one place for help: forms, the REST interface and its documentation show them. Names and
defaults are the estimators', but for those that `tests/catalogue/test_algorithms.py` gives reasons for.

- left out: a parameter of the estimator that is not offered; `left_out` says why
- advanced: a parameter that forms fold away
"""
