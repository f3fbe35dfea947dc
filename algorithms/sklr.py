"""SKLR: semi-supervised kernel learning with relative comparisons (Amid, Gionis and Ukkonen, 2015).

People's answers stretch and shrink the space in which items are clustered: of all kernels whose distances agree
with the answers, the one nearest to a kernel of the features is learned, once, and clusters of any number are then
cut from it. By default answers are not absolute, so wrong ones bend the kernel only so far, and stand out.
"""

import hashlib
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from algorithms.patterns import KINDS, Array, answer_probabilities, answer_table, log_likelihood
from algorithms.sklr_clusters import eigengap, kernel_kmeans, soft_assignments, widening, within_variance
from algorithms.sklr_constraints import Mapping, Rows, carry_over, read_rows
from algorithms.sklr_dual import Point, Problem, link_bounds, pose, transformation
from algorithms.sklr_kernel import Criterion, LowRank
from algorithms.sklr_map import KernelMap, Recipe, make_map
from algorithms.sklr_search import Callback, Learning, LearningState, Solver
from algorithms.validation import check_features, check_features_of, read_constraints, read_kinds, read_triplets

# Probability of a wrong answer in `predict_answers`: a clustering says what is right, not how often people err.
ANSWER_EPSILON = 0.05
# How much one answer may say where hard answers contradict each other.
_FALLBACK_C = 1.0

_STATE = ("keys_", "lam_", "transformation_", "labels_", "centers_", "variance_", "digest_")


