"""How people err, learned from their answers: how often they say "don't know" in clear cases, and so on.

What the right answer was is known as a probability: as a fit that had not used the answer has it, better where several
people answered one question, and for sure where somebody looked it up. The rates are those of the highest posterior by
expectation and maximisation, as of A. P. Dawid and A. M. Skene (Applied Statistics 28, 1979), with items that are
exchangeable.

Every labeler has rates of their own, drawn to the project's by empirical Bayes. Of a labeler's clear cases the counts n
of right, wrong and "don't know" are multinomial, their probabilities are Dirichlet over labelers with mean p, the
project's rates, and concentration s. So the labeler's rates are (n + s p) / (N + s): p without answers, their own
shares with many. The counts of all labelers choose s, by their probability with the rates integrated out (T. P. Minka,
Estimating a Dirichlet distribution, 2000). The shares n / N of one labeler vary about p in proportion to 1/N + 1/s, so
that p is their mean with weights N s / (N + s): many answers of one person do not make a crowd. To it ten answers of
all are added that err as people mostly do. Unclear cases are counted in the same way, by whether an item was named.
"""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from tercet_algorithms.answers.patterns import Array, Kind, answer_table, right_answers

_ITERATIONS = 100
_IMAGINED = 10.0  # answers in clear cases, and as many in unclear ones, given as `answer_table(kind, "people")` says
# Concentrations that are tried, and what is thought of them beforehand: people differ, but not beyond recognition.
_CONCENTRATIONS = np.geomspace(2.0, 2000.0, 61)
_LOG_PRIOR = -0.5 * np.log(_CONCENTRATIONS / 30.0) ** 2


class ErrorRates(NamedTuple):
    """Shares of answers, of those where an item is right (clear cases), and of those where none is."""

    unsure: float  # "don't know" in clear cases
    mixed_up: float  # a wrong item in clear cases
    invented: float  # an item where none is right
    n_clear: float  # expected number of clear cases
    n_unclear: float

    def table(self, kind: Kind) -> Array:
        """Return P(answer | pattern), (5, A)."""
        rights = right_answers(kind)
        return _table(np.array(self[:3]), int(rights.max()) + 1)[rights]


class LearnedRates(NamedTuple):
    """How everybody errs, and each labeler."""

    everybody: ErrorRates
    labelers: dict[Hashable, ErrorRates]
    right_shares: Array  # (A,) how often each answer was the right one, of the questions asked

    def accuracy(self, labeler: Hashable) -> float:
        """Return the probability that the labeler gives the right answer to a question like those asked."""
        return float(np.trace(self._joint(labeler)))

    def quality(self, labeler: Hashable) -> float:
        """Return how much the labeler's answers tell about the right ones: 0 nothing, 1 everything."""
        return information_share(self._joint(labeler), self.right_shares)

    def _joint(self, labeler: Hashable) -> Array:
        rates = self.labelers.get(labeler, self.everybody)
        joint: Array = self.right_shares[:, None] * _table(np.array(rates[:3]), len(self.right_shares))
        return joint


def learn_error_rates(
    rights: Any, columns: Any, kind: Kind, *, labelers: Sequence[Hashable] | Array | None = None, questions: Any = None
) -> LearnedRates:
    """Return how often people err, with ten imagined answers in either case that err as people mostly do.

    Parameters
    ----------
    rights : array of shape (M, A)
        P(right answer) of each answer's question without any answer to it: of a fit that had not used them, or certain.
    columns : array of int, shape (M,)
        The column of the answer that was given; "don't know" is the last.
    kind : "relative" or "outlier"
    labelers : sequence of M hashables, optional
        Who gave each answer; one person by default.
    questions : array of int, shape (M,), optional
        The number of each answer's question; answers to one question have one number, and the first of them says in
        `rights` what was known of it. By default each answer is to a question of its own.

    Raises
    ------
    ValueError
        Where shapes do not fit together, or rights are no probabilities.
    """
    R, chosen = np.asarray(rights, dtype=np.float64), np.asarray(columns, dtype=np.int64)
    usual_table = answer_table(kind, "people")
    n_answers = usual_table.shape[1]
    names, who = _codes(labelers, len(chosen))
    if R.shape != (len(chosen), n_answers) or len(who) != len(chosen):
        raise ValueError(f"rights (M, {n_answers}), columns and labelers (M,) differ: {R.shape}, {chosen.shape}")
    if not (np.isfinite(R).all() and (R >= 0).all() and np.allclose(R.sum(axis=1), 1, atol=0.01)):
        raise ValueError("rights must hold probabilities: rows of numbers of at least 0 that sum to 1")
    numbers = np.arange(len(chosen)) if questions is None else np.asarray(questions)
    _, first, question = np.unique(numbers, return_index=True, return_inverse=True)
    log_prior = np.log(np.maximum(R[first], 1e-300))
    usual = _rates_of(usual_table[_one_of_each(kind)])
    everybody, people = usual, np.tile(usual, (len(names), 1))
    clear, unclear = np.zeros((len(names), 3)), np.zeros((len(names), 2))
    right_shares = np.full(n_answers, 1 / n_answers)
    for _ in range(_ITERATIONS):
        likely = _right_answers(log_prior, question, who, chosen, people, n_answers)
        counts = np.zeros((len(names), n_answers, n_answers))  # of each labeler: right answer, answer given
        for column in range(n_answers):
            rows = np.flatnonzero(chosen == column)
            np.add.at(counts[:, :, column], who[rows], likely[question[rows]])
        clear, unclear = _cases(counts)
        before, people_before = everybody, people
        of_clear, clear_rates = _shrunk(clear, np.array([1 - usual[0] - usual[1], usual[1], usual[0]]))
        of_unclear, unclear_rates = _shrunk(unclear, np.array([1 - usual[2], usual[2]]))
        everybody = np.array([of_clear[2], of_clear[1], of_unclear[1]])
        people = np.column_stack([clear_rates[:, 2], clear_rates[:, 1], unclear_rates[:, 1]])
        right_shares = (likely[question].sum(axis=0) + 1) / (len(chosen) + n_answers)
        if np.allclose(everybody, before, atol=1e-6) and np.allclose(people, people_before, atol=1e-6):
            break
    of_labelers = {name: _error_rates(people[code], clear[code], unclear[code]) for code, name in enumerate(names)}
    return LearnedRates(_error_rates(everybody, clear, unclear), of_labelers, right_shares)


