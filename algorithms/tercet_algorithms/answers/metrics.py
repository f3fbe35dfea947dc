"""How good a clustering is, and how far people agree.

Clusterings are compared with true classes (`pairwise_f`, `purity`) and with people's answers (`answers_satisfied`); for
the adjusted Rand index and normalised mutual information use scikit-learn (`sklearn.metrics.adjusted_rand_score`,
`normalized_mutual_info_score`). Answers are compared with one another: `krippendorff_alpha` for all of them,
`labeler_agreement` for each labeler.
"""

import sys
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.cluster import contingency_matrix, pair_confusion_matrix

from tercet_algorithms.answers.patterns import ANSWERS, KINDS, Array, patterns_of, right_answers
from tercet_algorithms.answers.reading import Constraints, number_labelers, read_constraints

_MOST_ANSWERS = max(len(answers) for answers in ANSWERS.values())


class LabelerAgreement(NamedTuple):
    """How far one labeler's answers agree with those of others to the same questions."""

    answers: int  # questions that the labeler answered
    shared: int  # those of them that somebody else answered too
    agreement: float  # mean share of the others who gave the same answer, over the shared questions; nan without any


class AgreementCeiling(NamedTuple):
    """How far people agree, and the largest share of their answers that any clusters could predict."""

    questions: int  # that two people or more answered
    agreement: float  # mean share of pairs of people who gave the same answer; nan where no question has two answers
    ceiling: float  # largest share of the answers that can be predicted; nan where no question has two answers


def pairwise_f(true_labels: Any, labels: Any) -> float:
    """Return the F-measure of "these two items are in one cluster" over all pairs; 0 where no pair is."""
    (_, false_alike), (false_apart, both) = pair_confusion_matrix(true_labels, labels)
    total = 2 * both + false_alike + false_apart
    return float(2 * both / total) if total else 0.0


def purity(true_labels: Any, labels: Any) -> float:
    """Return the share of items in the commonest class of their cluster; it grows with the number of clusters."""
    table = contingency_matrix(true_labels, labels)
    return float(table.max(axis=0).sum() / table.sum())


def answers_satisfied(
    labels: Any, triplets: Any, answers: Any, kinds: Any = None, weights: Any = None, item_names: Array | None = None
) -> float:
    """Return the share of the answers that are right for these clusters; 0 where all weights are 0.

    `weights` (M,) are how much each answer counts; `item_names` (N,) are names that triplets may use instead of
    positions.
    """
    clusters = np.asarray(labels)
    constraints = read_constraints(
        triplets, answers, kinds, weights=weights, n_items=len(clusters), item_names=item_names, merge=False
    )
    counts = constraints.counts()
    if not counts.any():
        return 0.0
    patterns = patterns_of(clusters, constraints.triplets)
    expected: Array = np.stack([right_answers(kind) for kind in KINDS])[constraints.kinds, patterns]
    return float(np.average(expected == constraints.answers, weights=counts))


def krippendorff_alpha(triplets: Any, answers: Any, labelers: Iterable[Hashable], kinds: Any = None) -> float:
    """Return Krippendorff's nominal alpha: 1 if all agree, about 0 if all guess, below if they oppose each other.

    Parameters
    ----------
    triplets : array-like of int, shape (M, 3)
        Items (anchor, left, right) of each answer. A question with left and right exchanged is the same question, and
        so is an outlier question in any order.
    answers : array-like, shape (M,)
        "yes", "no", "dnk" or 1, -1, 0; 1, 2, 3 or "dnk" (0) to outlier questions.
    labelers : iterable of hashables, M of them
        Who gave each answer. Of several answers of one labeler to one question, the last counts.
    kinds : array-like of str, shape (M,), or None
        "relative" (all of them where None) or "outlier". Agreement by chance is computed for each kind separately.

    Returns
    -------
    float
        Alpha; nan, since it is not defined, where no question has two answers or all of these answers are the same.

    Raises
    ------
    ValueError
        With the row and value that is wrong.

    Notes
    -----
    Questions may have different numbers of answers; those with one are not used. K. Krippendorff, "Computing
    Krippendorff's alpha-reliability" (2011), section C.
    """
    questions, values, _, constraints = _answered(triplets, answers, labelers, kinds)
    counts = _count(questions, values)
    kind_of_question = np.zeros(len(counts), dtype=np.int64)
    kind_of_question[questions] = constraints.kinds
    return nominal_alpha(*(counts[kind_of_question == code] for code in range(len(KINDS))))


