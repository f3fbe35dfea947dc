"""The help pages.

- system: one of the algorithms, as the help page explains it
- reference: the page of a class that Python programs import, made of its docstrings
- section, entry: a part of a docstring under its title, and one name in it with its type and meaning
- lineage: a class and its base classes in this package
"""
