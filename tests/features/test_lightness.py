"""What the web process imports for names and words loads nothing that computes."""

import subprocess
import sys


def test_recipes_load_nothing_heavy():
    heavy = ["sklearn", "scipy", "soundfile", "PIL", "tercet.features.computing"]
    code = f"import sys, tercet.features.recipes; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