def information_share(joint: Array, right: Array) -> float:
    """Return the mutual information of answer and right answer over the entropy of the latter; 0 where that is 0."""
    possible = -float(xlogy(right, right).sum())
    if possible < 1e-12:
        return 0.0
    shared = float((xlogy(joint, joint) - xlogy(joint, np.outer(right, joint.sum(axis=0)))).sum())
    return float(np.clip(shared / possible, 0, 1))


def _codes(labelers: Sequence[Hashable] | Array | None, n: int) -> tuple[list[Hashable], Array]:
    people = [None] * n if labelers is None else labelers.tolist() if isinstance(labelers, np.ndarray) else labelers
    number: dict[Hashable, int] = {person: code for code, person in enumerate(dict.fromkeys(people))}
    return list(number), np.array([number[person] for person in people], dtype=np.int64)


def _one_of_each(kind: Kind) -> Array:
    """Return a pattern for each right answer, in the order of the columns."""
    rights: Array = np.unique(right_answers(kind), return_index=True)[1]
    return rights


def _rates_of(table: Array) -> Array:
    """Return unsure, mixed up and invented of a table P(answer | right answer), (3,)."""
    return np.array([table[0, -1], table[0, 1:-1].sum(), table[-1, :-1].sum()])


def _error_rates(rates: Array, clear: Array, unclear: Array) -> ErrorRates:
    unsure, mixed_up, invented = rates.tolist()
    return ErrorRates(unsure, mixed_up, invented, float(clear.sum()), float(unclear.sum()))


def _table(rates: Array, n_answers: int) -> Array:
    """Return P(answer | right answer), (A, A)."""
    unsure, mixed_up, invented = rates
    table = np.full((n_answers, n_answers), mixed_up / (n_answers - 2))
    table[:, -1] = unsure
    table[-1] = invented / (n_answers - 1)
    np.fill_diagonal(table, 1 - unsure - mixed_up)
    table[-1, -1] = 1 - invented
    return table


def _right_answers(
    log_prior: Array, question: Array, who: Array, columns: Array, people: Array, n_answers: int
) -> Array:
    """Return P(right answer) of each question, by all its answers under their labelers' rates, (Q, A)."""
    tables = np.array([_table(rates, n_answers) for rates in people]).reshape(-1, n_answers, n_answers)
    logs = log_prior.copy()
    np.add.at(logs, question, np.log(np.maximum(tables[who, :, columns], 1e-300)))
    likely = np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf))
    probabilities: Array = likely / likely.sum(axis=1, keepdims=True)
    return probabilities


def _cases(counts: Array) -> tuple[Array, Array]:
    """Return each labeler's clear cases as right, mixed up, unsure (L, 3), and unclear ones as silent, invented."""
    of_clear, of_unclear = counts[:, :-1], counts[:, -1]
    right, unsure = np.trace(of_clear, axis1=1, axis2=2), of_clear[:, :, -1].sum(axis=1)
    mixed_up = of_clear.sum(axis=(1, 2)) - right - unsure
    silent = of_unclear[:, -1]
    return np.column_stack([right, mixed_up, unsure]), np.column_stack([silent, of_unclear.sum(axis=1) - silent])


def _shrunk(counts: Array, usual: Array) -> tuple[Array, Array]:
    """Return the project's shares (C,) and each labeler's (L, C), by the concentration that the counts speak for."""
    totals = counts.sum(axis=1)
    concentration = float(_CONCENTRATIONS[_LOG_PRIOR.argmax()])
    for _ in range(3):
        weights = concentration / (totals + concentration)
        imagined = _IMAGINED * (weights @ totals) / totals.sum() if totals.sum() else _IMAGINED
        mean = weights @ counts + imagined * usual
        mean /= mean.sum()
        concentration = float(_CONCENTRATIONS[(_log_evidence(counts, mean) + _LOG_PRIOR).argmax()])
    return mean, (counts + concentration * mean) / (totals + concentration)[:, None]


def _log_evidence(counts: Array, mean: Array) -> Array:
    """Return log P(counts) of all labelers under each concentration, their own shares integrated out."""
    alphas = np.maximum(_CONCENTRATIONS[:, None, None] * mean, 1e-9)  # (S, 1, C)
    of_cells = (gammaln(counts + alphas) - gammaln(alphas)).sum(axis=2)
    of_totals = gammaln(_CONCENTRATIONS)[:, None] - gammaln(counts.sum(axis=1) + _CONCENTRATIONS[:, None])
    evidence: Array = (of_cells + of_totals).sum(axis=1)
    return evidence
