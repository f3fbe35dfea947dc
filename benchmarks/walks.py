"""What a reader follows on three walks: the functions entered, the files they stand in, the switches between files.

python -m benchmarks.walks            prints one line a walk; SQLite, in one process, the second request of its kind
"""

import io
import sys
import tempfile
import threading
import uuid
import wave
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from fastapi.testclient import TestClient

import tercet
import tercet_algorithms
from tercet import DCRC, migrate
from tercet.main import create_app
from tercet.models import Role
from tercet.settings import Settings
from tests.factories import add_member, make_project, signed_in

ROOTS = tuple(str(Path(package.__file__ or "").parent) for package in (tercet, tercet_algorithms))
SONGS = "/api/v1/projects/songs"


class Walk:
    """The calls of our own functions, in the order in which they are entered, in every thread."""

    def __init__(self) -> None:
        """Begin with none."""
        self.entered: list[tuple[str, str]] = []
        self.frames: set[FrameType] = set()
        self.following = False

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call; Python calls this at each of them, and at each time that a coroutine or generator goes on."""
        name = frame.f_code.co_filename
        is_new = event == "call" and self.following and frame not in self.frames
        if is_new and name.startswith(ROOTS) and not frame.f_code.co_name.startswith("<"):
            self.frames.add(frame)
            self.entered.append((name, frame.f_code.co_qualname))

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Note what is called meanwhile."""
        self.entered.clear()
        self.frames.clear()
        self.following = True
        yield
        self.following = False

    def line(self, title: str) -> str:
        """Describe the walk."""
        files = [file for file, _ in self.entered]
        switches = sum(a != b for a, b in pairwise(files))
        counts = f"{len(self.entered):4} calls of {len(set(self.entered)):3} functions in {len(set(files)):2} files"
        return f"{title:<42} {counts}, {switches:3} file switches"


def wav() -> bytes:
    """Return a tenth of a second of a tone."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16_000)
        sound.writeframes((8_000 * np.sin(np.arange(1_600) / 3)).astype("<i2").tobytes())
    return buffer.getvalue()


def answer(client: TestClient, triplet: list[str]) -> None:
    """Answer one question."""
    body = {"id": str(uuid.uuid4()), "triplet": triplet, "answer": "yes", "response_ms": 900}
    response = client.post(f"{SONGS}/answers", json=body)
    assert response.is_success, response.text


def next_triplet(client: TestClient) -> list[str]:
    """Lease one question."""
    triplet: list[str] = client.get(f"{SONGS}/triplets/next", params={"n": 1}).json()["triplets"][0]["triplet"]
    return triplet


def import_songs(client: TestClient, first: int) -> None:
    """Send a table of two songs with their sounds."""
    names = [f"song-{first}", f"song-{first + 1}"]
    table = "key,media\n" + "".join(f"{name},{name}.wav\n" for name in names)
    files: list[Any] = [("table", ("items.csv", table.encode(), "text/csv"))]
    files += [("media", (f"{name}.wav", wav(), "audio/wav")) for name in names]
    response = client.post(f"{SONGS}/items", files=files)
    assert response.status_code == 201, response.text


def fit() -> None:
    """Fit DCRC to ninety items and three answers."""
    X = np.random.default_rng(0).normal(size=(90, 5)) + 2 * np.repeat(np.eye(3, 5), 30, axis=0)
    DCRC(3, n_init=1, n_moves=0, random_state=0).fit(
        X, triplets=[[0, 4, 70], [33, 8, 41], [2, 40, 88]], answers=["yes", "no", "dnk"]
    )


def main() -> None:
    """Make a project in a folder of its own and go the walks."""
    walk = Walk()
    threading.setprofile(walk.note)
    sys.setprofile(walk.note)

    def go(title: str, step: Callable[[], object]) -> None:
        with walk.followed():
            step()
        print(walk.line(title))

    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings(data=Path(folder), workers=0))
        migrate.upgrade(app.state.database)
        with app.state.database.transaction() as session:
            project = make_project(session, n_items=12)
            labeler, owner = (add_member(session, project, role) for role in (Role.LABELER, Role.OWNER))
        with signed_in(app, labeler) as client, signed_in(app, owner) as owned:
            answer(client, next_triplet(client))
            triplet = next_triplet(client)
            go("one answer, its question known", lambda: answer(client, triplet))
            answer(client, ["item-0", "item-1", "item-2"])
            go("one answer, its question new", lambda: answer(client, ["item-9", "item-10", "item-11"]))
            go("next question", lambda: next_triplet(client))
            import_songs(owned, 1)
            go("two sounds and their table imported", lambda: import_songs(owned, 3))
    go("DCRC.fit", fit)


if __name__ == "__main__":
    main()
