"""Chooses the questions that a run asks again, those whose answers are in doubt, and the labelers whom it asks.

At most one question is asked again for every ten new ones. Each is reserved for a reliable labeler who answers now and
has not answered it, so that nothing has to be computed when they ask for questions; the next run decides anew.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from tercet.labeling.refill import Demand, Queued
from tercet.models import Source
from tercet.runs.results import Array, LabelerReport
from tercet.worker.fits.outcome import FitOutcome
from tercet.worker.inputs import JobInputs, answer_columns, positions
from tercet.worker.outputs.reports import tables_of
from tercet_algorithms.answers.doubts import in_doubt
from tercet_algorithms.answers.patterns import pattern_probabilities
from tercet_algorithms.answers.pool import canonical

# Answers among which doubtful ones are looked for: the newest.
NEWEST = 20_000
# New questions to one that is asked again.
NEW_TO_REPEAT = 10
# Nobody gets more than so many times their even part of what is asked again.
PARTS = 2


class Repeat(NamedTuple):
    """A question that is asked again."""

    triplet: tuple[int, int, int]  # positions
    n_answers: int  # that it has
    asked_of: int | None  # the labeler that it waits for; None: anybody who has not answered it


def choose(
    posterior: Array,
    inputs: JobInputs,
    outcome: FitOutcome,
    labelers: Sequence[LabelerReport],
    demand: Demand,
    about: Array,
) -> list[Repeat]:
    """Return what is asked again, the most telling first; about the items `about` alone, where there are some."""
    newest = np.arange(len(inputs.answers))[-NEWEST:]
    triplets = canonical(inputs.triplets[newest], inputs.kind)
    rows, number = np.unique(triplets, axis=0, return_inverse=True)
    weights = np.ones(len(newest)) if inputs.weights is None else inputs.weights[newest]
    doubts = in_doubt(
        number.ravel(),
        answer_columns(inputs.answers[newest], inputs.kind),
        pattern_probabilities(np.asarray(posterior, dtype=np.float64), triplets),
        tables_of(inputs.labelers[newest], inputs.kind, outcome),
        inputs.kind,
        outcome.answer_weight * weights,
    )
    pending, _ = positions(demand.pending, inputs.item_ids)
    busy = set(map(tuple, canonical(pending, inputs.kind).tolist()))
    repeats: list[Repeat] = []
    turns = _Turns(labelers, demand)
    for question in doubts.questions.tolist():
        triplet, by = tuple(rows[question].tolist()), inputs.labelers[newest][number.ravel() == question].tolist()
        is_wanted = len(by) < demand.most_answers and (not len(about) or triplet[0] in about)
        if triplet in busy or not is_wanted or not turns.has_any_but(by):
            continue
        repeats.append(Repeat(triplet, len(by), turns.next_but(by)))
        if len(repeats) == turns.most:
            break
    return repeats


class _Turns:
    """Whose turn it is: of those who answer now the most reliable, who has not had more than their part."""

    def __init__(self, labelers: Sequence[LabelerReport], demand: Demand):
        self.most = -(-demand.n_questions // NEW_TO_REPEAT)
        reliable = reliability(labelers)
        usual = float(np.mean(list(reliable.values()))) if reliable else 0.0
        self._here = sorted(demand.labelers, key=lambda person: -reliable.get(person, usual))
        self._had = dict.fromkeys(demand.labelers, 0)

    def has_any_but(self, people: Collection[int]) -> bool:
        """Return whether there may be somebody else: one of those who answer now, or anybody if none does."""
        return not self._here or not set(self._here) <= set(people)

    def next_but(self, people: Collection[int]) -> int | None:
        """Return whose turn it is, none of these people, and count it."""
        part = -(-PARTS * self.most // max(len(self._here), 1))
        others = [person for person in self._here if person not in people]
        chosen = next((person for person in others if self._had[person] < part), None)
        if chosen is not None:
            self._had[chosen] += 1
        return chosen


def reliability(labelers: Sequence[LabelerReport]) -> dict[int, float]:
    """Return how probably each labeler, of whom that is known, answers right and looks at the items."""
    return {
        report.labeler: report.accuracy * (1 - (report.doubt or 0.0))
        for report in labelers
        if report.accuracy is not None
    }


def among(new: list[Queued], repeats: list[Repeat], item_ids: Array) -> list[Queued]:
    """Return questions in their order with what is asked again among them, one before ten."""
    questions: list[Queued] = []
    for place, question in enumerate(new):
        if place % NEW_TO_REPEAT == 0 and place // NEW_TO_REPEAT < len(repeats):
            repeat = repeats[place // NEW_TO_REPEAT]
            anchor, left, right = item_ids[list(repeat.triplet)].tolist()
            questions.append(Queued((anchor, left, right), Source.INFORMATION, repeat.n_answers, repeat.asked_of))
        questions.append(question)
    return questions
