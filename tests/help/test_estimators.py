"""The reference pages show every estimator whole, as it is itself, and the page on the architecture every package."""

import html
import inspect
import re
import subprocess
import sys

import pytest
from fastapi.testclient import TestClient

import tercet
from tercet.help.docstrings import DocBlock, DocEntry, parse_docstring
from tercet.help.source import read_class, read_packages

# One kind of database is enough: the pages do not depend on it.
pytestmark = pytest.mark.only_on("sqlite")

REFERENCES = (*tercet.ESTIMATORS, *tercet.MODEL_SELECTION)
EXAMPLE = """
Return a thing.

More of it, which
goes on.

Parameters
----------
X : (N, D) array
    The features.

    Not changed.
y, z :
    Ignored.

Notes
-----
- one
  that goes on
- two

>>> 1 + 1
2
"""


def text_of(page: str) -> str:
    """What people read of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", page)).split())


def test_a_docstring_is_read() -> None:
    doc = parse_docstring(EXAMPLE)
    assert doc.summary == "Return a thing."
    assert doc.blocks[1] == DocBlock("text", "More of it, which goes on.")
    parameters, notes = doc.sections
    assert parameters.entries == [
        DocEntry("X", "(N, D) array", [DocBlock("text", "The features."), DocBlock("text", "Not changed.")]),
        DocEntry("y, z", "", [DocBlock("text", "Ignored.")]),
    ]
    assert notes.title == "Notes"
    assert notes.blocks == [
        DocBlock("item", "one that goes on"),
        DocBlock("item", "two"),
        DocBlock("code", ">>> 1 + 1\n2"),
    ]


@pytest.mark.parametrize("name", REFERENCES)
def test_the_reference_has_all_that_the_estimator_has(anonymous: TestClient, name: str) -> None:
    estimator = getattr(tercet, name)
    text = text_of(anonymous.get(f"/help/estimators/{name}").text)
    for parameter in inspect.signature(estimator).parameters.values():
        assert re.search(rf"\b{parameter.name}\b.*: |{parameter.name}=", text), parameter.name
    ours = {
        method
        for ancestor in estimator.__mro__
        if ancestor.__module__.startswith("tercet_algorithms")
        for method, value in vars(ancestor).items()
        if not method.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))
    }
    assert {method.name for method in read_class(name).methods} == ours
    for method in ours:
        lead = (inspect.getdoc(getattr(estimator, method)) or "").split("\n\n")[0]
        assert " ".join(lead.replace("`", "").split()) in text, method


def test_every_section_of_the_docstrings_is_shown(anonymous: TestClient) -> None:
    for name in REFERENCES:
        page = anonymous.get(f"/help/estimators/{name}").text
        for section in read_class(name).doc.sections:
            assert f"<h2>{section.title}</h2>" in page
            assert all(f"<code>{html.escape(entry.name)}</code>" in page for entry in section.entries)


def test_the_list_leads_to_each(anonymous: TestClient) -> None:
    page = anonymous.get("/help/estimators").text
    assert all(f'href="/help/estimators/{name}"' in page for name in REFERENCES)
    assert anonymous.get("/help/estimators/Unknown").status_code == 404


def test_glossaries_are_lists() -> None:
    for name, doc in read_packages().items():
        texts = [block.text for block in doc.blocks[1:] if block.kind == "text"]
        assert [text for text in texts if re.match(r"[a-z][\w, -]*: ", text)] == [], name


def test_the_architecture_page_describes_every_package(anonymous: TestClient) -> None:
    page = anonymous.get("/help/architecture").text
    assert {"tercet", "tercet.labeling.sql", "tercet_algorithms.dcrc"} <= set(read_packages())
    assert all(f"<code>{name}</code>" in page for name in read_packages())


def test_reading_the_source_loads_no_estimator() -> None:
    code = (
        "import sys; from tercet.help.source import read_class; read_class('DCRC');"
        "print([name for name in sys.modules if name.startswith(('numpy', 'sklearn', 'tercet_algorithms.dcrc'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
