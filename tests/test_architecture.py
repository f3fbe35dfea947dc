"""The rules of structure, held by reading the code: who imports whom, how long things are, who commits."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import FIRST, SLOW

ROOT = Path(__file__).resolve().parent.parent
SERVICE = ROOT / "app" / "tercet"
ESTIMATORS = ROOT / "algorithms" / "tercet_algorithms"
CODE = sorted([*SERVICE.glob("**/*.py"), *ESTIMATORS.glob("**/*.py")])
ROLES = {"pages": 3, "api": 3, "service": 2, "queries": 1}
# Packages and modules of the service from the ground up; each imports only from the lines above its own.
LAYERS = (
    {"translatable", "errors", "request_context"},
    {"models", "settings", "storage", "database", "prediction", "sounds", "memory"},
    {"migrate", "web"},
    {"command_setup", "features"},
    {"audit"},
    {"accounts"},
    {"catalogue", "items", "live", "help", "webhooks"},
    {"jobs"},
    {"runs"},
    {"labeling", "projects", "tags"},
    {"alternatives", "comparisons", "dashboard", "edits", "intake", "people"},
    {"exchange"},
    {"client"},
    {"interop"},
    {"worker"},
    {"answers"},
    {"archives", "history"},
    {"backups"},
    {"system"},
    {"main"},
    {"web_processes"},
    {"serve"},
    {"demo"},
    {"cli"},
)
FAMILIES = {"dcrc", "sklr", "cmbc", "bags", "embedding"}


# Assigned names that say nothing of what they name. `right` of a triplet is the field's word, and rare enough.
FILLER = re.compile("found|given|mine|told|said|known|one|other|kept|made|wanted|shown|whole|own|right|rest")
FILLER_SHARE = 0.01


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """Every import, function, class and assigned name of a file, wherever in it."""
    sought = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Name
    nodes = [node for node in ast.walk(tree_of(path)) if isinstance(node, sought)]
    return [node for node in nodes if not isinstance(node, ast.Name) or isinstance(node.ctx, ast.Store)]


@cache
def imports_of(path: Path) -> set[str]:
    """Names of the modules that a file imports, wherever in the file."""
    names: set[str] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def functions_of(path: Path) -> list[tuple[str, int]]:
    """Name and length of the body, without its docstring, of every function in a file."""
    lengths = []
    for node in nodes_of(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lengths.append((node.name, (node.end_lineno or 0) - body[0].lineno + 1 if body else 0))
    return lengths


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def package_of(path: Path) -> str:
    """The package of the service that a file belongs to; a module that lies beside the packages is its own."""
    return path.relative_to(SERVICE).with_suffix("").parts[0]


def packages_imported_by(path: Path) -> set[str]:
    """The packages of the service that a file imports, other than its own."""
    names = [name.split(".") for name in imports_of(path)]
    packages = {parts[1] for parts in names if parts[0] == "tercet" and len(parts) > 1}
    return {name for name in packages if (SERVICE / name).exists() or (SERVICE / f"{name}.py").exists()} - {
        package_of(path)
    }


def test_sizes() -> None:
    for path in CODE:
        assert path.read_text().count("\n") <= 600, f"{relative(path)}: more than 600 lines"
        limit = 80 if path.is_relative_to(ESTIMATORS) else 60
        assert [f for f in functions_of(path) if f[1] > limit] == [], relative(path)


def test_every_package_has_its_layer() -> None:
    packages = {package_of(path) for path in SERVICE.glob("**/*.py")} - {"__init__"}
    assert packages == set.union(*LAYERS)
    assert sum(map(len, LAYERS)) == len(packages), "a package stands in two layers"


def test_packages_import_only_from_layers_below() -> None:
    level = {package: number for number, layer in enumerate(LAYERS) for package in layer}
    for path in SERVICE.glob("*/**/*.py"):
        own = package_of(path)
        above = {name for name in packages_imported_by(path) if level[name] >= level[own]}
        assert not above, f"{relative(path)} imports {sorted(above)}"


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SERVICE.parent if path.is_relative_to(SERVICE) else ESTIMATORS.parent).parts)[:-3]


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports within functions count as well: they would only hide a circle."""
    modules = {module_name(path): path for path in CODE}
    imports = {name: imports_of(path) & set(modules) for name, path in modules.items()}
    while free := [name for name, others in imports.items() if not others]:
        imports = {name: others - set(free) for name, others in imports.items() if others}
    # What is left is in a circle, or imports what is in one.
    assert imports == {}


