"""The JSON of labeling: questions, answers, skips, flags and the focus."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from tercet.items.schemas import PlacedItem
from tercet.models import FlagReason
from tercet.web.numbers import Count
from tercet.web.texts import Text

MOST_ANSWERS = 1000
MOST_IN_FOCUS = 10_000
DAY_MS = 24 * 3600 * 1000
LONGEST_NOTE = 500

TripletKeys = Annotated[
    list[str], Field(min_length=3, max_length=3, description="keys of the items: anchor, left, right, as shown")
]
PROGRESS: dict[str, Any] = {"mine": 214, "mine_today": 14, "project_answers": 1204}
MEASURES: dict[str, Any] = {"seconds": 1.2, "low_khz": 3.1, "high_khz": 4.6, "contour": "rising", "notes": 4}
QUESTION: dict[str, Any] = {
    "triplet": ["song-17", "song-3", "song-41"],
    "items": {
        key: {
            "text": "",
            "media_type": "audio/wav",
            "media_url": f"/api/v1/projects/songs/media/media/{key}",
            "picture_url": f"/api/v1/projects/songs/media/picture/{key}",
            "thumbnail_url": f"/api/v1/projects/songs/media/thumbnail/{key}",
            "seconds": 1.84,
            "measures": MEASURES,
        }
        for key in ("song-17", "song-3", "song-41")
    },
}
ANSWER: dict[str, Any] = {
    "id": "0d5f5c0e-6a53-4e57-9b1e-7a3cb6f1a001",
    "triplet": ["song-17", "song-3", "song-41"],
    "answer": "yes",
    "response_ms": 1830,
}


class ItemMeasures(BaseModel):
    """What was measured of a sound: the length of its sounding part, its pitch, where it goes, and its notes."""

    seconds: float
    low_khz: float = Field(description="a twentieth of its energy lies below")
    high_khz: float = Field(description="a twentieth of its energy lies above")
    contour: str = Field(description="level, rising, falling, `rising, then falling` or `falling, then rising`")
    notes: int


class ItemShown(BaseModel):
    """What a page needs to show one item; a link is null where there is no such media."""

    text: str
    media_type: str | None
    media_url: str | None
    picture_url: str | None
    thumbnail_url: str | None
    seconds: float | None = Field(description="length of the sound; null where the item is not a sound")
    measures: ItemMeasures | None = Field(None, description="of a sound whose measures the features have")


class QuestionOut(BaseModel):
    """A question, with its items by key."""

    triplet: TripletKeys
    items: dict[str, ItemShown]


class TripletOut(QuestionOut):
    """A question, with its items by key, leased to you until `expires_at`."""

    expires_at: datetime


class RecentOut(BaseModel):
    """An answer that the labeler may undo, with its question as it was shown."""

    id: UUID
    answer: str
    comment: str
    triplet: TripletKeys
    items: dict[str, ItemShown]


class ProgressOut(BaseModel):
    """Numbers of answers that were not withdrawn: mine, mine since midnight UTC, everybody's."""

    mine: int
    mine_today: int
    project_answers: int


class NextOut(BaseModel):
    """The next questions; when there are none, `reason` says why and until when."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "triplets": [{**QUESTION, "expires_at": "2026-11-21T12:05:00Z"}],
                    "left": None,
                    "reason": None,
                    "progress": PROGRESS,
                }
            ]
        }
    )

    triplets: list[TripletOut]
    left: int | None = Field(description="questions left for you; null while there may be more than these")
    reason: str | None
    progress: ProgressOut


class AheadOut(BaseModel):
    """Random questions that are yours alone, to answer whenever you want."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"triplets": [QUESTION]}]})

    triplets: list[QuestionOut]


class PracticeQuestion(QuestionOut):
    """A question to practise with: its right answer, in the order on the screen, and why it is right."""

    answer: str
    reason: str


class PracticeOut(BaseModel):
    """Questions to practise with; none where practice is off, or nothing is settled yet."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"triplets": [{**QUESTION, "answer": "yes", "reason": "1 and 2 are of one group, 3 is of another."}]}
            ]
        }
    )

    triplets: list[PracticeQuestion]


class AnswerIn(BaseModel):
    """An answer; the client makes its id, so that it is stored once even if it is sent again."""

    model_config = ConfigDict(json_schema_extra={"examples": [ANSWER]}, extra="forbid")

    id: UUID
    triplet: TripletKeys
    answer: str = Field(description="yes, no or dnk; to an outlier question 1, 2, 3 or dnk")
    response_ms: Count | None = Field(
        None, ge=0, le=DAY_MS, description="time from when the question is fully shown to the answer"
    )


class AnswersIn(BaseModel):
    """Several answers: all are stored, or none."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"answers": [ANSWER]}]}, extra="forbid")

    answers: list[AnswerIn] = Field(min_length=1, max_length=MOST_ANSWERS)


def _form(body: Any) -> str:
    several = isinstance(body, AnswersIn) or (isinstance(body, dict) and "answers" in body)
    return "form:several" if several else "form:one"


