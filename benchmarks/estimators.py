"""How fast the estimators are: every target as a ratio in one process, how times grow, and where they go.

    python -m benchmarks.estimators --data DIR [--runs 5] [--only dcrc|sklr] [--largest 300000]

DIR holds birdsong_hja.npz and vehicle.npz. Times are CPU times of one thread, medians of --runs; ratios within a
table can be trusted, times of a busy machine less. The result is kept in benchmarks/results/estimators.txt.
"""

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import warnings
from pathlib import Path

from benchmarks import estimators_dcrc, estimators_sklr

PARTS = {"dcrc": estimators_dcrc, "sklr": estimators_sklr}
RESULT = Path(__file__).with_name("results") / "estimators.txt"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--largest", type=int, default=300_000, help="largest number of items in the scaling tables")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [arguments.only] if arguments.only else list(PARTS)
    texts = [PARTS[name].report(arguments.data, arguments.runs, arguments.largest) for name in chosen]
    command = f"python -m benchmarks.estimators --data DIR --runs {arguments.runs} --largest {arguments.largest}"
    text = "\n".join([f"{command}   (CPU times of one thread, medians; 2 cores shared with other work)", "", *texts])
    print(text)
    if not arguments.only:
        RESULT.write_text(text)


if __name__ == "__main__":
    main()
