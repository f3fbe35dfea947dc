"""Loops in C give the same on every kind of processor, and take no array that they would misread."""

import numpy as np
import pytest

from tercet_algorithms.common import compiled
from tercet_algorithms.common.compiled import loops, processors
from tercet_algorithms.dcrc import softmax_loops
from tercet_algorithms.dcrc.softmax_loops import softmax


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_kind_of_processor_computes_the_same(dtype):
    x = -np.logspace(-8, 4, 1001).astype(dtype)
    results = []
    for processor in processors():
        results.append(np.empty_like(x))
        loops(softmax_loops.__file__, processor).exponentials(len(x), x, results[-1])
    for result in results:
        assert result == pytest.approx(np.exp(x), rel=2 * float(np.finfo(dtype).eps), abs=float(np.finfo(dtype).tiny))


def arrays(dtype=np.float64):
    logits = np.zeros((3, 4), dtype)
    return [logits, logits.max(axis=0), 0, np.empty((3, 4), dtype), np.empty((3, 4), dtype), np.zeros(3)]


@pytest.mark.parametrize("place", [0, 1, 3, 4])
def test_arrays_of_another_precision_or_order_are_refused(place):
    another, turned = arrays(), arrays()
    softmax(*another)
    another[place] = another[place].astype(np.float32)
    turned[place] = np.zeros((8, 8))[::2, ::2]
    for wrong in (another, turned):
        with pytest.raises((TypeError, ValueError), match=r"float32|contiguous"):
            softmax(*wrong)


def test_no_other_precision_is_computed_in():
    with pytest.raises(TypeError, match="float16"):
        softmax(*arrays(np.float16))


def test_a_checkout_that_was_not_installed_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "_FOLDER", tmp_path)
    with pytest.raises(ImportError, match=r"pip install -e \."):
        loops(softmax_loops.__file__)
