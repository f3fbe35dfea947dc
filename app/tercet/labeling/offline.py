"""What a browser keeps of the labeling page to show it without a network: files, worker script and manifest."""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tercet.models import Project
from tercet.request_context import local
from tercet.settings import asset
from tercet.web import languages
from tercet.web.static_files import address_of

SCRIPT = "labeling/service_worker.js"
FOLDERS = ("labeling", "web")
ICON_SIZES = (192, 512)


@cache
def worker_script() -> str:
    """Return the service worker, which names the files of the page and changes whenever one of them does."""
    files = [path for folder in FOLDERS for path in _files(asset("static") / folder) if not path.match(SCRIPT)]
    templates = [path for folder in FOLDERS for path in _files(asset("templates") / folder)]
    catalogues = _files(languages.FOLDER)
    digest = hashlib.sha256()
    for path in [*files, *templates, *catalogues]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    page = {
        "version": digest.hexdigest()[:16],
        "files": [address_of(path.relative_to(asset("static")).as_posix()).removeprefix("/") for path in files],
    }
    return f"self.page = {json.dumps(page)};\n{(asset('static') / SCRIPT).read_text()}"


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file())


def manifest(project: Project) -> dict[str, Any]:
    """Return what a browser needs to install the labeling page of a project."""
    page = local(f"/projects/{quote(project.key, safe='')}/label")
    icons = [
        {
            "src": local(address_of(f"web/icon-{size}.png")),
            "sizes": f"{size}x{size}",
            "type": "image/png",
            "purpose": purpose,
        }
        for size in ICON_SIZES
        for purpose in ("any", "maskable")
    ]
    return {
        "id": page,
        "name": f"{project.name} · Tercet",
        "short_name": project.name[:30],
        "start_url": page,
        "scope": page,
        "display": "standalone",
        "background_color": "#f7f7f5",
        "theme_color": "#0b6b77",
        "icons": icons,
    }
