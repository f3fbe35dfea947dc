"""A wheel installed somewhere else works as the checkout does: pages, styles and migrations travel along."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import httpx

from app.demo.server import free_port

ROOT = Path(__file__).resolve().parent.parent
PARTS = ["app", "algorithms", "templates", "static", "migrations", "pyproject.toml", "README.md", "LICENSE"]


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_and_install(work: Path) -> Path:
    """Build from a copy, so that nothing of the checkout can be found by accident, and install beside it."""
    source = work / "source"
    source.mkdir()
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, source / part)
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(work), cwd=source)
    wheel = next(work.glob("*.whl"))
    shutil.rmtree(source)
    site = work / "site"
    run(
        sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", str(site), str(wheel), cwd=work
    )
    return site


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


def test_the_wheel_works_from_an_empty_directory(tmp_path: Path) -> None:
    site = build_and_install(tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(site), "TERCET_WORKERS": "0"}
    port = free_port()
    command = [sys.executable, "-P", str(site / "bin" / "tercet"), "serve", "--port", str(port)]
    with subprocess.Popen(command, cwd=empty, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_ready(url, process)
            page = httpx.get(url, headers={"Accept": "text/html"})
            assert page.status_code == 401
            assert "Tercet" in page.text
            for file in sorted(path for path in (ROOT / "static").rglob("*") if path.is_file()):
                address = f"{url}/static/{file.relative_to(ROOT / 'static').as_posix()}"
                assert httpx.get(address).content == file.read_bytes()
        finally:
            process.terminate()
    for part in ("templates", "static", "migrations"):
        wanted = {path.relative_to(ROOT / part) for path in (ROOT / part).rglob("*.*") if path.suffix != ".pyc"}
        assert wanted <= {path.relative_to(site / "app" / part) for path in (site / "app" / part).rglob("*.*")}
    with sqlite3.connect(empty / "tercet-data" / "tercet.db") as database:
        revision = database.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    assert list((ROOT / "migrations" / "versions").glob(f"{revision}*.py"))
