"""The parameters of CMBC, "find another clustering", that a project or a run may set; see `parameters.py`.

Beside the estimator's there is what the clustering shall differ from: clusters of earlier runs, and columns of the
items' metadata. They stand in the run's row like any other parameter, so a run can be repeated.
"""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, PlainValidator, model_validator

from app.clustering.parameters import ADVANCED, Parameters, split

# Known clusterings multiply into combinations, each of which needs items.
MOST_KNOWN = 20


def _read_gamma(value: Any) -> float | str:
    """Forms send a number as a text."""
    if value == "auto":
        return "auto"
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(value, bool) or not 0 <= number < float("inf"):
        raise ValueError("gamma must be 'auto' or a number of at least 0")
    return number


Gamma = Annotated[
    float | Literal["auto"], PlainValidator(_read_gamma, json_schema_input_type=float | Literal["auto"])
]
RunNumbers = Annotated[list[Annotated[int, Field(ge=1)]], BeforeValidator(split), Field(max_length=MOST_KNOWN)]
Columns = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=200)]], BeforeValidator(split), Field(max_length=MOST_KNOWN)
]


class CmbcParameters(Parameters):
    """Parameters of CMBC."""

    left_out: ClassVar[dict[str, str]] = {
        "binarize": "columns of two values stay as they are, and there is no other coding of numbers",
        "standardize": "features come in any unit",
        "anneal_rate": "a finer one finds the same clusters",
        "T0": "is found from the features",
        "T_end": "1 ends with what is to be maximised; less is sure of more and finds less",
    }

    known_runs: RunNumbers = Field(
        [],
        title="Unlike the clusters of runs",
        description="Numbers of runs whose clusters are known already, separated by commas.",
    )
    known_columns: Columns = Field(
        [],
        title="Unlike metadata",
        description="Columns of the items' metadata, such as recorder or date, separated by commas: what they say is "
        "known already.",
    )
    method: Literal["cmbc", "regress-out", "dibws", "em"] = Field(
        "cmbc",
        title="Method",
        description="Cmbc suits bits and pixels; regress-out subtracts what is known from the features, is fast and "
        "hard to beat on measured numbers; dibws is the information bottleneck; em avoids nothing.",
    )
    gamma: Gamma = Field(
        "auto",
        title="Weight of being different",
        description="From 0, fitting alone, to below 1, being different alone; auto takes the smallest that makes "
        "the clustering different.",
    )
    update: Literal["exact", "batch", "partial"] = Field(
        "exact",
        title="Update",
        description="How parameters are improved: to their maximum, by one sweep over them, or one at a time, which "
        "is several times slower.",
        json_schema_extra=ADVANCED,
    )
    bound: Literal["variance", "joint"] = Field(
        "variance",
        title="Bound",
        description="How being different is bounded; joint is the paper's, and merges clusters where they are many.",
        json_schema_extra=ADVANCED,
    )
    n_init: int = Field(
        5,
        ge=1,
        le=1000,
        title="Starts",
        description="Number of starts; the best one wins.",
        json_schema_extra=ADVANCED,
    )
    tol: float = Field(
        1e-4,
        ge=0,
        title="Tolerance",
        description="A temperature is done when no parameter moves by more.",
        json_schema_extra=ADVANCED,
    )
    max_iter: int = Field(
        200,
        ge=1,
        le=100_000,
        title="Most iterations",
        description="Most iterations at one temperature.",
        json_schema_extra=ADVANCED,
    )

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.method != "dibws" and self.gamma != "auto" and self.gamma >= 1:
            raise ValueError(f"gamma must be below 1 with method '{self.method}', got {self.gamma}")
        if self.method == "dibws" and self.update == "partial":
            raise ValueError("update must be 'exact' or 'batch' with method 'dibws', got 'partial'")
        return self
