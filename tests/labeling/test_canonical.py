"""Turning questions and answers round keeps what they say."""

import itertools

import pytest

from tercet.labeling.canonical import VALUES, as_shown, canonical, order
from tercet.models import QuestionKind


def test_the_same_relative_question_asked_both_ways_is_one_row() -> None:
    assert canonical("relative", (9, 4, 7), "yes") == ((9, 4, 7), "yes")
    assert canonical("relative", (9, 7, 4), "yes") == ((9, 4, 7), "no")
    assert canonical("relative", (9, 7, 4), "no") == ((9, 4, 7), "yes")
    assert canonical("relative", (9, 7, 4), "dnk") == ((9, 4, 7), "dnk")


def test_the_odd_one_out_stays_the_same_item_in_every_order() -> None:
    for on_screen in itertools.permutations((4, 7, 9)):
        stored, value = canonical("outlier", on_screen, str(on_screen.index(7) + 1))
        assert stored == (4, 7, 9)
        assert value == "2"


@pytest.mark.parametrize("kind", list(QuestionKind))
def test_what_is_stored_can_be_shown_again_as_it_was_asked(kind: QuestionKind) -> None:
    for on_screen in itertools.permutations((4, 7, 9)):
        for value in VALUES[kind]:
            stored, turned = canonical(kind, on_screen, value)
            assert stored == order(kind, on_screen)
            assert as_shown(kind, on_screen, turned) == value
