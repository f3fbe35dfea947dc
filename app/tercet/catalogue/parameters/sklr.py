"""The parameters of SKLR."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tercet.catalogue.parameters.common import Iterations, Parameters, Starts, Tolerance, advanced


class SklrParameters(Parameters):
    """Parameters of SKLR."""

    left_out: ClassVar[dict[str, str]] = {
        "kernel": "items are rows of features, for which the adaptive kernel is made",
        "standardize": "features come in any unit",
        "n_jobs": "every worker has work of its own",
        "verbose": "a run shows its progress on its page",
        "warm_start": "a run decides it by what the run before left",
    }

    mapping: Annotated[Literal["class", "strict"], Field(title="What yes and no say")] = "class"
    """Class: the item not chosen is of another kind, far from both others; strict: only farther from the anchor."""
    gamma: Annotated[float, Field(title="How far apart", gt=1, le=1000)] = 2.0
    """How many times farther the one that is different must be, in squared distance; 3 to 5 gain a little where answers
    are reliable."""
    C: Annotated[float, Field(title="Weight of one answer", gt=0, le=1e6)] = 1.0
    """The most that one answer may bend the kernel; smaller forgives more wrong answers, a very large one none."""
    n_neighbors: Annotated[int, advanced("Neighbours", ge=1, le=100_000)] = 100
    """Which nearest other item sets the width of the first kernel at an item."""
    rank: Annotated[float, advanced("Share of the kernel kept", gt=0, le=1)] = 0.99
    """Share of the first kernel that its compact form keeps, as measured below."""
    criterion: Annotated[Literal["trace", "frobenius"], advanced("Share measured by")] = "trace"
    """Frobenius is the paper's; it drops most dimensions, so answers may contradict each other."""
    max_rank: Annotated[int | None, advanced("Most dimensions", ge=1, le=5000)] = None
    """Most dimensions of the compact form; none is 250, or no limit for eigenvectors."""
    low_rank: Annotated[Literal["auto", "eigen", "cholesky", "nystroem"], advanced("Compact form by")] = "auto"
    """Auto takes eigenvectors up to 500 items and an incomplete Cholesky factor above."""
    solver: Annotated[Literal["newton", "projection", "paper"], advanced("Solver")] = "newton"
    """Newton and projection find the nearest kernel that agrees with the answers; paper is the one published, which
    finds some kernel and takes answers as certain."""
    tol: Tolerance = 1e-3
    """Learning ends when no answer is violated by more, relative to its distances."""
    max_iter: Iterations = 200
    """Most Newton steps, or rounds of ten sweeps over all answers."""
    n_init: Starts = 10
    """Starts of the clustering in the learned space; the best one wins."""
