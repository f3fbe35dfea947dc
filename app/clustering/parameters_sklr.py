"""The parameters of SKLR that a project or a run may set; see `parameters.py`."""

from typing import ClassVar, Literal

from pydantic import Field

from app.clustering.parameters import ADVANCED, Parameters


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
