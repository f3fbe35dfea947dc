"""The parameters of DCRC, alone and with cross-validation."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tercet.catalogue.parameters.common import (
    ADVANCED,
    MOST_CLUSTERS,
    CommaSeparated,
    Iterations,
    NumberOrAuto,
    Parameters,
    Starts,
    Tolerance,
    advanced,
    number_or,
)

# Largest difference between the most and the fewest clusters to choose from in one run.
WIDEST = 40
Several = Annotated[list[Annotated[float, Field(ge=0)]], CommaSeparated, Field(min_length=1, max_length=10)]
Shares = Annotated[list[Annotated[float, Field(ge=0, lt=2 / 3)]], CommaSeparated, Field(min_length=1, max_length=10)]

_Errors = float | Literal["auto", "people"]
Errors = Annotated[_Errors, number_or(_Errors, ("auto", "people"), below=2 / 3)]


class _Dcrc(Parameters):
    """The parameters that DCRC has with and without cross-validation."""

    use_dnk: Annotated[bool, advanced("Learn from “don’t know”")] = True
    """Whether “don’t know” answers count, or are left out."""
    kernel: Annotated[Literal["rbf", "nystroem", "rff"] | None, advanced("Kernel")] = None
    """None draws straight borders between clusters, rbf curved ones, nystroem and rff about the same for more than
    10,000 items."""
    labeler_tables: Annotated[Literal["fixed", "learn"], advanced("How people answer")] = "fixed"
    """Learn finds out how each labeler answers, so that those who guess count less; fixed takes all to err alike."""
    n_init: Starts = 10
    """Number of starts of a fit from nothing; the best one wins."""
    n_moves: Annotated[int, advanced("Moves", ge=0, le=1000)] = 20
    """Split-and-merge moves tried after the starts; they repair clusters that share a class."""
    solver: Annotated[Literal["profile", "em"], advanced("Solver")] = "profile"
    """How the bound is climbed; em is the paper's, slower and usually ending lower."""
    answer_weight: Annotated[float | None, advanced("Weight of each answer", gt=0, le=1)] = None
    """Power that the likelihood of every answer is taken to; none is 1, or a half where answers err as people do and
    the weight is not chosen."""
    weight: Annotated[Literal["shrunk", "balanced", "paper"], advanced("Weight of answers")] = "shrunk"
    """Weight of all answers against the features: balanced is always the same, shrunk is smaller while there are few,
    so that single wrong answers do not move clusters, and the paper's makes each count less the more there are."""
    max_iter: Iterations = 100
    """Most outer iterations of one start."""
    tol: Tolerance = 1e-5
    """A start ends when the bound gains relatively less than this."""
    gamma: Annotated[float | None, advanced("Width of the kernel", gt=0)] = None
    """Gamma of the kernel, larger is narrower; none is one over the number of features."""
    n_components: Annotated[int, advanced("Components", ge=1, le=5000)] = 200
    """Landmarks of nystroem, waves of rff: more is nearer to rbf and slower."""
    table_prior: Annotated[float, advanced("Trust at first", gt=0)] = 3.0
    """Imagined answers by which every labeler is at first believed to err as expected, where how they answer is
    learned."""
    bag_epsilon: Annotated[float, advanced("Missing bag labels", gt=0, lt=0.5)] = 0.005
    """Probability that a bag lacks the label of an item in it; the smaller, the more bag labels say."""
    transductive: Annotated[bool, advanced("Answers decide about their items")] = True
    """Whether an item in answers goes where its answers say, or where the model alone does."""


