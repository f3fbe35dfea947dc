"""The exact posterior that calibration is compared with."""

import numpy as np

from benchmarks.calibration import TABLE, K, enumerate_labelings
from tercet_algorithms.answers.patterns import answer_probabilities

PRIOR = np.random.default_rng(0).dirichlet(np.ones(K), size=4)
NONE = np.empty((0, 3), dtype=np.int64)


def test_without_answers_it_is_the_prior() -> None:
    np.testing.assert_allclose(enumerate_labelings(PRIOR, NONE, np.empty(0)), PRIOR)


def test_the_mean_over_answers_is_the_prior() -> None:
    """A posterior is a martingale: over the answers to a question, each as probable as it is, nothing is gained."""
    asked = np.array([[0, 1, 2]])
    chances = answer_probabilities(PRIOR, asked, TABLE)[0]
    after = [enumerate_labelings(PRIOR, asked, np.array([answer])) for answer in (1, -1, 0)]
    np.testing.assert_allclose(np.tensordot(chances, after, axes=1), PRIOR)
    assert not np.allclose(after[0], PRIOR)
    np.testing.assert_allclose(after[0][3], PRIOR[3], err_msg="nothing is said of the fourth item")
