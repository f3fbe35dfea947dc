"""Thousands of odd requests to every REST path, made by schemathesis from the server's own description.

    pip install schemathesis
    python -m benchmarks.fuzz_rest

Checked of every response: no 5xx, a status and a content type that are described, a body of the schema, and of methods
that are not taken, 405 with `Allow`.
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

import httpx

from benchmarks.projects import make_project, synthetic
from tercet.demo.server import running_server
from tercet.settings import Settings

RESULTS = Path(__file__).parent / "results" / "fuzz_rest.txt"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
# Deleting the project would leave nothing to ask about; events never end.
LEFT_OUT = [
    *("--exclude-method", "DELETE", "--exclude-path-regex", "events"),
    *("--phases", "coverage,fuzzing", "--continue-on-failure"),
]


def main() -> None:
    """Start a server with a project and a run, and let schemathesis loose on it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=60, help="for each operation")
    examples = parser.parse_args().examples
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        project = make_project(settings, synthetic(60, 5, 4), 4, key="songs")
        with running_server({"data": folder, "log_level": "error"}) as server:
            headers = {"Authorization": f"Bearer {project.token}"}
            api = f"{server.url}/api/v1/projects/songs"
            httpx.post(f"{api}/runs", json={}, headers=headers).raise_for_status()
            item = httpx.get(f"{api}/items", params={"limit": 1}, headers=headers).json()["items"][0]["key"]
            done = fuzz(server.url, headers["Authorization"], item, examples, Path(folder))
    summary = done[done.index("API Operations:") :]
    text = re.sub(r"(?m)^.*(Seed|https?:|=====).*\n?", "", summary).strip()
    print(text)
    RESULTS.write_text(f"python -m benchmarks.fuzz_rest\n\n{text}\n")


def fuzz(url: str, authorization: str, item: str, examples: int, folder: Path) -> str:
    """Run schemathesis with path parameters that exist; return what it prints."""
    values = {"project": "songs", "run": "1", "cluster": "1", "number": "1", "key": item, "item": item}
    lines = [f'"path.{name}" = "{value}"' for name, value in values.items()]
    config = folder / "schemathesis.toml"
    config.write_text("\n".join(["[parameters]", *lines]))
    command = [
        "st",
        "--config-file",
        str(config),
        "run",
        f"{url}/openapi.json",
        "-H",
        f"Authorization: {authorization}",
    ]
    command += ["--max-examples", str(examples), "--workers", "2", "-c", f"{CHECKS},unsupported_method", *LEFT_OUT]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    main()
