"""Whether answers have to do with the items: the test's identities, and crowds with one who answers by chance."""

import numpy as np
import pytest

from tercet_algorithms.answers.independence import PRIOR, independence, left_out, more_doubtful
from tercet_algorithms.answers.patterns import answer_table

SURE = np.array([[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]])


def crowd(n_each: int, seed: int, by_chance: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Four people who err in a tenth of cases, and number 4, who answers by chance so often."""
    rng = np.random.default_rng(seed)
    labelers = np.tile(np.arange(5), n_each)
    right = rng.integers(3, size=len(labelers))
    chance = np.where(labelers == 4, by_chance, 0.1)
    columns = np.where(rng.random(len(labelers)) < chance, rng.integers(3, size=len(labelers)), right)
    return labelers, SURE[right], columns


@pytest.mark.parametrize("seed", range(10))
def test_only_who_answers_by_chance_is_doubted(seed: int) -> None:
    found = independence(*crowd(30, seed))
    assert found[4].probability > 0.9
    assert max(found[labeler].probability for labeler in range(4)) < 0.1
    assert all(labeler.answers == 30 for labeler in found.values())


def test_those_who_look_are_seldom_doubted_however_often_one_looks() -> None:
    doubted = 0
    for seed in range(30):
        labelers, foreseen, columns = crowd(60, seed, by_chance=0.1)
        for end in range(25, len(labelers), 25):
            found = independence(labelers[:end], foreseen[:end], columns[:end])
            doubted += any(labeler.probability > 0.9 for labeler in found.values())
    assert doubted <= 3, "150 people, twelve looks each"


def test_what_nobody_could_foresee_says_nothing() -> None:
    labelers, foreseen, columns = crowd(40, 0)
    found = independence(labelers, np.full_like(foreseen, 1 / 3), columns)
    assert all(labeler.probability < 0.5 for labeler in found.values())
    assert independence(np.zeros(len(labelers)), foreseen, columns) == {}, "one person is compared with nobody"
    assert independence([], np.empty((0, 3)), []) == {}


def test_probability_is_the_prior_without_evidence() -> None:
    found = independence(*crowd(30, 1))[0]
    neutral = type(found)(answers=5, log_odds=0.0, others_trust=0.5)
    assert neutral.probability == pytest.approx(PRIOR)
    assert more_doubtful({1: neutral}, {1: found, 2: found}) == {1: neutral, 2: found}


def test_names_and_order_of_labelers_do_not_matter() -> None:
    labelers, foreseen, columns = crowd(20, 3)
    by_number = independence(labelers, foreseen, columns)
    by_name = independence([f"p{labeler}" for labeler in labelers], foreseen, columns)
    assert [by_number[n].log_odds for n in range(5)] == [by_name[f"p{n}"].log_odds for n in range(5)]


def test_taking_an_answer_out_undoes_bayes_rule() -> None:
    rng = np.random.default_rng(0)
    table, columns, weights = answer_table("relative", "people"), rng.integers(3, size=20), rng.random(20)
    before = rng.dirichlet(np.ones(5), 20)
    after = before * table.T[columns] ** weights[:, None]
    after /= after.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(left_out(after, columns, table, weights), before)


@pytest.mark.parametrize(
    ("foreseen", "columns", "words"),
    [(SURE[:2], [0], "differ"), (SURE[:2] * 2, [0, 1], "probabilities"), (np.full((2, 3), np.nan), [0, 1], "probab")],
)
def test_bad_input_is_named(foreseen: np.ndarray, columns: list[int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        independence([1, 2], foreseen, columns)
