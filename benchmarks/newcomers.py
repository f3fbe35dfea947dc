"""How long five newcomers take from an empty environment to their result, by the guides as they are written.

python -m benchmarks.newcomers       installs into environments of its own; writes benchmarks/results/newcomers.txt

Each guide has a fresh environment with Tercet and pandas, an empty folder with what its reader owns (eight songs, a
long recording, a table of faces) and a server of its own. Seconds count from the beginning of `pip install`; reading
and typing come on top.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tercet.demo.server import free_port
from tests.help.test_guides import fences, tone

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).with_name("results") / "newcomers.txt"
AUDIENCES = {
    "songs": "biologist: clusters of songs, and a model for new ones",
    "faces": "psychologist: clusters from answers alone",
    "digits": "researcher: digits in scikit-learn",
    "study": "lab manager: links for fifty people, and their answers",
    "constraints": "engineer: constraints posted, clusters read",
}
# Runs a guide's blocks in order, the programs in one interpreter, and prints when each has ended.
DRIVER = """
import json, subprocess, sys, time
variables = {}
for language, text in json.load(open(sys.argv[1])):
    if language == "python":
        exec(compile(text, "guide", "exec"), variables)
    else:
        subprocess.run(["bash", "-eu", "-c", text], check=True, stdout=subprocess.DEVNULL)
    print(time.time(), flush=True)
"""


def walk(name: str, folder: Path) -> tuple[float, float, float]:
    """Return the seconds until Tercet is installed, until its server is ready, and until the guide's last result."""
    for number in range(8):
        tone(folder / "clips" / f"song-{number}.wav", 900 + 900 * (number % 4) + 15 * number)
    tone(folder / "dawn" / "morning.wav", 2_000, parts=4)
    (folder / "faces.csv").write_text("key,text\n" + "".join(f"face-{n},Face {n}\n" for n in range(12)))
    (folder / "driver.py").write_text(DRIVER)
    blocks = [(language, text) for language, text in fences(name) if language in {"python", "sh"}]
    (folder / "blocks.json").write_text(json.dumps(blocks))
    port = free_port()
    environment = os.environ | {
        "PATH": f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "TERCET_DATA": str(folder / "data"),
        "TERCET_SERVER": f"http://127.0.0.1:{port}",
        "TERCET_WEBHOOKS_TO_PRIVATE": "true",
    }
    begun = time.time()
    subprocess.run([sys.executable, "-m", "venv", "venv"], cwd=folder, check=True)
    subprocess.run(["pip", "install", "--quiet", str(ROOT), "pandas"], cwd=folder, env=environment, check=True)
    installed = time.time() - begun
    subprocess.run(["tercet", "user", "add", "admin@example.org", "--admin"], cwd=folder, env=environment, check=True)
    token = subprocess.run(
        ["tercet", "user", "token", "admin@example.org", "--scope", "own"],
        cwd=folder, env=environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    environment["TERCET_TOKEN"] = token.stdout.split()[-1]
    server = subprocess.Popen(["tercet", "serve", "--port", str(port)], cwd=folder, env=environment)
    try:
        probe = f"until curl --silent --fail {environment['TERCET_SERVER']}/readyz; do sleep 0.1; done"
        subprocess.run(["bash", "-c", probe], check=True, stdout=subprocess.DEVNULL, timeout=60)
        ready = time.time() - begun
        done = subprocess.run(
            ["python", "driver.py", "blocks.json"],
            cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
    finally:
        server.terminate()
        server.wait(20)
    return installed, ready, float(done.stdout.split()[-1]) - begun


def main() -> None:
    """Walk with each newcomer, print the seconds and keep them."""
    lines = ["python -m benchmarks.newcomers", "", f"{'installed':>10}{'server':>8}{'result':>8}"]
    for name, audience in AUDIENCES.items():
        with tempfile.TemporaryDirectory() as folder:
            seconds = walk(name, Path(folder))
        lines.append(f"{seconds[0]:>9.0f}s{seconds[1]:>7.0f}s{seconds[2]:>7.0f}s   {audience}")
        print(lines[-1], flush=True)
    RESULTS.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
