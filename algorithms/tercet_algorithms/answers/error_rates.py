"""How people err, learned from their answers: how often they say "don't know" in clear cases, and so on.

The right answers are known as probabilities: from a fit that had not used the answer, more surely where several people
answered one question, and certainly for known questions. The rates maximize the posterior, by expectation maximization
(A. P. Dawid and A. M. Skene, Applied Statistics 28, 1979), where items are exchangeable.

Every labeler has rates, shrunk towards those of the project by empirical Bayes. The counts n of right, wrong and "don't
know" among a labeler's N clear cases are multinomial; their probabilities are Dirichlet over labelers, with mean p, the
project's rates, and concentration s. So the labeler's rates are (n + s p) / (N + s): p without answers, nearly n / N
with many. s maximizes the probability of the counts of all labelers, with their rates integrated out (T. P. Minka,
Estimating a Dirichlet distribution, 2000). The shares n / N of one labeler vary about p in proportion to 1/N + 1/s, so
p is their mean with weights N s / (N + s): many answers of one labeler do not count like those of many. p also includes
ten pseudo-answers with people's usual errors. Unclear cases are counted in the same way, by whether an item was chosen.
"""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from tercet_algorithms.answers.patterns import Array, Kind, answer_table, check_probabilities, right_answers
from tercet_algorithms.answers.reading import number_labelers

_ITERATIONS = 100
_PSEUDO_ANSWERS = 10.0  # in clear cases, and as many in unclear ones, with the errors of `answer_table(kind, "people")`
# Concentrations to choose from, and their prior, a broad one about 30: labelers differ, but not without limit.
_CONCENTRATIONS = np.geomspace(2.0, 2000.0, 61)
_LOG_PRIOR = -0.5 * np.log(_CONCENTRATIONS / 30.0) ** 2


class ErrorRates(NamedTuple):
    """How often somebody errs, as shares of the clear cases (an item is right) and of the unclear ones (none is)."""

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
    """The error rates of the project and of each labeler."""

    everybody: ErrorRates
    labelers: dict[Hashable, ErrorRates]
    right_shares: Array  # (A,) how often each answer was the right one, as a share of the questions asked

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
    """Return how often people err; ten pseudo-answers with people's usual errors count in clear and in unclear cases.

    Parameters
    ----------
    rights : array of shape (M, A)
        P(right answer) of each answer's question: from a fit that had not used the answers to it, or certain.
    columns : array of int, shape (M,)
        The column of each answer in its table; "don't know" is the last.
    kind : "relative" or "outlier"
    labelers : sequence of M hashables, optional
        Who gave each answer; where None, all are of one labeler.
    questions : array of int, shape (M,), optional
        The number of each answer's question. Answers to one question have the same number, and the row of the first of
        them in `rights` is used. By default each answer is to a different question.

    Raises
    ------
    ValueError
        Where shapes do not fit together, or the rows of `rights` are not probabilities.
    """
    R, chosen = np.asarray(rights, dtype=np.float64), np.asarray(columns, dtype=np.int64)
    usual_table = answer_table(kind, "people")
    n_answers = usual_table.shape[1]
    who, names = number_labelers([None] * len(chosen) if labelers is None else labelers)
    if R.shape != (len(chosen), n_answers) or len(who) != len(chosen):
        raise ValueError(f"rights (M, {n_answers}), columns and labelers (M,) differ: {R.shape}, {chosen.shape}")
    check_probabilities("rights", R, 0.01)
    numbers = np.arange(len(chosen)) if questions is None else np.asarray(questions)
    _, first, question = np.unique(numbers, return_index=True, return_inverse=True)
    log_prior = np.log(np.maximum(R[first], 1e-300))
    usual = _rates_of(usual_table[_pattern_of_each_answer(kind)])
    everybody, people = usual, np.tile(usual, (len(names), 1))
    clear, unclear = np.zeros((len(names), 3)), np.zeros((len(names), 2))
    right_shares = np.full(n_answers, 1 / n_answers)
    for _ in range(_ITERATIONS):
        likely = _right_answers(log_prior, question, who, chosen, people, n_answers)
        counts = np.zeros((len(names), n_answers, n_answers))  # labeler, right answer, answer
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


def _pattern_of_each_answer(kind: Kind) -> Array:
    """Return, for each answer in the order of the columns, a pattern for which it is the right one."""
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
    """Return each labeler's counts: of clear cases right, mixed up, unsure, (L, 3); of unclear ones right, invented."""
    of_clear, of_unclear = counts[:, :-1], counts[:, -1]
    right, unsure = np.trace(of_clear, axis1=1, axis2=2), of_clear[:, :, -1].sum(axis=1)
    mixed_up = of_clear.sum(axis=(1, 2)) - right - unsure
    invented = of_unclear[:, :-1].sum(axis=1)
    return np.column_stack([right, mixed_up, unsure]), np.column_stack([of_unclear[:, -1], invented])


def _shrunk(counts: Array, usual: Array) -> tuple[Array, Array]:
    """Return the project's shares (C,) and each labeler's (L, C), under the most probable concentration."""
    totals = counts.sum(axis=1)
    concentration = float(_CONCENTRATIONS[_LOG_PRIOR.argmax()])
    for _ in range(3):
        weights = concentration / (totals + concentration)
        pseudo_answers = _PSEUDO_ANSWERS * (weights @ totals) / totals.sum() if totals.sum() else _PSEUDO_ANSWERS
        mean = weights @ counts + pseudo_answers * usual
        mean /= mean.sum()
        concentration = float(_CONCENTRATIONS[(_log_evidence(counts, mean) + _LOG_PRIOR).argmax()])
    return mean, (counts + concentration * mean) / (totals + concentration)[:, None]


def _log_evidence(counts: Array, mean: Array) -> Array:
    """Return log P(counts) of all labelers under each concentration, (S,), with the labelers' shares integrated out."""
    alphas = np.maximum(_CONCENTRATIONS[:, None, None] * mean, 1e-9)  # (S, 1, C)
    of_cells = (gammaln(counts + alphas) - gammaln(alphas)).sum(axis=2)
    of_totals = gammaln(_CONCENTRATIONS)[:, None] - gammaln(counts.sum(axis=1) + _CONCENTRATIONS[:, None])
    evidence: Array = (of_cells + of_totals).sum(axis=1)
    return evidence
