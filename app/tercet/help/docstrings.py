"""Parses numpydoc docstrings, as far as this project uses the format: text, sections, lists and examples.

The numpydoc package would bring Sphinx along, for less than a page of code.
"""

import inspect
import re
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, NamedTuple

# Sections that list names; the text of the others, such as Notes, stays text.
LISTS = {"Parameters", "Attributes", "Returns", "Raises", "Yields", "Warns", "Other Parameters"}
HEADING = re.compile(r"^(?P<title>\w[\w ]*)\n-{3,}$", re.MULTILINE)
# An item of a list, or of a list of references: "- text", ".. [1] text".
BULLET = re.compile(r"^(?:[-*]|\.\.(?= \[)) ")


@dataclass(frozen=True)
class DocBlock:
    """A paragraph, an item of a list or an example."""

    kind: Literal["text", "item", "code"]
    text: str


class DocEntry(NamedTuple):
    """One name of a section, with its type and what it means."""

    name: str
    type: str
    blocks: list[DocBlock]


@dataclass(frozen=True)
class DocSection:
    """A section under its title: entries, or else text."""

    title: str
    entries: list[DocEntry] = field(default_factory=list)
    blocks: list[DocBlock] = field(default_factory=list)


@dataclass(frozen=True)
class Docstring:
    """What stands before the first section, and the sections."""

    blocks: list[DocBlock]
    sections: list[DocSection]

    @property
    def summary(self) -> str:
        """The first paragraph."""
        return self.blocks[0].text if self.blocks else ""


def parse_docstring(text: str) -> Docstring:
    """Read a docstring."""
    lead, *titled = HEADING.split(inspect.cleandoc(text).replace("``", "`"))
    sections = zip(titled[::2], titled[1::2], strict=True)
    return Docstring(parse_blocks(lead), [_parse_section(title, body) for title, body in sections])


def _parse_section(title: str, body: str) -> DocSection:
    if title not in LISTS:
        return DocSection(title, blocks=parse_blocks(body))
    entries: list[DocEntry] = []
    lines = body.strip("\n").splitlines()
    heads = [number for number, line in enumerate(lines) if line and not line[0].isspace()]
    for start, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        name, _, kind = lines[start].partition(" : ")
        description = inspect.cleandoc("\n" + "\n".join(lines[start + 1 : end]))
        entries.append(DocEntry(name.removesuffix(" :").strip(), kind.strip(), parse_blocks(description)))
    return DocSection(title, entries=entries)


def parse_blocks(text: str) -> list[DocBlock]:
    """Split text into paragraphs, items of lists and examples."""
    blocks: list[DocBlock] = []
    for filled, group in groupby(text.splitlines(), key=lambda line: bool(line.strip())):
        if filled:
            blocks += _parse_chunk(list(group))
    return blocks


def _parse_chunk(lines: list[str]) -> list[DocBlock]:
    """Read lines that no empty line divides."""
    if lines[0].lstrip().startswith(">>>"):
        return [DocBlock("code", inspect.cleandoc("\n" + "\n".join(lines)))]
    blocks: list[DocBlock] = []
    for line in lines:
        words = line.strip()
        if bullet := BULLET.match(words):
            blocks.append(DocBlock("item", words[bullet.end() :]))
        elif blocks:
            blocks[-1] = DocBlock(blocks[-1].kind, f"{blocks[-1].text} {words}")
        else:
            blocks.append(DocBlock("text", words))
    return blocks
