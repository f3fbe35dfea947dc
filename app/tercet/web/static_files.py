"""Scripts, styles and pictures of pages: below /static, and below an address that names what all of them hold.

Pages link to `/static/VERSION/web/live.js`, and modules import each other by relative addresses, so below the same
version. A browser keeps these files and asks for none of them again, until another release changes what they hold.
"""

import hashlib
import os
import re
from functools import cache
from posixpath import join, normpath

from fastapi.staticfiles import StaticFiles
from markupsafe import Markup
from starlette.responses import Response
from starlette.types import Scope

from tercet.request_context import local
from tercet.settings import asset

VERSION = re.compile(r"[0-9a-f]{16}")  # no folder is named like one
FOREVER = "public, max-age=31536000, immutable"
# A statement may take several lines; its last one names the module.
IMPORT = re.compile(r'^(?:import|export|})[^"\n]*"(\.{1,2}/[^"]+)"', re.MULTILINE)
PRELOAD = Markup('<link rel="modulepreload" href="{}">\n')
SCRIPT = Markup('<script type="module" src="{}"></script>')


@cache
def version() -> str:
    """Return what stands for the contents of all files, as 16 hexadecimal digits."""
    folder = asset("static")
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def address_of(name: str) -> str:
    """Return the address of a file below /static under which browsers keep it."""
    return f"/static/{version()}/{name}"


@cache
def imports_of(name: str) -> tuple[str, ...]:
    """Return the modules that a module imports, and those that these import, as names below /static."""
    names = [name]
    for module in names:
        source = (asset("static") / module).read_text(encoding="utf-8")
        imported = (normpath(join(module, "..", path)) for path in IMPORT.findall(source))
        names += [other for other in dict.fromkeys(imported) if other not in names]
    return tuple(names[1:])


def module(name: str) -> Markup:
    """Return the tags that load a module and, at once, all that it imports.

    A browser would find each import only when it has read the module before: six round trips on the dashboard.
    """
    links = [PRELOAD.format(local(address_of(other))) for other in imports_of(name)]
    return Markup().join([*links, SCRIPT.format(local(address_of(name)))])


class VersionedFiles(StaticFiles):
    """The files, each below any version or none; browsers keep those of the present version alone.

    A page of before an upgrade, or of another process during one, still gets the files that are there.
    """

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return the file at a path below the folder, which may begin with a version."""
        first, _, name = path.partition(os.sep)
        response = await super().get_response(name if VERSION.fullmatch(first) else path, scope)
        if first == version():
            response.headers["Cache-Control"] = FOREVER
        return response
