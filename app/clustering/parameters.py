"""The parameters of each algorithm that a project or a run may set, each with its bounds and what it does.

These descriptions are the one place for help: forms, the REST interface and its documentation show them. Names
and defaults are the estimators' (`tests/clustering/test_algorithms.py` compares them); what a form may hide at
first is marked advanced.
"""

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

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
    random_state: int = Field(
        0,
        ge=0,
        lt=2**32,
        title="Seed",
        description="Seed of everything random; another one makes other starts.",
        json_schema_extra=ADVANCED,
    )