def agreement_ceiling(triplets: Any, answers: Any, labelers: Iterable[Hashable], kinds: Any = None) -> AgreementCeiling:
    """Return how far people agree, and the largest share of their answers that any clusters could predict.

    Parameters, errors and what counts as one question are those of `krippendorff_alpha`.

    Notes
    -----
    With p the probabilities of the answers to a question, two people agree with probability sum p^2, and the best
    prediction, the most probable answer, is right with probability max p <= sqrt(sum p^2). By Jensen's inequality the
    mean of that over questions is at most the square root of the mean agreement.
    """
    questions, values, _, _ = _answered(triplets, answers, labelers, kinds)
    counts = _count(questions, values)
    n_people = counts.sum(axis=1)
    several = n_people > 1
    if not several.any():
        return AgreementCeiling(0, float("nan"), float("nan"))
    counts, n_people = counts[several], n_people[several]
    pairs_alike = np.sum(counts * (counts - 1), axis=1) / (n_people * (n_people - 1))
    agreement = float(pairs_alike.mean())
    return AgreementCeiling(len(counts), agreement, float(np.sqrt(agreement)))


def nominal_alpha(*tables: Array) -> float:
    """Return alpha of tables (units, values) that count how often each unit got each value; nan if not defined.

    Tables do not share values: expected disagreement is computed for each, and observed and expected disagreement are
    summed over the tables.
    """
    observed = expected = 0.0
    for table in tables:
        counts = table[table.sum(axis=1) > 1].astype(np.float64)
        if not len(counts):
            continue
        answers = counts.sum(axis=1)
        observed += np.sum((answers**2 - np.sum(counts**2, axis=1)) / (answers - 1))
        values = counts.sum(axis=0)
        expected += (values.sum() ** 2 - np.sum(values**2)) / (values.sum() - 1)
    return float(1 - observed / expected) if expected else float("nan")


def labeler_agreement(
    triplets: Any, answers: Any, labelers: Iterable[Hashable], kinds: Any = None
) -> dict[Hashable, LabelerAgreement]:
    """Return how far each labeler agrees with the others on the questions that they share.

    Parameters, errors and what counts as one question are those of `krippendorff_alpha`. Agreement is not corrected
    for chance: where most say "don't know", a labeler who always says it agrees often.

    Returns
    -------
    dict of labeler to LabelerAgreement, in the order of their first answers
    """
    questions, values, people, _ = _answered(triplets, answers, labelers, kinds)
    counts = _count(questions, values)
    others = counts.sum(axis=1)[questions] - 1
    shared = others > 0
    alike = np.where(shared, (counts[questions, values] - 1) / np.maximum(others, 1), 0.0)
    codes, names = number_labelers(people)
    sums = (np.bincount(codes, weights, len(names)) for weights in (None, shared, alike))
    rows = zip(names, *sums, strict=True)
    return {name: LabelerAgreement(int(n), int(m), float(a / m) if m else float("nan")) for name, n, m, a in rows}


def _every_row(triplets: Any, answers: Any, kinds: Any, n_items: int) -> Constraints:
    """Return the checked answers, with repeated rows."""
    return read_constraints(triplets, answers, kinds, n_items=n_items, merge=False)


def _answered(
    triplets: Any, answers: Any, labelers: Iterable[Hashable], kinds: Any
) -> tuple[Array, Array, list[Hashable], Constraints]:
    """Return question, value, labeler and constraint of each answer that counts, one per labeler and question."""
    constraints = _every_row(triplets, answers, kinds, n_items=sys.maxsize)
    people = list(labelers)
    if len(people) != len(constraints):
        raise ValueError(f"labelers has {len(people)} rows, triplets has {len(constraints)}")
    places, values = _unordered(constraints)
    keys = np.column_stack([constraints.kinds, places])
    questions = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
    last = {(question, person): row for row, (question, person) in enumerate(zip(questions, people, strict=True))}
    rows = np.array(sorted(last.values()), dtype=np.int64)
    questions = np.unique(questions[rows], return_inverse=True)[1]
    return questions, values[rows], [people[row] for row in rows], constraints.select(rows)


def _unordered(constraints: Constraints) -> tuple[Array, Array]:
    """Return triplets and answers with the items of outlier questions sorted, since these have no anchor."""
    places, values = constraints.triplets.copy(), constraints.answers.copy()
    rows = np.flatnonzero(constraints.kinds == KINDS.index("outlier"))
    order = places[rows].argsort(axis=1)
    places[rows] = np.take_along_axis(places[rows], order, axis=1)
    named = values[rows] < order.shape[1]
    values[rows[named]] = order.argsort(axis=1)[named, values[rows[named]]]
    return places, values


def _count(questions: Array, values: Array) -> Array:
    """Return how often each answer was given to each question, shape (questions, answers)."""
    counts = np.zeros((questions.max(initial=-1) + 1, _MOST_ANSWERS), dtype=np.int64)
    np.add.at(counts, (questions, values), 1)
    return counts
