"""DCRCCV: DCRC with its parameters, and if wanted its number of clusters, chosen by answers held out.

Nobody knows good weights of a penalty, let alone the number of clusters, before looking; but answers can be kept
back from a fit and then predicted, which costs no more than computing (Pei et al., 2014, choose tau and lambda so).
"""

from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from algorithms.dcrc import DCRC
from algorithms.fitting import StopFit
from algorithms.held_out import ClusterCurve, Grid, HeldOutSearch, Scoring, answer_folds
from algorithms.held_out_scores import CHOSEN, NAMES, Parameters, SearchState
from algorithms.parameters import check_parameters
from algorithms.patterns import Array, Kind
from algorithms.suggesting import Suggesting
from algorithms.validation import Constraints, check_features, read_constraints


class DCRCCV(ClusterMixin, Suggesting, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """DCRC with parameters chosen by cross-validation over answers.

    Parameters
    ----------
    n_clusters : int or iterable of int
        Number of clusters K. Of several the smallest wins whose score is within one standard error of the best:
        beyond the right number the score falls only slowly, without `balance` hardly at all.
    tau, lam, epsilon : number or iterable of numbers
        Values to choose from; see `DCRC`.
    balance : bool or iterable of bool
        With (True, False) it is chosen too. Answers say little about it where clusters are many.
    cv : int
        Number of folds, at least 2. All answers to one triplet stay in one fold, and every fold gets its share of
        each answer. Fewer folds, with a warning, where fewer triplets were answered.
    scoring : "log_score" or "accuracy"
        Mean log P(answer) of held-out answers under p(y | x), or the paper's share of them that labels argmax p
        give. The log score of each candidate is taken under its own epsilon: that is part of what it predicts, and
        the score is proper, so too small and too large an epsilon both lose.
    n_init, n_moves : int
        Starts and moves of the fit with everything and of the first fit of a fold. Its other candidates continue
        from there, which is ten times as fast and compares parameters, not local optima.
    estimator : DCRC or None
        Its other parameters (kernel, solver, use_dnk, ...) are used everywhere. What it says of the chosen ones is
        where the search begins: at the value nearest to it.
    refit : bool
        Whether to fit everything with the best parameters at the end; without it there are no clusters.
    random_state : int, RandomState or None

    Attributes
    ----------
    best_estimator_ : DCRC fitted with all answers: what a fresh DCRC with these parameters finds
    best_params_ : dict, n_clusters, lam, tau, epsilon, balance
    best_score_ : float, mean held-out score of `best_params_`; NaN where nothing could be held out
    cv_results_ : dict of arrays with an entry per candidate, as of `GridSearchCV`: params, param_*,
        split*_test_score, mean_test_score, std_test_score, rank_test_score
    n_clusters_curve_ : ClusterCurve with `n_clusters`, `mean`, `standard_error`, at the centre of the other values
    n_splits_ : int, folds made; 0 where nothing could be held out
    labels_, posterior_, n_iter_, converged_, n_features_in_ : as of `best_estimator_`

    Notes
    -----
    First the number of clusters, then `lam`, `tau`, `epsilon` and `balance` are chosen one after the other, which
    scores nearly as well as all combinations and needs a quarter of the fits. Another value than the one where the
    search begins is taken only if it gains more than the standard error of that gain: scores of some hundred
    held-out answers differ by chance, and the best by chance makes worse clusters. Without answers, or with all
    about one triplet, there is nothing to choose by: the values nearest to those of `estimator` are taken, and
    several n_clusters are refused.
    """

    def __init__(
        self,
        n_clusters: Any = 8,
        *,
        tau: Any = (0.25, 0.5, 1.0, 2.0),
        lam: Any = (2**-10, 2**-8, 2**-6, 2**-4),
        epsilon: Any = (0.05, 0.15),
        balance: Any = True,
        cv: int = 5,
        scoring: Scoring = "log_score",
        n_init: int = 10,
        n_moves: int = 10,
        estimator: DCRC | None = None,
        refit: bool = True,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.tau = tau
        self.lam = lam
        self.epsilon = epsilon
        self.balance = balance
        self.cv = cv
        self.scoring = scoring
        self.n_init = n_init
        self.n_moves = n_moves
        self.estimator = estimator
        self.refit = refit
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
        bags: Any = None,
        bag_labels: Any = None,
        callback: Callable[[SearchState], object] | None = None,
        resume: SearchState | None = None,
    ) -> Self:
        """Choose the parameters and cluster the rows of X (N, D); triplets, bags and so on as of `DCRC.fit`.

        `callback(state)` is called after every outer iteration of every fit; when it raises StopFit the search ends,
        and the best so far is fitted with all answers from one start. `resume` continues from such a state, given
        the same X, answers and parameters: what was scored is not fitted again.
        Raises ValueError with the row, value or parameter that is wrong.
        """
        base = DCRC() if self.estimator is None else clone(self.estimator)
        grid = self._grid(base)
        features = check_features(X)
        if max(grid["n_clusters"]) > len(features):
            raise ValueError(
                f"n_clusters={max(grid['n_clusters'])} is more than the number of items, {len(features)}"
            )
        given = read_constraints(triplets, answers, kinds, labelers, n_items=len(features))
        used = given if base.use_dnk else given.select(~given.is_dnk())
        seed, fold_of = self._divide(used) if resume is None else (resume.seed, resume.fold_of)
        base.set_params(n_init=self.n_init, n_moves=self.n_moves, random_state=seed)
        said = {"bags": bags, "bag_labels": bag_labels}
        search = HeldOutSearch(base, features, used, said, fold_of, self.scoring, grid, callback)
        if resume is not None:
            search.go_on_from(resume)
        best = self._choose(search, grid)
        self._report(search, best)
        if self.refit:
            self._refit(search, best)
        return self

    def predict_proba(self, X: Any) -> Array:
        """p(y | x), shape (N, K), of the best estimator."""
        return self._fitted().predict_proba(X)

    def predict(self, X: Any) -> Array:
        """Most probable cluster of every row of X."""
        return self._fitted().predict(X)

    def answer_table(self, kind: Kind = "relative", labeler: object = None) -> Array:
        """P(answer | pattern), shape (5, A); see `DCRC.answer_table`."""
        return self._fitted().answer_table(kind, labeler)

    def tables_of_asked(self, kind: Kind = "relative", labeler: object = None) -> Array:
        """P(answer | pattern) of those who may be asked next, (5, L A); see `DCRC.tables_of_asked`."""
        return self._fitted().tables_of_asked(kind, labeler)

    def predict_answers(self, X: Any, triplets: Any, kinds: Any = None, labeler: object = None) -> Array:
        """P(answer) of questions of one kind; see `DCRC.predict_answers`."""
        return self._fitted().predict_answers(X, triplets, kinds, labeler)

    def score_answers(
        self, X: Any, triplets: Any, answers: Any, kinds: Any = None, labelers: Iterable[object] | None = None
    ) -> float:
        """Mean log probability of given answers; see `DCRC.score_answers`."""
        return self._fitted().score_answers(X, triplets, answers, kinds, labelers)

    def _fitted(self) -> DCRC:
        check_is_fitted(self, "best_estimator_")
        model: DCRC = self.best_estimator_
        return model

    def _grid(self, base: DCRC) -> Grid:
        """Checked values of every chosen parameter, ascending."""
        if not self.cv >= 2:
            raise ValueError(f"cv must be at least 2 folds, got {self.cv!r}")
        if self.scoring not in ("log_score", "accuracy"):
            raise ValueError(f"scoring must be 'log_score' or 'accuracy', got {self.scoring!r}")
        grid = {}
        for name in NAMES:
            given = getattr(self, name)
            grid[name] = sorted(set(given if isinstance(given, Iterable) else [given]))
            if not grid[name]:
                raise ValueError(f"{name} must be a value or several, got none")
            for value in grid[name]:
                check_parameters(clone(base).set_params(n_init=self.n_init, n_moves=self.n_moves, **{name: value}))
        return grid

    def _divide(self, used: Constraints) -> tuple[int, Array]:
        """The seed of all fits, and the fold that each answer is held out in; -1 where there are none."""
        rng = check_random_state(self.random_state)
        seed = rng.randint(np.iinfo(np.int32).max)
        fold_of = np.full(len(used), -1)
        for number, rows in enumerate(answer_folds(used, self.cv, rng)):
            fold_of[rows] = number
        return seed, fold_of

    def _choose(self, search: HeldOutSearch, grid: Grid) -> Parameters:
        """The best parameters, of those that were scored where the callback ended the search."""
        centre = search.centre
        if not search.scores.n_folds:
            if len(grid["n_clusters"]) > 1:
                raise ValueError("several n_clusters need answers about two triplets or more; give one number")
            return centre
        best: Parameters = {}
        try:
            curve = self.n_clusters_curve_ = search.curve()
            best = centre | {"n_clusters": int(curve.n_clusters[_one_standard_error(curve)])}
            search.settle(best["n_clusters"])
            for name in CHOSEN:
                best = search.best_of([best | {name: value} for value in grid[name]], best)
        except StopFit:
            return best or search.scores.best() or centre
        return best

    def _report(self, search: HeldOutSearch, best: Parameters) -> None:
        self.best_params_ = best
        self.best_score_ = search.scores.known(best)
        self.n_splits_ = search.scores.n_folds
        self.cv_results_ = search.scores.results()

    def _refit(self, search: HeldOutSearch, best: Parameters) -> None:
        self.best_estimator_ = model = clone(search.base).set_params(**best)
        search.fit_all(model)
        for name in ("labels_", "posterior_", "n_iter_", "converged_", "n_features_in_"):
            setattr(self, name, getattr(model, name))


def _one_standard_error(curve: ClusterCurve) -> int:
    """Place of the smallest number of clusters that scores as well as the best but for chance."""
    best = int(np.argmax(curve.mean))
    return int(np.argmax(curve.mean >= curve.mean[best] - curve.standard_error[best]))
