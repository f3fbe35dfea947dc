"""The rules of structure, held by reading the code: who imports whom, how long things are, who commits."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CODE = sorted([*ROOT.glob("app/**/*.py"), *ROOT.glob("algorithms/**/*.py")])
LAYERS = {"pages": 3, "api": 3, "service": 2, "queries": 1}


def imports_of(path: Path) -> set[str]:
    """Names of the modules that a file imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def functions_of(path: Path) -> list[tuple[str, int]]:
    """Name and length of the body, without its docstring, of every function in a file."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            found.append((node.name, (node.end_lineno or 0) - body[0].lineno + 1 if body else 0))
    return found


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", CODE, ids=relative)
def test_sizes(path: Path) -> None:
    assert path.read_text().count("\n") <= 400, "a file of more than 400 lines"
    limit = 80 if path.is_relative_to(ROOT / "algorithms") else 60
    assert [f for f in functions_of(path) if f[1] > limit] == []


def test_median_function_is_short() -> None:
    lengths = sorted(length for path in CODE for _, length in functions_of(path))
    assert lengths[len(lengths) // 2] < 10


def test_algorithms_know_nothing_of_the_app() -> None:
    for path in ROOT.glob("algorithms/**/*.py"):
        assert not [name for name in imports_of(path) if name.split(".")[0] == "app"], relative(path)


def test_only_clustering_and_the_demo_use_algorithms() -> None:
    for path in ROOT.glob("app/**/*.py"):
        if relative(path).startswith(("app/clustering/", "app/demo/")):
            continue
        assert not [name for name in imports_of(path) if name.split(".")[0] == "algorithms"], relative(path)


def test_imports_point_one_way() -> None:
    for path in ROOT.glob("app/*/*.py"):
        own = LAYERS.get(path.stem)
        for name in imports_of(path):
            parts = name.split(".")
            if own and parts[0] == "app" and len(parts) >= 3 and parts[2] in LAYERS:
                allowed = LAYERS[parts[2]] < own or (own == LAYERS[parts[2]] == 2)
                assert allowed, f"{relative(path)} imports {name}"


def test_models_import_only_models() -> None:
    for path in ROOT.glob("app/models/*.py"):
        names = {name for name in imports_of(path) if name.startswith("app.")}
        assert all(name.startswith("app.models") for name in names), relative(path)


def test_only_the_database_commits() -> None:
    for path in CODE:
        if relative(path) != "app/database.py":
            assert not re.search(r"\.(commit|begin)\(", path.read_text()), relative(path)


def test_handlers_hold_no_sql() -> None:
    for path in [*ROOT.glob("app/*/api.py"), *ROOT.glob("app/*/pages.py")]:
        assert not [name for name in imports_of(path) if name.startswith("sqlalchemy")], relative(path)


def test_what_handlers_ask_for_goes_through_no_thread() -> None:
    asked = {name for path in CODE for name in re.findall(r"Depends\((\w+)\)", path.read_text())}
    plain = {
        node.name
        for path in CODE
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name in asked
    }
    assert plain == {"_place_in_events"}, "only what asks the database may"


def test_templates_never_trust_html() -> None:
    for path in ROOT.glob("templates/**/*.html"):
        text = path.read_text()
        assert "|safe" not in text.replace(" ", ""), relative(path)
        assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=", text), f"{relative(path)}: inline code"


def test_no_third_party_file_is_committed() -> None:
    names = [p.name for p in ROOT.glob("static/**/*")]
    assert not [name for name in names if re.search(r"\.min\.(js|css)$", name)]
