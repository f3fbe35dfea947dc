"""What comes in and goes out about edits, as JSON."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from tercet.models import EditKind
from tercet.web.numbers import Count
from tercet.web.texts import Text

MOST_ITEMS = 5_000
Cluster = Annotated[Count, Field(ge=1, le=10_000)]

EDIT_EXAMPLE: dict[str, Any] = {
    "edit": 17,
    "kind": "move",
    "items": 10,
    "keys": ["song-17", "song-23"],
    "cluster": 3,
    "other": None,
    "weight": 1.0,
    "by": "Ada",
    "created_at": "2026-05-02T09:30:00Z",
    "reverted_at": None,
    "links": 100,
    "holding": 98,
}


class EditIn(BaseModel):
    """A change of clusters by hand, in terms of the newest finished run."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"kind": "move", "items": ["song-17", "song-23"], "cluster": 3}]},
    )

    kind: EditKind = Field(
        description="move `items` to `cluster`; keep them where they are, or out of there; they are typical of the "
        "clusters that they are in, and stand for these; they belong together, or apart, each in a cluster of its own; "
        "merge the cluster `other` into `cluster`; split `items` off as a cluster"
    )
    items: list[Text] = Field([], max_length=MOST_ITEMS, description="keys; none to merge")
    cluster: Cluster | None = Field(None, description="with move and merge")
    other: Cluster | None = Field(None, description="with merge")
    weight: float = Field(1.0, gt=0, le=100, description="how many answers each link counts as")


class EditOut(BaseModel):
    """An edit as the log has it; `holding` of its `links` agree with the clusters of the newest finished run."""

    model_config = ConfigDict(from_attributes=True, json_schema_extra={"examples": [EDIT_EXAMPLE]})

    edit: int
    kind: EditKind
    items: int
    keys: list[str] = Field(description="of some of the items")
    cluster: int | None
    other: int | None
    weight: float
    by: str
    created_at: datetime
    reverted_at: datetime | None
    links: int
    holding: int | None = Field(description="null where it was taken back, or no run has begun since")


class EditList(BaseModel):
    """Edits, newest first; `next` is the `before` of the next page."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"edits": [EDIT_EXAMPLE], "next": None}]})

    edits: list[EditOut]
    next: int | None