# The name "answers" distinguishes the two forms of a body, so that only the faults of that form are reported.
AnswersBody = Annotated[
    Annotated[AnswersIn, Tag("form:several")] | Annotated[AnswerIn, Tag("form:one")], Discriminator(_form)
]


class AnswersOut(BaseModel):
    """How many answers are new, how many were stored before, and the progress now; `next` if it was asked for."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"stored": 1, "repeated": 0, "progress": PROGRESS, "next": None}]}
    )

    stored: int
    repeated: int
    progress: ProgressOut
    next: NextOut | None = None


class WithdrawnOut(BaseModel):
    """The withdrawn answer."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": ANSWER["id"], "withdrawn_at": "2026-11-21T12:00:07Z"}]}
    )

    id: UUID
    withdrawn_at: datetime


class RightOut(BaseModel):
    """The right answer to a question as its labeler's page shows it; null where they are not told, or nobody knows."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"triplet": ["song-17", "song-3", "song-41"], "answer": "yes"}]}
    )

    triplet: TripletKeys
    answer: str | None


class SkipIn(BaseModel):
    """A question that you do not want to see again."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"triplet": ANSWER["triplet"]}]}, extra="forbid")

    triplet: TripletKeys


class SkipOut(BaseModel):
    """The skipped question."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"triplet": ANSWER["triplet"]}]})

    triplet: TripletKeys


class CommentIn(BaseModel):
    """What you note about an answer of yours; empty: nothing any more."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"comment": "two birds at once"}]}, extra="forbid")

    comment: Text = Field(max_length=LONGEST_NOTE)


class CommentOut(BaseModel):
    """An answer and what its labeler noted about it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": ANSWER["id"], "comment": "two birds at once"}]})

    id: UUID
    comment: str


FLAG: dict[str, Any] = {"item": "song-3", "reason": "cut", "note": "begins in the middle of a note"}


class FlagIn(BaseModel):
    """An item that is broken, so that nobody can compare it."""

    model_config = ConfigDict(json_schema_extra={"examples": [FLAG]}, extra="forbid")

    item: str = Field(max_length=LONGEST_NOTE, description="key of the item")
    reason: FlagReason = Field(
        FlagReason.OTHER,
        description="empty: nothing to hear, see or read; cut: not all of it; wrong: not what it should be",
    )
    note: Text = Field("", max_length=LONGEST_NOTE)


class FlagOut(BaseModel):
    """Your flag of an item."""

    model_config = ConfigDict(json_schema_extra={"examples": [{**FLAG, "created_at": "2026-11-21T12:00:07Z"}]})

    item: str
    reason: FlagReason
    note: str
    created_at: datetime


class FlaggedState(StrEnum):
    """What became of a flagged item: nothing yet, it is fine, or it is set aside."""

    OPEN = "open"
    DISMISSED = "dismissed"
    SET_ASIDE = "set-aside"


class Judgement(BaseModel):
    """What an analyst decides about a flagged item."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"state": "set-aside"}]}, extra="forbid")

    state: FlaggedState


class FlagSeen(BaseModel):
    """What one labeler says is wrong with an item."""

    labeler: int
    labeler_name: str
    reason: FlagReason
    note: str
    created_at: datetime


FLAGGED: dict[str, Any] = {
    "key": "song-3",
    "position": 2,
    **QUESTION["items"]["song-3"],
    "state": "open",
    "flags": [
        {
            "labeler": 7,
            "labeler_name": "Ada",
            "reason": "cut",
            "note": "begins in the middle of a note",
            "created_at": "2026-11-21T12:00:07Z",
        }
    ],
}
del FLAGGED["seconds"], FLAGGED["measures"]


class FlaggedItem(PlacedItem):
    """An item that labelers say is broken, and what became of it."""

    state: FlaggedState
    flags: list[FlagSeen]


class FlaggedList(BaseModel):
    """A page of flagged items; `next` is the `after` of the next page."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [FLAGGED], "next": None}]})

    items: list[FlaggedItem]
    next: int | None


class FocusIn(BaseModel):
    """What questions are about: everything, confused items, or the named clusters or items."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"about": "clusters", "clusters": [3, 5]}]}, extra="forbid"
    )

    about: Literal["everything", "confused", "clusters", "items"] = Field(
        description="confused: items whose most probable cluster has a probability below 0.9"
    )
    clusters: list[Annotated[Count, Field(ge=1, le=10_000)]] = Field(
        [], max_length=1_000, description="numbers of clusters, with `about` clusters"
    )
    items: list[str] = Field([], max_length=MOST_IN_FOCUS, description="keys of items, with `about` items")

    @model_validator(mode="after")
    def _names_what_it_is_about(self) -> "FocusIn":
        for name in ("clusters", "items"):
            if bool(getattr(self, name)) != (self.about == name):
                raise ValueError(f"{name}: expected with about '{name}', at least one, and with nothing else")
        return self
