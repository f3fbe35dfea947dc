"""The tables' machinery: finished rows are kept, intervals are Student's, plots are well-formed."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from benchmarks import papers_sklr, plots, rounds, tables
from benchmarks.baselines import comparisons, local_weights, sparse_lp
from benchmarks.rounds import Cache, Row, Task

SVG = "{http://www.w3.org/2000/svg}"
COLUMNS = ["right 0.1", "right 0.2"]


def test_items_of_every_run_are_numbers() -> None:
    for seed in range(20):
        X, y = papers_sklr.items("digits", None, seed)
        assert len(X) == len(y) == 1000
        np.testing.assert_allclose(X.std(axis=0), 1, err_msg=f"seed {seed}")


def task(method: str, seed: int, setting: str = "right 0.1", dataset: str = "wine") -> Task:
    return Task("dcrc", dataset, setting, method, seed)


def counted(task: Task) -> Row:
    if task.method == "broken":
        raise ValueError("no yes and no answers to learn from")
    return {"f": task.seed / 10}


def test_finished_rows_are_not_computed_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path, "dcrc")
    cache.add(task("DCRC", 0), {"f": 0.5})
    with cache.path.open("a") as file:
        file.write('{"experiment": "dcrc", "datas')  # what a crash leaves
    again = Cache(tmp_path, "dcrc")
    rounds.run([task("DCRC", 0), task("DCRC", 1), task("broken", 0)], counted, again, jobs=1)
    assert {key[3:]: row.get("f") for key, row in again.rows.items()} == {
        ("DCRC", 0): 0.5,
        ("DCRC", 1): 0.1,
        ("broken", 0): None,
    }
    assert "broken on wine: 1 x, ValueError: no yes and no" in tables.failures(again)


def test_a_row_after_a_torn_line_is_read_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path, "dcrc")
    cache.path.write_text('{"experiment": "dc')
    cache = Cache(tmp_path, "dcrc")
    cache.add(task("DCRC", 3), {"f": 0.25})
    assert [row["f"] for row in Cache(tmp_path, "dcrc").rows.values()] == [0.25]


def test_interval_is_students() -> None:
    mean, half = rounds.mean_and_half_width([1.0, 2.0, 3.0])
    assert mean == 2
    assert half == pytest.approx(4.302653 / np.sqrt(3), rel=1e-6)  # t quantile of two degrees of freedom
    assert np.isnan(rounds.mean_and_half_width([1.0])[1])


def test_mean_of_data_sets_uses_the_runs_that_all_have(tmp_path: Path) -> None:
    cache = Cache(tmp_path, "dcrc")
    for seed, value in enumerate((0.2, 0.4, 0.6)):
        cache.add(task("DCRC", seed), {"f": value})
    cache.add(task("DCRC", 1, dataset="iris"), {"f": 1.0})
    cells = tables.add_mean(tables.cells(cache, "f"), ["wine", "iris"], "both")
    assert cells["both", "right 0.1", "DCRC"] == {1: pytest.approx(0.7)}


def test_advantage_is_taken_seed_by_seed_against_the_best_rival(tmp_path: Path) -> None:
    cache = Cache(tmp_path, "dcrc")
    values = {"DCRC": (0.9, 0.5), "ITML": (0.8, 0.4), "LSML": (0.1, 0.2)}
    for method, pair in values.items():
        for seed, value in enumerate(pair):
            cache.add(task(method, seed), {"f": value})
    text = tables.advantage(tables.cells(cache, "f"), ["wine"], COLUMNS, "DCRC", ["ITML", "LSML"], COLUMNS)
    assert text.splitlines()[2].split() == ["wine", "0.100", "±0.000", "-"]


def test_plot_is_well_formed_and_leaves_out_what_is_missing() -> None:
    lines = [
        plots.Line("a < b", [0.1, 0.2, 0.3], [0.5, np.nan, 0.7], [0.1, np.nan, np.nan]),
        plots.Line("level", [0.1], [0.6], [0.0]),
        plots.Line("nothing", [0.1], [np.nan], [np.nan]),
    ]
    root = ET.fromstring(plots.svg("F & more", "x", "y", lines))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"a < b", "level", "F & more"} <= set(texts)
    assert "nothing" not in texts
    with pytest.raises(ValueError, match="nothing to plot"):
        plots.svg("empty", "x", "y", lines[2:])


def test_wide_bands_do_not_flatten_the_curves() -> None:
    wide = plots.Line("two runs", [0, 1], [0.4, 0.6], [9.0, 0.01])
    root = ET.fromstring(plots.svg("F", "x", "y", [wide]))
    numbers = [float(element.text) for element in root.iter(f"{SVG}text") if element.get("text-anchor") == "end"]
    assert (min(numbers), max(numbers)) == (0.3, 0.65)  # 0.4 less half of what lies between the means; 0.61


def test_comparisons_turn_no_round_and_drop_dont_know() -> None:
    triplets = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8]])
    assert comparisons(triplets, np.array([1, -1, 0])).tolist() == [[0, 1, 2], [3, 5, 4]]


def grouped(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two classes apart in the first of six features, and comparisons about them."""
    y = np.repeat([0, 1], 60)
    X = rng.standard_normal((120, 6))
    X[:, 0] += 3 * y
    drawn = rng.integers(120, size=(400, 3))
    a, b, c = drawn.T
    return X, y, drawn[(y[a] == y[b]) & (y[a] != y[c]) & (a != b)]


def test_sparse_metric_keeps_the_feature_that_matters() -> None:
    shares = []
    for seed in range(5):
        X, _, arguments = grouped(np.random.default_rng(seed))
        components = sparse_lp(X, arguments)
        A = components.T @ components
        assert np.all(2 * np.diag(A) >= np.abs(A).sum(axis=1) - 1e-9)  # the diagonal dominates
        shares.append(A[0, 0] / np.trace(A))
    assert np.mean(shares) > 0.5, shares  # of six features


def test_local_weights_find_what_plain_kmeans_may_miss() -> None:
    shares = []
    for seed in range(5):
        X, y, arguments = grouped(np.random.default_rng(seed))
        labels = local_weights(X, 2, arguments, seed)
        shares.append(max(np.mean(labels == y), np.mean(labels != y)))
    assert np.mean(shares) > 0.9


def test_rows_are_json(tmp_path: Path) -> None:
    cache = Cache(tmp_path, "sklr")
    cache.add(task("SKLR", 0), {"ari": 0.5, "seconds": 1.0})
    assert json.loads(cache.path.read_text())["ari"] == 0.5
