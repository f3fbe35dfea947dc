"""The tables of the papers with this code: mean and 95 % interval over runs, as text and as pictures.

    python -m benchmarks.papers dcrc --data DIR --metric-python PYTHON --cache DIR [--runs 20] [--jobs 2]
    python -m benchmarks.papers sklr --data DIR --metric-python PYTHON --cache DIR
    python -m benchmarks.papers bags --data DIR --cache DIR
    python -m benchmarks.papers cmbc --cache DIR --runs 100

Results go to benchmarks/results/papers_<table>.txt and .svg. Finished rows are kept in --cache: a run that was
stopped goes on where it was, and --runs 0 only writes the tables again. --metric-python is an interpreter with
metric-learn 0.7 and scikit-learn < 1.8; without it those methods are left out.
"""

import argparse
from functools import partial
from pathlib import Path

from benchmarks import datasets, papers_bags, papers_cmbc, papers_dcrc, papers_sklr, rounds

RESULTS = Path(__file__).with_name("results")
TABLES = {"bags": papers_bags, "cmbc": papers_cmbc, "dcrc": papers_dcrc, "sklr": papers_sklr}


def main() -> None:
    arguments = parse()
    chosen = TABLES[arguments.table]
    names = chosen.names(datasets.available(arguments.datasets, arguments.data))
    methods = arguments.methods or [m for m in chosen.ALL if arguments.metric_python or not chosen.needs_metric(m)]
    cache = rounds.Cache(arguments.cache, arguments.table)
    work = partial(chosen.work, folder=arguments.data, python=arguments.metric_python)
    rounds.run(chosen.tasks(names, methods, arguments.runs), work, cache, arguments.jobs)
    metric = " --metric-python PYTHON" if any(map(chosen.needs_metric, chosen.ALL)) else ""
    command = f"python -m benchmarks.papers {arguments.table} --data DIR{metric} --cache DIR"
    report = chosen.report(cache, chosen.names(list(datasets.NAMES)))
    (RESULTS / f"papers_{arguments.table}.txt").write_text(f"{command}\n\n{report}")
    chosen.draw(cache, RESULTS)


def parse() -> argparse.Namespace:
    parser = datasets.parser(__doc__)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--metric-python", help="interpreter that has metric-learn")
    parser.add_argument("--methods", type=lambda text: text.split("; "), help="separated by '; '; all by default")
    return parser.parse_args()


if __name__ == "__main__":
    main()
