"""Chooses questions for the labelers' queue: informative ones under the run's posteriors, and a few at random.

Figures of how well a run predicts answers, or how far people agree, are honest where questions were drawn at random:
those that are chosen are the hard ones. So a share of them is, and says so.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from tercet.labeling.refill import Demand
from tercet.models import Source
from tercet.runs.confusion import SURE
from tercet.runs.results import Array
from tercet.worker.fits.outcome import FitOutcome, mixed_table
from tercet.worker.inputs import JobInputs, positions
from tercet_algorithms.answers.pool import random_questions
from tercet_algorithms.answers.questions import suggest


class Questions(NamedTuple):
    """Questions in the order in which they are to be asked."""

    triplets: Array  # (n, 3) positions
    sources: list[Source]  # where each comes from


def choose(
    posterior: Array, inputs: JobInputs, outcome: FitOutcome, demand: Demand, about: Array, rng: Generator
) -> Questions:
    """Return as many questions as labelers need until the next run, and spare ones behind, if there are so many.

    As it is not known who will answer, what an answer tells is the mean over labelers, weighted by their answers so
    far.
    """
    table = mixed_table(outcome.state, inputs.kind, outcome.epsilon)
    pending, _ = positions(demand.pending, inputs.item_ids)  # those about items that are in use
    X, chosen = _places(inputs), np.empty((0, 3), dtype=np.int64)
    for n in (demand.n_questions, demand.n_spare):
        # Each of the two is even over clusters; in one, the first questions would not be.
        further, _ = suggest(
            np.asarray(posterior),
            table,
            n,
            kind=inputs.kind,
            asked=inputs.triplets,
            pending=np.concatenate([pending, chosen]),
            about=about,
            typical=inputs.typical,
            X=X,
            random_state=rng,
        )
        chosen = np.concatenate([chosen, further])
    drawn = random_questions(len(posterior), len(chosen), np.arange(len(posterior)), rng)
    return mix(chosen, drawn, demand.random_share, rng)


def items_of(demand: Demand, posterior: Array, inputs: JobInputs) -> Array:
    """Return the positions of the items that questions are to be about; none where they may be about all."""
    match demand.about:
        case "confused":
            return np.flatnonzero(posterior.max(axis=1) < SURE)
        case "clusters":
            return np.flatnonzero(np.isin(posterior.argmax(axis=1) + 1, demand.clusters))
        case "items":
            return np.flatnonzero(np.isin(inputs.item_ids, list(demand.items)))
        case _:
            return np.empty(0, dtype=np.int64)


def _places(inputs: JobInputs) -> Array:
    """Return the features in one scale."""
    if inputs.one_scale:
        return inputs.features
    spread = np.std(inputs.features, axis=0)
    scaled: Array = inputs.features / np.where(spread > 0, spread, 1)
    return scaled


def mix(chosen: Array, drawn: Array, random_share: float, rng: Generator) -> Questions:
    """Put a random question in the place of a chosen one with the probability `random_share`."""
    triplets, is_random = chosen.copy(), rng.random(len(chosen)) < random_share
    triplets[is_random] = drawn[: is_random.sum()]
    return Questions(triplets, [Source.RANDOM if drawn else Source.INFORMATION for drawn in is_random.tolist()])
