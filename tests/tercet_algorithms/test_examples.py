"""The examples in docstrings do what they say, and every estimator has one, with its paper."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import tercet_algorithms
from tercet_algorithms import CMBC, DCRC, DCRCCV, SKLR, AnswerEmbedding, BagSpectralClustering

ROOT = Path(tercet_algorithms.__file__).parent
WITH_EXAMPLES = sorted(path for path in ROOT.glob("**/*.py") if "\n    >>> " in path.read_text())


def module_of(path):
    return import_module(".".join(["tercet_algorithms", *path.relative_to(ROOT).with_suffix("").parts]))


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_examples_do_what_they_say(path):
    result = doctest.testmod(module_of(path))
    assert result.attempted > 3
    assert result.failed == 0


@pytest.mark.parametrize("estimator", [DCRC, DCRCCV, SKLR, CMBC, BagSpectralClustering, AnswerEmbedding])
def test_every_estimator_names_its_paper_and_shows_an_example(estimator):
    for section in ("Parameters", "Attributes", "References", "Examples"):
        assert f"\n    {section}\n    {'-' * len(section)}\n" in estimator.__doc__, section


@pytest.mark.parametrize("estimator", [DCRC, DCRCCV, SKLR, CMBC, BagSpectralClustering, AnswerEmbedding])
def test_public_methods_say_what_they_take_and_return(estimator):
    for name in vars(estimator):
        method = getattr(estimator, name)
        if not name.startswith("_") and callable(method):
            assert method.__doc__, name
            assert "Returns\n" in method.__doc__ or "; see `" in method.__doc__, name
