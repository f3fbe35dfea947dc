"""The parameters of each algorithm that a project or a run may set, each with its bounds and what it does.

These descriptions are the one place for help: forms, the REST interface and its documentation show them. Names
and defaults are the estimators' (`tests/clustering/test_algorithms.py` compares them); what a form may hide at
first is marked advanced.
"""

from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

ADVANCED: dict[str, Any] = {"advanced": True}


class Parameters(BaseModel):
    """What every algorithm has; `left_out` says why a parameter of the estimator is not offered."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    left_out: ClassVar[dict[str, str]] = {}

    n_clusters: int = Field(ge=1, le=1000, title="Clusters", description="Number of clusters.")


class DcrcParameters(Parameters):
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
        description="Fixed: everybody errs as expected above. Learn: how each labeler answers is learned with the "
        "clusters, so that those who guess count less; worth it with several labelers.",
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
        10.0,
        gt=0,
        title="Trust at first",
        description="Imagined answers by which every labeler is at first believed to err as expected, where how they "
        "answer is learned.",
        json_schema_extra=ADVANCED,
    )
    transductive: bool = Field(
        True,
        title="Answers decide about their items",
        description="Whether an item in answers goes where its answers say, or where the model alone does.",
        json_schema_extra=ADVANCED,
    )
    random_state: int = Field(
        0,
        ge=0,
        lt=2**32,
        title="Seed",
        description="Seed of everything random; another one makes other starts.",
        json_schema_extra=ADVANCED,
    )

    @model_validator(mode="after")
    def _something_to_learn(self) -> Self:
        if self.labeler_tables == "learn" and self.epsilon == 0:
            raise ValueError("labeler_tables 'learn' needs an epsilon above 0: hard answers leave nothing to learn")
        return self


class SklrParameters(Parameters):
    """Parameters of SKLR."""

    left_out: ClassVar[dict[str, str]] = {
        "kernel": "items are rows of features, for which the adaptive kernel is made",
        "standardize": "features come in any unit",
        "warm_start": "a run decides it by what the run before left",
    }

    mapping: Literal["class", "strict"] = Field(
        "class",
        title="What yes and no say",
        description="Class: people compare kinds of things, so the item not chosen is far from both others. Strict: "
        "it is only farther from the anchor than the chosen one.",
    )
    gamma: float = Field(
        2.0,
        gt=1,
        le=1000,
        title="How far apart",
        description="How many times farther the one that is different must be, in squared distance; 3 to 5 gain a "
        "little where answers are reliable.",
    )
    C: float = Field(
        1.0,
        gt=0,
        le=1e6,
        title="Weight of one answer",
        description="The most that one answer may bend the kernel. Smaller forgives more wrong answers; a very large "
        "one takes them all as certain, and a few contradictions then spoil everything.",
    )
    n_neighbors: int = Field(
        100,
        ge=1,
        le=100_000,
        title="Neighbours",
        description="Which nearest other item sets the width of the first kernel at an item.",
        json_schema_extra=ADVANCED,
    )
    rank: float = Field(
        0.99,
        gt=0,
        le=1,
        title="Share of the kernel kept",
        description="Share of the first kernel that its compact form keeps, as measured below.",
        json_schema_extra=ADVANCED,
    )
    criterion: Literal["trace", "frobenius"] = Field(
        "trace",
        title="Share measured by",
        description="Frobenius is the paper's; it drops most dimensions, so answers may contradict each other.",
        json_schema_extra=ADVANCED,
    )
    max_rank: int | None = Field(
        None,
        ge=1,
        le=5000,
        title="Most dimensions",
        description="Most dimensions of the compact form; none is 500 above 2,000 items and no limit below.",
        json_schema_extra=ADVANCED,
    )
    low_rank: Literal["auto", "eigen", "cholesky", "nystroem"] = Field(
        "auto",
        title="Compact form by",
        description="Auto takes eigenvectors up to 2,000 items and an incomplete Cholesky factor above.",
        json_schema_extra=ADVANCED,
    )
    solver: Literal["newton", "projection", "paper"] = Field(
        "newton",
        title="Solver",
        description="Newton and projection find the nearest kernel that agrees with the answers; paper is the one "
        "published, which finds some kernel and takes answers as certain.",
        json_schema_extra=ADVANCED,
    )
    tol: float = Field(
        1e-3,
        ge=0,
        title="Tolerance",
        description="Learning ends when no answer is violated by more, relative to its distances.",
        json_schema_extra=ADVANCED,
    )
    max_iter: int = Field(
        200,
        ge=1,
        le=100_000,
        title="Most iterations",
        description="Most Newton steps, or sweeps over all answers.",
        json_schema_extra=ADVANCED,
    )
    n_init: int = Field(
        10,
        ge=1,
        le=1000,
        title="Starts",
        description="Starts of the clustering in the learned space; the best one wins.",
        json_schema_extra=ADVANCED,
    )
    random_state: int = Field(
        0,
        ge=0,
        lt=2**32,
        title="Seed",
        description="Seed of everything random; another one makes other starts.",
        json_schema_extra=ADVANCED,
    )
