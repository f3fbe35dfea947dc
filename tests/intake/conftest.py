"""A project of one's own, and files to send."""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from PIL import Image
from scipy.io import wavfile

from tercet.database import Database
from tercet.models import Role
from tests.factories import add_member, make_project, make_token

PROJECT = "/api/v1/projects/songs"


@pytest.fixture
def client(app: FastAPI, database: Database) -> Iterator[TestClient]:
    """A program of the analyst of the empty project 'songs' (2 clusters)."""
    with database.transaction() as session:
        token = make_token(session, add_member(session, make_project(session, n_clusters=2), Role.ANALYST))
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as opened:
        yield opened


def npy(values: Any, **options: Any) -> bytes:
    """An .npy file."""
    out = io.BytesIO()
    np.save(out, np.asarray(values), **options)
    return out.getvalue()


def npz(**arrays: Any) -> bytes:
    """An .npz file."""
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def image(size: tuple[int, int] = (40, 30), kind: str = "PNG", mode: str = "RGB") -> bytes:
    """A picture."""
    out = io.BytesIO()
    Image.new(mode, size, 90).save(out, kind)
    return out.getvalue()


def wav(seconds: float = 0.2, rate: int = 8_000, hz: float = 1_000.0) -> bytes:
    """A tone."""
    out = io.BytesIO()
    tone = 0.5 * np.sin(2 * np.pi * hz * np.arange(int(seconds * rate)) / rate)
    wavfile.write(out, rate, (tone * 32_767).astype(np.int16))
    return out.getvalue()


def post_table(client: TestClient, table: bytes | str, **files: Any) -> Any:
    """Send a table, and what comes with it."""
    content = table.encode() if isinstance(table, str) else table
    parts = [("table", ("items.csv", content)), *((field, part) for field, part in files.items())]
    return client.post(f"{PROJECT}/items", files=parts)
