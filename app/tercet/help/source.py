"""Reads classes, functions and docstrings from the source of the two packages, without importing them.

The web process never imports estimators: SciPy and scikit-learn take seconds and a hundred megabytes.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tercet.help.docstrings import Docstring, parse_docstring

ESTIMATORS = "tercet_algorithms"
OPERATIONS = tuple(
    f"tercet.client.{name}"
    for name in ("changing", "project_operations", "labeling_frame", "access_operations", "webhook_operations")
)


@dataclass(frozen=True)
class DocMethod:
    """A public method or property, how it is called and its docstring."""

    name: str
    signature: str
    doc: Docstring


@dataclass(frozen=True)
class DocClass:
    """A class with its methods, inherited ones included, and its bases outside this package."""

    name: str
    module: str
    signature: str
    doc: Docstring
    methods: list[DocMethod]
    foreign_bases: list[str]


def package_folder(package: str) -> Path:
    """Return the folder of a package that lies at the top level; finding it imports nothing."""
    spec = find_spec(package)
    assert spec is not None, f"{package} is installed with tercet"
    assert spec.submodule_search_locations is not None, f"{package} is a package"
    return Path(spec.submodule_search_locations[0])


@cache
def read_class(name: str) -> DocClass:
    """Read an estimator by the name under which its package exports it."""
    module, node = _find(ESTIMATORS, name)
    lineage = list(_lineage(module, node))
    methods = _methods_of(lineage)
    bases = {base.id for ancestor in lineage for base in ancestor.bases if isinstance(base, ast.Name)}
    return DocClass(
        name,
        module,
        _signature(name, methods["__init__"]) if "__init__" in methods else _constructor(name, lineage),
        _doc(node),
        [DocMethod(key, _signature(key, method), _doc(method)) for key, method in methods.items() if key[0] != "_"],
        sorted(bases - {ancestor.name for ancestor in lineage}),
    )


@cache
def read_operations() -> list[DocMethod]:
    """Read what the Python client does with a project: the functions whose first argument is the project alone."""
    nodes = [node for module in OPERATIONS for node in _tree(module).body]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.args.posonlyargs]
    return [DocMethod(function.name, _signature(function.name, function), _doc(function)) for function in functions]


@cache
def read_packages() -> dict[str, Docstring]:
    """Read the docstring of each package that has one, by its dotted name."""
    docstrings = {}
    for root in ("tercet", ESTIMATORS):
        folder = package_folder(root)
        for path in sorted(folder.glob("**/__init__.py")):
            module = ".".join((root, *path.parent.relative_to(folder).parts))
            docstrings[module] = _doc(_tree(module))
    return {module: doc for module, doc in docstrings.items() if doc.blocks}


def _doc(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> Docstring:
    return parse_docstring(ast.get_docstring(node) or "")


@cache
def _tree(module: str) -> ast.Module:
    package, *parts = module.split(".")
    path = package_folder(package).joinpath(*parts)
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def _find(module: str, name: str) -> tuple[str, ast.ClassDef]:
    """Find a class in a module, or in the module that this one imports it from."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return module, node
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(ESTIMATORS):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _find(node.module, alias.name)
    raise LookupError(f"{module} has no class {name}")


def _lineage(module: str, node: ast.ClassDef) -> Iterator[ast.ClassDef]:
    """Yield a class and its base classes in this package, nearest first."""
    yield node
    for base in node.bases:
        if isinstance(base, ast.Name):
            try:
                parent = _find(module, base.id)
            except LookupError:  # a class of scikit-learn
                continue
            yield from _lineage(*parent)


def _methods_of(lineage: list[ast.ClassDef]) -> dict[str, ast.FunctionDef]:
    methods: dict[str, ast.FunctionDef] = {}
    for node in lineage:
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef):
                methods.setdefault(statement.name, statement)
    return methods


def _constructor(name: str, lineage: list[ast.ClassDef]) -> str:
    """Write the call of a dataclass: fields before KW_ONLY may be given by position, those of bases by name alone."""
    parameters = [
        "*" if isinstance(field.annotation, ast.Name) and field.annotation.id == "KW_ONLY" else _default(field)
        for node in lineage
        for field in node.body
        if isinstance(field, ast.AnnAssign) and _is_dataclass(node) and "ClassVar" not in ast.unparse(field.annotation)
    ]
    return f"{name}({', '.join(parameters)})"


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any(ast.unparse(mark).startswith("dataclass") for mark in node.decorator_list)


def _default(field: ast.AnnAssign) -> str:
    assert field.value is not None, "every parameter of an estimator has a default"
    return f"{ast.unparse(field.target)}={ast.unparse(field.value)}"


def _signature(name: str, function: ast.FunctionDef) -> str:
    """Write the call without types, which are in the docstring; of a property, its name."""
    if any(isinstance(mark, ast.Name) and mark.id == "property" for mark in function.decorator_list):
        return name
    arguments = ast.parse(f"def call({ast.unparse(function.args)}): ...").body[0]
    assert isinstance(arguments, ast.FunctionDef)
    for argument in ast.walk(arguments.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    arguments.args.posonlyargs = []  # the object that the method belongs to
    arguments.args.args = [argument for argument in arguments.args.args if argument.arg not in ("self", "cls")]
    return f"{name}({ast.unparse(arguments.args)})"
