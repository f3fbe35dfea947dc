"""The Jinja environment, and `render`, with which every page handler ends."""

import json
import re
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.ext import Extension

from tercet.request_context import local
from tercet.settings import asset
from tercet.web.languages import ENGLISH, Words, current, gettext, ngettext, words_of
from tercet.web.markdown import to_html
from tercet.web.static_files import address_of, module

ADDRESS = re.compile(r'(?<=\s)((?:href|src|action|data-[a-z-]+)=")(?=/(?!/))')
STATIC = re.compile(r'(?<==")/static/')


class LocalAddresses(Extension):
    """Puts the path below which the service is reached before the addresses that attributes of templates begin with.

    Those of scripts, styles and pictures get the version under which browsers keep them.
    """

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Return the template with `href="/help"` as `href="{{ local('') }}/help"`."""
        return ADDRESS.sub(r"\1{{ local('') }}", STATIC.sub(address_of(""), source))


@cache
def _environment() -> Environment:
    loader = FileSystemLoader(asset("templates"))
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        extensions=["jinja2.ext.i18n", LocalAddresses],
    )
    environment.globals |= {"local": local, "module": module}
    environment.install_gettext_callables(gettext, ngettext, newstyle=True)  # type: ignore[attr-defined]
    environment.lstrip_blocks = True
    environment.filters["json"] = lambda value: json.dumps(value, default=str)
    environment.filters["markdown"] = to_html
    environment.filters["path"] = lambda value: quote(str(value), safe="")
    environment.filters["iso"] = lambda value: value.isoformat(timespec="seconds")
    environment.filters["day"] = lambda value: datetime.strftime(value, "%-d %B %Y %H:%M UTC")
    environment.filters["date"] = lambda value: datetime.strftime(value, "%-d %B %Y")
    return environment


def site_address(request: Request) -> str:
    """Return the public address of this server: as configured, or else that of the request."""
    public: str = request.app.state.settings.public_url
    return (public or str(request.base_url)).rstrip("/")


def fill(template: str, **context: Any) -> str:
    """Render a template without a request, for files."""
    return _environment().get_template(template).render(**context)


def render(
    request: Request, template: str, *, status_code: int = 200, words: Words | None = None, **context: Any
) -> HTMLResponse:
    """Render one template; `signed_in` tells the page frame whether to offer sign-out.

    Pages that labelers see give the `words` of their language; all others are in English.
    """
    signed_in = "tercet" in request.cookies
    page = _environment().get_template(template)
    headers = {} if words is None else {"Content-Language": words.language, "Vary": "Accept-Language, Cookie"}
    words = words or words_of(ENGLISH)
    context |= {"language": words.language, "direction": words.direction, "for_scripts": words.for_scripts}
    token = current.set(words)
    try:
        body = page.render(request=request, signed_in=signed_in, **context)
    finally:
        current.reset(token)
    return HTMLResponse(body, status_code, headers)
