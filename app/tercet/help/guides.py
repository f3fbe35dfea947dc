"""Guides to learn from: Markdown files with programs that the tests run, shown under /help."""

from functools import cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markupsafe import Markup

from tercet.request_context import local
from tercet.settings import asset

FOLDER = asset("templates") / "help" / "guides"
# In the order of the list: for whom first, then what everybody asks.
NAMES = ("songs", "faces", "digits", "study", "constraints", "webhooks", "questions", "formats", "stored", "faq")


class Guide(NamedTuple):
    """One guide: its name in the address, its title, for whom it is, and all of it as HTML."""

    name: str
    title: str
    lead: Markup
    html: Markup


def read_guide(name: str) -> Guide:
    """Read a guide; its heading is the title."""
    guide = _parsed(name)
    lead, html = (text.replace(Markup('="/'), Markup('="') + local("/")) for text in (guide.lead, guide.html))
    return guide._replace(lead=lead, html=html)


@cache
def _parsed(name: str) -> Guide:
    """Read a guide, with addresses as at the top of a host."""
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    lead = parser.renderInline(tokens[4].content) if tokens[3].type == "paragraph_open" else ""  # under the title
    html = parser.renderer.render(tokens, parser.options, {})
    html = html.replace("<pre>", '<pre tabindex="0">').replace("<table>", '<div class="scroll" tabindex="0"><table>')
    html = html.replace("</table>", "</table></div>")
    return Guide(name, tokens[1].content, Markup(lead), Markup(html))  # noqa: S704 - our own text


def read_guides() -> list[Guide]:
    """Read all guides, in the order of the list."""
    return [read_guide(name) for name in NAMES]
