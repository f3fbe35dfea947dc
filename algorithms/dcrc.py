"""DCRC: discriminative clustering with relative constraints (Pei, Fern, Rosales and Tjahja, 2014).

The default algorithm of Tercet: clusters are the classes of a logistic model whose parameters make the people's
answers likely ("don't know" included), keep unasked items away from the borders and, if wanted, the clusters of
similar size. Answers may be wrong with probability epsilon, so a few mistakes do not break a clustering. Where items
come in bags whose labels are known (species heard in a recording), these speak in the same likelihood.
"""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from algorithms.bag_evidence import are_told, evidence_of
from algorithms.bag_labels import Bags, read_bags
from algorithms.bag_naming import label_affinity
from algorithms.discriminative import LowerBound
from algorithms.feature_space import FeatureSpace, SpacePlan
from algorithms.fitted_dcrc import FittedDCRC
from algorithms.fitting import (
    BAGS,
    GIVEN,
    HARD_EPSILON,
    HARD_SCHEDULE,
    NO_TABLES,
    Callback,
    FitState,
    Search,
    Solution,
    Solver,
    plan_starts,
)
from algorithms.kernels import Kernel
from algorithms.labeler_tables import TableLearner
from algorithms.mean_field import MeanField
from algorithms.parameters import check_parameters
from algorithms.patterns import Array
from algorithms.suggesting import Suggesting
from algorithms.validation import Constraints, check_features, read_constraints, read_labels
from algorithms.warm_start import Previous

Weight = Literal["paper", "balanced"]


