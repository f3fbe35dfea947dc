"""A wheel installed somewhere else works as the checkout does: pages, styles, migrations and types travel along.

The wheel is built from a source archive of a tagged copy, since both have to know the version without the other's help.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
import time
import venv
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from tercet.demo.server import free_port

ROOT = Path(__file__).resolve().parent.parent
PARTS = ["app", "algorithms", "templates", "static", "migrations"]
FILES = ["pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"]
VERSION = "1.2.3"
FIT = """
import numpy as np
from tercet import DCRC

X = np.random.default_rng(0).normal(size=(60, 2)) + 9 * np.repeat(np.eye(3, 2), 20, axis=0)
print(len(set(DCRC(3, random_state=0).fit_predict(X, triplets=[[0, 1, 30]], answers=["yes"]))))
"""
TYPES = "import tercet\nfrom tercet import DCRC\nreveal_type(tercet.__version__)\nreveal_type(DCRC(3).tau)\n"
IGNORED = shutil.ignore_patterns("__pycache__", "machine_code")


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "TERCET"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=variables | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tagged_copy(folder: Path) -> Path:
    """Copy what goes into a wheel, so that nothing of the checkout can be found by accident, and tag it."""
    folder.mkdir()
    for part in PARTS:
        shutil.copytree(ROOT / part, folder / part, ignore=IGNORED)
    for file in FILES:
        shutil.copy(ROOT / file, folder / file)
    identity = ["-c", "user.name=Tests", "-c", "user.email=tests@example.org"]
    run("git", "init", "--quiet", cwd=folder)
    run("git", "add", ".", cwd=folder)
    run("git", *identity, "commit", "--quiet", "--message", "Release", cwd=folder)
    run("git", "tag", f"v{VERSION}", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made from a source archive, as `pip install` of one makes it."""
    work = tmp_path_factory.mktemp("wheel")
    source = tagged_copy(work / "source")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", work, source, cwd=work)
    shutil.rmtree(source)
    return next(work.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The bin folder of a fresh environment with the wheel, and with what it depends on from the tests' environment."""
    folder = wheel.parent / "environment"
    # To bring a pip of its own takes longer than all else here.
    venv.create(folder, symlinks=True, with_pip=find_spec("pip") is None)
    [site] = folder.glob("lib/python*/site-packages")
    # One by one: the checkout under test must not be seen, neither installed nor by an editable installation's .pth.
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if "tercet" not in entry.name and entry.suffix != ".pth" and not (site / entry.name).exists():
            (site / entry.name).symlink_to(entry)
    install = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    run(*install, wheel, cwd=wheel.parent)
    return folder / "bin"


@pytest.fixture
def crowded(tmp_path: Path) -> Path:
    """A folder with names of its own that were ours once, or are the names of our folders."""
    for name in ("app", "tests", "algorithms", "templates"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('this is the user\\'s own')\n")
    (tmp_path / "algorithms.py").write_text("raise ImportError('this is the user\\'s own')\n")
    return tmp_path


def test_the_wheel_takes_two_names_and_says_its_types(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    metadata = f"tercet-{VERSION}.dist-info"
    assert {name.split("/")[0] for name in names} == {"tercet", "tercet_algorithms", metadata}
    assert {"tercet/py.typed", "tercet_algorithms/py.typed"} <= set(names)


def test_command_import_and_fit_among_a_users_own_folders(installed: Path, crowded: Path) -> None:
    assert run(installed / "tercet", "--version", cwd=crowded, PYTHONPATH=".") == f"tercet {VERSION}\n"
    assert "serve" in run(installed / "tercet", "--help", cwd=crowded, PYTHONPATH=".")
    assert run(installed / "python", "-c", FIT, cwd=crowded, PYTHONPATH=".") == "3\n"


@pytest.mark.heavy
def test_users_see_types(installed: Path, crowded: Path) -> None:
    (crowded / "use.py").write_text(TYPES)
    output = run(installed / "python", "-m", "mypy", "--cache-dir", crowded / "cache", "use.py", cwd=crowded)
    assert [line.split("Revealed type is ")[1] for line in output.splitlines() if "Revealed" in line] == [
        '"str"',
        '"float"',
    ]


def wait_until_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server ended"
        try:
            if httpx.get(f"{url}/readyz", timeout=2).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("the server was not ready in time")


@pytest.fixture
def server(installed: Path, crowded: Path) -> Iterator[str]:
    """The address of a server that the installed command started in the folder."""
    port = free_port()
    command = [str(installed / "tercet"), "serve", "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": ".", "TERCET_WORKERS": "0"}
    with subprocess.Popen(command, cwd=crowded, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_ready(url, process)
            yield url
        finally:
            process.terminate()


def test_the_installed_server_has_all_its_files(server: str, installed: Path, crowded: Path) -> None:
    page = httpx.get(server, headers={"Accept": "text/html"})
    assert page.status_code == 401
    assert "Tercet" in page.text
    for file in sorted(path for path in (ROOT / "static").rglob("*") if path.is_file()):
        address = f"{server}/static/{file.relative_to(ROOT / 'static').as_posix()}"
        assert httpx.get(address).content == file.read_bytes()
    [package] = installed.parent.glob("lib/python*/site-packages/tercet")
    for part in ("templates", "static", "migrations"):
        files = {path.relative_to(ROOT / part) for path in (ROOT / part).rglob("*.*") if path.suffix != ".pyc"}
        assert files <= {path.relative_to(package / part) for path in (package / part).rglob("*.*")}
    with sqlite3.connect(crowded / "tercet-data" / "tercet.db") as database:
        revision = database.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    assert list((ROOT / "migrations" / "versions").glob(f"{revision}*.py"))
