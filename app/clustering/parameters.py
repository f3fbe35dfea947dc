"""The parameters of each algorithm that a project or a run may set, each with its bounds and what it does.

These descriptions are the one place for help: forms, the REST interface and its documentation show them. Names
and defaults are the estimators' (`tests/clustering/test_algorithms.py` compares them); what a form may hide at
first is marked advanced.
"""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

ADVANCED: dict[str, Any] = {"advanced": True}
# Most numbers of clusters to choose from in one run.
WIDEST = 40


def split(value: Any) -> Any:
    """Forms send several values as one text, separated by commas, and none of them as nothing."""
    if value is None:
        return []
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


Several = Annotated[list[Annotated[float, Field(ge=0)]], BeforeValidator(split), Field(min_length=1, max_length=10)]
Shares = Annotated[
    list[Annotated[float, Field(ge=0, lt=2 / 3)]], BeforeValidator(split), Field(min_length=1, max_length=10)
]


class Parameters(BaseModel):
    """What every algorithm has; `left_out` says why a parameter of the estimator is not offered."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    left_out: ClassVar[dict[str, str]] = {}

    n_clusters: int = Field(ge=1, le=1000, title="Clusters", description="Number of clusters.")
    random_state: int = Field(
        0,
        ge=0,
        lt=2**32,
        title="Seed",
        description="Seed of everything random; another one makes other starts.",
        json_schema_extra=ADVANCED,
    )


class _Dcrc(Parameters):
    """What DCRC has with or without cross-validation."""

    use_dnk: bool = Field(
        True, title="Learn from “don’t know”", description="Whether “don’t know” answers count, or are left out."
    )
    kernel: Literal["rbf", "nystroem", "rff"] | None = Field(
        None,
        title="Kernel",
        description="None draws straight borders between clusters, rbf curved ones, for up to 10,000 items; nystroem "
        "and rff (random Fourier features) come near rbf for any number of items.",
    )
    labeler_tables: Literal["fixed", "learn"] = Field(
        "fixed",
        title="How people answer",
        description="Fixed: everybody errs as expected. Learn: how each labeler answers is learned with the "
        "clusters, so that those who guess count less; worth it with several labelers.",
    )
    n_init: int = Field(
        10,
        ge=1,
        le=1000,
        title="Starts",
        description="Number of starts of a fit from nothing; the best one wins.",
        json_schema_extra=ADVANCED,
    )
    n_moves: int = Field(
        20,
        ge=0,
        le=1000,
        title="Moves",
        description="Split-and-merge moves tried after the starts; they repair clusters that share a class.",
        json_schema_extra=ADVANCED,
    )
    solver: Literal["profile", "em"] = Field(
        "profile",
        title="Solver",
        description="How the bound is climbed; em is the paper's, slower and usually ending lower.",
        json_schema_extra=ADVANCED,
    )
    weight: Literal["balanced", "paper"] = Field(
        "balanced",
        title="Weight of answers",
        description="Weight of the answers' likelihood; the paper's fades out as answers become dense.",
        json_schema_extra=ADVANCED,
    )
    max_iter: int = Field(
        100,
        ge=1,
        le=100_000,
        title="Most iterations",
        description="Most outer iterations of one start.",
        json_schema_extra=ADVANCED,
    )
    tol: float = Field(
        1e-5,
        ge=0,
        title="Tolerance",
        description="A start ends when the bound gains relatively less than this.",
        json_schema_extra=ADVANCED,
    )
    gamma: float | None = Field(
        None,
        gt=0,
        title="Width of the kernel",
        description="Gamma of the kernel, larger is narrower; none is one over the number of features.",
        json_schema_extra=ADVANCED,
    )
    n_components: int = Field(
        200,
        ge=1,
        le=5000,
        title="Components",
        description="Landmarks of nystroem, waves of rff: more is nearer to rbf and slower.",
        json_schema_extra=ADVANCED,
    )
    table_prior: float = Field(
        3.0,
        gt=0,
        title="Trust at first",
        description="Imagined answers by which every labeler is at first believed to err as expected, where how they "
        "answer is learned.",
        json_schema_extra=ADVANCED,
    )
    bag_epsilon: float = Field(
        0.005,
        gt=0,
        lt=0.5,
        title="Missing bag labels",
        description="Probability that a bag lacks the label of an item in it; the smaller, the more bag labels say.",
        json_schema_extra=ADVANCED,
    )
    transductive: bool = Field(
        True,
        title="Answers decide about their items",
        description="Whether an item in answers goes where its answers say, or where the model alone does.",
        json_schema_extra=ADVANCED,
    )


class DcrcParameters(_Dcrc):
    """Parameters of DCRC; the defaults are right for most projects."""

    left_out: ClassVar[dict[str, str]] = {
        "standardize": "features come in any unit, and lam means little unless they are brought to one scale",
        "kernel_params": "no kernel that is offered has further ones",
        "warm_start": "a run decides it by what the run before left",
    }

    epsilon: float = Field(
        0.05,
        ge=0,
        lt=2 / 3,
        title="Wrong answers expected",
        description="Probability that an answer is wrong; also how strongly one answer counts. People err more often "
        "than they think: 0.2 suits hard questions, 0 takes every answer as certain.",
    )
    balance: bool = Field(
        True,
        title="Draw clusters towards equal sizes",
        description="Better off where sizes are known to differ widely.",
    )
    tau: float = Field(
        1.0,
        ge=0,
        title="Separation",
        description="Weight of cluster separation and balance among items that nobody was asked about.",
        json_schema_extra=ADVANCED,
    )
    lam: float = Field(
        2**-8,
        ge=0,
        title="Penalty of weights",
        description="Penalty of the squared weights; larger makes the borders between clusters softer.",
        json_schema_extra=ADVANCED,
    )

    @model_validator(mode="after")
    def _something_to_learn(self) -> Self:
        if self.labeler_tables == "learn" and self.epsilon == 0:
            raise ValueError("labeler_tables 'learn' needs an epsilon above 0: hard answers leave nothing to learn")
        return self


class DcrcCvParameters(_Dcrc):
    """Parameters of DCRCCV; several values are values to choose from, and the rest is its estimator's."""

    left_out: ClassVar[dict[str, str]] = {
        "estimator": "its parameters are offered by their own names",
        "refit": "a run without clusters would show nothing",
    }

    fewest_clusters: int | None = Field(
        None,
        ge=1,
        le=1000,
        title="Fewest clusters",
        description="With the most clusters below, the number of clusters is chosen too; none keeps it as it is set.",
    )
    most_clusters: int | None = Field(
        None,
        ge=1,
        le=1000,
        title="Most clusters",
        description="Up to 40 more than the fewest; every number costs as much time as several runs.",
    )
    epsilon: Shares = Field(
        [0.05, 0.15],
        title="Wrong answers expected",
        description="Probabilities that an answer is wrong, to choose from, separated by commas.",
    )
    balance: Literal["yes", "no", "choose"] = Field(
        "yes",
        title="Draw clusters towards equal sizes",
        description="Answers say little about it where clusters are many, so it is not chosen unless asked.",
    )
    tau: Several = Field(
        [0.25, 0.5, 1.0, 2.0],
        title="Separation",
        description="Weights of cluster separation and balance, to choose from.",
        json_schema_extra=ADVANCED,
    )
    lam: Several = Field(
        [2**-10, 2**-8, 2**-6, 2**-4],
        title="Penalty of weights",
        description="Penalties of the squared weights, to choose from.",
        json_schema_extra=ADVANCED,
    )
    cv: int = Field(
        5,
        ge=2,
        le=20,
        title="Folds",
        description="Parts into which the answers are divided; each is held back once and predicted by the others.",
        json_schema_extra=ADVANCED,
    )
    scoring: Literal["log_score", "accuracy"] = Field(
        "log_score",
        title="Score",
        description="Log score is the mean log probability of the answers held back, accuracy the share foretold.",
        json_schema_extra=ADVANCED,
    )

    @model_validator(mode="after")
    def _a_range(self) -> Self:
        fewest, most = self.fewest_clusters, self.most_clusters
        if (fewest is None) != (most is None):
            raise ValueError("fewest_clusters and most_clusters are given together, or neither")
        if fewest is not None and most is not None and not fewest <= most <= fewest + WIDEST:
            raise ValueError(f"most_clusters must be from fewest_clusters to {WIDEST} more, got {fewest} and {most}")
        if self.labeler_tables == "learn" and 0 in self.epsilon:
            raise ValueError(
                "labeler_tables 'learn' needs every epsilon above 0: hard answers leave nothing to learn"
            )
        return self
