"""Guides run as they are written: their commands by a shell, their programs, and the server where they start one."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from markdown_it import MarkdownIt
from scipy.io import wavfile

from tercet.accounts import service
from tercet.database import Database
from tercet.demo.server import free_port, running_server
from tercet.help.guides import FOLDER, NAMES, read_guides
from tercet.migrate import upgrade
from tercet.models import Scope
from tercet.settings import Settings


def fences(name: str) -> list[tuple[str, str]]:
    """The blocks of a guide: their language, with what is said of it, and their lines."""
    tokens = MarkdownIt().parse((FOLDER / f"{name}.md").read_text())
    return [(token.info, token.content) for token in tokens if token.type == "fence"]


def tone(path: Path, hz: float, parts: int = 1, rate: int = 16_000) -> None:
    """Write so many sounds of a third of a second, with pauses."""
    seconds = np.arange(rate // 3) / rate
    sound = np.concatenate([np.zeros(rate // 2), np.sin(2 * np.pi * hz * seconds) * np.hanning(len(seconds))])
    noise = np.random.default_rng(0).normal(0, 20, parts * len(sound))
    path.parent.mkdir(exist_ok=True)
    wavfile.write(path, rate, (12_000 * np.tile(sound, parts) + noise).astype(np.int16))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the guides' readers have, and an administrator's token in the environment."""
    for number in range(8):
        tone(tmp_path / "clips" / f"song-{number}.wav", 900 + 900 * (number % 4) + 15 * number)
    tone(tmp_path / "dawn" / "morning.wav", 2_000, parts=4)
    (tmp_path / "faces.csv").write_text("key,text\n" + "".join(f"face-{n},Face {n}\n" for n in range(12)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERCET_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "data").mkdir()
    database = Database(Settings().resolved_database_url())
    upgrade(database)
    with database.transaction() as session:
        admin = service.make_user(session, "Admin", email="admin@example.org", is_admin=True)
        monkeypatch.setenv("TERCET_TOKEN", service.make_api_token(session, admin, "guide", Scope.OWN))
    database.close()
    port = free_port()
    monkeypatch.setenv("TERCET_SERVER", f"http://127.0.0.1:{port}")
    return tmp_path


@pytest.mark.heavy
def test_guides_run_as_they_are_written(folder: Path) -> None:
    """One server does for all of them: starting one for each would take a minute."""
    port = int(os.environ["TERCET_SERVER"].rsplit(":", 1)[1])
    settings = {"data": str(folder / "data"), "webhooks_to_private": "true"}
    with running_server(settings, port=port):
        for name in NAMES:
            run_guide(name)


def run_guide(name: str) -> None:
    variables: dict[str, object] = {}
    for language, text in fences(name):
        if language == "python":
            exec(compile(text, f"{name}.md", "exec"), variables)  # our own text
        elif language == "sh server":
            assert text == "tercet serve\n"
        else:
            assert language == "sh"
            done = subprocess.run(["bash", "-eu", "-c", text], capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"


def test_pictures_of_guides_and_readme_are_made_by_the_script() -> None:
    root = Path(__file__).parents[2]
    made = set(re.findall(r'"([\w-]+\.png)"', (root / "benchmarks" / "screenshots.py").read_text()))
    texts = [path.read_text() for path in (*FOLDER.glob("*.md"), root / "README.md")]
    named = {name for text in texts for name in re.findall(r"!\[[^\]]+\]\(/?static/help/([^)]+\.png)\)", text)}
    assert named == made
    pictures = {path.name: path.stat().st_size for path in (root / "static" / "help").glob("*.png")}
    assert set(pictures) == made
    assert max(pictures.values()) < 250_000


def test_all_guides_are_listed_and_shown(anonymous: TestClient) -> None:
    assert {path.stem for path in FOLDER.glob("*.md")} == set(NAMES)
    index = anonymous.get("/help").text
    for guide in read_guides():
        assert f'href="/help/guides/{guide.name}">{guide.title}</a>' in index
        page = anonymous.get(f"/help/guides/{guide.name}")
        assert page.status_code == 200
        assert f"<h1>{guide.title}</h1>" in page.text
        assert page.text.count("<pre") == len(fences(guide.name))
