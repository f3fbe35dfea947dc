"""How labelers answered questions whose right answer is known.

Known is what an analyst said is right, and what two people or more answered alike. A labeler's own answer never makes a
question known for them.
"""

import numpy as np

from tercet.runs.results import Array
from tercet.worker.inputs import JobInputs, answer_columns
from tercet_algorithms.answers.patterns import ANSWERS
from tercet_algorithms.answers.pool import canonical

# So many people who answer alike make an answer known.
ALIKE = 2


def results(inputs: JobInputs) -> dict[int, tuple[int, int]]:
    """Return how many known questions each labeler answered, and how many of them right."""
    if not len(inputs.answers):
        return {}
    _, questions, votes = votes_of(inputs)
    columns = answer_columns(inputs.answers, inputs.kind)
    own = np.eye(votes.shape[1], dtype=np.int64)[columns]
    marked = marked_right(inputs, questions, columns)
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


def votes_of(inputs: JobInputs) -> tuple[Array, Array, Array]:
    """Return the questions (Q, 3), that of each answer (M,), and how often each answer was given to each (Q, A)."""
    rows, questions = np.unique(canonical(inputs.triplets, inputs.kind), axis=0, return_inverse=True)
    votes = np.zeros((len(rows), len(ANSWERS[inputs.kind])), dtype=np.int64)
    np.add.at(votes, (questions.ravel(), answer_columns(inputs.answers, inputs.kind)), 1)
    return rows, questions.ravel(), votes


def marked_right(inputs: JobInputs, questions: Array, columns: Array) -> Array:
    """Return the answer that an analyst said is right to each question, -1 where none did, (Q,)."""
    marked = np.full(int(questions.max(initial=-1)) + 1, -1)
    if inputs.known is not None:
        marked[questions[inputs.known]] = columns[inputs.known]
    return marked
