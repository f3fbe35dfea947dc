"""DCRCCV: DCRC with its parameters, and optionally its number of clusters, chosen by cross-validation over answers.

Good penalties and the number of clusters are unknown beforehand; but answers can be held out of a fit and then
predicted, which costs only computing time (Pei et al., 2014, choose tau and lambda in this way).
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClusterMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.answers.questions import QuestionSuggestion
from tercet_algorithms.answers.reading import Constraints, read_constraints, read_placements, read_weighted_pairs
from tercet_algorithms.common.estimator import Estimator
from tercet_algorithms.common.features import (
    check_features,
    check_no_target,
    remember_features,
    row_names,
)
from tercet_algorithms.common.model_selection import answer_folds
from tercet_algorithms.common.parameters import (
    BOOLEAN,
    INTEGER_FROM_0,
    POSITIVE_INTEGER,
    Constraint,
    one_of,
)
from tercet_algorithms.common.search import StopFit
from tercet_algorithms.dcrc.dcrc import DCRC
from tercet_algorithms.dcrc.fitted import DCRCPrediction
from tercet_algorithms.dcrc.held_out import ClusterCurve, Grid, HeldOutSearch, Scoring
from tercet_algorithms.dcrc.held_out_scores import CHOSEN, NAMES, Parameters, SearchState


@dataclass(eq=False, repr=False)
class DCRCCV(ClusterMixin, DCRCPrediction, QuestionSuggestion, Estimator):  # type: ignore[misc]  # scikit-learn is untyped
    """DCRC with parameters chosen by cross-validation over answers.

    Parameters
    ----------
    n_clusters : int or iterable of int
        Number of clusters K, or several to choose from: the smallest whose score is within one standard error of the
        best wins, since beyond the right number the score falls only slowly, without `balance` hardly at all.
    tau, lam, epsilon : number or iterable of numbers
        Values to choose from; see `DCRC`.
    balance : bool or iterable of bool
        (True, False) to choose it too. With many clusters answers say little about it.
    cv : int
        Number of folds, at least 2. All answers to one triplet are in one fold, and every fold has about the same
        share of each answer. There are fewer folds, with a warning, where fewer triplets were answered.
    scoring : "log_score" or "accuracy"
        Mean log P(answer) of held-out answers under p(y | x), or, as in the paper, the share of them that the labels
        argmax p predict. The log score of each candidate is taken under its own epsilon, which is part of its
        prediction: the score is proper, so that both too small and too large an epsilon score worse.
    n_init, n_moves : int
        Starts and moves of the final fit and of the first fit of each fold and number of clusters. The other candidates
        continue from that first fit, which is ten times as fast and compares parameters, not local optima.
    estimator : DCRC or None
        Its other parameters (kernel, solver, use_dnk, ...) are used in every fit. The search begins at those values
        of the lists that are nearest to its values. `candidates` is "features" in all fits.
    refit : bool
        Whether to fit all answers with the best parameters at the end; without it there are no clusters.
    n_jobs : int or None
        How many starts of each fit run at once; see `DCRC`.
    verbose : bool or int
        Whether every fit prints its progress.
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
    labels_, posterior_, n_iter_, converged_, n_features_in_, feature_names_in_ : as of `best_estimator_`

    Notes
    -----
    First the number of clusters, then `lam`, `tau`, `epsilon` and `balance` are chosen one after the other, which
    scores nearly as well as all combinations and needs a quarter of the fits. A value other than the first one is
    taken only if it gains more than the standard error of the gain: scores of a few hundred held-out answers differ
    by chance, and values chosen by chance make worse clusters. Without answers, or with answers about one triplet only,
    nothing can be held out: the values nearest to those of `estimator` are taken, and several n_clusters are refused.

    References
    ----------
    Y. Pei, X. Z. Fern, R. Rosales and T. V. Tjahja, "Discriminative Clustering with Relative Constraints" (2014),
    arXiv:1501.00037, section V.

    Examples
    --------
    >>> import numpy as np
    >>> from tercet_algorithms import DCRCCV
    >>> rng = np.random.default_rng(0)
    >>> classes = np.repeat([0, 1, 2], 20)
    >>> X = rng.normal(size=(60, 2)) + 3 * np.array([[0, 0], [1, 0], [0, 1]])[classes]
    >>> triplets = np.array([rng.choice(60, 3, replace=False) for _ in range(80)])
    >>> like_left, like_right = (classes[triplets[:, [0]]] == classes[triplets[:, 1:]]).T
    >>> answers = like_left.astype(int) - like_right
    >>> model = DCRCCV(n_clusters=(2, 3), tau=1.0, lam=2**-6, cv=3, n_init=2, n_moves=0, random_state=0)
    >>> model.fit(X, triplets=triplets, answers=answers).best_params_["n_clusters"]
    3
    >>> bool((model.predict(X) == model.predict_proba(X).argmax(axis=1)).all())
    True
    >>> bool(model.score(X, triplets=triplets, answers=answers) > 0.8)
    True
    >>> model.predict_answers(X, triplets).shape
    (80, 3)
    >>> bool(model.score_answers(X, triplets, answers) > np.log(1 / 3))  # better than guessing
    True
    >>> model.suggest(5, asked=triplets, random_state=0)[0].shape  # what to ask next
    (5, 3)
    >>> bool(model.expected_information(random_state=0).best > 0)
    True
    >>> float(model.answer_table()[0, 2])  # three items alike: "don't know", unless somebody errs
    0.95
    """

    n_clusters: Any = 8
    _: KW_ONLY
    tau: Any = (0.25, 0.5, 1.0, 2.0)
    lam: Any = (2**-10, 2**-8, 2**-6, 2**-4)
    epsilon: Any = (0.05, 0.15)
    balance: Any = True
    cv: int = 5
    scoring: Scoring = "log_score"
    n_init: int = 10
    n_moves: int = 10
    estimator: DCRC | None = None
    refit: bool = True

    # The values to choose from are checked one by one, as parameters of `estimator`.
    _parameter_constraints: ClassVar[dict[str, Constraint | str]] = Estimator._parameter_constraints | {
        "n_clusters": "no_validation",
        "tau": "no_validation",
        "lam": "no_validation",
        "epsilon": "no_validation",
        "balance": "no_validation",
        "cv": [Interval(Integral, 2, None, closed="left")],
        "scoring": one_of("log_score", "accuracy"),
        "n_init": POSITIVE_INTEGER,
        "n_moves": INTEGER_FROM_0,
        "estimator": [None, DCRC],
        "refit": BOOLEAN,
    }

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        triplets: Any = None,
        answers: Any = None,
        kinds: Any = None,
        labelers: Iterable[object] | None = None,
        weights: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
        must_weights: Any = None,
        cannot_weights: Any = None,
        stand_ins: Any = None,
        stand_in_weights: Any = None,
        bags: Any = None,
        bag_labels: Any = None,
        callback: Callable[[SearchState], object] | None = None,
        resume: SearchState | None = None,
    ) -> Self:
        """Choose the parameters and cluster the rows of X.

        Parameters
        ----------
        X, y, triplets, answers, kinds, labelers, weights :
        must_link, cannot_link, must_weights, cannot_weights, stand_ins, stand_in_weights, bags, bag_labels :
            As in `DCRC.fit`. Answers are held out; links and bags are used in every fit.
        callback : callable, optional
            Called with a `SearchState` after every outer iteration of every fit. When it raises `StopFit`, the search
            ends, and all answers are fitted with the best parameters so far, from one start.
        resume : SearchState, optional
            Where to continue, given the same X, answers and parameters: candidates with a score are not fitted again.

        Returns
        -------
        self : DCRCCV

        Raises
        ------
        ValueError
            With the row, value or parameter that is wrong.

        Warns
        -----
        UserWarning
            Where fewer triplets were answered than there should be folds.
        """
        self._check_parameters()
        base = DCRC() if self.estimator is None else clone(self.estimator)
        grid = self._grid(base)
        features = check_features(X, self, max(grid["n_clusters"]))
        check_no_target(y, len(features))
        names = row_names(X)
        used = read_constraints(triplets, answers, kinds, labelers, weights, n_items=len(features), item_names=names)
        if not base.use_dnk:
            used = used.select(~used.is_dnk())
        seed, fold_of = self._divide(used) if resume is None else (resume.seed, resume.fold_of)
        base.set_params(
            candidates="features",
            n_init=self.n_init,
            n_moves=self.n_moves,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            random_state=seed,
        )
        must, must_counts = read_weighted_pairs("must_link", must_link, must_weights, len(features), names)
        cannot, counts = read_weighted_pairs("cannot_link", cannot_link, cannot_weights, len(features), names)
        placements = read_placements(stand_ins, stand_in_weights, len(features), names)
        fixed = {
            "bags": bags,
            "bag_labels": bag_labels,
            "must_link": must,
            "cannot_link": cannot,
            "must_weights": must_counts,
            "cannot_weights": counts,
            "stand_ins": placements.pairs,
            "stand_in_weights": placements.weights,
        }
        search = HeldOutSearch(base, features, used, fixed, fold_of, self.scoring, grid, callback)
        if resume is not None:
            search.resume_from(resume)
        best = self._choose(search, grid)
        self._report(search, best)
        if self.refit:
            self._refit(search, best)
        remember_features(self, X)
        return self

    def _fitted(self) -> DCRC:
        check_is_fitted(self, "best_estimator_")
        model: DCRC = self.best_estimator_
        return model

    def _grid(self, base: DCRC) -> Grid:
        """Return the checked values of every chosen parameter, ascending."""
        grid = {}
        for name in NAMES:
            values = getattr(self, name)
            grid[name] = sorted(set(values if isinstance(values, Iterable) else [values]))
            if not grid[name]:
                raise ValueError(f"{name} must be a value or several, got none")
            for value in grid[name]:
                clone(base).set_params(**{name: value})._check_parameters()
        return grid

    def _divide(self, used: Constraints) -> tuple[int, Array]:
        """Return the seed of all fits, and the fold that each answer is held out in; -1 where there are none."""
        rng = check_random_state(self.random_state)
        seed = rng.randint(np.iinfo(np.int32).max)
        fold_of = np.full(len(used), -1)
        folds = answer_folds(used, self.cv, rng)
        if len(used) and len(folds) < self.cv:
            n_questions = max(len(folds), 1)
            message = f"answers about only {n_questions} triplets: {len(folds) or 'no'} folds, not {self.cv}"
            warnings.warn(message, UserWarning, stacklevel=3)
        for number, rows in enumerate(folds):
            fold_of[rows] = number
        return seed, fold_of

    def _choose(self, search: HeldOutSearch, grid: Grid) -> Parameters:
        """Return the best parameters, of those that were scored where the callback ended the search."""
        centre = search.centre
        if not search.scores.n_folds:
            if len(grid["n_clusters"]) > 1:
                raise ValueError("several n_clusters need answers about two triplets or more; give one number")
            return centre
        best: Parameters = {}
        try:
            curve = self.n_clusters_curve_ = search.curve()
            best = centre | {"n_clusters": int(curve.n_clusters[_one_standard_error(curve)])}
            search.keep_only(best["n_clusters"])
            for name in CHOSEN:
                best = search.best_of([best | {name: value} for value in grid[name]], best)
        except StopFit:
            return best or search.scores.best() or centre
        return best

    def _report(self, search: HeldOutSearch, best: Parameters) -> None:
        self.best_params_ = best
        self.best_score_ = search.scores.mean_score(best)
        self.n_splits_ = search.scores.n_folds
        self.cv_results_ = search.scores.results()

    def _refit(self, search: HeldOutSearch, best: Parameters) -> None:
        self.best_estimator_ = model = clone(search.base).set_params(**best)
        search.fit_all(model)
        for name in ("labels_", "posterior_", "n_iter_", "converged_"):
            setattr(self, name, getattr(model, name))


def _one_standard_error(curve: ClusterCurve) -> int:
    """Return the position of the smallest number of clusters within one standard error of the best."""
    best = int(np.argmax(curve.mean))
    return int(np.argmax(curve.mean >= curve.mean[best] - curve.standard_error[best]))
