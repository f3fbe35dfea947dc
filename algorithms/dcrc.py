"""DCRC: discriminative clustering with relative constraints (Pei, Fern, Rosales and Tjahja, 2014).

The default algorithm of Tercet: clusters are the classes of a logistic model whose parameters make the people's
answers likely ("don't know" included), keep unasked items away from the borders and, if wanted, the clusters of
similar size. Answers may be wrong with probability epsilon, so a few mistakes do not break a clustering.
"""

import warnings
from collections.abc import Iterable
from typing import Any, Literal, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from algorithms.discriminative import LowerBound
from algorithms.fitting import (
    HARD_EPSILON,
    HARD_SCHEDULE,
    Callback,
    FitState,
    Search,
    Solution,
    Solver,
    plan_starts,
)
from algorithms.mean_field import MeanField
from algorithms.patterns import KINDS, Array, answer_probabilities, answer_table
from algorithms.validation import (
    Constraints,
    check_features,
    check_features_of,
    read_constraints,
    read_kinds,
    read_triplets,
)
from algorithms.warm_start import PREVIOUS, Previous

Weight = Literal["paper", "balanced"]

_STATE = ("coef_", "intercept_", "mean_", "scale_", "posterior_", "constrained_", "lower_bound_")


class DCRC(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Clusters from features and from answers about triplets of items.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K.
    epsilon : float in [0, 2/3)
        Probability that an answer is wrong (Table I); also how strongly one answer counts. 0 means hard answers
        (Eq 14), which are always approached through softer ones.
    tau : float
        Weight of cluster separation and, with `balance`, of cluster balance (Eqs 8 and 9).
    lam : float
        Penalty of the squared weights, intercepts excepted.
    balance : bool
        Whether clusters are drawn towards equal sizes (Eq 9). Better off where sizes are known to differ widely.
    use_dnk : bool
        Whether "don't know" answers are learned from.
    n_init : int
        Number of starts; the one with the best lower bound wins. One of them is a thorough K-means. With a warm
        start the first continues from the previous fit, so n_init=1, n_moves=0 then is the warm start alone.
    n_moves : int
        Split-and-merge moves tried on the best start, each kept if it raises the bound. They repair what starts
        cannot when clusters are many: two classes in one cluster, one class in two.
    solver : "profile" or "em"
        "profile" climbs max over q of the bound by L-BFGS; "em" is the paper's variational EM, slower and usually
        ending lower.
    weight : "balanced" or "paper"
        Weight of the answers' log likelihood: 3 / |I| (|I| items occur in answers) or the paper's 1 / M. Equal as
        long as no item occurs twice; the paper's fades out as answers become dense.
    max_iter : int
        Most outer iterations of one start; one is 20 L-BFGS steps, with solver="em" after an E-step.
    tol : float
        A start ends when the bound gains less than `tol`, relative to max(|bound|, 1).
    standardize : bool
        Whether columns of X are brought to mean 0 and variance 1 inside; `lam` means little without.
    warm_start : bool
        Whether `fit` continues from the previous fit (or from `set_state_arrays`).
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : (N,) cluster of every item: argmax of `posterior_` (with epsilon=0 of p(y | x), which is then better)
    posterior_ : (N, K) q of constrained items, p(y | x) of the others
    constrained_ : positions of the items that occur in answers that were used
    coef_, intercept_ : (K, D) and (K,) of the logistic model on (X - mean_) / scale_
    mean_, scale_ : (D,)
    lower_bound_, lower_bounds_ : the final bound (Eq 10) and its trace over the winning start's iterations
    n_iter_, converged_, n_features_in_
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: float = 0.05,
        tau: float = 1.0,
        lam: float = 2**-8,
        balance: bool = True,
        use_dnk: bool = True,
        n_init: int = 10,
        n_moves: int = 10,
        solver: Solver = "profile",
        weight: Weight = "balanced",
        max_iter: int = 100,
        tol: float = 1e-5,
        standardize: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.tau = tau
        self.lam = lam
        self.balance = balance
        self.use_dnk = use_dnk
        self.n_init = n_init
        self.n_moves = n_moves
        self.solver = solver
        self.weight = weight
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.warm_start = warm_start
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        triplets: Any = None,
        answers: Any = None,
        kinds: Any = None,
        labelers: Iterable[object] | None = None,
        callback: Callback | None = None,
        resume: FitState | None = None,
    ) -> Self:
        """Cluster the rows of X (N, D).

        `triplets` (M, 3) are item positions (anchor, left, right), `answers` (M,) "yes" / "no" / "dnk" or 1 / -1 / 0
        (1 / 2 / 3 / "dnk" where `kinds` says "outlier"). Identical rows of one labeler count once.
        `callback(state)` is called after every outer iteration; when it raises StopFit the fit ends with the best
        so far. `resume` continues from such a state, given the same X, answers and parameters.
        Raises ValueError with the row, value or parameter that is wrong.
        """
        self._check_parameters()
        features = check_features(X)
        if self.n_clusters > len(features):
            raise ValueError(f"n_clusters={self.n_clusters} is more than the number of items, {len(features)}")
        constraints = read_constraints(triplets, answers, kinds, labelers, n_items=len(features))
        if not self.use_dnk:
            constraints = constraints.select(~constraints.is_dnk())
        previous = None
        if self.warm_start and hasattr(self, "coef_"):
            previous = Previous(*(getattr(self, name) for name in PREVIOUS))
        self._scale(features)
        search = self._search(self._standard(features), constraints, previous)
        state = resume if resume is not None else self._begin(search, previous)
        search.check_resumable(state)
        state, stopped = search.run(state, callback)
        self._keep(search, state.current if state.best is None else state.best)
        if not (self.converged_ or stopped):
            message = f"DCRC stopped after {self.n_iter_} iterations without converging; raise max_iter or tol"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def predict_proba(self, X: Any) -> Array:
        """p(y | x), shape (N, K): what the logistic model says, whatever was answered about the items."""
        check_is_fitted(self, "coef_")
        features = check_features_of(self, X)
        standard = (features - self.mean_) / self.scale_
        probabilities: Array = softmax(standard @ self.coef_.T + self.intercept_, axis=1)
        return probabilities

    def predict(self, X: Any) -> Array:
        """Most probable cluster of every row of X."""
        labels: Array = self.predict_proba(X).argmax(axis=1)
        return labels

    def predict_answers(self, X: Any, triplets: Any, kinds: Any = None) -> Array:
        """P(answer) of questions of one kind: columns yes, no, dnk, or 1, 2, 3, dnk for outlier questions."""
        P = self.predict_proba(X)
        places = read_triplets(triplets, len(P))
        codes = read_kinds(kinds, len(places))
        if len(set(codes.tolist())) > 1:
            raise ValueError("kinds must be one kind here: relative and outlier questions have different answers")
        kind = KINDS[codes[0]] if len(codes) else KINDS[0]
        return answer_probabilities(P, places, answer_table(kind, self.epsilon))

    def score_answers(self, X: Any, triplets: Any, answers: Any, kinds: Any = None) -> float:
        """Mean log probability of given answers under p(y | x); higher is better, 0 is perfect."""
        P = self.predict_proba(X)
        labelers = range(len(read_triplets(triplets, len(P))))  # each row its own: repeated answers count here
        constraints = read_constraints(triplets, answers, kinds, labelers, n_items=len(P))
        total = 0.0
        for code, kind in enumerate(KINDS):
            mine = constraints.select(constraints.kinds == code)
            table = answer_table(kind, max(self.epsilon, HARD_EPSILON))
            chances = answer_probabilities(P, mine.triplets, table)
            total += float(np.log(chances[np.arange(len(mine)), mine.answers]).sum())
        return total / max(len(constraints), 1)

    def state_arrays(self) -> dict[str, Array]:
        """The fitted model as plain arrays for `numpy.savez`; see `set_state_arrays`."""
        check_is_fitted(self, "coef_")
        return {name: np.asarray(getattr(self, name)) for name in _STATE}

    def set_state_arrays(self, arrays: dict[str, Array]) -> Self:
        """Become the model saved by `state_arrays`, in any process: to predict, or to refit with warm_start=True."""
        for name in _STATE:
            setattr(self, name, arrays[name])
        self.lower_bound_ = float(arrays["lower_bound_"])
        self.n_features_in_ = self.coef_.shape[1]
        self.labels_ = self.posterior_.argmax(axis=1)
        return self

    def _check_parameters(self) -> None:
        expected = {
            "n_clusters": (self.n_clusters >= 1, "at least 1"),
            "epsilon": (0 <= self.epsilon < 2 / 3, "in [0, 2/3)"),
            "tau": (self.tau >= 0, "at least 0"),
            "lam": (self.lam >= 0, "at least 0"),
            "n_init": (self.n_init >= 1, "at least 1"),
            "n_moves": (self.n_moves >= 0, "at least 0"),
            "solver": (self.solver in ("profile", "em"), "'profile' or 'em'"),
            "weight": (self.weight in ("balanced", "paper"), "'balanced' or 'paper'"),
            "max_iter": (self.max_iter >= 1, "at least 1"),
            "tol": (self.tol >= 0, "at least 0"),
        }
        for name, (good, words) in expected.items():
            if not good:
                raise ValueError(f"{name} must be {words}, got {getattr(self, name)!r}")

    def _scale(self, features: Array) -> None:
        self.n_features_in_ = features.shape[1]
        self.mean_ = features.mean(axis=0) if self.standardize else np.zeros(self.n_features_in_)
        spread = features.std(axis=0) if self.standardize else np.ones(self.n_features_in_)
        # A constant column keeps its scale; centred, it is zero and says nothing.
        self.scale_ = np.where(spread > 1e-12 * np.maximum(np.abs(self.mean_), 1), spread, 1.0)

    def _standard(self, features: Array) -> Array:
        standard = (features - self.mean_) / self.scale_
        return np.column_stack([standard, np.ones(len(standard))]).astype(np.float32)

    def _search(self, X: Array, constraints: Constraints, previous: "Previous | None") -> Search:
        schedule = HARD_SCHEDULE if self.epsilon == 0 else (self.epsilon,)

        def log_likelihoods(epsilon: float) -> Array:
            return np.log(constraints.likelihoods(epsilon or HARD_EPSILON))

        field, order, weight = None, np.arange(len(X)), 0.0
        if len(constraints):
            likelihoods = log_likelihoods(schedule[0])
            field = MeanField(constraints.triplets, likelihoods, self.n_clusters, np.float32)
            order = np.concatenate([field.items, np.setdiff1d(order, field.items)])
            weight = 3 / len(field.items) if self.weight == "balanced" else 1 / len(constraints)
        objective = LowerBound(X[order], field, tau=self.tau, lam=self.lam, balance=self.balance, weight=weight)
        warm = None
        if previous is not None:
            last = len(schedule) - 1  # what was fitted needs no annealing
            warm = previous.solution(self.n_clusters, self.mean_, self.scale_, objective, stage=last)
        return Search(
            objective,
            self.n_clusters,
            schedule,
            log_likelihoods,
            solver=self.solver,
            max_iter=self.max_iter,
            tol=self.tol,
            warm=warm,
        )

    def _begin(self, search: Search, previous: "Previous | None") -> FitState:
        rng = check_random_state(self.random_state)
        return search.first_state(*plan_starts(self.n_init, self.n_moves, previous is not None, self.n_clusters, rng))

    def _keep(self, search: Search, solution: Solution) -> None:
        objective, field = search.objective, search.objective.field
        P, log_p = objective.log_posteriors(solution.W)
        order = np.arange(P.shape[1])
        p = P.T.astype(np.float64)
        posterior = p.copy()
        if field is not None:
            objective.refresh(log_p, tol=1e-4, hard=search.load(solution))
            order = np.concatenate([field.items, np.setdiff1d(order, field.items)])
            posterior[: len(field.items)] = field.q
        back = np.argsort(order)
        self.coef_, self.intercept_ = solution.W[:, :-1].copy(), solution.W[:, -1].copy()
        self.posterior_ = posterior[back]
        self.constrained_ = np.sort(order[: objective.n_constrained])
        self.labels_ = (p[back] if self.epsilon == 0 else self.posterior_).argmax(axis=1)
        self.lower_bound_ = objective.at_fixed_q(solution.W)[0]
        self.lower_bounds_ = solution.bounds
        self.n_iter_ = len(solution.bounds)
        self.converged_ = solution.converged
