"""How people err, learned from answers whose right answer is known as a probability only."""

import numpy as np
import pytest

from tercet_algorithms.answers.error_rates import learn_error_rates
from tercet_algorithms.answers.patterns import ANSWERS, KINDS, Kind, answer_table, right_answers


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_rates_are_those_by_which_answers_were_drawn(kind: Kind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_answers = len(ANSWERS[kind])
    table = np.full((n_answers, n_answers), 0.1 / (n_answers - 2))
    table[:, -1], table[-1] = 0.35, 0.2 / (n_answers - 1)
    np.fill_diagonal(table, 0)
    np.fill_diagonal(table, 1 - table.sum(axis=1))
    beliefs = rng.dirichlet(np.full(5, 0.2), 20_000)
    patterns = (rng.random(len(beliefs))[:, None] > beliefs.cumsum(axis=1)).sum(axis=1)
    chosen = table[right_answers(kind)[patterns]].cumsum(axis=1)
    columns = (rng.random(len(beliefs))[:, None] > chosen).sum(axis=1)
    rates = learn_error_rates(beliefs, columns, kind)
    np.testing.assert_allclose(rates[:3], [0.35, 0.1, 0.2], atol=0.02)
    assert rates.n_clear + rates.n_unclear == pytest.approx(len(beliefs))


def test_few_answers_stay_near_what_people_do() -> None:
    rates = learn_error_rates(np.eye(5)[[3, 3]], np.array([2, 2]), "relative")
    usual = answer_table("relative", "people")
    assert rates.unsure == pytest.approx((2 + 10 * usual[3, 2]) / 12)
    assert learn_error_rates(np.empty((0, 5)), np.empty(0, dtype=int), "relative")[:2] == pytest.approx((0.22, 0.04))
