"""The page with every number knows all that pages and REST show, and nothing that they do not."""

import re
from pathlib import Path

from fastapi.testclient import TestClient

from tercet.answers.schemas import LabelerOut
from tercet.dashboard.schemas import AnswerFigures, LabelerFigures, NextRun
from tercet.help.numbers import NUMBERS
from tercet.runs.schemas import RUN_EXAMPLE
from tercet.worker.outputs.first_clusters import EARNED

TEMPLATES = Path(__file__).parents[2] / "templates"
ENTRIES = [number for part in NUMBERS.values() for number in part]
# What a "?" is beside and is no number.
NO_NUMBERS = {"another", "edits", "figure-", "focus", "restore", "run-", "telling"}


def marks() -> set[str]:
    """The names of every "?" on the pages; of those with a number at their end, what is before it."""
    return {
        name for path in TEMPLATES.rglob("*.html") for name in re.findall(r'\{% call help\("([^"]+)"', path.read_text())
    }


def fields() -> set[str]:
    """The names of the numbers in what REST says of a run, of answers, of labelers and of what comes next."""
    models = (AnswerFigures, LabelerFigures, NextRun, LabelerOut)
    of_models = {
        name
        for model in models
        for name, field in model.model_fields.items()
        if re.search(r"\b(int|float)\b", str(field.annotation)) and name not in ("number", "labeler", "id")
    }
    return of_models | {name for name, value in RUN_EXAMPLE["metrics"].items() if not isinstance(value, str)}


def test_every_number_of_the_pages_is_explained() -> None:
    explained = {mark for entry in ENTRIES for mark in entry.marks}
    assert marks() - NO_NUMBERS == explained


def test_every_number_over_rest_is_explained() -> None:
    explained = [field for entry in ENTRIES for field in entry.fields]
    assert len(explained) == len(set(explained)), "a field is explained twice"
    assert fields() - set(explained) == set()


def test_the_page_shows_all_of_it(anonymous: TestClient) -> None:
    assert 'href="/help/numbers"' in anonymous.get("/help").text
    page = anonymous.get("/help/numbers").text
    assert [entry.title for entry in ENTRIES if f">{entry.title}</h3>" not in page] == []


def test_what_the_fit_has_to_earn_is_the_same_everywhere() -> None:
    readme = (TEMPLATES.parent / "README.md").read_text()
    texts = [readme, *(entry.how for entry in ENTRIES if "first-clusters" in entry.marks)]
    named = [number for text in texts for number in re.findall(r"([\d,]+) times as\s+probable", text)]
    assert named == [f"{EARNED:,.0f}"] * 3
