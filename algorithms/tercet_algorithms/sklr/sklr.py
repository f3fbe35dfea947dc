"""SKLR: semi-supervised kernel learning with relative comparisons (Amid, Gionis and Ukkonen, 2015).

Answers stretch and shrink the space in which items are clustered: of all kernels whose distances agree with the
answers, the one nearest to a kernel of the features is learned, once, and clusters of any number are then cut from it.
By default answers are soft, so that wrong ones change the kernel only so much, and can be told from the others.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tercet_algorithms.answers.patterns import Array, Kind, answer_table
from tercet_algorithms.answers.reading import read_constraints, read_weighted_pairs
from tercet_algorithms.common.answer_prediction import AnswerPrediction
from tercet_algorithms.common.estimator import Estimator
from tercet_algorithms.common.features import (
    check_features,
    check_features_of,
    check_no_target,
    remember_features,
    row_names,
)
from tercet_algorithms.common.kernel_kmeans import eigengap, kernel_kmeans, soft_assignments, widening, within_variance
from tercet_algorithms.common.parameters import (
    BOOLEAN,
    NUMBER_FROM_0,
    POSITIVE_INTEGER,
    Constraint,
    number_between,
    one_of,
)
from tercet_algorithms.common.search import check_fingerprint, check_search, fingerprint
from tercet_algorithms.sklr.constraints import DistanceConstraints, Mapping, carry_over, distance_constraints
from tercet_algorithms.sklr.dual import DualProblem, link_bounds, make_problem, transformation
from tercet_algorithms.sklr.kernel import Criterion, KernelMap, KernelRecipe, LowRank, make_map
from tercet_algorithms.sklr.search import Callback, Learning, LearningState, Solver

# Probability of a wrong answer in predictions: a clustering determines the right answer, not how often people err.
ANSWER_EPSILON = 0.05
# C of the fit that replaces one of hard answers that contradict each other.
_FALLBACK_C = 1.0

_STATE = ("keys_", "lam_", "transformation_", "labels_", "centers_", "variance_", "digest_")


@dataclass(eq=False, repr=False)
class SKLR(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, AnswerPrediction, Estimator):  # type: ignore[misc]
    """Clusters at any resolution from features and from answers about triplets of items.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K of `labels_`; `cluster` gives any other number from the same fit.
    gamma : float > 1, default=2.0
        How many times farther an outlier is than the two others are apart, in squared distance (Eqs 1, 2, 4):
        2 is a factor 1.41 in distance. 3 to 5 gain a little where answers are reliable.
    n_neighbors : int, default=100
        Which nearest other item sets an item's bandwidth (l of Eq 19); at most N - 1 is used.
    rank : float in (0, 1], default=0.99
        Share of the first kernel that its low-rank form keeps, measured by `criterion`.
    max_rank : int or None, default=None
        Most dimensions r. None: no limit for "eigen", 250 for the others. "nystroem" uses as many landmarks, and
        "cholesky" takes the widest axes of twice as many columns. The time of a fit grows with its square.
    criterion : {"trace", "frobenius"}, default="trace"
        "frobenius" compares norms, as the paper does; it drops most dimensions, so answers may contradict each other.
    kernel : "adaptive", "precomputed", name of a scikit-learn kernel or callable, default="adaptive"
        "adaptive" is Eq 19; a callable takes two rows. With "precomputed" X is the (N, N) kernel, and new items are
        rows (n, N) of it.
    low_rank : {"auto", "eigen", "cholesky", "nystroem"}, default="auto"
        "auto" takes eigenvectors up to 500 items and incomplete Cholesky above.
    C : float > 0, default=1.0
        Largest multiplier of one answer, for a kernel of unit diagonal; np.inf makes answers hard (Eq 9).
    solver : {"newton", "projection", "paper"}, default="newton"
        "newton" and "projection" (corrected Bregman projections) find the nearest kernel; "newton" leaves many soft
        answers to projections too, so that its time grows in proportion to them. "paper" is Algorithm 1:
        hard whatever C is, some kernel that agrees with the answers, another one for each order of projections.
    mapping : {"class", "strict"}, default="class"
        What yes and no say. "strict": the anchor is nearer to one item than to the other. "class": people compare
        classes, so that the other item is also farther from the one. Outlier questions say both by themselves.
    standardize : bool, default=True
        Whether columns of X are brought to mean 0 and variance 1 inside.
    tol : float, default=1e-3
        Learning ends when no constraint is violated, or enforced without need, by more, relative to its distances.
    max_iter : int, default=200
        Most Newton steps, or rounds of ten sweeps over all constraints. Where hard answers contradict each other, or
        seem to after these, up to 50 Newton steps for soft ones follow.
    n_init : int, default=10
        Starts of kernel k-means.
    n_jobs : int or None, default=None
        Number of threads for these starts, as in joblib. The result does not depend on it.
    verbose : bool or int, default=False
        Whether to print a line after every iteration.
    warm_start : bool, default=False
        Whether `fit` continues from the previous fit (or from `set_state_arrays`): multipliers of answers that are
        still there, and clusters.
    random_state : int, RandomState or None, default=None
        Seed of the orders of projections and of k-means; an int makes fits reproducible.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        Cluster of every item.
    posterior_ : ndarray of shape (N, K)
        Probability of each cluster given the distances, scaled to be as confident as the answers justify.
    embedding_ : ndarray of shape (N, r)
        Items in the learned space: inner products are the learned kernel K, columns its principal axes from the widest
        on, so that the first two make a map.
    transformation_ : ndarray of shape (r, r)
        From the first kernel's coordinates to there; its product with its transpose is M.
    constraints_ : DistanceConstraints
        The m constraints that the answers give.
    lam_ : ndarray of shape (m,)
        Their multipliers.
    dual_coef_ : ndarray of shape (M,)
        Largest multiplier of every answer's constraints, in absolute value.
    violations_ : ndarray of shape (M,)
        How far the answer is from holding, relative to its distances, in [0, 1].
    suspicion_ : ndarray of shape (M,)
        dual_coef_ as a share of its cap, plus violations_: how much the answer disagrees with the features and the
        other answers. For hard answers that contradict each other, the share in the contradiction.
    suspect_answers_ : ndarray of int
        Rows of the answers that do not hold, most suspicious first.
    feasible_ : bool
        False where hard answers contradict each other; the fit then is that of C=1.
    divergence_ : float
        D_ld(K, K0) of the learned kernel from the first one.
    rank_ : int
        r, the number of columns that `transform` gives.
    lower_bound_, lower_bounds_ : float, ndarray
        The dual objective, and its value after every iteration.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether learning has ended within `tol`.
    n_features_in_, feature_names_in_
        Number and names of the columns of X.

    References
    ----------
    E. Amid, A. Gionis and A. Ukkonen, "A kernel-learning approach to semi-supervised clustering with relative distance
    comparisons", ECML PKDD (2015). Equation numbers are those of this paper.

    Examples
    --------
    The widest feature shows two groups; answers are about two classes, which the other feature tells apart:

    >>> import numpy as np
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from tercet_algorithms import SKLR
    >>> rng = np.random.RandomState(0)
    >>> groups, classes = rng.randint(2, size=(2, 60))
    >>> X = np.column_stack([6.0 * groups, 4.0 * classes]) + rng.normal(scale=0.5, size=(60, 2))
    >>> triplets = np.array([rng.choice(60, 3, replace=False) for _ in range(150)])
    >>> like_left, like_right = (classes[triplets[:, [0]]] == classes[triplets[:, 1:]]).T
    >>> answers = like_left.astype(int) - like_right
    >>> model = SKLR(2, random_state=0).fit(X, triplets=triplets[:90], answers=answers[:90])
    >>> round(adjusted_rand_score(classes, model.labels_), 1)
    1.0
    >>> round(model.score(X, triplets=triplets[90:], answers=answers[90:]), 1)
    1.0
    >>> model.transform(X).shape == (60, model.rank_)
    True
    >>> bool((model.predict(X) == model.predict_proba(X).argmax(axis=1)).all())
    True
    >>> len(set(model.cluster(4).tolist())), model.suggest_n_clusters()  # the same kernel, cut anew
    (4, 2)
    >>> model.predict_answers(X, triplets[:2]).shape, model.answer_table().shape
    ((2, 3), (5, 3))
    >>> bool(model.score_answers(X, triplets, answers) > np.log(0.8))  # mean log probability, in nats
    True
    >>> bool((SKLR(2).set_state_arrays(model.state_arrays()).predict(X) == model.labels_).all())
    True
    """

    n_clusters: int = 8
    _: KW_ONLY
    gamma: float = 2.0
    n_neighbors: int = 100
    rank: float = 0.99
    max_rank: int | None = None
    criterion: Criterion = "trace"
    kernel: str | Callable[[Array, Array], float] = "adaptive"
    low_rank: LowRank | Literal["auto"] = "auto"
    C: float = 1.0
    solver: Solver = "newton"
    mapping: Mapping = "class"
    standardize: bool = True
    tol: float = 1e-3
    max_iter: int = 200
    n_init: int = 10
    warm_start: bool = False

    _parameter_constraints: ClassVar[dict[str, Constraint | str]] = Estimator._parameter_constraints | {
        "n_clusters": POSITIVE_INTEGER,
        "gamma": number_between(1, np.inf, "neither"),
        "n_neighbors": POSITIVE_INTEGER,
        "rank": number_between(0, 1, "right"),
        "max_rank": [*POSITIVE_INTEGER, None],
        "criterion": one_of("trace", "frobenius"),
        "kernel": [str, callable],
        "low_rank": one_of("auto", "eigen", "cholesky", "nystroem"),
        "C": number_between(0, np.inf, "right"),
        "solver": one_of("newton", "projection", "paper"),
        "mapping": one_of("class", "strict"),
        "standardize": BOOLEAN,
        "tol": NUMBER_FROM_0,
        "max_iter": POSITIVE_INTEGER,
        "n_init": POSITIVE_INTEGER,
        "warm_start": BOOLEAN,
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
        must_link: Any = None,
        cannot_link: Any = None,
        must_weights: Any = None,
        cannot_weights: Any = None,
        weights: Any = None,
        callback: Callback | None = None,
        resume: LearningState | None = None,
    ) -> Self:
        """Learn a kernel of the rows of X and cluster them.

        Parameters
        ----------
        X : array-like or DataFrame of shape (N, D), or kernel of shape (N, N)
            Features, one row per item.
        y : None
            Not used; see `triplets` and `answers`.
        triplets : array-like of shape (M, 3), optional
            Anchor, left and right of each question: item positions, or names from the index of a DataFrame.
        answers : array-like of shape (M,), optional
            "yes", "no", "dnk", or 1, -1, 0, or True, False; 1, 2, 3 or "dnk" to outlier questions.
        kinds : str or array-like of str, shape (M,), optional
            "relative" (all of them where None) or "outlier".
        labelers : iterable of hashables, M of them, optional
            Who answered. Identical answers of one labeler count once.
        must_link, cannot_link : array-like of shape (L, 2), optional
            Pairs of items that are brought as near as the nearest twentieth of all pairs is at first, or as far as the
            farthest twentieth.
        must_weights, cannot_weights : array-like of shape (L,), optional
            Factors of C for each link, at least 0. A repeated pair has the largest of its weights.
        weights : array-like of shape (M,), optional
            Factors of C for each answer, at least 0.
        callback : callable, optional
            Called with a `LearningState` after every iteration. When it raises `StopFit` the fit ends with what has
            been learned.
        resume : LearningState, optional
            A state to continue from, of a fit with the same X, answers and parameters.

        Returns
        -------
        self : SKLR

        Raises
        ------
        ValueError
            With the row, value or parameter that is wrong.
        TypeError
            Where X is sparse.
        """
        self._check_parameters()
        check_search(callback, resume, LearningState)
        features = check_features(X, self, self.n_clusters)
        check_no_target(y, len(features))
        n_items, names = len(features), row_names(X)
        all_answers = read_constraints(
            triplets, answers, kinds, labelers, weights, n_items=n_items, item_names=names, merge=False
        )
        must, must_factors = read_weighted_pairs("must_link", must_link, must_weights, n_items, names)
        cannot, factors = read_weighted_pairs("cannot_link", cannot_link, cannot_weights, n_items, names)
        link_factors = np.concatenate([must_factors, factors])
        constraints = distance_constraints(all_answers, must, cannot, self.mapping, link_factors)
        rng = check_random_state(self.random_state)
        is_warm = self.warm_start and hasattr(self, "map_")
        digest = self._digest(features)
        same_kernel = is_warm and np.array_equal(digest, self.digest_)
        kernel_map = self.map_ if same_kernel else make_map(features, self._recipe(), rng)
        learning = self._learning(constraints, kernel_map.Z, rng, digest)
        lam = carry_over(constraints.keys, self.keys_, self.lam_) if is_warm else np.zeros(len(constraints))
        seed = rng.randint(2**31)  # drawn for a resumed fit too, so that what follows is the same
        state = learning.first_state(lam, seed) if resume is None else resume
        check_fingerprint(state.made_of, learning.made_of)
        point = None
        if same_kernel:
            embedding = self.embedding_[learning.problem.items]
            point = learning.problem.point_of_embedding(state.lam, embedding, self._logdet)
        state, stopped = learning.run(state, callback, point, self.verbose)
        self.map_: KernelMap = kernel_map
        self.digest_: Array = digest
        self._store_result(constraints, learning, state, stopped)
        self._cluster(rng, self.labels_ if is_warm and len(self.labels_) == len(features) else None)
        factor = widening(self.embedding_, self.centers_, self.variance_, all_answers.merged(), ANSWER_EPSILON)
        self.variance_ *= factor
        self.posterior_ = soft_assignments(self.embedding_, self.centers_, self.variance_)
        remember_features(self, X)
        return self

    def transform(self, X: Any) -> Array:
        """Return the rows of X in the learned space: z(x) M^(1/2), after Eq 18; exact for the fitted items.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, D)
            With a precomputed kernel (n, N), its values with the fitted items.

        Returns
        -------
        ndarray of shape (n, r)
            Or what `set_output` asks for.

        Raises
        ------
        ValueError
            Where X is not finite, or has other columns than in `fit`.
        """
        return self._embed(X)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each cluster given the distances to the centroids; the nearest is likeliest.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, D)
            As in `transform`.

        Returns
        -------
        ndarray of shape (n, K)

        Raises
        ------
        ValueError
            Where X is not finite, or has other columns than in `fit`.
        """
        return soft_assignments(self._embed(X), self.centers_, self.variance_)

    def cluster(self, n_clusters: int) -> Array:
        """Return clusters of another number from the same learned kernel; the fit itself does not change.

        Parameters
        ----------
        n_clusters : int
            From 1 to N.

        Returns
        -------
        ndarray of int, shape (N,)

        Raises
        ------
        ValueError
            Where `n_clusters` is less than 1 or more than N.
        """
        check_is_fitted(self, "embedding_")
        if not 1 <= n_clusters <= len(self.embedding_):
            raise ValueError(f"n_clusters must be from 1 to {len(self.embedding_)}, got {n_clusters}")
        rng = check_random_state(self.random_state)
        return kernel_kmeans(self.embedding_, n_clusters, self.n_init, rng, n_jobs=self.n_jobs)[0]

    def suggest_n_clusters(self, most: int = 30) -> int:
        """Return the number of clusters before the largest gap of the centred kernel's eigenvalues.

        Parameters
        ----------
        most : int, default=30
            The largest number to suggest; the smallest is 2.

        Returns
        -------
        int

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self, "embedding_")
        return eigengap(self.embedding_, most)

    def answer_table(self, kind: Kind = "relative", labeler: object = None) -> Array:
        """Return P(answer | pattern): the right answer has probability 0.95, all others share the remaining 0.05.

        Parameters
        ----------
        kind : {"relative", "outlier"}, default="relative"
        labeler : object, optional
            Not used: all labelers are alike here.

        Returns
        -------
        ndarray of shape (5, A)

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self, "embedding_")
        return answer_table(kind, ANSWER_EPSILON)

    def state_arrays(self) -> dict[str, Array]:
        """Return the fitted model as plain arrays, which `numpy.savez` can store without pickle.

        Returns
        -------
        dict of str to ndarray
            For `set_state_arrays`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self, "embedding_")
        arrays = {name: np.asarray(getattr(self, name)) for name in _STATE}
        return arrays | self.map_.to_arrays()

    def set_state_arrays(self, arrays: dict[str, Array]) -> Self:
        """Become the model saved by `state_arrays`, in any process: to predict, or to refit with warm_start=True.

        Parameters
        ----------
        arrays : dict of str to ndarray
            What `state_arrays` of an estimator with the same parameters has returned. Column names are not among them.

        Returns
        -------
        self : SKLR

        Raises
        ------
        KeyError
            Where an array is missing.
        """
        for name in _STATE:
            setattr(self, name, arrays[name])
        self.variance_ = float(arrays["variance_"])
        self.map_ = KernelMap.from_arrays(self.kernel, arrays)
        self.n_features_in_ = self.map_.n_features
        if hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_
        self._enter_space(self.transformation_)
        self.posterior_ = soft_assignments(self.embedding_, self.centers_, self.variance_)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @property
    def _n_features_out(self) -> int:
        """Number of columns that `get_feature_names_out` names."""
        return self.rank_

    def _embed(self, X: Any) -> Array:
        check_is_fitted(self, "embedding_")
        embedded: Array = self.map_.coordinates(check_features_of(self, X)) @ self.transformation_
        return embedded

    def _recipe(self) -> KernelRecipe:
        low_rank = self.low_rank, self.criterion, self.rank, self.max_rank
        return KernelRecipe(self.kernel, self.n_neighbors, self.standardize, *low_rank)

    def _digest(self, features: Array) -> Array:
        """Return a hash of all that the first kernel depends on, to recognise that of an earlier fit."""
        return fingerprint(self._recipe(), features)

    def _learning(
        self, constraints: DistanceConstraints, Z: Array, rng: np.random.RandomState, digest: Array
    ) -> Learning:
        hard = self.solver == "paper" or np.isinf(self.C)
        near, far = link_bounds(Z, rng) if constraints.has_links else (1.0, 1.0)
        problem = make_problem(Z, constraints, self.gamma, np.inf if hard else self.C, near, far)
        impossible = problem.impossible()
        if hard:
            constraints.refuse(impossible)
        # No kernel of the features can tell items with the same features apart: such answers stay without effect.
        problem, softened = (variant.without(impossible) for variant in (problem, problem.capped(_FALLBACK_C)))
        made_of = fingerprint((self.gamma, self.C, self.solver), digest, constraints.keys, constraints.weights)
        return Learning(problem, softened, self.solver, self.max_iter, self.tol, made_of)

    def _store_result(
        self, constraints: DistanceConstraints, learning: Learning, state: LearningState, stopped: bool
    ) -> None:
        self.constraints_, self.keys_, self.lam_ = constraints, constraints.keys, state.lam
        self.feasible_ = not state.blame.any()
        problem = learning.problem if self.feasible_ else learning.softened
        point = problem.point(state.lam)
        assert point is not None, "learning only visits positive definite kernels"
        relative = problem.relative(point.p, point.q)
        violations = np.where(constraints.is_equality, np.abs(relative), np.maximum(relative, 0))
        self.dual_coef_ = constraints.largest_by_answer(np.abs(state.lam))
        self.violations_ = constraints.largest_by_answer(violations)
        self._rank_suspects(constraints, problem, state, violations)
        self._enter_space(transformation(problem, state.lam, self.map_.Z))
        self.lower_bounds_, self.lower_bound_ = state.bounds, state.lower_bound
        self.n_iter_, self.converged_ = state.iteration, state.converged
        self._warn(state, stopped)

    def _rank_suspects(
        self, constraints: DistanceConstraints, problem: DualProblem, state: LearningState, violations: Array
    ) -> None:
        if self.feasible_:
            caps = np.where(np.isinf(problem.high), np.abs(state.lam).max(initial=0.0), problem.high)
            shares = np.abs(state.lam) / np.maximum(caps, np.finfo(float).tiny)
            self.suspicion_ = constraints.largest_by_answer(shares + violations)
        else:
            self.suspicion_ = constraints.largest_by_answer(state.blame)
        order = np.argsort(-self.suspicion_, kind="stable")
        is_suspect = self.violations_ > max(self.tol, 1e-6) if self.feasible_ else self.suspicion_ > 0
        self.suspect_answers_ = order[is_suspect[order]]

    def _enter_space(self, transformation_: Array) -> None:
        self.transformation_: Array = transformation_
        self.rank_ = len(transformation_)
        self.embedding_: Array = self.map_.Z @ transformation_
        # tr M - logdet M - r of M = transformation transformation'.
        self._logdet = 2 * float(np.linalg.slogdet(transformation_)[1])
        self.divergence_ = max(float(np.square(transformation_).sum()) - self._logdet - self.rank_, 0.0)

    def _cluster(self, rng: np.random.RandomState, previous: Array | None) -> None:
        labels, centers = kernel_kmeans(self.embedding_, self.n_clusters, self.n_init, rng, previous, self.n_jobs)
        self.labels_: Array = labels
        self.centers_: Array = centers
        self.variance_ = within_variance(self.embedding_, self.centers_)

    def _warn(self, state: LearningState, stopped: bool) -> None:
        if not self.feasible_:
            blamed = ", ".join(str(row) for row in self.suspect_answers_[:10].tolist())
            message = (
                f"the answers contradict each other, or leave no kernel of rank {self.rank_}; C={_FALLBACK_C:g} was "
                f"used instead. Most to blame: answers in rows {blamed} (see suspect_answers_)"
            )
            warnings.warn(message, ConvergenceWarning, stacklevel=4)
        elif not (self.converged_ or stopped):
            message = f"SKLR stopped after {self.n_iter_} iterations without converging; raise max_iter or tol"
            warnings.warn(message, ConvergenceWarning, stacklevel=4)
