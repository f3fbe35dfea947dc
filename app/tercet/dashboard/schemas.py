"""The dashboard's figures as JSON, for programs that watch a project and for the page's own updates."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tercet.models import SuggestionKind
from tercet.runs.schemas import ITEM_EXAMPLE, RUN_EXAMPLE, MapItem, RunOut
from tercet.web.numbers import Count


class ProjectFigures(BaseModel):
    """The project, and how many items and which features it has."""

    model_config = ConfigDict(from_attributes=True)

    key: str
    name: str
    question_kind: str
    n_clusters: int
    items: int
    features: int | None


class LabelerFigures(BaseModel):
    """One person's answers; the last two figures are of the project's 5,000 newest answers."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    answers: int
    last_hour: int
    dnk_share: float | None
    median_ms: int | None


class AnswerFigures(BaseModel):
    """The project's answers; `total` leaves the withdrawn ones out."""

    total: int
    last_hour: int
    withdrawn: int
    labelers: list[LabelerFigures]


class NextRun(BaseModel):
    """What happens next: `waiting` for answers, `queued` until `due_at` or enough answers, or `running`.

    `note` says why a run that is due has not begun, `starved` that the running one mostly waits for a processor that
    other programs use.
    """

    state: Literal["waiting", "queued", "running"]
    number: int | None = None
    after_answers: int
    due_at: datetime | None = None
    progress: float | None = None
    starved: bool = False
    note: str = ""


class Outlook(BaseModel):
    """Whose clusters are shown, and what the newest finished run predicts of answers; empty where it cannot yet.

    The figures behind these sentences are in the run's metrics `first_clusters`, `clusters_supported`,
    `expected_gain`, `agreement` and `error_rates`.
    """

    shown: str
    supported: str
    gain: str
    ceiling: str
    errors: str


EXAMPLE: dict[str, Any] = {
    "project": {
        "key": "songs",
        "name": "Songs of the forest",
        "question_kind": "relative",
        "n_clusters": 13,
        "items": 4998,
        "features": 1,
    },
    "answers": {
        "total": 1204,
        "last_hour": 38,
        "withdrawn": 3,
        "labelers": [
            {"name": "Ada", "answers": 1204, "last_hour": 38, "dnk_share": 0.12, "median_ms": 2140},
        ],
    },
    "next_run": {"state": "queued", "number": 42, "after_answers": 6, "due_at": "2026-11-21T10:00:20Z"},
    "latest": RUN_EXAMPLE,
    "outlook": {
        "shown": "From this run on, the clusters shown are those of the fit: ...",
        "supported": "The answers so far support 12 clusters, not 13: ...",
        "gain": "The next 50 answers will probably move 14 items to another cluster (5 to 32), ...",
        "ceiling": "On 40 questions that several people answered, two of them agree in 78%: ...",
        "errors": "People here say “don’t know” in about 24% of clear cases, ...",
    },
    "runs": [RUN_EXAMPLE],
}


MAP_ITEM_EXAMPLE = {name: value for name, value in ITEM_EXAMPLE.items() if name != "confidence"}
MAP_ITEM_EXAMPLE |= {"tags": ["two birds"]}


SUGGESTION_EXAMPLE: dict[str, Any] = {"kind": "merge", "clusters": [3, 12], "dismissed": False}


class SuggestionChange(BaseModel):
    """A suggestion, by what it is about, that is dismissed or not."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{**SUGGESTION_EXAMPLE, "dismissed": True}]}
    )

    kind: SuggestionKind = Field(
        description="merge: two clusters that may be one; small: a cluster of few items; answers: more of them"
    )
    clusters: list[Annotated[Count, Field(ge=1, le=10_000)]] = Field([], max_length=2, description="it is about")
    dismissed: bool = False

    @model_validator(mode="after")
    def _is_about_clusters(self) -> "SuggestionChange":
        expected = {SuggestionKind.MERGE: 2, SuggestionKind.SMALL: 1, SuggestionKind.ANSWERS: 0}[self.kind]
        if len(set(self.clusters)) != expected or len(self.clusters) != expected:
            raise ValueError(f"clusters: {expected} different ones are expected with kind '{self.kind}'")
        return self


class Suggestion(SuggestionChange):
    """Something to do next, in a sentence."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{**SUGGESTION_EXAMPLE, "text": "Merge 3 and 12? 14 items lie between them."}]}
    )

    text: str


class SuggestionList(BaseModel):
    """What is to be done next: labelers to look at, and what the newest finished run suggests, if there is one."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "held": 1,
                    "suggestions": [{**SUGGESTION_EXAMPLE, "text": "Merge 3 and 12? 14 items lie between them."}],
                }
            ]
        }
    )

    held: int = Field(description="labelers on hold: runs do not use their answers until an analyst has looked")
    suggestions: list[Suggestion] = Field(description="of the newest finished run, the most worthwhile first")


class ClusterCount(BaseModel):
    """The number of clusters that a person chose on the slider."""

    n_clusters: Annotated[Count, Field(ge=2, le=1000)]


class MapItems(BaseModel):
    """The items at the rows of the map that were asked for, in the same order."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [MAP_ITEM_EXAMPLE]}]})

    items: list[MapItem]


class ItemColumn(BaseModel):
    """Something that items can be coloured by: `bag`, `labelers`, `column:NAME` of metadata, or `feature:NUMBER`."""

    by: str
    title: str


class ColumnList(BaseModel):
    """What items can be coloured by; of features the first 64."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"columns": [{"by": "column:site", "title": "site"}]}]})

    columns: list[ItemColumn]


class ColumnValues(BaseModel):
    """The value of each item, in item order, null where it has none: a number or, with `groups`, a place among them."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"by": "column:site", "groups": ["A1", "B7"], "values": [0, 1, None, 1]}]}
    )

    by: str
    groups: list[str] | None
    values: list[float | None]


class Positions(BaseModel):
    """Items by their rows in the map."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"positions": [16, 3]}]})

    positions: list[int]


class Summary(BaseModel):
    """The figures of the dashboard."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    project: ProjectFigures
    answers: AnswerFigures
    next_run: NextRun
    latest: RunOut | None
    outlook: Outlook
    runs: list[RunOut]
