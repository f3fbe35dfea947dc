"""How good a clustering is: against true classes, and against the answers that people gave."""

from typing import Any

import numpy as np
from sklearn.metrics.cluster import pair_confusion_matrix

from algorithms.patterns import KINDS, Array, patterns_of, right_answers
from algorithms.validation import read_constraints


def pairwise_f(true_labels: Any, labels: Any) -> float:
    """F-measure of "these two items are in one cluster" over all pairs; 0 where no pair is."""
    (_, false_alike), (false_apart, both) = pair_confusion_matrix(true_labels, labels)
    total = 2 * both + false_alike + false_apart
    return float(2 * both / total) if total else 0.0


def answers_satisfied(labels: Any, triplets: Any, answers: Any, kinds: Any = None) -> float:
    """Share of the answers that people sorting by these clusters would give; 0 where there are none."""
    clusters = np.asarray(labels)
    rows = range(len(triplets))  # every row its own labeler: repeated answers count each time
    constraints = read_constraints(triplets, answers, kinds, rows, n_items=len(clusters))
    if not len(constraints):
        return 0.0
    patterns = patterns_of(clusters, constraints.triplets)
    expected: Array = np.stack([right_answers(kind) for kind in KINDS])[constraints.kinds, patterns]
    return float(np.mean(expected == constraints.answers))