def test_nothing_imports_the_worker_but_what_starts_it() -> None:
    importers = {package_of(path) for path in SERVICE.glob("**/*.py") if "worker" in packages_imported_by(path)}
    assert importers == {"main", "cli"}, "the server starts workers, and a command without one works itself"


@pytest.mark.slow
def test_the_web_process_loads_nothing_that_fits() -> None:
    heavy = ["scipy", "sklearn", "distributed", "joserfc", "tercet_algorithms.dcrc.dcrc", "tercet.worker.job"]
    code = f"import sys, tercet.main; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=SERVICE.parent, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_a_worker_loads_nothing_that_serves() -> None:
    needed = ["tercet.worker.job", "tercet.worker.jobs", "tercet_algorithms.dcrc.dcrc"]
    heavy = ["fastapi", "starlette", "anyio", "httpx", "jinja2", "babel", "markdown_it", "prometheus_client"]
    code = f"""
import sys
from tercet.worker.warmup import import_modules
import_modules()
print([name for name in {needed + heavy} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=SERVICE.parent, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(needed)


@pytest.mark.parametrize("package", ["tercet", "tercet_algorithms"])
def test_a_package_alone_loads_nothing(package: str) -> None:
    heavy = ["numpy", "fastapi", "sklearn", "sqlalchemy"]
    code = f"import sys, {package}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=SERVICE.parent, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_estimators_know_nothing_of_the_service() -> None:
    for path in ESTIMATORS.glob("**/*.py"):
        assert not [name for name in imports_of(path) if name.split(".")[0] == "tercet"], relative(path)


def test_families_of_estimators_share_only_answers_and_common() -> None:
    for path in ESTIMATORS.glob("*/*.py"):
        own = path.parent.name
        names = [name.split(".") for name in imports_of(path) if name.startswith("tercet_algorithms.")]
        assert {parts[1] for parts in names} <= {own, "answers", "common"}, relative(path)
        if own in ("answers", "common"):
            assert not {parts[1] for parts in names} & FAMILIES, relative(path)
        if own == "answers":
            assert "common" not in {parts[1] for parts in names}, f"{relative(path)}: common builds upon answers"


def test_only_workers_and_the_demo_use_estimators() -> None:
    for path in SERVICE.glob("*/**/*.py"):
        if package_of(path) not in ("worker", "demo"):
            assert not [name for name in imports_of(path) if name.split(".")[0] == "tercet_algorithms"], relative(path)


def test_imports_point_one_way() -> None:
    for path in SERVICE.glob("*/*.py"):
        own = ROLES.get(path.stem)
        for name in imports_of(path):
            parts = name.split(".")
            if own and parts[0] == "tercet" and len(parts) >= 3 and parts[2] in ROLES:
                allowed = ROLES[parts[2]] < own or (own == ROLES[parts[2]] == 2)
                assert allowed, f"{relative(path)} imports {name}"


def test_one_class_name_means_one_thing() -> None:
    places = defaultdict(list)
    for path in CODE:
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(relative(path))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_templates_and_static_files_lie_in_folders_named_as_packages() -> None:
    packages = {path.name for path in SERVICE.iterdir() if path.is_dir()}
    for kind in ("templates", "static"):
        assert {path.relative_to(ROOT / kind).parts[0] for path in (ROOT / kind).glob("**/*.*")} <= packages


def test_only_the_database_commits_and_what_leases_questions_without_waiting_for_the_disk() -> None:
    for path in CODE:
        if path not in (SERVICE / "database.py", SERVICE / "labeling/sql/drivers.py"):
            assert not re.search(r"\.(commit|begin)\(", path.read_text()), relative(path)


def test_handlers_hold_no_sql() -> None:
    for path in [*SERVICE.glob("*/api.py"), *SERVICE.glob("*/pages.py")]:
        assert not [name for name in imports_of(path) if name.startswith("sqlalchemy")], relative(path)


def definitions_of(path: Path) -> Iterator[tuple[str, list[ast.AST]]]:
    """Yield what each class and each alias of a file is made of: bases and annotations of fields, or the value."""
    for node in tree_of(path).body:
        if isinstance(node, ast.ClassDef):
            yield node.name, [*node.bases, *(line.annotation for line in node.body if isinstance(line, ast.AnnAssign))]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, [node.value]


def annotations_of_handlers() -> Iterator[ast.AST]:
    """Yield the annotations of the parameters of every handler."""
    for path in [*SERVICE.glob("*/*api.py"), *SERVICE.glob("*/*pages.py")]:
        for node in tree_of(path).body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if any(re.match(r"(\w+_)?router\.", ast.unparse(decorator)) for decorator in node.decorator_list):
                yield from (argument.annotation for argument in node.args.args if argument.annotation)


def test_every_number_from_outside_has_a_bounded_type() -> None:
    """Handlers, and all that their parameters are made of, take the types of `web/numbers.py` instead of `int`."""
    definitions: dict[str, list[ast.AST]] = defaultdict(list)
    for path in SERVICE.glob("*/*.py"):
        if path.name != "numbers.py":
            for name, parts in definitions_of(path):
                definitions[name] += parts
    waiting = list(annotations_of_handlers())
    assert len(waiting) > 100
    reached: set[str] = set()
    while waiting:
        annotation = waiting.pop()
        if "Depends(" in ast.unparse(annotation):  # made by a function of ours
            continue
        called = {id(node.func) for node in ast.walk(annotation) if isinstance(node, ast.Call)}
        names = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name) and id(node) not in called}
        assert "int" not in names, f"a number without bounds: {ast.unparse(annotation)}"
        waiting += [part for name in names - reached for part in definitions[name]]
        reached |= names
    assert {"Id", "Count", "ProjectSettings", "AnotherIn", "Filters"} <= reached


def test_routes_with_json_bodies_bound_them() -> None:
    for path in SERVICE.glob("*/*api.py"):
        handlers = [node for node in tree_of(path).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        with_body = [node.name for node in handlers if any(argument.arg == "body" for argument in node.args.args)]
        if "APIRouter(" in path.read_text() and with_body:
            assert "route_class=JsonRoute" in path.read_text(), f"{relative(path)}: {with_body}"


def test_what_handlers_ask_for_goes_through_no_thread() -> None:
    asked = {name for path in CODE for name in re.findall(r"Depends\((\w+)\)", path.read_text())}
    plain = {
        node.name
        for path in CODE
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef) and node.name in asked
    }
    assert plain == {"_place_in_events"}, "only what asks the database may"


def test_templates_never_trust_html() -> None:
    for path in ROOT.glob("templates/**/*.html"):
        text = path.read_text()
        assert "|safe" not in text.replace(" ", ""), relative(path)
        assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=", text), f"{relative(path)}: inline code"


def test_files_that_are_called_slow_or_first_exist() -> None:
    assert [path for path in sorted({*SLOW, *FIRST}) if not (ROOT / "tests" / path).exists()] == []


def test_tests_that_count_no_lines_are_not_traced() -> None:
    """These here are such: tracing them for nothing would take half as long again."""
    assert "coverage" not in repr(sys.gettrace())


def test_no_third_party_file_is_committed() -> None:
    names = [p.name for p in ROOT.glob("static/**/*")]
    assert not [name for name in names if re.search(r"\.min\.(js|css)$", name)]


def assigned_names(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield every name that is assigned to, with its place: variables, loop variables, targets of `with`."""
    for path in sorted(folder.glob("**/*.py")):
        for node in nodes_of(path):
            if isinstance(node, ast.Name):
                yield node.id, f"{relative(path)}:{node.lineno}"


@pytest.mark.parametrize("folder", ["app", "algorithms", "tests", "benchmarks"])
def test_names_say_what_they_name(folder: str) -> None:
    names = list(assigned_names(ROOT / folder))
    assert len(names) > 1000
    filler = [f"{place} {name}" for name, place in names if FILLER.fullmatch(name)]
    assert len(filler) < FILLER_SHARE * len(names), filler
