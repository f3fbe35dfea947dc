"""Questions whose right answer is known: who is asked which, and how answers to them are counted."""

from dataclasses import replace

import numpy as np
import pytest

from tercet.worker.inputs import JobInputs
from tercet.worker.outputs import answering
from tercet.worker.outputs.known_answers import results
from tercet.worker.outputs.known_questions import choose
from tercet.worker.outputs.prequential import Foreseen
from tercet.worker.outputs.repeats import Repeat
from tests.worker.test_questions import inputs_of
from tests.worker.test_repeats import demand

ADA, BEN, CEM, DEE = 1, 2, 3, 4
FIRST, SECOND, THIRD = [0, 1, 2], [3, 4, 5], [6, 7, 8]


def answered(*rows: tuple[list[int], str, int], known: tuple[int, ...] = ()) -> JobInputs:
    """Questions, their answers and who gave them; the answers in these places are said to be right."""
    triplets, values, people = zip(*rows, strict=True)
    return replace(
        inputs_of(30),
        triplets=np.array(triplets),
        answers=np.array(values),
        labelers=np.array(people),
        known=np.isin(np.arange(len(rows)), known),
    )


def test_what_others_answered_alike_or_an_analyst_marked_counts() -> None:
    inputs = answered(
        (FIRST, "yes", ADA),
        (FIRST, "yes", BEN),
        (FIRST, "no", CEM),
        (FIRST, "yes", DEE),
        (SECOND, "no", ADA),
        (SECOND, "dnk", BEN),
        (THIRD, "dnk", CEM),
        (THIRD, "yes", DEE),
        known=(4,),
    )
    # Of the first question Cem alone has two others or more who agree with one another; of the second Ben's is known.
    assert results(inputs) == {ADA: (0, 0), BEN: (1, 0), CEM: (1, 0), DEE: (0, 0)}
    assert results(replace(inputs, answers=np.where(inputs.labelers == CEM, "yes", inputs.answers)))[CEM] == (1, 1)
    assert results(replace(inputs, known=None))[BEN] == (0, 0)


def test_everybody_is_asked_a_share_that_they_have_not_answered() -> None:
    rows = [([place, 10 + place, 20 + place], "yes", person) for place in range(10) for person in (ADA, BEN)]
    needed = demand(40, ADA, CEM, DEE)._replace(known_share=0.3)
    chosen = choose(answered(*rows), needed, [], np.random.default_rng(0))
    assert {repeat.n_answers for repeat in chosen} == {2}
    asked_of = [repeat.asked_of for repeat in chosen]
    assert ADA not in asked_of, "she has answered all of them"
    assert {asked_of.count(person) for person in (CEM, DEE)} <= {4, 5}
    assert len({repeat.triplet for repeat in chosen}) == len(chosen)


def test_the_share_is_kept_in_the_mean() -> None:
    rows = [([place, 10 + place, 20 + place], "yes", person) for place in range(10) for person in (ADA, BEN)]
    needed = demand(22, CEM)._replace(known_share=0.05)
    counts = [len(choose(answered(*rows), needed, [], np.random.default_rng(seed))) for seed in range(400)]
    assert set(counts) == {1, 2}
    assert np.mean(counts) == pytest.approx(1.1, abs=0.06)


def test_what_an_analyst_marked_comes_first_and_nothing_that_waits_already() -> None:
    rows = [(FIRST, "yes", ADA), (FIRST, "yes", BEN), (SECOND, "yes", ADA), (THIRD, "yes", ADA)]
    inputs, needed = answered(*rows, known=(2,)), demand(10, CEM)._replace(known_share=0.1)
    for seed in range(5):
        [chosen] = choose(inputs, needed, [], np.random.default_rng(seed))
        assert chosen == Repeat((3, 4, 5), 1, CEM)
    [chosen] = choose(inputs, needed, [Repeat((3, 4, 5), 1, BEN)], np.random.default_rng(0))
    assert chosen == Repeat((0, 1, 2), 2, CEM)
    assert choose(inputs, needed._replace(known_share=0.0), [], np.random.default_rng(0)) == []
    assert choose(inputs, needed._replace(labelers=()), [], np.random.default_rng(0)) == []
    none = demand(10, CEM, pending=inputs.item_ids[inputs.triplets])._replace(known_share=0.1)
    assert choose(inputs, none, [], np.random.default_rng(0)) == []


def test_a_known_answer_says_for_sure_how_others_err() -> None:
    """Runs expected no of all, and Ben says so; yes is known to be right."""
    values = {ADA: "yes", BEN: "no"}
    rows = [([place, 10 + place, 20 + place], value, person) for place in range(10) for person, value in values.items()]
    rights = np.tile([0.1, 0.8, 0.1], (20, 1))
    unknown, known = answered(*rows), answered(*rows, known=tuple(range(0, 20, 2)))
    before = answering.learn(unknown, Foreseen(rights, rights))
    after = answering.learn(known, Foreseen(rights, rights))
    assert before is not None
    assert after is not None
    assert before.labelers[BEN].mixed_up < 0.2 < 0.3 < after.labelers[BEN].mixed_up
    assert set(after.labelers) == {BEN}, "what is known says nothing of who said it"
    assert after.everybody.n_clear == pytest.approx(10)
