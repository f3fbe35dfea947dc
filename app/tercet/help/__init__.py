"""Pages to learn from.

- system: one of the algorithms, as the help page explains it
"""
