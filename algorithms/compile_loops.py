"""Compiles the estimators' loops in C whenever Tercet is installed, also as an editable package.

The compiler is Zig's, which a wheel brings to every system, so that nobody needs one of their own.
"""

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path(__file__).parent / "tercet_algorithms"
MACHINE_CODE = PACKAGE / "machine_code"
# Where most processors have instructions that some lack, for either kind.
ON_X86 = platform.machine().lower() in ("x86_64", "amd64")
PROCESSORS = {"any": "x86_64", "avx2": "x86_64+avx2+fma"} if ON_X86 else {"any": "baseline"}
PRECISIONS = {"float32": ["-DSINGLE"], "float64": []}
# Sums may be added up in any order, and values are assumed never to be NaN. They may be infinite.
ARITHMETIC = [
    "-fassociative-math",
    "-fno-signed-zeros",
    "-freciprocal-math",
    "-fno-honor-nans",
    "-fno-trapping-math",
    "-fno-math-errno",
    "-ffp-contract=fast",
]
OPTIONS = ["-std=c11", "-O3", "-Wall", "-Wextra", "-Werror", *ARITHMETIC, "-shared", "-fPIC", "-g0", "-s"]


class CompileLoops(BuildHookInterface[Any]):
    """Hatchling calls it before it collects a wheel's files."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile all loops; the wheel is then for this kind of system only."""
        compile_loops()
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["artifacts"].append(f"/{MACHINE_CODE.relative_to(self.root).as_posix()}/*.so")


def compile_loops() -> None:
    """Compile all loops for each precision and kind of processor."""
    MACHINE_CODE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=MACHINE_CODE) as folder:
        for processor, cpu in PROCESSORS.items():
            for precision, options in PRECISIONS.items():
                compile_library(Path(folder), f"{processor}-{precision}.so", f"-mcpu={cpu}", *options)


def compile_library(folder: Path, name: str, *options: str) -> None:
    """Compile all C files into one library in a folder to work in, from where it takes its place at once."""
    sources = sorted(str(file) for file in PACKAGE.rglob("*.c"))
    command = [sys.executable, "-m", "ziglang", "cc", *OPTIONS, *options, *sources, "-o", str(folder / name)]
    caches = dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), str(folder))
    subprocess.run(command, env=os.environ | caches, check=True)
    (folder / name).replace(MACHINE_CODE / name)


if __name__ == "__main__":
    compile_loops()
