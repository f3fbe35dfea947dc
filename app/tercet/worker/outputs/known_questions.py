"""Questions whose right answer is known: which are asked of whom, and how labelers answered them.

Known is what an analyst said is right, and what two people or more answered alike. To its labeler such a question looks
like any other. A labeler's own answer never makes a question known for them.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.random import Generator

from tercet.labeling.refill import Demand
from tercet.runs.results import Array
from tercet.worker.inputs import JobInputs, positions
from tercet.worker.outputs.repeats import Repeat
from tercet.worker.outputs.reports import answer_columns
from tercet_algorithms.answers.patterns import ANSWERS
from tercet_algorithms.answers.pool import canonical

# So many people who answer alike make an answer known.
ALIKE = 2


def results(inputs: JobInputs) -> dict[int, tuple[int, int]]:
    """Return how many known questions each labeler answered, and how many of them right."""
    if not len(inputs.answers):
        return {}
    _, questions, votes = _votes(inputs)
    columns = answer_columns(inputs.answers, inputs.kind)
    own = np.eye(votes.shape[1], dtype=np.int64)[columns]
    marked = _marked(inputs, questions, columns)
    of_others = votes[questions] - own
    by_others = of_others.max(axis=1) == of_others.sum(axis=1)
    is_alike = by_others & (of_others.sum(axis=1) >= ALIKE)
    is_known = np.zeros(len(columns), dtype=bool) if inputs.known is None else inputs.known
    right = np.where(marked[questions] >= 0, marked[questions], np.where(is_alike, of_others.argmax(axis=1), -1))
    counted = (right >= 0) & ~is_known
    people, rows = np.unique(inputs.labelers, return_inverse=True)
    answered = np.bincount(rows[counted], minlength=len(people))
    correct = np.bincount(rows[counted & (right == columns)], minlength=len(people))
    return dict(zip(people.tolist(), zip(answered.tolist(), correct.tolist(), strict=True), strict=True))


def choose(inputs: JobInputs, demand: Demand, taken: list[Repeat], rng: Generator) -> list[Repeat]:
    """Return known questions for those who answer now, each for a labeler who has not answered it: a share of theirs.

    What an analyst marked comes before what people answered alike.
    """
    if not demand.known_share or not demand.labelers or not len(inputs.answers):
        return []
    rows, questions, votes = _votes(inputs)
    marked = _marked(inputs, questions, answer_columns(inputs.answers, inputs.kind))
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


def _votes(inputs: JobInputs) -> tuple[Array, Array, Array]:
    """Return the questions (Q, 3), that of each answer (M,), and how often each answer was given to each (Q, A)."""
    rows, questions = np.unique(canonical(inputs.triplets, inputs.kind), axis=0, return_inverse=True)
    votes = np.zeros((len(rows), len(ANSWERS[inputs.kind])), dtype=np.int64)
    np.add.at(votes, (questions.ravel(), answer_columns(inputs.answers, inputs.kind)), 1)
    return rows, questions.ravel(), votes


def _marked(inputs: JobInputs, questions: Array, columns: Array) -> Array:
    """Return the answer that an analyst said is right to each question, -1 where none did, (Q,)."""
    marked = np.full(int(questions.max(initial=-1)) + 1, -1)
    if inputs.known is not None:
        marked[questions[inputs.known]] = columns[inputs.known]
    return marked
