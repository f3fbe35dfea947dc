"""What is written cannot drift: settings and commands of the README, files of the walks, the picture of the imports."""

import ast
import re
import warnings
from pathlib import Path

import pytest
from typer.main import get_command

from benchmarks import architecture
from tercet.cli import cli
from tercet.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]


def settings_table() -> str:
    """The table as the README must show it."""
    rows = ["| variable | default | meaning |", "| --- | --- | --- |"]
    for name, field in Settings.model_fields.items():
        default = field.default if str(field.default) else "(empty)"
        rows.append(f"| `TERCET_{name.upper()}` | {default} | {field.description} |")
    return "\n".join(rows)


def test_settings_table() -> None:
    assert settings_table() in README


@pytest.mark.slow
def test_the_python_of_the_readme_runs() -> None:
    code = re.search(r"## In Python, without the service.*?```python\n(.*?)```", README, re.DOTALL)
    assert code is not None
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three answers are few, and the estimators say so
        exec(code[1], names)
    assert len(names["questions"]) == 10  # type: ignore[arg-type]


def test_every_command_of_the_readme_exists() -> None:
    commands = get_command(cli).commands  # type: ignore[attr-defined]
    named = set(re.findall(r"tercet ([a-z]+)", README))
    assert named - set(commands) == set()


def test_every_file_that_is_named_exists() -> None:
    for document in DOCUMENTS:
        text = (ROOT / document).read_text()
        files = set(re.findall(r"`((?:app|algorithms|static|templates|tests|benchmarks|migrations)/[\w./-]+)`", text))
        files |= set(re.findall(r"\]\((?!https?:)([\w./-]+)\)", text))
        assert [file for file in sorted(files) if not (ROOT / file).exists()] == [], document


def test_each_walk_has_ten_lines_with_files() -> None:
    walks = re.findall(r"^### .*\n\n((?:.+\n)+)", CONTRIBUTING.partition("## Three walks")[2], re.MULTILINE)
    assert len(walks) == 3
    for walk in walks:
        lines = walk.splitlines()
        assert [line.split(".")[0] for line in lines] == [str(number) for number in range(1, 11)]
        assert all(".py`" in line or ".js`" in line for line in lines)


def test_what_the_walks_name_is_defined_in_their_files() -> None:
    named = re.findall(r"`([\w/]+\.py)`: `(?:\w+\.)?(\w+)`", CONTRIBUTING)
    assert named
    assert [
        (file, name)
        for file, name in named
        if not re.search(rf"^ *(?:async )?(?:def|class) {name}\b", (ROOT / file).read_text(), re.MULTILINE)
    ] == []


GLOSSARIES = [path for path in sorted(ROOT.glob("a*/tercet*/**/__init__.py")) if path.read_text().strip()]


@pytest.mark.parametrize("path", GLOSSARIES, ids=lambda path: path.parent.name)
def test_the_words_of_a_glossary_are_those_of_the_code(path: Path) -> None:
    """A package's docstring lists what it calls its things; a word that its code never says is an old one."""
    doc = ast.get_docstring(ast.parse(path.read_text())) or ""
    terms = re.findall(r"^- ([^:]+):", doc, re.MULTILINE)
    assert terms, "no glossary"
    code = "".join(file.read_text() for file in path.parent.glob("**/*.py") if file != path).lower()
    for term in terms:
        words = [word for word in re.findall(r"[a-z]{3,}", term.lower()) if word not in ("the", "and")]
        assert not words or any(word in code for word in words), term


@pytest.mark.slow
def test_the_picture_of_the_imports_is_up_to_date() -> None:
    drawn = architecture.draw(architecture.read_graph())
    assert architecture.FILE.read_text(encoding="utf-8") == drawn, "run: python -m benchmarks.architecture"


def test_the_changelog_begins_with_what_is_not_released() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d{2}-\d{2}\)", heading) for heading in headings[1:])
