"""The parameters of CMBC, "find another clustering".

Besides those of the estimator there is what the clustering shall differ from: clusters of earlier runs, and columns of
the items' metadata. They are in the run's row like any other parameter, so a run can be repeated.
"""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tercet.catalogue.parameters.common import (
    CommaSeparated,
    Iterations,
    NumberOrAuto,
    Parameters,
    Starts,
    Tolerance,
    advanced,
)
from tercet.web.numbers import Id

# Known clusterings multiply into combinations, each of which needs items.
MOST_KNOWN = 20


RunNumbers = Annotated[list[Id], CommaSeparated, Field(max_length=MOST_KNOWN)]
Columns = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=200)]], CommaSeparated, Field(max_length=MOST_KNOWN)
]


class CmbcParameters(Parameters):
    """Parameters of CMBC."""

    left_out: ClassVar[dict[str, str]] = {
        "binarize": "columns of two values stay as they are, and there is no other coding of numbers",
        "standardize": "features come in any unit",
        "n_jobs": "every worker has work of its own",
        "verbose": "a run shows its progress on its page",
        "anneal_rate": "a finer one finds the same clusters",
        "T0": "is found from the features",
        "T_end": "1 ends with what is to be maximised; less is sure of more and finds less",
    }

    known_runs: RunNumbers = Field([], title="Unlike the clusters of runs")
    """Numbers of runs whose clusters are known already, separated by commas."""
    known_columns: Columns = Field([], title="Unlike metadata")
    """Columns of the items' metadata, such as recorder or date, separated by commas: what they say is known already."""
    method: Annotated[Literal["cmbc", "regress-out", "dibws", "em"], Field(title="Method")] = "cmbc"
    """Cmbc suits bits and pixels; regress-out subtracts what is known from the features, is fast and hard to beat on
    measured numbers; dibws is the information bottleneck; em avoids nothing."""
    gamma: Annotated[NumberOrAuto, Field(title="Weight of being different")] = "auto"
    """From 0, fitting alone, to below 1, being different alone, and for dibws any number from 0; auto takes the
    smallest that makes the clustering different."""
    update: Annotated[Literal["exact", "batch", "partial"], advanced("Update")] = "exact"
    """How parameters are improved: to their maximum, by one sweep over them, which is the fastest, or one at a time."""
    bound: Annotated[Literal["variance", "joint"], advanced("Bound")] = "variance"
    """How being different is bounded; joint is the paper's, and merges clusters where they are many."""
    n_init: Starts = 5
    """Number of starts; the best one wins."""
    tol: Tolerance = 1e-4
    """A temperature is done when no parameter moves by more."""
    max_iter: Iterations = 200
    """Most iterations at one temperature."""

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if self.method != "dibws" and self.gamma != "auto" and self.gamma >= 1:
            raise ValueError(f"gamma must be below 1 with method '{self.method}', got {self.gamma}")
        if self.method == "dibws" and self.update == "partial":
            raise ValueError("update must be 'exact' or 'batch' with method 'dibws', got 'partial'")
        return self
