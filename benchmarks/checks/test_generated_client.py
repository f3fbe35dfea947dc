"""A client that a generator makes from the OpenAPI description drives a whole project on a real server."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from fastapi import FastAPI

from tercet.accounts import service
from tercet.database import Database
from tercet.demo.server import running_server
from tercet.models import Scope
from tests.factories import make_user

# One kind of database is enough: the description does not depend on it.
pytestmark = pytest.mark.only_on("sqlite")

GENERATOR = "openapi-python-client>=0.29,<0.30"
# What a program does that knows nothing but the generated client: items with pictures, features, answers of its own and
# of somebody else, a run, and what comes out.
WALK = """
import io, json, struct, sys, time, uuid, zlib
from client import AuthenticatedClient
from client.api.exchange import get_constraints, post_constraints
from client.api.items import get_items, post_items, put_features
from client.api.labeling import get_next, post_answers
from client.api.projects import post_project
from client.api.runs import get_clusters, get_run, get_run_items, post_run
from client.models import AnswerIn, PostItemsFilesBody, ProjectIn, RunIn
from client.types import File

def png(shade):
    part = lambda kind, data: (struct.pack(">I", len(data)) + kind + data
                               + struct.pack(">I", zlib.crc32(kind + data)))
    rows = zlib.compress(b"".join(b"\\0" + bytes([shade]) * 8 for _ in range(8)))
    header = struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)
    return b"\\x89PNG\\r\\n\\x1a\\n" + part(b"IHDR", header) + part(b"IDAT", rows) + part(b"IEND", b"")

with AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2], raise_on_unexpected_status=True) as client:
    project = post_project.sync(client=client, body=ProjectIn(name="Greys", n_clusters=3)).key
    media = [File(io.BytesIO(png(9 * n)), f"grey-{n:02d}.png", "image/png") for n in range(24)]
    added = post_items.sync(project, client=client, body=PostItemsFilesBody(media=media))
    keys = [item.key for item in get_items.sync(project, client=client).items]
    rows = "".join(f"{key},{n // 8 == 0:d},{n // 8 == 1:d}\\n" for n, key in enumerate(keys))
    table = File(io.BytesIO(f"key,dark,middle\\n{rows}".encode()))
    features = put_features.sync(project, client=client, body=table, filename="greys.csv")
    alike = [{"triplet": [keys[0], keys[1], keys[23]], "answer": "yes", "labeler": "Ada"}]
    stored = post_constraints.sync(project, client=client, body=alike)
    deadline = time.monotonic() + 120
    while not (asked := get_next.sync(project, client=client, n=2).triplets):
        assert time.monotonic() < deadline, "no question"
        time.sleep(.2)
    answer = AnswerIn(id=uuid.uuid4(), triplet=asked[0].triplet, answer="dnk", response_ms=900)
    post_answers.sync(project, client=client, body=answer)
    run = post_run.sync(project, client=client, body=RunIn())
    while run.status not in ("done", "failed", "cancelled"):
        assert time.monotonic() < deadline, run
        time.sleep(.2)
        run = get_run.sync(project, str(run.number), client=client)
    clusters = get_clusters.sync(project, str(run.number), client=client).clusters
    items = get_run_items.sync_detailed(project, str(run.number), client=client).content
    answers = get_constraints.sync_detailed(project, client=client).content
    unknown = get_clusters.sync("nothing", "1", client=client)
    print(json.dumps({
        "added": added.added, "features": [features.n_items, features.n_features], "stored": stored.stored,
        "run": run.status, "sizes": sorted(cluster.size for cluster in clusters), "items": items.count(b"grey-"),
        "answers": len(answers.splitlines()), "problem": [unknown.status, unknown.detail],
    }))
"""


def run(*command: str | Path, cwd: Path) -> str:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "TERCET"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=variables, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_generated_client_drives_a_whole_project(
    app: FastAPI, database: Database, database_url: str, tmp_path: Path
) -> None:
    python = tmp_path / "environment" / "bin" / "python"
    venv.create(tmp_path / "environment", symlinks=True)
    installed = ["install", "--quiet", "--no-compile", GENERATOR]
    run(sys.executable, "-m", "pip", "--python", python, *installed, cwd=tmp_path)
    (tmp_path / "openapi.json").write_text(json.dumps(app.openapi()))
    generator, options = python.with_name("openapi-python-client"), ["--meta", "none", "--output-path", "client"]
    report = run(generator, "generate", "--path", "openapi.json", *options, cwd=tmp_path)
    assert "will not be generated" not in report
    with database.transaction() as session:
        token = service.make_api_token(session, make_user(session), "generated client", Scope.OWN)
    settings = {"data": str(tmp_path / "data"), "database_url": database_url, "workers": "1", "log_level": "warning"}
    with running_server(settings) as server:
        outcome = json.loads(run(python, "-c", WALK, server.url, token, cwd=tmp_path))
    assert outcome["problem"][0] == 404
    assert "nothing" in outcome.pop("problem")[1]
    assert outcome == {
        "added": 24,
        "features": [24, 2],
        "stored": 1,
        "run": "done",
        "sizes": [8, 8, 8],
        "items": 24,
        "answers": 2,
    }
