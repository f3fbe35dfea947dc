"""Draws who imports whom, out of the code: `python -m benchmarks.architecture` writes static/help/architecture.svg.

Boxes are packages, and modules beside them; the service stands on the left, the estimators on the right. A box stands
above all that it imports, as low as it can. A line is left out where a longer way through other boxes says the same.
"""

import ast
from functools import cache
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "static" / "help" / "architecture.svg"
SOURCES = {"tercet": ROOT / "app" / "tercet", "tercet_algorithms": ROOT / "algorithms" / "tercet_algorithms"}
TITLE = (
    "Who imports whom: the service in white boxes, the estimators in green ones; each box stands above what it imports."
)
BOX_WIDTH, BOX_HEIGHT, GAP, ROW, MARGIN = 118, 34, 16, 86, 24
STYLE = """
    text { font: 14px system-ui, sans-serif; fill: #1d252c; text-anchor: middle; }
    rect { fill: #ffffff; stroke: #3b4650; stroke-width: 1.5; }
    rect.estimators { fill: #dcebe3; }
    rect.ground { fill: #fbfaf7; stroke: none; }
    path { fill: none; stroke: #8a949c; stroke-width: 1.2; }
"""

Graph = dict[str, set[str]]


def boxes_of_package(package: str, folder: Path) -> list[str]:
    """Return the packages and modules that lie directly in a folder."""
    entries = [path for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    return [f"{package}.{path.stem}" for path in entries if path.stem != "__init__"]


def modules_imported_by(path: Path) -> set[str]:
    """Return the names that a file imports when it runs; what only type checkers see does not count."""
    names: set[str] = set()
    statements: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while statements:
        node = statements.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        statements += ast.iter_child_nodes(node)
    return names


def offered_by(folder: Path) -> dict[str, str]:
    """Return where the names come from that a package offers as its own, as in `from tercet import DCRC`."""
    tree = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {f"{folder.name}.{alias.name}": f"{node.module}.{alias.name}" for node in imports for alias in node.names}


def read_graph() -> Graph:
    """Return for every box the boxes that it imports."""
    boxes = {box for package, folder in SOURCES.items() for box in boxes_of_package(package, folder)}
    origins = {name: origin for folder in SOURCES.values() for name, origin in offered_by(folder).items()}
    graph: Graph = {box: set() for box in boxes}
    for package, folder in SOURCES.items():
        for path in folder.glob("**/*.py"):
            importer = ".".join((package, path.relative_to(folder).with_suffix("").parts[0]))
            if importer in boxes:
                names = {origins.get(name, name) for name in modules_imported_by(path)}
                graph[importer] |= ({".".join(name.split(".")[:2]) for name in names} & boxes) - {importer}
    return graph


def without_shortcuts(graph: Graph) -> Graph:
    """Drop every line for which there is a longer way."""

    @cache
    def reachable(box: str) -> frozenset[str]:
        return frozenset(graph[box]).union(*(reachable(lower) for lower in graph[box]))

    return {
        box: {lower for lower in imported if not any(lower in reachable(via) for via in imported - {lower})}
        for box, imported in graph.items()
    }


def rows_of(graph: Graph, package: str) -> list[list[str]]:
    """Put the boxes of a package in rows, the lowest first, each above all of the package that it imports."""
    boxes = sorted(box for box in graph if box.startswith(f"{package}."))

    @cache
    def level(box: str) -> int:
        return max((level(lower) + 1 for lower in graph[box].intersection(boxes)), default=0)

    return [[box for box in boxes if level(box) == number] for number in range(max(map(level, boxes)) + 1)]


def width_of(row: list[str]) -> float:
    """Return how wide a row is."""
    return len(row) * (BOX_WIDTH + GAP) - GAP


def draw(graph: Graph) -> str:
    """Write the picture."""
    columns = [rows_of(graph, package) for package in SOURCES]
    height = (max(map(len, columns)) - 1) * ROW + BOX_HEIGHT + 2 * MARGIN
    corner = {}
    x: float = MARGIN
    for rows in columns:
        width = max(map(width_of, rows))
        for number, row in enumerate(rows):
            y = height - MARGIN - BOX_HEIGHT - number * ROW
            for position, box in enumerate(row):
                corner[box] = (x + (width - width_of(row)) / 2 + position * (BOX_WIDTH + GAP), y)
        x += width + 2 * MARGIN
    x -= MARGIN
    edges = {box: sorted(imported) for box, imported in sorted(without_shortcuts(graph).items())}
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {x:g} {height}" role="img" aria-labelledby="t">',
            f'  <title id="t">{escape(TITLE)}</title>',
            f"  <style>{STYLE}  </style>",
            f'  <rect class="ground" width="{x:g}" height="{height}" rx="12"/>',
            *(curve(corner[box], corner[lower]) for box, imported in edges.items() for lower in imported),
            *(rectangle(box, *place) for box, place in corner.items()),
            "</svg>\n",
        ]
    )


def curve(upper: tuple[float, float], lower: tuple[float, float]) -> str:
    """Draw a line from the bottom of one box to the top of another."""
    (x1, y1), (x2, y2) = upper, lower
    x1, y1, x2 = x1 + BOX_WIDTH / 2, y1 + BOX_HEIGHT, x2 + BOX_WIDTH / 2
    return f'  <path d="M{x1:g} {y1:g}C{x1:g} {y1 + ROW / 2:g} {x2:g} {y2 - ROW / 2:g} {x2:g} {y2:g}"/>'


def rectangle(box: str, x: float, y: float) -> str:
    """Draw a box with its name."""
    package, name = box.split(".")
    kind = ' class="estimators"' if package == "tercet_algorithms" else ""
    text = f'<text x="{x + BOX_WIDTH / 2:g}" y="{y + BOX_HEIGHT / 2 + 5:g}">{escape(name)}</text>'
    return f'  <rect{kind} x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"/>{text}'


if __name__ == "__main__":
    FILE.write_text(draw(read_graph()), encoding="utf-8")
    print(f"{FILE.relative_to(ROOT)} is written.")