class SKLR(TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Clusters at any resolution from features and from answers about triplets of items.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K of `labels_`; `cluster` gives any other number from the same fit.
    gamma : float > 1
        How many times farther an outlier is than the two others are apart, in *squared* distance (Eqs 1, 2, 4):
        2 is a factor 1.41 in distance. 3 to 5 gain a little where answers are reliable.
    n_neighbors : int
        Which nearest other item sets an item's bandwidth (l of Eq 19); at most N - 1 is used.
    rank : float in (0, 1]
        Share of the first kernel that its low-rank form keeps, measured by `criterion`.
    max_rank : int or None
        Most dimensions r. None: no limit for "eigen", 500 for the others. "nystroem" uses as many landmarks.
    criterion : "trace" or "frobenius"
        "frobenius" compares norms, as the paper does; it drops most dimensions, so answers may contradict each other.
    kernel : "adaptive", "precomputed", a name that scikit-learn knows or a function of two rows
        "adaptive" is Eq 19. With "precomputed" X is the (N, N) kernel, and new items are rows (n, N) of it.
    low_rank : "auto", "eigen", "cholesky" or "nystroem"
        "auto" takes eigenvectors up to 2,000 items and incomplete Cholesky above.
    C : float > 0
        The most that one answer may say, for a kernel of unit diagonal; np.inf makes answers hard (Eq 9).
    solver : "newton", "projection" or "paper"
        "newton" and "projection" (corrected Bregman projections) find the nearest kernel. "paper" is Algorithm 1:
        hard whatever C is, some kernel that agrees with the answers, another one for each order of projections.
    mapping : "class" or "strict"
        What yes and no say. "strict": the anchor is nearer to one than to the other. "class": people compare
        classes, so that the other one is also farther from that one. Outlier questions say both by themselves.
    standardize : bool
        Whether columns of X are brought to mean 0 and variance 1 inside.
    tol : float
        Learning ends when no constraint is violated, or held without need, by more, relative to its distances.
    max_iter : int
        Most Newton steps, or rounds of ten sweeps over all constraints. Where hard answers contradict each other, or
        seem to when these are over, up to 50 Newton steps for soft ones follow.
    n_init : int
        Starts of kernel k-means.
    warm_start : bool
        Whether `fit` continues from the previous fit (or from `set_state_arrays`): multipliers of answers that are
        still there, and clusters.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_, posterior_ : (N,) and (N, K) cluster of every item, and how likely each is given the distances; as
        sure as the answers bear out
    embedding_ : (N, r) items in the learned space: inner products are the learned kernel K, columns its principal
        axes from the widest on, so that the first two make a map
    transformation_ : (r, r) from the first kernel's coordinates to there; its product with its transpose is M
    constraints_ : Rows, the m constraints that the answers give; `lam_` (m,) their multipliers
    dual_coef_ : (M,) largest multiplier of every answer's constraints, in absolute value
    violations_ : (M,) how far the answer is from holding, relative to its distances, in [0, 1]
    suspicion_ : (M,) dual_coef_ as a share of the most it may be, plus violations_: how much the answer is against
        the features and the other answers. For hard answers that contradict each other, the share in that
    suspect_answers_ : positions of the answers that do not hold, most suspicious first
    feasible_ : bool, False where hard answers contradict each other; the fit then is that of C=1
    divergence_ : D_ld(K, K0) of the learned kernel from the first one
    rank_ : r
    lower_bound_, lower_bounds_ : the dual objective and its trace
    n_iter_, converged_, n_features_in_
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        gamma: float = 2.0,
        n_neighbors: int = 100,
        rank: float = 0.99,
        max_rank: int | None = None,
        criterion: Criterion = "trace",
        kernel: str | Callable[[Array, Array], float] = "adaptive",
        low_rank: LowRank | Literal["auto"] = "auto",
        C: float = 1.0,
        solver: Solver = "newton",
        mapping: Mapping = "class",
        standardize: bool = True,
        tol: float = 1e-3,
        max_iter: int = 200,
        n_init: int = 10,
        warm_start: bool = False,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.rank = rank
        self.max_rank = max_rank
        self.criterion = criterion
        self.kernel = kernel
        self.low_rank = low_rank
        self.C = C
        self.solver = solver
        self.mapping = mapping
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
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
        must_link: Any = None,
        cannot_link: Any = None,
        weights: Any = None,
        callback: Callback | None = None,
        resume: LearningState | None = None,
    ) -> Self:
        """Learn a kernel of the rows of X (N, D) and cluster them.

        `triplets` (M, 3) are item positions (anchor, left, right), `answers` (M,) "yes" / "no" / "dnk" or 1 / -1 / 0
        (1 / 2 / 3 / "dnk" where `kinds` says "outlier"), `weights` (M,) multiply C. Identical rows of one labeler
        count once. `must_link` and `cannot_link` (L, 2) pairs are brought as near, or far, as the nearest, or
        farthest, twentieth of all pairs is at first. `callback(state)` is called after every iteration; when it
        raises StopFit the fit ends with what was learned. `resume` continues from such a state, given the same X,
        answers and parameters. Raises ValueError with the row, value or parameter that is wrong.
        """
        self._check_parameters()
        features = check_features(X)
        if self.n_clusters > len(features):
            raise ValueError(f"n_clusters={self.n_clusters} is more than the number of items, {len(features)}")
        rows = read_rows(
            triplets,
            answers,
            kinds,
            labelers,
            weights=weights,
            must_link=must_link,
            cannot_link=cannot_link,
            mapping=self.mapping,
            n_items=len(features),
        )
        rng = check_random_state(self.random_state)
        known = self.warm_start and hasattr(self, "map_")
        digest = self._digest(features)
        same = known and np.array_equal(digest, self.digest_)
        kernel_map = self.map_ if same else make_map(features, self._recipe(), rng)
        learning = self._learning(rows, kernel_map.Z, rng)
        lam = carry_over(rows.keys, self.keys_, self.lam_) if known else np.zeros(len(rows))
        fresh = learning.first_state(lam, rng.randint(2**31))  # drawn when resumed too: what follows is then the same
        state = fresh if resume is None else resume
        learning.check_resumable(state)
        state, stopped = learning.run(state, callback, self._recall(learning.problem, state.lam) if same else None)
        self.map_: KernelMap = kernel_map
        self.digest_: Array = digest
        self.n_features_in_ = features.shape[1]
        self._keep(rows, learning, state, stopped)
        self._cluster(rng, self.labels_ if known and len(self.labels_) == len(features) else None)
        given = read_constraints(triplets, answers, kinds, labelers, n_items=len(features))
        self.variance_ *= widening(self.embedding_, self.centers_, self.variance_, given, ANSWER_EPSILON)
        self.posterior_ = soft_assignments(self.embedding_, self.centers_, self.variance_)
        return self

    def transform(self, X: Any) -> Array:
        """Rows of X in the learned space, shape (N, r): z(x) M^(1/2), after Eq 18; exact for the fitted items."""
        check_is_fitted(self, "embedding_")
        placed: Array = self.map_.place(check_features_of(self, X)) @ self.transformation_
        return placed

    def predict_proba(self, X: Any) -> Array:
        """How likely each cluster is given the distances to the centroids, shape (N, K)."""
        return soft_assignments(self.transform(X), self.centers_, self.variance_)

    def predict(self, X: Any) -> Array:
        """Cluster of every row of X: the nearest centroid in the learned space."""
        labels: Array = self.predict_proba(X).argmax(axis=1)
        return labels

    def cluster(self, n_clusters: int) -> Array:
        """Labels (N,) of another number of clusters from the same learned kernel; the fit stays what it is."""
        check_is_fitted(self, "embedding_")
        if not 1 <= n_clusters <= len(self.embedding_):
            raise ValueError(f"n_clusters must be from 1 to {len(self.embedding_)}, got {n_clusters}")
        rng = check_random_state(self.random_state)
        return kernel_kmeans(self.embedding_, n_clusters, self.n_init, rng)[0]

    def suggest_n_clusters(self, most: int = 30) -> int:
        """The number of clusters, from 2 to `most`, before the largest gap of the centred kernel's eigenvalues."""
        check_is_fitted(self, "embedding_")
        return eigengap(self.embedding_, most)

    def predict_answers(self, X: Any, triplets: Any, kinds: Any = None) -> Array:
        """P(answer) of questions of one kind: columns yes, no, dnk, or 1, 2, 3, dnk for outlier questions.

        Items belong to clusters with the probabilities of `predict_proba`; a person who knows the clusters gives the
        right answer with probability 0.95.
        """
        P = self.predict_proba(X)
        places = read_triplets(triplets, len(P))
        codes = read_kinds(kinds, len(places))
        if len(set(codes.tolist())) > 1:
            raise ValueError("kinds must be one kind here: relative and outlier questions have different answers")
        kind = KINDS[codes[0]] if len(codes) else KINDS[0]
        return answer_probabilities(P, places, answer_table(kind, ANSWER_EPSILON))

    def score_answers(self, X: Any, triplets: Any, answers: Any, kinds: Any = None) -> float:
        """Mean log probability of given answers; higher is better, 0 is perfect."""
        P = self.predict_proba(X)
        rows = range(len(read_triplets(triplets, len(P))))  # each row its own: repeated answers count here
        given = read_constraints(triplets, answers, kinds, rows, n_items=len(P))
        total = log_likelihood(
            P, given.triplets, given.answers, given.kinds, lambda kind: answer_table(kind, ANSWER_EPSILON)
        )
        return total / max(len(given), 1)

    def state_arrays(self) -> dict[str, Array]:
        """The fitted model as plain arrays for `numpy.savez`; see `set_state_arrays`."""
        check_is_fitted(self, "embedding_")
        arrays = {name: np.asarray(getattr(self, name)) for name in _STATE}
        return arrays | self.map_.to_arrays()

    def set_state_arrays(self, arrays: dict[str, Array]) -> Self:
        """Become the model saved by `state_arrays`, in any process: to predict, or to refit with warm_start=True."""
        for name in _STATE:
            setattr(self, name, arrays[name])
        self.variance_ = float(arrays["variance_"])
        self.map_ = KernelMap.from_arrays(self.kernel, arrays)
        self.n_features_in_ = self.map_.n_features
        self._enter_space(self.transformation_)
        self.posterior_ = soft_assignments(self.embedding_, self.centers_, self.variance_)
        return self

    def _check_parameters(self) -> None:
        expected = {
            "n_clusters": (self.n_clusters >= 1, "at least 1"),
            "gamma": (1 < self.gamma < np.inf, "a number above 1"),
            "n_neighbors": (self.n_neighbors >= 1, "at least 1"),
            "rank": (0 < self.rank <= 1, "in (0, 1]"),
            "max_rank": (self.max_rank is None or self.max_rank >= 1, "at least 1, or None"),
            "criterion": (self.criterion in ("trace", "frobenius"), "'trace' or 'frobenius'"),
            "low_rank": (
                self.low_rank in ("auto", "eigen", "cholesky", "nystroem"),
                "'auto', 'eigen', 'cholesky' or 'nystroem'",
            ),
            "C": (self.C > 0, "above 0 (np.inf for hard answers)"),
            "solver": (self.solver in ("newton", "projection", "paper"), "'newton', 'projection' or 'paper'"),
            "mapping": (self.mapping in ("class", "strict"), "'class' or 'strict'"),
            "tol": (self.tol >= 0, "at least 0"),
            "max_iter": (self.max_iter >= 1, "at least 1"),
            "n_init": (self.n_init >= 1, "at least 1"),
        }
        for name, (good, words) in expected.items():
            if not good:
                raise ValueError(f"{name} must be {words}, got {getattr(self, name)!r}")

    def _recipe(self) -> Recipe:
        return Recipe(
            self.kernel,
            self.n_neighbors,
            self.standardize,
            self.low_rank,
            self.criterion,
            self.rank,
            self.max_rank,
        )

    def _digest(self, features: Array) -> Array:
        """Tells whether the first kernel of an earlier fit is that of these features and parameters."""
        code = hashlib.blake2b(repr((self._recipe(), features.shape)).encode(), digest_size=16)
        code.update(np.ascontiguousarray(features).data)
        return np.frombuffer(code.digest(), dtype=np.uint8)

    def _learning(self, rows: Rows, Z: Array, rng: np.random.RandomState) -> Learning:
        hard = self.solver == "paper" or np.isinf(self.C)
        near, far = link_bounds(Z, rng) if rows.has_links else (1.0, 1.0)
        problem = pose(Z, rows, self.gamma, np.inf if hard else self.C, near, far)
        impossible = problem.impossible()
        if hard and impossible.any():
            raise ValueError(_impossible_message(rows, impossible))
        # No kernel of the features can tell items with the same features apart: such answers stay without effect.
        problem, softened = (posed.without(impossible) for posed in (problem, problem.capped(_FALLBACK_C)))
        return Learning(problem, softened, self.solver, self.max_iter, self.tol)

    def _recall(self, problem: Problem, lam: Array) -> Point | None:
        return problem.recalled(lam, self.embedding_[problem.items], self._logdet)

    def _keep(self, rows: Rows, learning: Learning, state: LearningState, stopped: bool) -> None:
        self.constraints_, self.keys_, self.lam_ = rows, rows.keys, state.lam
        self.feasible_ = not state.blame.any()
        problem = learning.problem if self.feasible_ else learning.softened
        point = problem.point(state.lam)
        assert point is not None, "learning only visits positive definite kernels"
        relative = problem.relative(point.p, point.q)
        off = np.where(rows.is_equality, np.abs(relative), np.maximum(relative, 0))
        self.dual_coef_ = rows.spread(np.abs(state.lam))
        self.violations_ = rows.spread(off)
        self._suspect(rows, problem, state, off)
        self._enter_space(transformation(problem, state.lam, self.map_.Z))
        self.lower_bounds_, self.lower_bound_ = state.bounds, state.lower_bound
        self.n_iter_, self.converged_ = state.iteration, state.converged
        self._warn(rows, state, stopped)

    def _suspect(self, rows: Rows, problem: Problem, state: LearningState, off: Array) -> None:
        if self.feasible_:
            most = np.where(np.isinf(problem.high), np.abs(state.lam).max(initial=0.0), problem.high)
            self.suspicion_ = rows.spread(np.abs(state.lam) / np.maximum(most, np.finfo(float).tiny) + off)
        else:
            self.suspicion_ = rows.spread(state.blame)
        order = np.argsort(-self.suspicion_, kind="stable")
        bad = self.violations_ > max(self.tol, 1e-6) if self.feasible_ else self.suspicion_ > 0
        self.suspect_answers_ = order[bad[order]]

    def _enter_space(self, transformation_: Array) -> None:
        self.transformation_: Array = transformation_
        self.rank_ = len(transformation_)
        self.embedding_: Array = self.map_.Z @ transformation_
        # tr M - logdet M - r of M = transformation transformation'.
        self._logdet = 2 * float(np.linalg.slogdet(transformation_)[1])
        self.divergence_ = max(float(np.square(transformation_).sum()) - self._logdet - self.rank_, 0.0)

    def _cluster(self, rng: np.random.RandomState, previous: Array | None) -> None:
        labels, centers = kernel_kmeans(self.embedding_, self.n_clusters, self.n_init, rng, previous)
        self.labels_: Array = labels
        self.centers_: Array = centers
        self.variance_ = within_variance(self.embedding_, self.centers_)

    def _warn(self, rows: Rows, state: LearningState, stopped: bool) -> None:
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


def _impossible_message(rows: Rows, impossible: Array) -> str:
    answers = np.flatnonzero(rows.spread(impossible.astype(float)) > 0)
    where = f"answers rows {answers[:10].tolist()}" if len(answers) else "must_link or cannot_link"
    return (
        f"{where}: an item is told apart from one that has the same features, which no kernel of the features "
        "can do; leave these out or use a finite C"
    )
