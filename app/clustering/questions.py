"""What a run asks next: the questions worth most under its posteriors, for the labelers' queue."""

import numpy as np
from numpy.random import Generator

from algorithms.patterns import Kind
from algorithms.suggesting import suggest
from app.clustering.fitted import Fit, table_of_anyone
from app.clustering.results import Array

CANDIDATES = 25_000
# The most that a refill of the labelers' queue may take.
WANTED = 150
# One run's questions are spread over items: a second question about an item tells less once the first is answered.
MOST_PER_ITEM = 3


def informative(posterior: Array, kind: str, fitted: Fit, rng: Generator) -> tuple[Array, Array]:
    """Give triplets (n, 3) of positions and the information (n,) in nats expected of each, best first.

    Nobody knows who will answer, so it is the mean of what each would tell, weighted by their answers so far.
    """
    name: Kind = "outlier" if kind == "outlier" else "relative"
    table = table_of_anyone(fitted.state, name, fitted.epsilon)
    return suggest(
        np.asarray(posterior), table, WANTED, CANDIDATES, kind=name, most_per_item=MOST_PER_ITEM, random_state=rng
    )