class DCRC(ClusterMixin, FittedDCRC, Suggesting, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
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
        start the first continues from the previous fit, so n_init=1, n_moves=0 then is the warm start alone. Next
        come the start from `init` and that from bag labels, which is so good that others gain little.
    n_moves : int
        Split-and-merge moves tried on the best start, each kept if it raises the bound. They repair what starts
        cannot when clusters are many: two classes in one cluster, one class in two.
    solver : "profile" or "em"
        "profile" climbs max over q of the bound by L-BFGS; "em" is the paper's variational EM, slower and usually
        ending lower.
    weight : "balanced" or "paper"
        Weight of the log likelihood of answers and bag labels: 3 / |I| (|I| items occur in answers or labelled bags)
        or the paper's 1 / M (an item in a labelled bag counts as a third of an answer). Equal as long as no item
        occurs twice; the paper's fades out as answers become dense.
    max_iter : int
        Most outer iterations of one start; one is 20 L-BFGS steps, with solver="em" after an E-step.
    tol : float
        A start ends when the bound gains less than `tol`, relative to max(|bound|, 1).
    standardize : bool
        Whether columns of X are brought to mean 0 and variance 1 inside; `lam` means little without. A kernel
        sees the standardised columns; its features are not standardised again.
    kernel : None, str or callable
        None is linear. A name or callable of scikit-learn's `pairwise_kernels` fits f_k = sum_i a_ki k(x_i, .) + b_k
        with penalty a_k' K a_k, exactly, up to 10,000 items; "nystroem" and "rff" (random Fourier features) stand
        for "rbf" with `n_components` features and any number of items. `lam` penalises the weights of those
        features, whose squared length is k(x, x): 1 for "rbf" where it is D for standardised columns, so "rbf"
        may want a smaller one.
    gamma : float or None
        Of the kernel; None is scikit-learn's default, 1 / D for most.
    kernel_params : mapping or None
        Further parameters of the kernel, such as degree and coef0.
    n_components : int
        Landmarks of "nystroem" (N at most), waves of "rff". A warm start keeps those of the previous fit.
    labeler_tables : "fixed" or "learn"
        "fixed": everybody answers as `epsilon` says. "learn": each labeler has a 5 x A table P(answer | pattern) of
        their own for each kind of question, learned with the clusters. Below 200 answers of a labeler, patterns
        with the same right answer share a row. Needs epsilon > 0 and is worth having with several labelers.
    table_prior : float
        Imagined answers per row of a learned table, spread as `epsilon` says (a Dirichlet prior).
    bag_epsilon : float in (0, 1/2)
        Probability that an item's bag has none of the labels that its cluster goes with: how often labels are
        missing. The smaller, the more labels count.
    transductive : bool
        Whether `labels_` says of items in answers and labelled bags what these say too (argmax q) or, as `predict`
        does, what the model alone says (argmax p). With epsilon=0 it is always the latter, which is then better.
    warm_start : bool
        Whether `fit` continues from the previous fit (or from `set_state_arrays`).
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : (N,) cluster of every item; see `transductive`
    posterior_ : (N, K) q of constrained items, p(y | x) of the others, each with what the labels of the item's bag
        say; single precision where X is
    constrained_ : positions of the items that occur in answers that were used
    label_names_, cluster_label_affinity_ : the C bag labels and their shares in each cluster (K, C), the most likely
        given the bags; only with bags
    coef_, intercept_ : (K, D) and (K,) of the logistic model on (X - mean_) / scale_, or on the kernel's features
    mean_, scale_ : (D,)
    labeler_tables_ : dict, labeler -> kind -> (5, A) table P(answer | pattern); rows as in `algorithms.patterns`.
        This and the two below only with labeler_tables="learn"; without `labelers` the one labeler is None
    labeler_quality_ : dict, labeler -> mutual information of answer and right answer, as a share of the entropy of
        the right answer: 1 tells all there is to be told, 0 nothing. Over the patterns of all questions that were
        answered, so labelers compare. Someone who turns every answer round tells all, too: see the next
    labeler_accuracy_ : dict, labeler -> expected share of right answers over the same patterns
    lower_bound_, lower_bounds_ : the final bound (Eq 10) and its trace over the winning start's iterations; with
        learned tables it holds the logarithm of their prior, 0 at the epsilon table
    n_iter_, converged_, n_features_in_

    Notes
    -----
    X is read in blocks and never changed; it may be single precision or a memory map, and the fit keeps one single
    precision copy, N x (D + 1). A start with more than 10,000 items begins with K-means on so many of them, and from
    200,000 on with fits of samples. Each start and each move still ends with a fit of everything, so for a million
    items begin with n_init=1, n_moves=0: the defaults take about twenty times as long.
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
        kernel: Kernel | None = None,
        gamma: float | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        n_components: int = 200,
        labeler_tables: Literal["fixed", "learn"] = "fixed",
        table_prior: float = 3.0,
        bag_epsilon: float = 0.005,
        transductive: bool = True,
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
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.labeler_tables = labeler_tables
        self.table_prior = table_prior
        self.bag_epsilon = bag_epsilon
        self.transductive = transductive
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
        bags: Any = None,
        bag_labels: Any = None,
        init: Any = None,
        callback: Callback | None = None,
        resume: FitState | None = None,
    ) -> Self:
        """Cluster the rows of X (N, D).

        `triplets` (M, 3) are item positions (anchor, left, right), `answers` (M,) "yes" / "no" / "dnk" or 1 / -1 / 0
        (1 / 2 / 3 / "dnk" where `kinds` says "outlier"). Identical rows of one labeler count once; without `labelers`
        all answers are one labeler's.
        `bags` (N,) names the bag of every item (None for none) and `bag_labels` maps bags to their labels, or is a
        table of 0 and 1 whose rows `bags` are; a bag without labels says nothing (see `BagSpectralClustering.fit`).
        With labelled bags each cluster goes with some labels, with one where there are as many labels as clusters;
        an item's bag should have a label of its cluster, and a bag's labels should each have a cluster of its items.
        `init` (N,) are clusters from elsewhere, 0 to K - 1, to start from too.
        `callback(state)` is called after every outer iteration; when it raises StopFit the fit ends with the best
        so far. `resume` continues from such a state, given the same X, answers and parameters.
        Raises ValueError with the row, value or parameter that is wrong.
        """
        check_parameters(self)
        features = check_features(X)
        if self.n_clusters > len(features):
            raise ValueError(f"n_clusters={self.n_clusters} is more than the number of items, {len(features)}")
        constraints = read_constraints(triplets, answers, kinds, labelers, n_items=len(features))
        if not self.use_dnk:
            constraints = constraints.select(~constraints.is_dnk())
        read = read_bags(bags, bag_labels, n_items=len(features))
        given = None if init is None else read_labels(init, len(features), self.n_clusters)
        rng = check_random_state(self.random_state)
        plan = SpacePlan(self.standardize, self.kernel, self.gamma, self.kernel_params or {}, self.n_components)
        previous = self._previous(plan, features.shape[1]) if self.warm_start and hasattr(self, "coef_") else None
        space = plan.fit(features, None if previous is None else previous.space, rng)
        search, order = self._search(features, space, constraints, read, previous, given)
        more = [GIVEN] * (given is not None) + [BAGS] * (search.objective.bags is not None)
        kinds_of_starts = plan_starts(self.n_init, self.n_moves, previous is not None, self.n_clusters, rng, more)
        state = resume if resume is not None else search.first_state(*kinds_of_starts)
        search.check_resumable(state)
        state, stopped = search.run(state, callback)
        self._keep(search, space, state.current if state.best is None else state.best, order, features.dtype)
        if bags is not None:
            self.label_names_, self.cluster_label_affinity_ = read.names, label_affinity(self.posterior_, read)
        if not (self.converged_ or stopped):
            message = f"DCRC stopped after {self.n_iter_} iterations without converging; raise max_iter or tol"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def _previous(self, plan: SpacePlan, n_features: int) -> Previous:
        previous = Previous(
            self.coef_, self.intercept_, self._space, self.posterior_, self.constrained_, self._tables
        )
        previous.check(self.n_clusters, n_features)
        plan.check(self._space)
        return previous

    def _search(
        self,
        features: Array,
        space: FeatureSpace,
        constraints: Constraints,
        bags: Bags,
        previous: Previous | None,
        given: Array | None,
    ) -> tuple[Search, Array]:
        """The search, and the positions of the items in the order that it has them."""
        schedule = HARD_SCHEDULE if self.epsilon == 0 else (self.epsilon,)

        def log_likelihoods(epsilon: float) -> Array:
            return np.log(constraints.likelihoods(epsilon or HARD_EPSILON))

        field, learner = None, None
        if len(constraints):
            field = MeanField(constraints.triplets, log_likelihoods(schedule[0]), self.n_clusters, np.float32)
            if self.labeler_tables == "learn":
                learner = TableLearner(constraints, self.epsilon, self.table_prior)
        told = are_told(bags)
        order, n_evident = _evident_first(field, told)
        n_times = n_evident if self.weight == "balanced" else 3 * len(constraints) + int(told.sum())
        objective = LowerBound(
            space.design(features, order),
            field,
            tau=self.tau,
            lam=self.lam,
            balance=self.balance,
            weight=3 / n_times if n_evident else 0.0,
            bags=evidence_of(bags, order, self.bag_epsilon) if told.any() else None,
        )
        warm = None
        if previous is not None:
            tables = NO_TABLES if learner is None else learner.starting_from(previous.tables)
            last = len(schedule) - 1  # what was fitted needs no annealing
            warm = previous.solution(space, objective, order, tables, stage=last)
        search = Search(
            objective,
            self.n_clusters,
            schedule,
            log_likelihoods,
            solver=self.solver,
            max_iter=self.max_iter,
            tol=self.tol,
            learner=learner,
            warm=warm,
            given=None if given is None else given[order],
        )
        return search, order

    def _keep(self, search: Search, space: FeatureSpace, solution: Solution, order: Array, dtype: Any) -> None:
        objective, tables = search.objective, None
        hard = search.load(solution)
        P, log_p = objective.log_posteriors(solution.W)
        p = np.empty(P.T.shape, dtype)
        p[order] = P.T
        objective.refresh(log_p, tol=1e-4, hard=hard)
        posterior = np.empty_like(p)
        posterior[order] = objective.posterior(solution.W).T
        if search.learner is not None:
            tables = search.learner.learned(solution.tables, search.table_patterns())
        self._settle(space, tables)
        self.coef_, self.intercept_ = solution.W[:, :-1].copy(), solution.W[:, -1].copy()
        self.posterior_ = posterior
        self.constrained_ = np.sort(order[: objective.n_constrained])
        self.labels_ = (posterior if self.transductive and self.epsilon > 0 else p).argmax(axis=1)
        self.lower_bound_ = objective.at_fixed_q(solution.W)[0]
        self.lower_bounds_ = solution.bounds
        self.n_iter_ = len(solution.bounds)
        self.converged_ = solution.converged


def _evident_first(field: MeanField | None, told: Array) -> tuple[Array, int]:
    """Item positions in the order of the objective, and how many items anything is said of, which come first.

    Those in answers as the E-step has them, then the others in labelled bags, then the rest.
    """
    answered = np.empty(0, dtype=np.int64) if field is None else field.items
    others = np.ones(len(told), dtype=bool)
    others[answered] = False
    only_told = np.flatnonzero(others & told)
    return np.concatenate([answered, only_told, np.flatnonzero(others & ~told)]), len(answered) + len(only_told)
