"""The types in the modules' comments, held by TypeScript's own checker as strictly as it can."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).with_name("tsconfig.json")


def test_the_types_of_all_modules_agree() -> None:
    tsc = shutil.which("tsc")
    if tsc is None:
        reason = "no tsc on the PATH (npm install --global typescript)"
        if os.environ.get("CI") and shutil.which("npm"):
            pytest.fail(reason)
        pytest.skip(reason)
    result = subprocess.run([tsc, "--project", str(PROJECT)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
