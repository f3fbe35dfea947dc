"""The dashboard's figures as JSON: what the page shows in numbers, for programs that watch a project."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.clustering.schemas import RUN_EXAMPLE, RunOut
from app.items.schemas import shown
from app.models import Item


class ProjectFigures(BaseModel):
    """The project and how much there is in it."""

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
    """What happens next: `waiting` for answers, `queued` until `due_at` or enough answers, or `running`."""

    state: Literal["waiting", "queued", "running"]
    number: int | None = None
    after_answers: int
    due_at: datetime | None = None
    progress: float | None = None


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
    "runs": [RUN_EXAMPLE],
}


class Place(BaseModel):
    """An item with its row in the map, which is its position."""

    position: int
    key: str
    text: str
    media_type: str | None
    media_url: str | None
    picture_url: str | None
    thumbnail_url: str | None

    @classmethod
    def of(cls, project: str, item: Item) -> "Place":
        """Show an item of the project."""
        return cls(
            position=item.position,
            key=item.key,
            **shown(project, item),
        )


PLACE: dict[str, Any] = {
    "position": 16,
    "key": "song-17",
    "text": "",
    "media_type": "audio/wav",
    "media_url": "/api/v1/projects/songs/media/media/song-17",
    "picture_url": "/api/v1/projects/songs/media/picture/song-17",
    "thumbnail_url": "/api/v1/projects/songs/media/thumbnail/song-17",
}


class ClustersWanted(BaseModel):
    """The number of clusters that a person chose on the slider."""

    n_clusters: Annotated[int, Field(ge=2, le=1000)]


class Places(BaseModel):
    """The items at the rows of the map that were asked for, in that order."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [PLACE]}]})

    items: list[Place]


class Summary(BaseModel):
    """Everything the dashboard says in numbers."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    project: ProjectFigures
    answers: AnswerFigures
    next_run: NextRun
    latest: RunOut | None
    runs: list[RunOut]
