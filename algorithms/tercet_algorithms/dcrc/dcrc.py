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
from tercet_algorithms.answers.reading import (
    Constraints,
    read_constraints,
    read_labels,
    read_placements,
    read_weighted_pairs,
)
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
from tercet_algorithms.dcrc.candidate_fits import CandidateFits, Plan, narrowed
from tercet_algorithms.dcrc.candidates import FEATURES, GRAPH, columns_of, read_groups
from tercet_algorithms.dcrc.labeler_tables import TableLearner
from tercet_algorithms.dcrc.lower_bound import LowerBound
from tercet_algorithms.dcrc.mean_field import MeanField, evident_first
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
from tercet_algorithms.dcrc.span import span_of
from tercet_algorithms.dcrc.warm_start import PreviousFit

Weight = Literal["balanced", "shrunk", "paper"]
# With weight="shrunk" answers count as if they were about this many more items of each cluster.
_SHRUNK_BY = 20


@dataclass(eq=False, repr=False)
class DCRC(ClusterMixin, CandidateFits, QuestionSuggestion, Estimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Clusters from features and from answers about triplets of items.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K.
    epsilon : "auto", "people" or float in [0, 2/3)
        How answers err. A number is the probability that an answer is wrong (Table I); the smaller, the more an answer
        counts. 0 means hard answers (Eq 14); these are approached through a schedule of smaller and smaller numbers.
        "people" is the table of people's errors: in 22 % of the clear cases they say "don't know", in 4 % they choose
        the wrong item (each of two, where the odd one of three is asked for). "auto" chooses epsilon together with
        `answer_weight`: "people" with weight 1/2 or 1, or 0.05 with weight 1, whichever predicts held-out answers best.
    answer_weight : float in (0, 1] or None
        Power that the likelihood of every answer is raised to. Below 1 it makes up for mean field, which counts
        dependent evidence more than once. None is 1/2 for "people", 1 for a number, and chosen with epsilon="auto".
    candidates : "auto" or "features"
        "features" fits one model to the features. "auto" compares it, by held-out answers, with the same model on the
        features and the eigenvectors of a graph of neighbours, which follow curved clusters, and with the same model on
        each of `feature_groups` alone, in case features of other groups are noise. The best two at most are fitted in
        full and pooled: the model is the weighted sum of their scores. That takes two to three times as long. A warm
        start weighs them by how well earlier fits predicted answers that were new to them, later ones more, and
        compares all anew once answers have doubled; the one that counts less makes fewer starts and moves, and the fit
        takes half as long again as with the features alone. Both also see the clusters of K-means, of spectral
        clustering and, with ten items or more for each cluster and feature, of a mixture of normal distributions, and
        lean towards them, if answers say that most items are right there. Fewer than 30 answers compare nothing, and
        may well mislead: then one model leans towards these clusters, by how many items answers say are right. "auto"
        is the same as "features" without answers, with more than 20,000 items, labelled bags, a kernel or hard answers.
    feature_groups : sequence of str, of length D, or None
        Name of the group that each column of X belongs to, such as the source of its numbers; see `candidates`.
    tau : float
        Weight of cluster separation and, with `balance`, of cluster balance (Eqs 8 and 9).
    lam : "auto" or float
        Penalty of the squared weights, intercepts excepted. "auto" is 2^-8 for up to 24 standardised columns and D / 24
        times that for more: with more features smaller weights separate the same clusters, so the penalty must be
        larger. It is proportional to the variance of the features that the model sees, so their unit does not matter.
    balance : bool
        Whether clusters are drawn towards equal sizes (Eq 9). Use False where sizes are known to differ widely.
    use_dnk : bool
        Whether "don't know" answers are learned from.
    n_init : int
        Number of starts; the one with the best lower bound wins. With `warm_start` the first is the previous fit, so
        that n_init=1, n_moves=0 continues from it alone. Then come the start from `init` and the start from bag
        labels, if any; the latter is so good that others gain little. All others merge small groups of similar items
        down to K clusters, by Ward's method and by what the answers say, but for one that is the best of ten K-means
        clusterings: the next one, or with `warm_start` the third.
    n_moves : int
        Number of split-and-merge moves tried on the best start; each is kept if it raises the bound. With many
        clusters they repair what starts leave: two classes in one cluster, one class in two.
    solver : "profile" or "em"
        "profile" maximizes max_q LB(W, q) over W by L-BFGS; "em" is the paper's variational EM, which is slower and
        usually ends at a lower bound.
    weight : "balanced", "shrunk" or "paper"
        Weight of the log likelihood of answers and bag labels: "balanced" is 3 / |I| (|I| items occur in answers or
        labelled bags), "paper" is 1 / M (an item in a labelled bag counts as a third of an answer). The two are equal
        as long as no item occurs twice; with "paper" a single answer counts less the more answers there are. "shrunk"
        is 3 / (|I| + 20 K): the first answers, some of which are wrong, count less than what the features of all items
        say. It is meant for refits while answers come in to questions that were chosen because they are hard.
    max_iter : int
        Largest number of outer iterations of a start; one is 20 L-BFGS steps, with solver="em" after an E-step.
    tol : float
        A start ends when the bound gains less than `tol`, relative to max(|bound|, 1).
    standardize : bool
        Whether the columns of X are standardised to mean 0 and variance 1. A kernel sees the standardised columns; its
        features are not standardised again.
    kernel : None, str or callable
        None is linear. A name or callable of scikit-learn's `pairwise_kernels` fits f_k = sum_i a_ki k(x_i, .) + b_k
        with penalty a_k' K a_k, exactly, up to 10,000 items; "nystroem" and "rff" (random Fourier features) stand
        for "rbf" with `n_components` features and any number of items. `lam` penalises the weights of those
        features, whose squared length is k(x, x): at most 1 for "rbf", so a number that suits standardised columns is
        far too large there.
    gamma : float or None
        Of the kernel; None is scikit-learn's default, 1 / D for most.
    kernel_params : mapping or None
        Further parameters of the kernel, such as degree and coef0.
    n_components : int
        Number of landmarks of "nystroem" (N at most) or of random Fourier features of "rff". A warm start keeps those
        of the previous fit.
    labeler_tables : "fixed" or "learn"
        "fixed": all labelers err as `epsilon` says. "learn": each labeler has a 5 x A table P(answer | pattern) for
        each kind of question, learned with the clusters. For a labeler with fewer than 200 answers, patterns with the
        same right answer share a row. "learn" needs epsilon > 0, and helps where there are several labelers.
    table_prior : float
        Number of pseudo-answers per row of a learned table, spread as `epsilon` says (a Dirichlet prior).
    bag_epsilon : float in (0, 1/2)
        Probability that an item's bag has none of the labels of the item's cluster: how often labels are missing. The
        smaller, the more labels count.
    transductive : bool
        Whether `labels_` of items in answers and labelled bags take these into account (argmax q) or, as `predict`
        does, the model alone (argmax p). With epsilon=0 they are always argmax p, which is better then.
    warm_start : bool
        Whether `fit` continues from the previous fit (or from `set_state_arrays`).
    n_jobs : int or None
        How many starts or moves run at once, each in a thread; -1 is one for each processor. Moves that ran beside one
        that was then kept are repeated, so that the result is the same for any number. With more than one, the
        callback is called at the end of each start instead of after every iteration.
    verbose : bool or int
        Whether to print a line for each outer iteration.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : (N,) cluster of every item; see `transductive`
    posterior_ : (N, K) q of constrained items, p(y | x) of the others, each times the likelihood of the labels of the
        item's bag; single precision where X is. It is surer than right: `tempered` of `answers.temperature` mends that,
        by answers that came after the fit
    constrained_ : positions of the items that occur in answers that were used, or in links
    epsilon_, answer_weight_ : the parameters as set, or as chosen where they are "auto" and None
    candidate_weights_ : dict, "features", "graph" or a group of features -> weight of the candidate; sums to 1
    lam_ : the penalty, as set or by the features
    label_names_, cluster_label_affinity_ : the C bag labels and their shares in each cluster (K, C), the most likely
        given the bags; only with bags
    coef_, intercept_ : (K, D) and (K,) of the logistic model on (X - mean_) / scale_, or on the kernel's features; on R
        eigenvectors of a graph and clusters beside D columns, (K, D + R), where these have weight
    mean_, scale_ : (D,)
    labeler_tables_ : dict, labeler -> kind -> (5, A) table P(answer | pattern); rows as in `answers.patterns`.
        This and the two below only with labeler_tables="learn"; without `labelers` the one labeler is None
    labeler_quality_ : dict, labeler -> mutual information of answer and right answer, as a share of the entropy of
        the right answer: from 0, the answers tell nothing, to 1, they tell everything. Taken over the patterns of all
        answered questions, so that labelers can be compared. A labeler who reverses every answer has 1 as well;
        `labeler_accuracy_` shows the difference
    labeler_accuracy_ : dict, labeler -> expected share of right answers over the same patterns
    lower_bound_, lower_bounds_ : the final bound (Eq 10) and its trace over the winning start's iterations; with
        learned tables it includes the logarithm of their prior, 0 at the epsilon table. Of several candidates, that of
        the one that counts most
    n_iter_, converged_, n_features_in_, feature_names_in_

    Notes
    -----
    X is read in blocks and never changed; it may be single precision or a memory map, and the fit keeps one single
    precision copy, N x (D + 1). With more than 2,000 items, K-means of a start sees two fifths of them, 2,000 at least
    and 10,000 at most; from 200,000 items on, fits of samples come before the fit of everything. Each start and each
    move ends with a fit of everything, so for a million items use n_init=1, n_moves=0 first: the defaults take about
    twenty times as long.

    References
    ----------
    Y. Pei, X. Z. Fern, R. Rosales and T. V. Tjahja, "Discriminative Clustering with Relative Constraints" (2014),
    arXiv:1501.00037.

    Examples
    --------
    Two features show two groups, but people sort by a third feature; their answers lead to it.

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
    candidates: Literal["auto", "features"] = "auto"
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
        "weight": one_of("balanced", "shrunk", "paper"),
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
        must_weights: Any = None,
        cannot_weights: Any = None,
        stand_ins: Any = None,
        stand_in_weights: Any = None,
        bags: Any = None,
        bag_labels: Any = None,
        init: Any = None,
        callback: Callback | None = None,
        resume: FitState | None = None,
    ) -> Self:
        """Cluster the rows of X by their features and by answers, links and bag labels.

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
            Who gave each answer; where None, all are of one labeler. Identical rows of one labeler count once.
        weights : array-like of shape (M,), optional
            How many answers each counts as: finite and not negative; 0 leaves the answer out.
        must_link, cannot_link : array-like of shape (L, 2), optional
            Pairs of items, as positions or names, that are in one cluster, or in two; wrong with probability
            `epsilon` like an answer, or 0.05 where `epsilon` is not a number. A repeated pair counts once.
        must_weights, cannot_weights : array-like of shape (L,), optional
            How many links each counts as: finite and not negative. A repeated pair has the largest of its weights.
        stand_ins : array-like of shape (S, 2), optional
            Pairs, as positions or names, of an item and another that stands for a cluster: the first is where the model
            has items like the second. A must-link would draw the second to the first as well. Wrong as links are.
        stand_in_weights : array-like of shape (S,), optional
            How many such pairs each counts as: finite; negative where the first is not in the second's cluster.
        bags : array-like of shape (N,), optional
            Name of the bag of each item; None or NaN for none. See `BagSpectralClustering.fit`.
        bag_labels : mapping or array-like of shape (B, C), optional
            The labels of each bag by its name, or a table of 0 and 1 where `bags` are row numbers; a bag without labels
            is no evidence. Each cluster is matched to some labels, to one where there are as many labels as clusters.
            An item's bag is then expected to have a label of the item's cluster, and each label of a bag to be that
            of the cluster of some item in it.
        init : array-like of int, shape (N,), optional
            Clusters, 0 to K - 1, that one more start begins from.
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
        must_link, must_counts = read_weighted_pairs("must_link", must_link, must_weights, len(features), names)
        cannot_link, counts = read_weighted_pairs("cannot_link", cannot_link, cannot_weights, len(features), names)
        placements = read_placements(stand_ins, stand_in_weights, len(features), names)
        self._check_links(must_link, cannot_link, placements.pairs)
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
        columns = columns_of(groups, chosen.space)
        link_weights = np.concatenate([must_counts, counts])
        links = must_link, cannot_link, self.answer_weight_, link_weights
        evidence = PatternEvidence(constraints, *links, placements)
        searches, order = self._searches(chosen, features, columns, evidence, checked_bags, warm, init_labels)
        further = [INIT] * (init_labels is not None) + [BAGS] * int(labelled)
        ends, stopped = self._run(searches, chosen.weighing, further, rng, resume, callback)
        for name, end in ends.items():
            searches[name], ends[name] = searches[name].widened(end)
        penalties = {name: search.objective.lam for name, search in searches.items()}
        self._weighing = self._weigh(judge, features, chosen, columns, ends, penalties, constraints)
        ends = {name: ends[name] for name in self._weighing.names}
        space = chosen.space if len(chosen.names) == 1 else narrowed(chosen.space, ends)
        self._store_results(searches, ends, space, columns_of(groups, space), features, order)
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

    def _check_links(self, *pairs: Array) -> None:
        if not isinstance(self.epsilon, str) and self.epsilon >= 1 / 2 and any(map(len, pairs)):
            raise ValueError(
                f"must_link and cannot_link need epsilon below 1/2, got {self.epsilon}: they say the opposite"
            )

    def _choose_belief(self, features: Array, space: FeatureSpace, constraints: Constraints) -> Belief:
        """Return the belief: as set, as chosen before while answers have not doubled since, or chosen anew."""
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
        """Return a quick model for held-out answers; it takes features already in coordinates of the space."""
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
        """Return the search of each candidate, and the positions of the items in the order of the searches."""
        searches = {}
        for name in plan.names:
            # A candidate that is alone sees all that there is.
            seen, of_candidate = features, plan.space if len(plan.names) == 1 else narrowed(plan.space, [name])
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
        """Return the search of one candidate, and the positions of the items in its order."""
        schedule = HARD_SCHEDULE if self.epsilon_ == 0 else (self.epsilon_,)
        field, learner = None, None
        if len(evidence):
            logs = evidence.log_likelihoods(schedule[0])
            field = MeanField(evidence.triplets, logs, np.float32, np.abs(evidence.placements.weights))
            if self.labeler_tables == "learn" and len(evidence.constraints):
                learner = TableLearner(evidence.constraints, self.epsilon_, self.table_prior, self.answer_weight_)
        labelled = are_labelled(bags)
        order, n_evident = evident_first(field, labelled)
        n_times = {
            "balanced": n_evident,
            "shrunk": n_evident + _SHRUNK_BY * self.n_clusters,
            "paper": evidence.n_mentions + float(labelled.sum()),
        }[self.weight]
        design = space.design(features, order)
        penalty = self._penalty(design, space)
        if (span := span_of(design[:, :-1])) is not None:
            design = np.column_stack([span.coordinates.astype(np.float32), design[:, -1]])
        objective = LowerBound(
            design,
            field,
            tau=self.tau,
            lam=penalty,
            balance=self.balance,
            weight=3 / n_times if n_evident else 0.0,
            bags=evidence_of(bags, order, self.bag_epsilon) if labelled.any() else None,
        )
        warm, warm_labels = None, None
        if previous is not None:
            tables = NO_TABLES if learner is None else learner.starting_from(previous.tables)
            last = len(schedule) - 1  # a fitted model needs no softer stages
            warm, warm_labels = previous.solution(space, span, objective, order, tables, stage=last)
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
            span=span,
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
                seen_by_graph = searches[GRAPH].objective.X if GRAPH in ends else space.design(features, order)
                objective = objective.with_features(seen_by_graph)
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
