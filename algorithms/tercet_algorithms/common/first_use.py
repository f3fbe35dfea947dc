"""Imports the names of a package on their first use, so that importing the package alone loads nothing else."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def importer(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package; `modules` maps each name to the module that has it."""

    def import_name(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return import_name
