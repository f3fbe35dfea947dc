"""Turns what owners write in Markdown into HTML that can do no harm: no tags, no scripts, no foreign pictures."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from tercet.request_context import local

# A heading of a text stands below those of the page around it.
LEVELS_DOWN = 2
LOWEST_LEVEL = 6

PictureAddress = Callable[[str], str]


def to_html(text: str, picture_address: PictureAddress | None = None) -> Markup:
    """Return a Markdown text as HTML; `![words](item)` is the item's picture, or its words without `picture_address`.

    Tags in the text are shown as they are, and a link can only be a web address, a mail address or one of this server.
    """
    tokens = _PARSER.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + LEVELS_DOWN, LOWEST_LEVEL)}"
    html = _PARSER.renderer.render(tokens, _PARSER.options, {"picture_address": picture_address})
    return Markup(html)  # noqa: S704 - the parser escapes every tag of the text


def _render_image(_: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: dict[str, Any]) -> str:
    token = tokens[place]
    address: PictureAddress | None = env["picture_address"]
    words = escape(token.content)
    if address is None:
        return str(words)
    return str(
        Markup('<img src="{}" alt="{}" loading="lazy">').format(address(unquote(str(token.attrs["src"]))), words)
    )


def _render_link(renderer: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: dict[str, Any]) -> str:
    address = str(tokens[place].attrs["href"])
    if address.startswith("/") and not address.startswith("//"):
        tokens[place].attrs["href"] = local(address)
    return renderer.renderToken(tokens, place, options, env)


# In what owners wrote before it was Markdown, a new line is a new line.
_PARSER = MarkdownIt("commonmark", {"html": False, "breaks": True})
_PARSER.add_render_rule("image", _render_image)
_PARSER.add_render_rule("link_open", _render_link)
