"""The most informative questions under a run's posteriors, for the labelers' queue."""

import numpy as np
from numpy.random import Generator

from tercet.runs.results import Array
from tercet.worker.fits.outcome import FitOutcome, mixed_table
from tercet_algorithms.answers.patterns import Kind
from tercet_algorithms.answers.questions import suggest

CANDIDATES = 25_000
# The most questions that a refill of the labelers' queue takes.
REFILL = 150
# One run's questions are spread over items: a second question about an item tells less once the first is answered.
MOST_PER_ITEM = 3


def informative(posterior: Array, kind: Kind, outcome: FitOutcome, rng: Generator) -> tuple[Array, Array]:
    """Return triplets (n, 3) of positions and the information (n,) in nats expected of each, best first.

    As it is not known who will answer, it is the mean over labelers, weighted by their answers so far.
    """
    table = mixed_table(outcome.state, kind, outcome.epsilon)
    return suggest(
        np.asarray(posterior), table, REFILL, CANDIDATES, kind=kind, most_per_item=MOST_PER_ITEM, random_state=rng
    )
