"""Every estimator is documented as numpydoc asks, with its paper and an example that does what it says."""

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import tercet_algorithms
from tercet_algorithms import (
    CMBC,
    DCRC,
    DCRCCV,
    SKLR,
    AnswerEmbedding,
    BagSpectralClustering,
    TripletEstimator,
    TripletSplit,
)

ROOT = Path(tercet_algorithms.__file__).parent
WITH_EXAMPLES = sorted(path for path in ROOT.glob("**/*.py") if "\n    >>> " in path.read_text())
ESTIMATORS = [DCRC, DCRCCV, SKLR, CMBC, BagSpectralClustering, AnswerEmbedding]
CLASSES = [*ESTIMATORS, TripletEstimator, TripletSplit]
# What cannot fail has no section on errors; what only others of ours call needs no example.
NEVER_RAISE = {"get_n_splits"}
NOT_FOR_USERS = {"tables_of_asked"}


def module_of(path):
    return import_module(".".join(["tercet_algorithms", *path.relative_to(ROOT).with_suffix("").parts]))


def methods_of(cls):
    """Public methods that our packages define, the class's own and those of our mixins, by name."""
    names = {name for name in dir(cls) if not name.startswith("_")}
    methods = {name: getattr(cls, name) for name in names}
    return {
        name: method
        for name, method in sorted(methods.items())
        if callable(method) and method.__module__.startswith("tercet_algorithms")
    }


def sections_of(documented):
    return set(re.findall(r"^(\w+)\n-+$", inspect.getdoc(documented) or "", re.MULTILINE))


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_examples_do_what_they_say(path):
    result = doctest.testmod(module_of(path))
    assert result.attempted > 3
    assert result.failed == 0


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_estimator_names_its_paper(estimator):
    assert {"Parameters", "Attributes", "References", "Examples"} <= sections_of(estimator)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_public_method_is_called_in_an_example(cls):
    example = inspect.getdoc(cls).partition("\nExamples\n")[2]
    missing = [name for name in methods_of(cls) if f".{name}(" not in example and name not in NOT_FOR_USERS]
    assert not missing


@pytest.mark.parametrize("cls", CLASSES)
def test_public_methods_say_what_they_take_return_and_refuse(cls):
    methods = methods_of(cls)
    assert "fit" in methods or "split" in methods
    for name, method in methods.items():
        takes = "Parameters" if len(inspect.signature(method).parameters) > 1 else "Returns"
        returns = "Yields" if inspect.isgeneratorfunction(method) else "Returns"
        missing = {takes, returns, "Raises"} - sections_of(method)
        assert missing <= ({"Raises"} if name in NEVER_RAISE else set()), f"{cls.__name__}.{name}: {missing}"
        documented = inspect.getdoc(method).partition("Parameters\n----")[2].partition("Returns\n----")[0]
        for parameter in list(inspect.signature(method).parameters)[1:]:
            assert re.search(rf"\b{parameter}\b.* :", documented), f"{cls.__name__}.{name}: {parameter}"
