"""The algorithms that can be chosen: their parameters, the forms that set them, and the systems of comparisons.

- algorithm: a system as people choose it, by a name such as `dcrc-cv`.
- parameters: a pydantic model for each algorithm, with the bounds, the default and the help of every parameter.
- resolve: fill in every parameter of a run: its own, else the project's, else the default.
- advanced: a parameter that forms fold away.
- field, choice: a parameter, and an algorithm with all its parameters, as a form draws them.
"""
