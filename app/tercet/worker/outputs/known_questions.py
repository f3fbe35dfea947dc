"""Which questions whose right answer is known a run asks of whom: to their labeler each looks like any other."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.random import Generator

from tercet.labeling.refill import Demand
from tercet.worker.inputs import JobInputs, answer_columns, positions
from tercet.worker.outputs.known_answers import ALIKE, marked_right, votes_of
from tercet.worker.outputs.repeats import Repeat
from tercet_algorithms.answers.pool import canonical


def choose(inputs: JobInputs, demand: Demand, taken: list[Repeat], rng: Generator) -> list[Repeat]:
    """Return known questions for the labelers who answer now, each for one who has not answered it.

    They are a share of each labeler's questions. Those with an answer that an analyst marked as right come before those
    that people answered alike.
    """
    if not demand.known_share or not demand.labelers or not len(inputs.answers):
        return []
    rows, questions, votes = votes_of(inputs)
    marked = marked_right(inputs, questions, answer_columns(inputs.answers, inputs.kind))
    is_alike = (votes.max(axis=1) == votes.sum(axis=1)) & (votes.sum(axis=1) >= ALIKE)
    known = rng.permutation(np.flatnonzero((marked >= 0) | is_alike))
    known = known[np.argsort(marked[known] < 0, kind="stable")]
    pending, _ = positions(demand.pending, inputs.item_ids)
    busy = {*map(tuple, canonical(pending, inputs.kind).tolist()), *(repeat.triplet for repeat in taken)}
    free = [(tuple(rows[question].tolist()), question) for question in known.tolist()]
    free = [(triplet, question) for triplet, question in free if triplet not in busy]
    by = [set(inputs.labelers[questions == question].tolist()) for _, question in free]
    expected = demand.known_share * demand.n_questions / len(demand.labelers)
    turns = _turns(demand.labelers, [int(expected + rng.random()) for _ in demand.labelers])
    chosen: list[Repeat] = []
    for labeler in turns:
        place = next((place for place, people in enumerate(by) if labeler not in people), None)
        if place is not None:
            triplet, _ = free.pop(place)
            chosen.append(Repeat(triplet, len(by.pop(place)), labeler))
    return chosen


def _turns(labelers: Sequence[int], counts: list[int]) -> Iterator[int]:
    """Return labelers by turns, each as often as its count says."""
    for turn in range(max(counts, default=0)):
        yield from (labeler for labeler, count in zip(labelers, counts, strict=True) if turn < count)
