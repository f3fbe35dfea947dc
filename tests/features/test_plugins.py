"""Plug-ins: a real package is installed from a folder; what is wrong with one becomes a sentence."""

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tercet.features.computing import compute
from tercet.features.inputs import FeatureInput
from tercet.features.plugins import plugin_names, plugin_rows
from tercet.features.recipes import GroupSettings, Recipe

PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "toy-features"
version = "1.0"

[project.entry-points."tercet.features"]
toy = "toy_features:embed"
broken = "toy_features:fail"
ragged = "toy_features:ragged"
short = "toy_features:short"
endless = "toy_features:endless"
changing = "toy_features:changing"
missing = "toy_features:not_there"
number = "toy_features:NUMBER"
"""
CODE = """
NUMBER = 7

def embed(inputs):
    '''Sizes of files, and lengths of texts.'''
    return [[item.path.stat().st_size if item.path else 0, len(item.text)] for item in inputs]

def fail(inputs):
    raise RuntimeError("the model is not there")

def ragged(inputs):
    return [[0.0] * number for number, _ in enumerate(inputs)]

def short(inputs):
    return [[1.0, 2.0]]

def endless(inputs):
    return [[float("nan")] for _ in inputs]

def changing(inputs):
    return [[1.0] * len(inputs) for _ in inputs]
"""
INPUTS = [FeatureInput(f"item-{number}", text="x" * number) for number in range(5)]


def silent(share: float, words: str) -> None:
    """Hear no progress."""


@pytest.fixture(scope="module")
def _toy_package(tmp_path_factory):
    """Install the package as a user would, into a folder of its own on sys.path."""
    source, site = tmp_path_factory.mktemp("toy"), tmp_path_factory.mktemp("site")
    (source / "pyproject.toml").write_text(PYPROJECT)
    (source / "toy_features.py").write_text(CODE)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "-q", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(site), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    sys.path.insert(0, str(site))
    importlib.invalidate_caches()
    yield
    sys.path.remove(str(site))
    sys.modules.pop("toy_features", None)


@pytest.mark.usefixtures("_toy_package")
def test_an_installed_plug_in_is_offered_and_makes_rows(tmp_path: Path):
    assert "toy" in plugin_names()
    (tmp_path / "file.bin").write_bytes(b"1234")
    inputs = [*INPUTS, FeatureInput("file", media_type="audio/wav", path=tmp_path / "file.bin")]
    np.testing.assert_array_equal(plugin_rows("toy", inputs, silent)[-2:], [[0, 4], [4, 0]])


@pytest.mark.usefixtures("_toy_package")
def test_a_plug_in_in_a_recipe():
    recipe = Recipe((GroupSettings("plugin:toy"),))
    table = compute(recipe, INPUTS, None, silent)
    assert table.words == "1 number from the plug-in 'toy'"  # the other column is constant
    assert table.groups == ["plugin:toy"]
    assert np.corrcoef(table.values[:, 0], np.arange(5))[0, 1] ** 2 == pytest.approx(1)


@pytest.mark.usefixtures("_toy_package")
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("broken", "the plug-in 'broken' failed: RuntimeError: the model is not there"),
        ("ragged", "the plug-in 'ragged' returned no array of numbers"),
        ("short", r"returned an array of shape \(1, 2\) for 5 items; one row for each item is expected"),
        ("endless", "returned numbers that are not finite for 'item-0'"),
        ("missing", "the plug-in 'missing' cannot be loaded: AttributeError"),
        ("number", "the plug-in 'number' names 'toy_features:NUMBER', which is not a function"),
        ("nobody", "there is no plug-in 'nobody' for features; installed: 'broken', .*'toy'"),
    ],
)
def test_what_is_wrong_becomes_a_sentence(name, sentence):
    with pytest.raises(ValueError, match=sentence):
        plugin_rows(name, INPUTS, silent)


@pytest.mark.usefixtures("_toy_package")
def test_rows_of_another_length_later():
    inputs = [FeatureInput(f"item-{number}") for number in range(201)]
    with pytest.raises(ValueError, match="rows of 200 numbers, then rows of 1; all must be of one length"):
        plugin_rows("changing", inputs, silent)
