"""AnswerEmbedding: points of items, learned from answers alone.

For items without features, or for answers that were collected elsewhere: the points can be clustered like any features.
The model of answers is that of the other estimators: three items form one of five patterns, and a table holds the
probability of each answer given the pattern, "don't know" included.
"""

import warnings
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import orthogonal_procrustes
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from tercet_algorithms.answers.patterns import KINDS, Array, Kind
from tercet_algorithms.answers.reading import Constraints, read_constraints, read_kind, read_triplets
from tercet_algorithms.common.estimator import Estimator
from tercet_algorithms.common.model_selection import questions_of
from tercet_algorithms.common.parameters import (
    BOOLEAN,
    NUMBER_FROM_0,
    POSITIVE_INTEGER,
    Constraint,
)
from tercet_algorithms.embedding.pattern_model import answer_table
from tercet_algorithms.embedding.search import (
    FEWEST_QUESTIONS,
    Callback,
    EmbeddingSearch,
    EmbeddingState,
    mean_log_probability,
    predicted_answers,
)

# Dimensions that "auto" chooses from, and the one that it takes where too few answers can be held out. 1 is not among
# them: on a line items cannot pass one another, so that starts get stuck, and a plane holds every line.
_CANDIDATES = (2, 3, 5)
_USUAL = 2
_MOST_ITEMS = 1_000_000


