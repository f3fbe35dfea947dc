"""The exponential, the softmax and the way back through it, against numpy and finite differences."""

import numpy as np
import pytest

from tercet_algorithms.common.compiled import loops
from tercet_algorithms.dcrc import softmax_loops
from tercet_algorithms.dcrc.softmax_loops import derivatives, softmax


def exponentials(x, out):
    loops(softmax_loops.__file__).exponentials(len(x), x, out)


def softmaxed(logits, more=0):
    """P of numpy's, and ours and its logarithm as the last columns of wider arrays, and what clusters have of all."""
    weights = np.exp(logits - logits.max(axis=0))
    P = weights / weights.sum(axis=0)
    shape = len(logits), more + logits.shape[1]
    ours = np.full(shape, 7, logits.dtype), np.full(shape, 7, logits.dtype)
    mass = np.ones(len(logits))
    softmax(logits, logits.max(axis=0), more, *ours, mass)
    return P, *ours, mass - 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_exponential_is_right_to_the_last_bits(dtype):
    bits = np.finfo(dtype)
    least = np.log(bits.tiny) + 1
    x = np.concatenate([np.linspace(least, 0, 100_001), -np.logspace(-20, 0, 1001), [0]]).astype(dtype)
    out = np.empty_like(x)
    exponentials(x, out)
    exact = np.exp(x.astype(np.longdouble))
    assert np.abs(out / exact - 1).max() < 2 * bits.eps
    assert out[-1] == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_exponential_of_very_little_is_nothing(dtype):
    x = np.array([-1e4, np.finfo(dtype).min, -np.inf], dtype)
    out = np.empty_like(x)
    exponentials(x, out)
    assert (out == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "more"), [(1, 0), (511, 3), (512, 0), (1300, 20)])
def test_the_softmax_is_numpys(dtype, n, more):
    logits = (20 * np.random.default_rng(0).standard_normal((5, n))).astype(dtype)
    P, ours, log_ours, mass = softmaxed(logits, more)
    assert ours[:, more:] == pytest.approx(P, rel=100 * float(np.finfo(dtype).eps), abs=1e-30)
    assert np.exp(log_ours[:, more:].astype(np.float64)) == pytest.approx(ours[:, more:], rel=2e-5, abs=1e-30)
    assert mass == pytest.approx(P.sum(axis=1), rel=1e-5)
    assert (ours[:, :more] == 7).all()
    assert (log_ours[:, :more] == 7).all()


def test_the_way_back_is_the_derivative():
    rng = np.random.default_rng(0)
    logits, scale, pull = rng.standard_normal((4, 700)), rng.random(700), rng.standard_normal(4)

    def value(logits):
        P, ours, log_ours, _ = softmaxed(logits)
        return derivatives(ours, log_ours, 0, scale, pull, np.empty_like(P)), float((pull @ P).sum())

    P, ours, log_ours, _ = softmaxed(logits)
    result = np.empty_like(P)
    assert derivatives(ours, log_ours, 0, scale, pull, result) == pytest.approx((scale * P * np.log(P)).sum())
    for k, i in [(0, 0), (1, 511), (2, 512), (3, 699)]:
        step = np.zeros_like(logits)
        step[k, i] = 1e-5
        expected = (sum(value(logits + step)) - sum(value(logits - step))) / 2e-5
        assert result[k, i] == pytest.approx(expected, rel=1e-5, abs=1e-8)
