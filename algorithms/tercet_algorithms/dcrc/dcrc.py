"""DCRC: discriminative clustering with relative constraints (Pei, Fern, Rosales and Tjahja, 2014).

The default algorithm of Tercet: clusters are the classes of a logistic model whose parameters make the people's
answers likely ("don't know" included), keep unasked items away from the borders and, optionally, the clusters of
similar size. Answers may be wrong with probability epsilon, so a few mistakes do not break a clustering. Must-links,
cannot-links and the labels of bags that items come in (species heard in a recording) enter the same likelihood.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from tercet_algorithms.answers.bag_labels import Bags, read_bags
from tercet_algorithms.answers.bag_naming import label_affinity
from tercet_algorithms.answers.patterns import Array, Errors
from tercet_algorithms.answers.questions import QuestionSuggestion
from tercet_algorithms.answers.reading import Constraints, read_constraints, read_labels, read_pairs
from tercet_algorithms.common.estimator import Estimator
from tercet_algorithms.common.feature_space import FeatureSpace, SpacePlan
from tercet_algorithms.common.features import check_features, check_no_target, remember_features, row_names
from tercet_algorithms.common.kernels import KERNELS, Kernel
from tercet_algorithms.common.parameters import (
    BOOLEAN,
    INTEGER_FROM_0,
    NUMBER_FROM_0,
    POSITIVE_INTEGER,
    POSITIVE_NUMBER,
    Constraint,
    number_between,
    one_of,
)
from tercet_algorithms.dcrc.bag_evidence import are_labelled, evidence_of
from tercet_algorithms.dcrc.belief import BELIEFS, Belief, choose_belief
from tercet_algorithms.dcrc.candidate_fits import CandidateFits, Plan
from tercet_algorithms.dcrc.candidates import FEATURES, GRAPH, columns_of, read_groups
from tercet_algorithms.dcrc.labeler_tables import TableLearner
from tercet_algorithms.dcrc.lower_bound import LowerBound
from tercet_algorithms.dcrc.mean_field import MeanField
from tercet_algorithms.dcrc.pattern_evidence import PatternEvidence
from tercet_algorithms.dcrc.search import (
    BAGS,
    HARD_SCHEDULE,
    INIT,
    NO_TABLES,
    Callback,
    DCRCSearch,
    FitState,
    Solver,
)
from tercet_algorithms.dcrc.warm_start import PreviousFit

Weight = Literal["paper", "balanced"]


@dataclass(eq=False, repr=False)
class DCRC(ClusterMixin, CandidateFits, QuestionSuggestion, Estimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Clusters from features and from answers about triplets of items.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K.
    epsilon : "auto", "people" or float in [0, 2/3)
        How answers err. A number is the probability that one is wrong (Table I); also how strongly it counts. 0 means
        hard answers (Eq 14), which are always approached through softer ones. "people" err otherwise: of clear cases
        they say "don't know" to 22 %, but mix items up in 4 %. "auto" chooses, together with `answer_weight`, what
        predicts answers best that are held out for it: "people" with weight 1/2 or 1, or 0.05 with weight 1.
    answer_weight : float in (0, 1] or None
        Power that the likelihood of every answer is taken to; below 1 because mean field counts evidence more than
        once that hangs together. None is 1/2 for "people", 1 for a number, and with epsilon="auto" it is chosen.
    candidates : "auto" or "features"
        "features" fits this model to the features alone. "auto" weighs it by held-out answers against the same model on
        features and eigenvectors of a graph of neighbours, which follows curved clusters, and on each of
        `feature_groups` alone, of features that hide what others show. Two at most are fitted in full, and their
        weighted scores are the model. It takes about twice as long. As "features" with fewer than 30 answers, more
        than 20,000 items, labelled bags, a kernel or hard answers.
    feature_groups : sequence of str, of length D, or None
        The group of each column of X, such as where its numbers come from; see `candidates`.
    tau : float
        Weight of cluster separation and, with `balance`, of cluster balance (Eqs 8 and 9).
    lam : "auto" or float
        Penalty of the squared weights, intercepts excepted. "auto" is 2^-8 for up to 24 standardised columns and D / 24
        times that for more: the more features tell clusters apart together, the smaller weights do it, and the more
        they must cost to mean the same. It grows with the variance of the features that the model sees, so that their
        unit does not matter.
    balance : bool
        Whether clusters are drawn towards equal sizes (Eq 9). Better off where sizes are known to differ widely.
    use_dnk : bool
        Whether "don't know" answers are learned from.
    n_init : int
        Number of starts; the one with the best lower bound wins. First comes a thorough K-means, or with a warm
        start the previous fit, so that n_init=1, n_moves=0 then is the warm start alone. Next come the start from
        `init` and that from bag labels, which is so good that others gain little. All others merge small groups of
        similar items down to K clusters as Ward's method does and as the answers say.
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
        Whether columns of X are brought to mean 0 and variance 1 inside. A kernel sees the standardised columns; its
        features are not standardised again.
    kernel : None, str or callable
        None is linear. A name or callable of scikit-learn's `pairwise_kernels` fits f_k = sum_i a_ki k(x_i, .) + b_k
        with penalty a_k' K a_k, exactly, up to 10,000 items; "nystroem" and "rff" (random Fourier features) stand
        for "rbf" with `n_components` features and any number of items. `lam` penalises the weights of those
        features, whose squared length is k(x, x): at most 1 for "rbf", which is why a number that is right for
        columns is far too large there.
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
        Whether `labels_` of items in answers and labelled bags follow these too (argmax q) or, as `predict` does, the
        model alone (argmax p). With epsilon=0 it is always the latter, which is then better.
    warm_start : bool
        Whether `fit` continues from the previous fit (or from `set_state_arrays`).
    n_jobs : int or None
        How many starts or moves are made at once, each in a thread; -1 is one for each processor. Moves that others
        made in vain, since one before them was kept, are made again. The result is the same for any number; with more
        than one a callback hears of the end of each start instead of every iteration.
    verbose : bool or int
        Whether to print a line for each outer iteration.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : (N,) cluster of every item; see `transductive`
    posterior_ : (N, K) q of constrained items, p(y | x) of the others, each with what the labels of the item's bag
        say; single precision where X is
    constrained_ : positions of the items that occur in answers that were used
    epsilon_, answer_weight_ : how answers were taken to err and to count, as set or chosen
    candidate_weights_ : dict, "features", "graph" or a group of features -> weight of the candidate; sums to 1
    lam_ : the penalty, as set or by the features
    label_names_, cluster_label_affinity_ : the C bag labels and their shares in each cluster (K, C), the most likely
        given the bags; only with bags
    coef_, intercept_ : (K, D) and (K,) of the logistic model on (X - mean_) / scale_, or on the kernel's features; on R
        eigenvectors of a graph beside D columns, (K, D + R), where these have weight
    mean_, scale_ : (D,)
    labeler_tables_ : dict, labeler -> kind -> (5, A) table P(answer | pattern); rows as in `answers.patterns`.
        This and the two below only with labeler_tables="learn"; without `labelers` the one labeler is None
    labeler_quality_ : dict, labeler -> mutual information of answer and right answer, as a share of the entropy of
        the right answer: 1 tells all there is to be told, 0 nothing. Over the patterns of all questions that were
        answered, so labelers compare. Someone who turns every answer round tells all, too: see the next
    labeler_accuracy_ : dict, labeler -> expected share of right answers over the same patterns
    lower_bound_, lower_bounds_ : the final bound (Eq 10) and its trace over the winning start's iterations; with
        learned tables it holds the logarithm of their prior, 0 at the epsilon table. Of several candidates that of the
        heavier one that learns from answers
    n_iter_, converged_, n_features_in_, feature_names_in_

    Notes
    -----
    X is read in blocks and never changed; it may be single precision or a memory map, and the fit keeps one single
    precision copy, N x (D + 1). A start with more than 10,000 items begins with K-means on so many of them, and from
    200,000 on with fits of samples. Each start and each move still ends with a fit of everything, so for a million
    items begin with n_init=1, n_moves=0: the defaults take about twenty times as long.

    References
    ----------
    Y. Pei, X. Z. Fern, R. Rosales and T. V. Tjahja, "Discriminative Clustering with Relative Constraints" (2014),
    arXiv:1501.00037.

    Examples
    --------
    Two features show two groups, but people sort by a third one; their answers bring it out.

    >>> import numpy as np
    >>> from tercet_algorithms import DCRC
    >>> rng = np.random.default_rng(0)
    >>> groups, classes = rng.integers(2, size=(2, 60))
    >>> X = np.column_stack([groups, groups, classes]) + rng.normal(scale=0.1, size=(60, 3))
    >>> triplets = np.array([rng.choice(60, 3, replace=False) for _ in range(50)])
    >>> anchor, left, right = classes[triplets].T
    >>> answers = np.where(left == right, "dnk", np.where(anchor == left, "yes", "no"))
    >>> model = DCRC(n_clusters=2, random_state=0).fit(X, triplets=triplets, answers=answers)
    >>> agree = np.mean(model.labels_ == classes)
    >>> float(max(agree, 1 - agree))
    1.0
    >>> model.score(X, triplets=triplets, answers=answers)
    1.0
    >>> model.predict_answers(X, [[0, 1, 2]]).shape
    (1, 3)
    >>> bool(model.score_answers(X, triplets, answers) > np.log(0.9))  # mean log probability, in nats
    True
    >>> bool((model.predict(X) == model.predict_proba(X).argmax(axis=1)).all())
    True
    >>> questions, nats = model.suggest(5, asked=triplets, random_state=0)  # what to ask next
    >>> questions.shape, bool(nats.max() <= np.log(3))
    ((5, 3), True)
    >>> information = model.expected_information(random_state=0)
    >>> model.answer_table("outlier").shape
    (5, 4)
    >>> loaded = DCRC(2).set_state_arrays(model.state_arrays())  # in any process
    >>> bool((loaded.labels_ == model.labels_).all())
    True
    """

    n_clusters: int = 8
    _: KW_ONLY
    epsilon: Errors | Literal["auto"] = "auto"
    answer_weight: float | None = None
    candidates: Literal["auto", "features"] = "features"
    feature_groups: Sequence[str] | None = None
    tau: float = 1.0
    lam: float | Literal["auto"] = "auto"
    balance: bool = True
    use_dnk: bool = True
    n_init: int = 10
    n_moves: int = 10
    solver: Solver = "profile"
    weight: Weight = "balanced"
    max_iter: int = 100
    tol: float = 1e-5
    standardize: bool = True
    kernel: Kernel | None = None
    gamma: float | None = None
    kernel_params: Mapping[str, Any] | None = None
    n_components: int = 200
    labeler_tables: Literal["fixed", "learn"] = "fixed"
    table_prior: float = 3.0
    bag_epsilon: float = 0.005
    transductive: bool = True
    warm_start: bool = False

    _parameter_constraints: ClassVar[dict[str, Constraint | str]] = Estimator._parameter_constraints | {
        "n_clusters": POSITIVE_INTEGER,
        "epsilon": [*number_between(0, 2 / 3, "left"), *one_of("auto", "people")],
        "answer_weight": [None, *number_between(0, 1, "right")],
        "candidates": one_of("auto", "features"),
        "feature_groups": [None, "array-like"],
        "tau": NUMBER_FROM_0,
        "lam": [*NUMBER_FROM_0, *one_of("auto")],
        "balance": BOOLEAN,
        "use_dnk": BOOLEAN,
        "n_init": POSITIVE_INTEGER,
        "n_moves": INTEGER_FROM_0,
        "solver": one_of("profile", "em"),
        "weight": one_of("balanced", "paper"),
        "max_iter": POSITIVE_INTEGER,
        "tol": NUMBER_FROM_0,
        "standardize": BOOLEAN,
        "kernel": [None, callable, *one_of(*KERNELS)],
        "gamma": [None, *POSITIVE_NUMBER],
        "kernel_params": [None, Mapping],
        "n_components": POSITIVE_INTEGER,
        "labeler_tables": one_of("fixed", "learn"),
        "table_prior": POSITIVE_NUMBER,
        "bag_epsilon": number_between(0, 1 / 2, "neither"),
        "transductive": BOOLEAN,
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
        weights: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
        bags: Any = None,
        bag_labels: Any = None,
        init: Any = None,
        callback: Callback | None = None,
        resume: FitState | None = None,
    ) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or DataFrame of shape (N, D)
            Features of the items; single precision stays so. Not sparse: standardised columns are dense.
        y : None
            Not used: a value for each item gives a warning, anything else ValueError.
        triplets : array-like of shape (M, 3)
            Anchor, left and right of each question: positions of items, or their names in the index of X.
        answers : array-like of shape (M,)
            "yes", "no", "dnk", or 1, -1, 0, or True, False; to outlier questions 1, 2, 3 or "dnk".
        kinds : str or array-like of str, shape (M,), optional
            "relative" (all of them where None) or "outlier".
        labelers : iterable of hashables, M of them, optional
            Who answered; without, all answers are one labeler's. Identical rows of one labeler count once.
        weights : array-like of shape (M,), optional
            How many answers each counts as: finite and not negative; 0 leaves the answer out.
        must_link, cannot_link : array-like of shape (L, 2), optional
            Pairs of items, as positions or names, that are in one cluster, or are not; wrong with probability
            `epsilon` like an answer, or 0.05 where it is no number. A repeated pair counts once.
        bags : array-like of shape (N,), optional
            Name of the bag of each item; None or NaN for none. See `BagSpectralClustering.fit`.
        bag_labels : mapping or array-like of shape (B, C), optional
            The labels of each bag, or a table of 0 and 1 whose rows `bags` are; a bag without labels says nothing.
            Each cluster goes with some labels, with one where there are as many labels as clusters: an item's bag
            should have a label of its cluster, and a bag's labels should each have a cluster of its items.
        init : array-like of int, shape (N,), optional
            Clusters from elsewhere, 0 to K - 1, to start from too.
        callback : callable, optional
            Called with a `FitState` after every outer iteration. When it raises `StopFit`, the fit ends with the
            best so far.
        resume : FitState, optional
            Where to continue, given the same X, answers and parameters.

        Returns
        -------
        self : DCRC

        Raises
        ------
        ValueError
            With the row, value or parameter that is wrong.
        TypeError
            Where X is sparse.

        Warns
        -----
        ConvergenceWarning
            Where `max_iter` ends the best start.
        """
        self._check_parameters()
        features = check_features(X, self, self.n_clusters)
        groups = read_groups(self.feature_groups, features.shape[1])
        check_no_target(y, len(features))
        names = row_names(X)
        constraints = read_constraints(
            triplets, answers, kinds, labelers, weights, n_items=len(features), item_names=names
        )
        if not self.use_dnk:
            constraints = constraints.select(~constraints.is_dnk())
        must_link = read_pairs("must_link", must_link, len(features), names)
        cannot_link = read_pairs("cannot_link", cannot_link, len(features), names)
        self._check_links(must_link, cannot_link)
        checked_bags = read_bags(bags, bag_labels, n_items=len(features))
        init_labels = None if init is None else read_labels(init, len(features), self.n_clusters)
        rng = check_random_state(self.random_state)
        plan = SpacePlan(self.standardize, self.kernel, self.gamma, self.kernel_params or {}, self.n_components)
        if warm := self.warm_start and hasattr(self, "coef_"):
            self._check_previous(plan, features.shape[1])
        space = plan.fit(features, self._space.plain if warm else None, rng)
        self.epsilon_, self.answer_weight_ = self._choose_belief(features, space, constraints)
        labelled = are_labelled(checked_bags).any()
        judge = self._for_folds()
        judge.set_params(epsilon=self.epsilon_, answer_weight=self.answer_weight_)
        chosen = Plan((FEATURES,), space, 0)
        if not labelled:
            chosen = self._plan(judge, features, space, groups, constraints, warm)
        columns = columns_of(groups, features.shape[1], chosen.space.width)
        evidence = PatternEvidence(constraints, must_link, cannot_link, self.answer_weight_)
        searches, order = self._searches(chosen, features, columns, evidence, checked_bags, warm, init_labels)
        further = [INIT] * (init_labels is not None) + [BAGS] * int(labelled)
        ends, stopped = self._run(searches, further, rng, resume, callback)
        self._weighing = self._weigh(judge, features, chosen, columns, ends, constraints)
        ends = {name: ends[name] for name in self._weighing.names}
        self._store_results(searches, ends, chosen.space, columns, features, order)
        remember_features(self, X)
        if bags is not None:
            self.label_names_, self.cluster_label_affinity_ = (
                checked_bags.names,
                label_affinity(self.posterior_, checked_bags),
            )
        if not (self.converged_ or stopped):
            message = f"DCRC stopped after {self.n_iter_} iterations without converging; raise max_iter or tol"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.labeler_tables == "learn" and self.epsilon == 0:
            raise ValueError("labeler_tables='learn' needs epsilon above 0: hard answers leave nothing to learn")

    def _check_links(self, must_link: Array, cannot_link: Array) -> None:
        if not isinstance(self.epsilon, str) and self.epsilon >= 1 / 2 and (len(must_link) or len(cannot_link)):
            raise ValueError(
                f"must_link and cannot_link need epsilon below 1/2, got {self.epsilon}: they say the opposite"
            )

    def _choose_belief(self, features: Array, space: FeatureSpace, constraints: Constraints) -> Belief:
        """Return how answers are believed: as set, as before while answers have not doubled, or as predicts best."""
        if self.epsilon != "auto":
            weight = 0.5 if self.epsilon == "people" else 1.0
            return Belief(self.epsilon, self.answer_weight or weight)
        if self.warm_start and len(constraints) < 2 * getattr(self, "_answers_at_choice", 0):
            return Belief(self.epsilon_, self.answer_weight_)
        beliefs: tuple[Belief, ...] = BELIEFS
        if self.answer_weight is not None:
            beliefs = tuple(dict.fromkeys(belief._replace(weight=self.answer_weight) for belief in BELIEFS))
        self._answers_at_choice = len(constraints)
        return choose_belief(self._for_folds(), features, space, constraints, beliefs)

    def _for_folds(self) -> "DCRC":
        """Return a model to judge by answers held out, of features that are as they are in the space."""
        # Not a clone: the `fit` of a subclass may take other arguments.
        model = DCRC(**{name: getattr(self, name) for name in DCRC._get_param_names()})
        model.set_params(
            candidates="features",
            feature_groups=None,
            n_init=1,
            n_moves=0,
            warm_start=False,
            verbose=False,
            random_state=0,
            standardize=False,
            kernel=None,
            labeler_tables="fixed",
        )
        return model

    def _searches(
        self,
        plan: Plan,
        features: Array,
        columns: dict[str, Array],
        evidence: PatternEvidence,
        bags: Bags,
        warm: bool,
        init_labels: Array | None,
    ) -> tuple[dict[str, DCRCSearch], Array]:
        """Return the searches of the candidates that learn from answers, and the order that they have the items in."""
        searches = {}
        for name in plan.names:
            seen, of_candidate = features, plan.space if name == GRAPH else plan.space.plain
            if name not in (FEATURES, GRAPH):
                seen, of_candidate = features[:, columns[name]], of_candidate.of(columns[name])
            previous = self._previous(name, columns[name], seen, of_candidate) if warm else None
            searches[name], order = self._search(seen, of_candidate, evidence, bags, previous, init_labels)
        return searches, order

    def _search(
        self,
        features: Array,
        space: FeatureSpace,
        evidence: PatternEvidence,
        bags: Bags,
        previous: PreviousFit | None,
        init_labels: Array | None,
    ) -> tuple[DCRCSearch, Array]:
        """Return the search, and the positions of the items in the order that it has them."""
        schedule = HARD_SCHEDULE if self.epsilon_ == 0 else (self.epsilon_,)
        field, learner = None, None
        if len(evidence):
            logs = evidence.log_likelihoods(schedule[0])
            field = MeanField(evidence.triplets, logs, np.float32)
            if self.labeler_tables == "learn" and len(evidence.constraints):
                learner = TableLearner(evidence.constraints, self.epsilon_, self.table_prior, self.answer_weight_)
        labelled = are_labelled(bags)
        order, n_evident = _evident_first(field, labelled)
        n_times = n_evident if self.weight == "balanced" else evidence.n_mentions + float(labelled.sum())
        design = space.design(features, order)
        objective = LowerBound(
            design,
            field,
            tau=self.tau,
            lam=self._penalty(design),
            balance=self.balance,
            weight=3 / n_times if n_evident else 0.0,
            bags=evidence_of(bags, order, self.bag_epsilon) if labelled.any() else None,
        )
        warm, warm_labels = None, None
        if previous is not None:
            tables = NO_TABLES if learner is None else learner.starting_from(previous.tables)
            last = len(schedule) - 1  # what was fitted needs no annealing
            warm, warm_labels = previous.solution(space, objective, order, tables, stage=last)
        search = DCRCSearch(
            objective,
            self.n_clusters,
            schedule,
            evidence,
            solver=self.solver,
            max_iter=self.max_iter,
            tol=self.tol,
            learner=learner,
            warm=warm,
            warm_labels=warm_labels,
            init_labels=None if init_labels is None else init_labels[order],
        )
        return search, order

    def _store_results(
        self,
        searches: dict[str, DCRCSearch],
        ends: dict[str, FitState],
        space: FeatureSpace,
        columns: dict[str, Array],
        features: Array,
        order: Array,
    ) -> None:
        """Set the fitted attributes; `order` are the positions of the items in the order of the searches."""
        shares = self._weighing.shares(ends)
        leading = max(ends, key=lambda name: shares[name])
        solution, search = ends[leading].solution, searches[leading]
        objective, W, q = search.objective, solution.W, solution.q.copy()
        evidence = search.evidence_at(solution, ends[leading].cluster_labels)
        objective.refresh(q, objective.softmax(W), evidence, tol=1e-4, hard=search.is_hard(solution))
        self.lam_ = objective.lam
        self.lower_bound_ = objective.at_fixed_q(W, q, evidence)[0]
        self._models = {leading: W}
        if self._weighing.names != (FEATURES,):
            if objective.X.shape[1] != space.width + 1:
                objective = objective.with_features(space.design(features, order))
            W = self._pooled(ends, shares, leading, columns, objective.X)
            objective.refresh(q, objective.softmax(W), evidence, tol=1e-4)
        softmax = objective.softmax(W)
        p = np.empty(softmax.P.T.shape, features.dtype)
        p[order] = softmax.P.T
        posterior = np.empty_like(p)
        posterior[order] = objective.posterior(W, q, evidence).T
        tables = None
        if search.learner is not None:
            tables = search.learner.learned(solution.tables, search.answer_patterns(q))
        self._store_space(space, tables)
        self.coef_, self.intercept_ = W[:, :-1].copy(), W[:, -1].copy()
        self.candidate_weights_ = self._weighing.by_name()
        self.posterior_ = posterior
        self.constrained_ = np.sort(order[: objective.n_constrained])
        self.labels_ = (posterior if self.transductive and self.epsilon_ != 0 else p).argmax(axis=1)
        self.lower_bounds_ = solution.bounds
        self.n_iter_ = len(solution.bounds)
        self.converged_ = solution.converged


def _evident_first(field: MeanField | None, labelled: Array) -> tuple[Array, int]:
    """Return item positions in the order of the objective, and how many of them have evidence; these come first.

    First the items in answers and links, as the E-step has them, then others in labelled bags, then all others.
    """
    answered = np.empty(0, dtype=np.int64) if field is None else field.items
    others = np.ones(len(labelled), dtype=bool)
    others[answered] = False
    only_labelled = np.flatnonzero(others & labelled)
    return np.concatenate([answered, only_labelled, np.flatnonzero(others & ~labelled)]), len(answered) + len(
        only_labelled
    )
