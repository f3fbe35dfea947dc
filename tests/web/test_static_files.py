"""Browsers keep scripts and styles until a release changes one, and load all modules of a page at once."""

import re
import shutil
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tercet.settings import asset
from tercet.web import static_files
from tercet.web.static_files import address_of, imports_of, version

ONE_KIND = pytest.mark.only_on("sqlite")
FILE = "web/live.js"


@ONE_KIND
def test_the_present_version_is_kept_for_good(anonymous: TestClient) -> None:
    response = anonymous.get(address_of(FILE))
    assert response.content == (asset("static") / FILE).read_bytes()
    assert "immutable" in response.headers["cache-control"]
    unchanged = anonymous.get(address_of(FILE), headers={"If-None-Match": response.headers["etag"]})
    assert (unchanged.status_code, "immutable" in unchanged.headers["cache-control"]) == (304, True)


@ONE_KIND
@pytest.mark.parametrize("folder", ["/static", "/static/0123456789abcdef"])
def test_no_or_another_version_is_asked_for_again(anonymous: TestClient, folder: str) -> None:
    response = anonymous.get(f"{folder}/{FILE}")
    assert response.content == (asset("static") / FILE).read_bytes()
    assert response.headers["cache-control"] == "private, no-cache"


@ONE_KIND
@pytest.mark.parametrize("name", ["web/none.js", "", "%2e%2e/pyproject.toml", "web"])
def test_what_is_no_file_is_not_there(anonymous: TestClient, name: str) -> None:
    for address in (f"/static/{name}", address_of(name)):
        response = anonymous.get(address)
        assert response.status_code == 404, address
        assert "immutable" not in response.headers["cache-control"]


@ONE_KIND
def test_every_file_of_a_page_is_of_the_present_version(anonymous: TestClient) -> None:
    files = re.findall(r'(?:href|src)="/static/([^"]+)"', anonymous.get("/help").text)
    assert len(files) >= 3
    assert all(file.startswith(f"{version()}/") for file in files)


def test_a_file_that_changes_moves_or_goes_is_another_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "static"
    shutil.copytree(asset("static") / "web", folder / "web")
    monkeypatch.setattr(static_files, "asset", lambda name: tmp_path / name)
    make = version.__wrapped__
    versions = [make(), make()]
    (folder / FILE).write_text((folder / FILE).read_text() + "\n")
    versions.append(make())
    (folder / FILE).rename(folder / "web" / "later.js")
    versions.append(make())
    (folder / "web" / "later.js").unlink()
    versions.append(make())
    assert versions[0] == versions[1]
    assert len(set(versions)) == 4
    assert all(static_files.VERSION.fullmatch(each) for each in versions)


def test_imports_of_imports_are_found_once_whatever_lines_they_take(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sources = {
        "page/page.js": 'import { one,\n  two\n} from "../web/a.js";\nimport "./b.js";\nconst text = "./no.js";\n',
        "page/b.js": 'export { two } from "../web/a.js";\nimport * as page from "./page.js";\n',
        "web/a.js": 'import { deep } from "./deep/c.js";\n',
        "web/deep/c.js": "export const deep = 1;\n",
    }
    for name, source in sources.items():
        path = tmp_path / "static" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    monkeypatch.setattr(static_files, "asset", lambda name: tmp_path / name)
    assert imports_of.__wrapped__("page/page.js") == ("web/a.js", "page/b.js", "web/deep/c.js")
