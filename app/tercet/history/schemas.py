"""How two runs differ, as JSON."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tercet.items.schemas import PlacedItem
from tercet.runs.schemas import ITEM_EXAMPLE

MAP_ITEM = {name: value for name, value in ITEM_EXAMPLE.items() if name != "confidence"}
CHANGES_EXAMPLE: dict[str, Any] = {
    "since": 40,
    "run": 41,
    "items": 4998,
    "moved": 4,
    "matched": [[1, 1], [2, 2]],
    "flows": [
        {"before": 1, "now": 1, "items": 408, "moved": False},
        {"before": 1, "now": 2, "items": 4, "moved": True},
    ],
    "moved_items": [{**MAP_ITEM, "before": 1, "now": 2, "confidence": 0.71}],
    "new_answers": 10,
    "answers": [
        {
            "id": "0d5f5c0e-6a53-4e57-9b1e-7a3cb6f1a001",
            "number": 1204,
            "triplet": ["song-17", "song-3", "song-41"],
            "answer": "yes",
            "moved": 1,
        }
    ],
    "edits": 0,
    "parameters": [{"name": "Clusters", "before": "12", "now": "13"}],
}


class Effect(BaseModel):
    """What a labeler's answers changed, in a sentence; null while no run knows them, or where it cannot be told."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "block": 4,
                    "sentence": "With 50 answers of yours and 120 by others: 12 of 600 items moved to another group; "
                    "78 % of new answers were foreseen, 71 % before.",
                }
            ]
        }
    )

    block: int | None = Field(description="which fifty of the labeler's answers it is about, the first being 1")
    sentence: str | None


class FlowOut(BaseModel):
    """How many items were in the cluster `before` and are in the cluster `now`, and whether they moved by that."""

    model_config = ConfigDict(from_attributes=True)

    before: int
    now: int
    items: int
    moved: bool


class MovedItem(PlacedItem):
    """An item that moved, with its cluster in both runs and its confidence in the later one."""

    before: int
    now: int
    confidence: float


class TellingAnswerOut(BaseModel):
    """An answer that only the later run used, and how many of the items that it is about moved."""

    id: str
    number: int
    triplet: list[str]
    answer: str
    moved: int


class ParameterChange(BaseModel):
    """A parameter that differs; null where a run does not have it."""

    name: str
    before: str | None
    now: str | None


class RunChanges(BaseModel):
    """How the clusters of `run` differ from those of an earlier run, `since`.

    `matched` pairs the clusters of both so that together they have as many items in common as possible, earlier one
    first; an item has `moved` if its two clusters are no such pair. `moved_items` has the surest ones of each flow, 500
    at most. `answers` are those of the `new_answers` about items that moved, first those about most of them, 100 at
    most. `edits` counts the edits by hand between the beginnings of both.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [CHANGES_EXAMPLE]})

    since: int
    run: int
    items: int
    moved: int
    matched: list[tuple[int, int]]
    flows: list[FlowOut]
    moved_items: list[MovedItem]
    new_answers: int
    answers: list[TellingAnswerOut]
    edits: int
    parameters: list[ParameterChange]