@dataclass(eq=False, repr=False)
class AnswerEmbedding(Estimator):
    """Points of items, learned from answers about triplets of them.

    Samples are triplets and targets are answers, as for `TripletSplit`: `fit(triplets, answers)`.

    Parameters
    ----------
    n_components : int or "auto"
        Dimension of the points. "auto" chooses from 2, 3 and 5 the one whose fit to four fifths of the answers
        predicts the others best; with fewer than 50 different questions it is 2.
    penalty : float
        The sum of the squared coordinates times `penalty` / 2 is subtracted from the log likelihood. This keeps items
        that were seldom asked about near the centre.
    use_dnk : bool
        Whether "don't know" answers are learned from.
    n_items : int or None
        Number of items; None is one more than the largest position in `triplets`.
    n_init : int
        Number of starts; the one with the highest bound wins.
    max_iter : int
        Largest number of L-BFGS steps of a start.
    tol : float
        A start ends when 50 steps gain less than `tol`, relative to the bound.
    n_jobs : int or None
        How many fits run at once, each in a thread: first those of the dimensions to choose from, then the starts. -1
        is one for each processor. The result is the same for any number; with more than one, the callback is called at
        the end of each fit instead of after every 50 steps.
    verbose : bool or int
        Whether to print a line for every 50 steps.
    random_state : int, RandomState or None

    Attributes
    ----------
    embedding_ : (N, d) points, turned so that their first axis has the largest variance, or onto `init`
    n_components_ : int, d
    offsets_ : dict, of the patterns "all alike", "all different" and, in relative questions, "anchor apart": the
        logarithm of how many times likelier they are than distances say
    held_out_scores_ : dict, dimension -> mean log probability of the held-out answers; empty unless one was chosen
    lower_bound_, lower_bounds_ : the penalised log likelihood, and its trace over the winning start
    n_items_, n_iter_, converged_ : `n_iter_` counts rounds of 50 steps

    Notes
    -----
    A pair of items is alike with odds 1 / (1 + squared distance), independently of other pairs, except that being alike
    is transitive; the probabilities of the five patterns follow from that. How often people slip and how readily they
    say "don't know" is learned. Where nobody says it, the model tends to the crowd kernel of Tamuz et al., whose kernel
    it uses, and to the t-distributed embedding of van der Maaten and Weinberger with one degree of freedom.

    References
    ----------
    O. Tamuz, C. Liu, S. Belongie, O. Shamir and A. T. Kalai, "Adaptively Learning the Crowd Kernel" (2011),
    arXiv:1105.1033.

    L. van der Maaten and K. Weinberger, "Stochastic Triplet Embedding" (2012), IEEE International Workshop on Machine
    Learning for Signal Processing.

    Y. Pei, X. Z. Fern, R. Rosales and T. V. Tjahja, "Discriminative Clustering with Relative Constraints" (2014),
    arXiv:1501.00037: patterns and "don't know".

    Examples
    --------
    People sort 30 items without features into three classes; the points show the classes.

    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from tercet_algorithms import AnswerEmbedding
    >>> rng = np.random.default_rng(0)
    >>> classes = np.arange(30) % 3
    >>> triplets = np.array([rng.choice(30, 3, replace=False) for _ in range(400)])
    >>> anchor, left, right = classes[triplets].T
    >>> answers = np.where((anchor == left) == (anchor == right), "dnk", np.where(anchor == left, "yes", "no"))
    >>> model = AnswerEmbedding(2, random_state=0).fit(triplets, answers)
    >>> model.embedding_.shape
    (30, 2)
    >>> clusters = KMeans(3, n_init=10, random_state=0).fit_predict(model.embedding_)
    >>> adjusted_rand_score(classes, clusters)
    1.0
    >>> model.predict_answers([[0, 3, 1]]).argmax(axis=1)  # 0 is like 3: yes
    array([0])
    >>> model.score(triplets, answers)
    1.0
    >>> bool(model.score_answers(triplets, answers) > np.log(0.9))
    True
    >>> model.answer_table("relative").shape
    (5, 3)
    """

    n_components: Any = "auto"
    _: KW_ONLY
    penalty: float = 0.03
    use_dnk: bool = True
    n_items: int | None = None
    n_init: int = 3
    max_iter: int = 1000
    tol: float = 1e-4

    _parameter_constraints: ClassVar[dict[str, Constraint | str]] = Estimator._parameter_constraints | {
        "n_components": [*POSITIVE_INTEGER, StrOptions({"auto"})],
        "penalty": NUMBER_FROM_0,
        "use_dnk": BOOLEAN,
        "n_items": [None, *POSITIVE_INTEGER],
        "n_init": POSITIVE_INTEGER,
        "max_iter": POSITIVE_INTEGER,
        "tol": NUMBER_FROM_0,
    }

    def fit(
        self,
        triplets: Any,
        answers: Any,
        *,
        kinds: Any = None,
        labelers: Iterable[object] | None = None,
        weights: Any = None,
        init: Any = None,
        callback: Callback | None = None,
        resume: EmbeddingState | None = None,
    ) -> Self:
        """Learn the points.

        Parameters
        ----------
        triplets : array-like of int, shape (M, 3)
            Positions of anchor, left and right of each question.
        answers, kinds, labelers, weights :
            As in `DCRC.fit`.
        init : array-like of shape (n, c), optional
            Points of an earlier fit, for the first start; the result is rotated onto them. Their dimension may be
            another, and the number of items smaller.
        callback : callable, optional
            Called with an `EmbeddingState` after every 50 steps. When it raises `StopFit`, the fit ends with the best
            so far.
        resume : EmbeddingState, optional
            Where to continue, given the same answers and parameters.

        Returns
        -------
        self : AnswerEmbedding

        Raises
        ------
        ValueError
            With the row, value or parameter that is wrong, or where there are neither answers nor `n_items`.

        Warns
        -----
        ConvergenceWarning
            Where `max_iter` ends the best start.
        """
        self._check_parameters()
        n_items = _MOST_ITEMS if self.n_items is None else self.n_items
        constraints = read_constraints(triplets, answers, kinds, labelers, weights, n_items=n_items)
        if self.n_items is None:
            n_items = int(constraints.triplets.max(initial=-1)) + 1
        if not n_items:
            raise ValueError("no answers to learn from and no n_items: expected one or the other")
        if not self.use_dnk:
            constraints = constraints.select(~constraints.is_dnk())
        rng = check_random_state(self.random_state)
        search = EmbeddingSearch.of(
            constraints,
            n_items,
            self.penalty,
            max_iter=self.max_iter,
            tol=self.tol,
            rng=rng,
            init=_padded(init, n_items),
        )
        state = search.first_state(self._candidates(constraints, n_items), self.n_init, rng)
        if resume is not None:
            search.check_resumable(resume)
            state = resume
        state, stopped = search.run(state, callback, self.n_jobs, self.verbose)
        self._store_results(search, state)
        if not (self.converged_ or stopped):
            message = f"AnswerEmbedding stopped after {self.max_iter} steps without converging; raise max_iter or tol"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def predict_answers(self, triplets: Any, kinds: Any = None) -> Array:
        """Return the probabilities of the answers to questions.

        Parameters
        ----------
        triplets : array-like of int, shape (M, 3)
            Positions of anchor, left and right of each question.
        kinds : str or array-like of str, shape (M,), optional
            All "relative" (also where None) or all "outlier".

        Returns
        -------
        array of shape (M, A)
            The columns are yes, no and dnk, or 1, 2, 3 and dnk for outlier questions.

        Raises
        ------
        ValueError
            With the row and value that is wrong, or where kinds differ.
        """
        check_is_fitted(self, "embedding_")
        places = read_triplets(triplets, self.n_items_)
        kind = read_kind(kinds, len(places))
        return predicted_answers(self.embedding_, self._coefficients, places, KINDS.index(kind))

    def score_answers(self, triplets: Any, answers: Any, kinds: Any = None, weights: Any = None) -> float:
        """Return the mean log probability of answers in nats; higher is better, 0 is perfect.

        Parameters
        ----------
        triplets, answers, kinds, weights :
            As in `fit`; repeated answers all count.

        Returns
        -------
        float
            Weighted by `weights`; 0 where nothing counts.

        Raises
        ------
        ValueError
            With the row and value that is wrong.
        """
        constraints = self._read(triplets, answers, kinds, weights)
        return mean_log_probability(self.embedding_, self._coefficients, constraints)

    def score(self, triplets: Any, answers: Any, kinds: Any = None, weights: Any = None) -> float:
        """Return the share of the answers that the model predicts: those that are its most probable answer.

        Parameters
        ----------
        triplets, answers, kinds, weights :
            As in `score_answers`.

        Returns
        -------
        float in [0, 1]
            Weighted by `weights`; 0 where nothing counts.

        Raises
        ------
        ValueError
            As in `score_answers`.
        """
        constraints = self._read(triplets, answers, kinds, weights)
        hits = np.zeros(len(constraints), dtype=bool)
        for code in range(len(KINDS)):
            rows = constraints.kinds == code
            chances = predicted_answers(self.embedding_, self._coefficients, constraints.triplets[rows], code)
            hits[rows] = chances.argmax(axis=1) == constraints.answers[rows]
        counts = constraints.counts()
        return float(counts @ hits / counts.sum()) if counts.sum() else 0.0

    def answer_table(self, kind: Kind = "relative") -> Array:
        """Return the learned P(answer | pattern).

        Parameters
        ----------
        kind : "relative" or "outlier"

        Returns
        -------
        array of shape (5, A)
            Rows as in `answers.patterns`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self, "embedding_")
        return answer_table(kind, self._coefficients)

    def _read(self, triplets: Any, answers: Any, kinds: Any, weights: Any) -> Constraints:
        """Return the checked answers about the fitted items, with repeated rows."""
        check_is_fitted(self, "embedding_")
        return read_constraints(triplets, answers, kinds, weights=weights, n_items=self.n_items_, merge=False)

    def _candidates(self, constraints: Constraints, n_items: int) -> tuple[int, ...]:
        """Return the dimensions to choose from; one where there is no choice."""
        if self.n_components != "auto":
            return (self.n_components,)
        possible = tuple(dimension for dimension in _CANDIDATES if dimension < n_items) or (1,)
        enough = len(np.unique(questions_of(constraints))) >= FEWEST_QUESTIONS
        return possible if enough else (min(_USUAL, possible[-1]),)

    def _store_results(self, search: EmbeddingSearch, state: EmbeddingState) -> None:
        """Set the fitted attributes; a fit that was stopped in its first start has no best start yet."""
        ended = len(state.best_bounds) > 0
        points, coefficients = search.model.split(state.best_parameters if ended else state.parameters)
        self.lower_bounds_ = state.best_bounds if ended else state.bounds
        self.lower_bound_ = float(self.lower_bounds_[-1])
        self.converged_ = bool(state.best_converged if ended else state.converged)
        self.n_iter_ = len(self.lower_bounds_)
        self.embedding_ = _oriented(points, search.init)
        self.n_items_, self.n_components_ = self.embedding_.shape
        self._coefficients = coefficients.copy()
        self.offsets_ = dict(
            zip(("all alike", "all different", "anchor apart"), coefficients[:3].tolist(), strict=True)
        )
        self.held_out_scores_ = dict(
            zip(state.dimensions[: len(state.scores)].tolist(), state.scores.tolist(), strict=True)
        )


def _padded(init: Any, n_items: int) -> Array | None:
    """Return `init` with a row for every item, NaN for items without a point."""
    if init is None:
        return None
    points = np.asarray(init, dtype=np.float64)
    if points.ndim != 2 or len(points) > n_items or not points.shape[1]:
        raise ValueError(f"init must have at most {n_items} rows, a point each, got shape {points.shape}")
    padded = np.full((n_items, points.shape[1]), np.nan)
    padded[: len(points)] = points
    return padded


def _oriented(points: Array, init: Array | None) -> Array:
    """Return the points rotated and reflected, which changes no distance: onto `init`, else to their principal axes."""
    known_items = np.zeros(len(points), dtype=bool) if init is None else np.isfinite(init).all(axis=1)
    if init is not None and init.shape[1] == points.shape[1] and known_items.any():
        here, there = points[known_items].mean(axis=0), init[known_items].mean(axis=0)
        turn = orthogonal_procrustes(points[known_items] - here, init[known_items] - there)[0]
        matched: Array = (points - here) @ turn + there
        return matched
    centred = points - points.mean(axis=0)
    directions = np.linalg.svd(centred, full_matrices=False)[2]
    signs = np.sign(directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)])
    turned = np.zeros_like(points)
    turned[:, : len(directions)] = centred @ (directions * signs[:, None]).T
    return turned
