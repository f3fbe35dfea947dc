"""The README cannot drift: its settings table is the settings class, its commands exist."""

import re
import warnings
from pathlib import Path

from typer.main import get_command

from app.cli import cli
from app.settings import Settings

README = (Path(__file__).resolve().parent.parent / "README.md").read_text()


def settings_table() -> str:
    """The table as the README must show it."""
    rows = ["| variable | default | meaning |", "| --- | --- | --- |"]
    for name, field in Settings.model_fields.items():
        default = field.default if str(field.default) else "(empty)"
        rows.append(f"| `TERCET_{name.upper()}` | {default} | {field.description} |")
    return "\n".join(rows)


def test_settings_table() -> None:
    assert settings_table() in README


def test_the_python_of_the_readme_runs() -> None:
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
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
