"""Settings that are wrong start nothing, and nobody else on the machine reads what the server stores."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tercet.database import Database
from tercet.settings import Settings

TERCET = [sys.executable, "-m", "tercet.cli"]


def test_the_server_says_why_it_does_not_start(tmp_path: Path) -> None:
    environment = {**os.environ, "TERCET_DATA": str(tmp_path), "TERCET_WORKERS": "-1"}
    ended = subprocess.run([*TERCET, "serve", "--port", "1"], env=environment, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "TERCET_WORKERS" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_provider_needs_a_client() -> None:
    with pytest.raises(ValueError, match="TERCET_OIDC_CLIENT_ID is missing"):
        Settings(oidc_issuer="https://sso.example.org")


def test_secrets_come_from_files_and_urls_as_hosts_write_them(tmp_path: Path) -> None:
    (tmp_path / "tercet_database_url").write_text("postgres://ada:secret@db.example.org/songs\n")
    settings = Settings(_secrets_dir=tmp_path)  # type: ignore[call-arg]
    database = Database(settings.resolved_database_url())
    assert (database.url.drivername, database.url.password, database.url.host) == (
        "postgresql+psycopg",
        "secret",
        "db.example.org",
    )


CODE = """
import os, sys
from pathlib import Path
os.umask(0o022)
from tercet.database import Database
from tercet.migrate import upgrade
from tercet.settings import Settings, keep_private
from tercet.storage import Storage
settings = Settings(data=Path(sys.argv[1]))
def write(name):
    database = Database(settings.resolved_database_url())
    upgrade(database)
    Storage(settings.resolved_storage_url()).put(f"media/ab/{name}", b"a song")
    with database.transaction() as session:
        print(*sorted(oct(p.stat().st_mode & 0o777) + " " + p.name for p in settings.data.rglob("*")), sep="\\n")
write("before")
keep_private(settings)
write("after")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are of Unix")
def test_nobody_else_reads_the_data(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    subprocess.run([sys.executable, "-c", CODE, str(folder)], check=True, capture_output=True)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}
    assert files.pop("before") == 0o644, "the folder above is closed"
    assert {"tercet.db", "after"} <= set(files)
    assert set(files.values()) == {0o600}
