"""The algorithms a project may use and the parameters of each, checked before a run is queued.

This side is imported by the web process, so it names algorithms without importing them; `fitting.py`, which only
workers import, builds them.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.errors import FieldError, Invalid
from app.models import Project


class DcrcParameters(BaseModel):
    """Parameters of DCRC; the defaults are right for most projects."""

    model_config = ConfigDict(extra="forbid")

    n_clusters: int = Field(ge=1, le=1000, description="number of clusters")
    epsilon: float = Field(0.05, ge=0, lt=2 / 3, description="probability that an answer is wrong")
    tau: float = Field(1.0, ge=0, description="weight of cluster separation and balance")
    lam: float = Field(2**-8, ge=0, description="penalty of the squared weights")
    balance: bool = Field(True, description="draw clusters towards equal sizes")
    use_dnk: bool = Field(True, description="learn from 'don't know' answers")
    n_init: int = Field(10, ge=1, le=1000, description="number of starts of a fit from nothing")
    n_moves: int = Field(20, ge=0, le=1000, description="split-and-merge moves tried after the starts")
    solver: Literal["profile", "em"] = Field("profile", description="how the bound is climbed")
    weight: Literal["balanced", "paper"] = Field("balanced", description="weight of the answers' likelihood")
    max_iter: int = Field(100, ge=1, le=100_000, description="most outer iterations of one start")
    tol: float = Field(1e-5, ge=0, description="a start ends when the bound gains relatively less than this")
    random_state: int = Field(0, ge=0, lt=2**32, description="seed")


PARAMETERS: dict[str, type[BaseModel]] = {"dcrc": DcrcParameters}


def resolve(project: Project, algorithm: str, parameters: dict[str, Any], n_items: int) -> dict[str, Any]:
    """Give every parameter of a run: its own, else the project's, else the default. Raise Invalid if one is wrong."""
    model = PARAMETERS.get(algorithm)
    if model is None:
        known = ", ".join(f"'{name}'" for name in PARAMETERS)
        detail = f"there is no algorithm '{algorithm}'; there are: {known}"
        raise Invalid("The algorithm is not known.", [FieldError("algorithm", detail)])
    inherited = project.parameters if algorithm == project.algorithm else {}
    values = {"n_clusters": project.n_clusters, **inherited, **parameters}
    try:
        resolved = model.model_validate(values).model_dump()
    except ValidationError as error:
        raise Invalid("The parameters are not right.", _field_errors(error)) from error
    if resolved["n_clusters"] > n_items:
        detail = f"{resolved['n_clusters']} clusters were asked for, but there are only {n_items} items with features"
        raise Invalid("More clusters than items.", [FieldError("n_clusters", detail)])
    return resolved


def _field_errors(error: ValidationError) -> list[FieldError]:
    return [FieldError(".".join(["parameters", *map(str, e["loc"])]), e["msg"]) for e in error.errors()]
