"""What two groupings share: known values, invariances, and words that fit the figures."""

import numpy as np
import pytest

from tercet.alternatives.contingency import UNKNOWN, entropy, relate, sentence


def codes(seed: int, n: int, k: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, k, n)


def test_a_grouping_shares_all_of_itself_whatever_its_codes() -> None:
    a = codes(0, 400, 5)
    relation = relate(a, np.random.default_rng(1).permutation(5)[a], (5, 5))
    assert relation.information == pytest.approx(relation.entropies[0])
    assert relation.entropies[0] == pytest.approx(relation.entropies[1])
    assert (relation.nmi, relation.shared) == (pytest.approx(1), pytest.approx(1))
    assert "nearly everything" in sentence(relation)


def test_information_is_that_of_the_joint_shares() -> None:
    a, b = codes(0, 300, 3), codes(1, 300, 4)
    b[a == 1] = 2
    relation = relate(a, b, (3, 4))
    joint = relation.counts / 300
    outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    some = joint > 0
    assert relation.information == pytest.approx((joint[some] * np.log2(joint[some] / outer[some])).sum())
    assert relation.counts.tolist() == [[int(((a == i) & (b == j)).sum()) for j in range(4)] for i in range(3)]


def test_it_is_symmetric() -> None:
    a, b = codes(0, 200, 3), codes(1, 200, 6)
    forth, back = relate(a, b, (3, 6)), relate(b, a, (6, 3))
    assert (forth.information, forth.chance, forth.shared) == pytest.approx(
        (back.information, back.chance, back.shared)
    )
    assert np.array_equal(forth.counts, back.counts.T)


def test_chance_is_what_unrelated_groupings_share() -> None:
    """The mean of many unrelated pairs, and none of it remains in what is called shared."""
    relations = [relate(codes(2 * s, 200, 6), codes(2 * s + 1, 200, 8), (6, 8)) for s in range(200)]
    assert np.mean([relation.information for relation in relations]) == pytest.approx(relations[0].chance, rel=0.1)
    assert np.mean([relation.nmi for relation in relations]) > 0.04
    assert np.mean([relation.shared for relation in relations]) < 0.01
    assert "almost nothing" in sentence(relations[0])


def test_items_that_one_does_not_know_are_left_out() -> None:
    a = np.array([0, 0, 1, 1, UNKNOWN, 0])
    b = np.array([0, UNKNOWN, 1, 1, 1])
    relation = relate(a, b, (2, 2))
    assert (relation.items, relation.counts.tolist()) == (3, [[1, 0], [0, 2]])


def test_a_single_group_has_nothing_to_share() -> None:
    relation = relate(np.zeros(9), codes(0, 9, 3), (1, 3))
    assert (relation.information, relation.nmi, relation.shared) == (0, 0, 0)
    assert "single group" in sentence(relation)


def test_no_items_at_all() -> None:
    relation = relate(np.full(4, UNKNOWN), np.arange(4), (2, 4))
    assert (relation.items, relation.information, relation.shared) == (0, 0, 0)


def test_entropy_of_equal_groups_is_the_logarithm_of_their_number() -> None:
    assert entropy(np.full(8, 25)) == pytest.approx(3)
    assert entropy(np.array([7, 0])) == 0