class DcrcParameters(_Dcrc):
    """Parameters of DCRC; the defaults are right for most projects."""

    left_out: ClassVar[dict[str, str]] = {
        "standardize": "features come in any unit; those that a recipe makes are in one scale already",
        "feature_groups": "a recipe knows the groups of the features that it makes",
        "kernel_params": "no kernel that is offered has further ones",
        "n_jobs": "every worker has work of its own",
        "verbose": "a run shows its progress on its page",
        "warm_start": "a run decides it by what the run before left",
    }

    epsilon: Annotated[Errors, Field(title="How answers err")] = "auto"
    """Like people, who say “don’t know” in every fifth clear case and mix items up in every 25th; or a number, the
    probability that an answer is wrong; auto takes what predicts answers best."""
    cluster_by: Annotated[Literal["features", "answers", "both"], Field(title="Cluster by")] = "features"
    """Features, points learned from the answers (from ten of them on, best with several about every item), or both."""
    candidates: Annotated[Literal["auto", "features"], advanced("Structure")] = "auto"
    """Auto weighs the features, a graph of neighbours and each group of features by the answers that they predict, in
    half as much time again as the features alone, and more in the first run."""
    balance: Annotated[bool, advanced("Draw clusters towards equal sizes")] = True
    """Better off where sizes are known to differ widely."""
    tau: Annotated[float, advanced("Separation", ge=0)] = 1.0
    """Weight of cluster separation and balance among items that nobody was asked about."""
    lam: Annotated[NumberOrAuto, advanced("Penalty of weights")] = "auto"
    """Penalty of the squared weights, larger for softer borders; auto goes by how many features there are and how they
    vary."""

    @model_validator(mode="after")
    def _check_tables(self) -> Self:
        if self.labeler_tables == "learn" and self.epsilon == 0:
            raise ValueError("labeler_tables 'learn' needs an epsilon above 0: hard answers leave nothing to learn")
        return self


class DcrcCvParameters(_Dcrc):
    """Parameters of DCRCCV; several values are values to choose from, and the rest is its estimator's."""

    left_out: ClassVar[dict[str, str]] = {
        "estimator": "its parameters are offered by their own names",
        "refit": "a run without clusters would show nothing",
        "n_jobs": "every worker has work of its own",
        "verbose": "a run shows its progress on its page",
    }

    fewest_clusters: Annotated[int | None, Field(title="Fewest clusters", ge=1, le=MOST_CLUSTERS)] = None
    """With the most clusters below, the number of clusters is chosen too; none keeps it as it is set."""
    most_clusters: Annotated[int | None, Field(title="Most clusters", ge=1, le=MOST_CLUSTERS)] = None
    """Up to 40 more than the fewest; every number costs as much time as several runs."""
    epsilon: Shares = Field([0.05, 0.15], title="Wrong answers expected")
    """Probabilities that an answer is wrong, to choose from, separated by commas."""
    balance: Annotated[Literal["yes", "no", "choose"], advanced("Draw clusters towards equal sizes")] = "yes"
    """Answers say little about it where clusters are many, so it is not chosen unless asked."""
    tau: Several = Field([0.25, 0.5, 1.0, 2.0], title="Separation", json_schema_extra=ADVANCED)
    """Weights of cluster separation and balance, to choose from."""
    lam: Several = Field(
        [
            2**-10,
            2**-8,
            2**-6,
            2**-4,
        ],
        title="Penalty of weights",
        json_schema_extra=ADVANCED,
    )
    """Penalties of the squared weights, to choose from."""
    cv: Annotated[int, advanced("Folds", ge=2, le=20)] = 5
    """Parts into which the answers are divided; each is held out once and predicted from the others."""
    scoring: Annotated[Literal["log_score", "accuracy"], advanced("Score")] = "log_score"
    """Log score is the mean log probability of the held-out answers, accuracy the share predicted."""

    @model_validator(mode="after")
    def _check_ranges(self) -> Self:
        fewest, most = self.fewest_clusters, self.most_clusters
        if (fewest is None) != (most is None):
            raise ValueError("fewest_clusters and most_clusters are given together, or neither")
        if fewest is not None and most is not None and not fewest <= most <= fewest + WIDEST:
            raise ValueError(f"most_clusters must be from fewest_clusters to {WIDEST} more, got {fewest} and {most}")
        if self.labeler_tables == "learn" and 0 in self.epsilon:
            raise ValueError("labeler_tables 'learn' needs every epsilon above 0: hard answers leave nothing to learn")
        return self
