"""`tercet demo --simulate`: the whole loop over HTTP, with nothing lost."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_simulated_labelers_answer_and_runs_follow(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tercet.cli", "demo", "--simulate", "12", "--data", str(tmp_path / "data")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^run 1: 0 answers, [0-9.]+ s, ARI 0\.\d+$", done.stdout, re.MULTILINE)
    assert re.search(r"^run \d+: 12 answers, .* ARI 0\.\d+, \d+% of answers satisfied$", done.stdout, re.MULTILINE)
    assert done.stdout.endswith("12 answers acknowledged, 12 stored, 0 lost or doubled\n")
