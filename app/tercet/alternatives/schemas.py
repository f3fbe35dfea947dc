"""Alternatives as JSON: what to find, how two groupings relate, the list of alternatives."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tercet.catalogue.parameters.cmbc import MOST_KNOWN
from tercet.catalogue.parameters.common import MOST_CLUSTERS
from tercet.web.numbers import Count, Id
from tercet.web.texts import Text

Column = Annotated[Text, Field(min_length=1, max_length=200)]


class AnotherIn(BaseModel):
    """The method, and what the alternative shall differ from besides the clusters of the run.

    `regress-out` subtracts what is known from the features and is fast; `cmbc` suits bits and pixels.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"n_clusters": 8, "method": "regress-out", "known_columns": ["recorder"], "name": "by song"}]
        },
    )

    n_clusters: Count | None = Field(None, ge=2, le=MOST_CLUSTERS)
    method: Literal["regress-out", "cmbc", "dibws"] = "regress-out"
    known_runs: list[Id] = Field([], max_length=MOST_KNOWN - 1)  # beside the run itself
    known_columns: list[Column] = Field([], max_length=MOST_KNOWN - 1)
    name: Text = Field("", max_length=200)


class RunName(BaseModel):
    """The name of a clustering; empty removes it."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "by song"}]})

    name: Text = Field(max_length=200)


class Group(BaseModel):
    """One group: a cluster by its number, with its name, or a value of a column of metadata."""

    cluster: int | None
    name: str


CONTINGENCY_EXAMPLE: dict[str, Any] = {
    "run": 42,
    "with": "recorder",
    "rows": [{"cluster": 1, "name": "trill"}, {"cluster": 2, "name": ""}],
    "columns": [{"cluster": None, "name": "A1"}, {"cluster": None, "name": "B7"}],
    "counts": [[210, 190], [240, 260]],
    "items": 900,
    "information_bits": 0.001,
    "chance_bits": 0.001,
    "entropy_bits": [0.991, 1.0],
    "nmi": 0.001,
    "shared": 0.0,
    "sentence": "They share 0.00 of 0.99 bits: knowing one tells you almost nothing of the other.",
}


class Contingency(BaseModel):
    """How many items are in each group of the run (rows) and of the other grouping (columns), and what they share.

    `chance_bits` is about what unrelated groupings of these sizes share; `nmi` is the information divided by the mean
    of the two entropies, and `shared` the same with chance taken off both.
    """

    model_config = ConfigDict(populate_by_name=True, json_schema_extra={"examples": [CONTINGENCY_EXAMPLE]})

    run: int
    grouping: str = Field(alias="with")
    rows: list[Group]
    columns: list[Group]
    counts: list[list[int]]
    items: int
    information_bits: float
    chance_bits: float
    entropy_bits: tuple[float, float]
    nmi: float
    shared: float
    sentence: str


ALTERNATIVE_EXAMPLE: dict[str, Any] = {
    "number": 42,
    "name": "by song",
    "current": False,
    "purpose": "alternative",
    "algorithm": "cmbc",
    "n_clusters": 8,
    "known": ["run 41", "recorder"],
    "finished_at": "2026-05-02T09:31:00Z",
}


class AlternativeOut(BaseModel):
    """One clustering of the list, and what it was made to differ from."""

    number: int
    name: str
    current: bool
    purpose: str
    algorithm: str
    n_clusters: int
    known: list[str]
    finished_at: datetime | None


class AlternativeList(BaseModel):
    """The current clustering, its alternatives and named runs, oldest first, and what each shares with each.

    The matrices are in the order of `clusterings`: mutual information in bits (on the diagonal the entropy), that
    divided by the mean of the two entropies, and the latter with what chance gives taken off.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "clusterings": [
                        {**ALTERNATIVE_EXAMPLE, "number": 41, "name": "", "current": True, "known": []},
                        ALTERNATIVE_EXAMPLE,
                    ],
                    "information_bits": [[3.1, 0.02], [0.02, 2.9]],
                    "nmi": [[1.0, 0.01], [0.01, 1.0]],
                    "shared": [[1.0, 0.0], [0.0, 1.0]],
                }
            ]
        }
    )

    clusterings: list[AlternativeOut]
    information_bits: list[list[float]]
    nmi: list[list[float]]
    shared: list[list[float]]
