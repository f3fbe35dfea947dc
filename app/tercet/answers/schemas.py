"""JSON of answers and labelers: filters, pages and decisions."""

import enum
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tercet.items.filtering import ItemFilter
from tercet.web.numbers import Id
from tercet.web.texts import Text

LONGEST_REASON = 500


class AnswerState(enum.StrEnum):
    """Whether runs use an answer, and if not, why; unseen: used or set aside, it has no response time.

    Earlier versions of the labeling page stored such answers while pictures were still loading.
    """

    USED = "used"
    SET_ASIDE = "set-aside"
    UNSEEN = "unseen"
    WITHDRAWN = "withdrawn"


class Order(enum.StrEnum):
    """Which answers come first."""

    NEWEST = "newest"
    SUSPECT = "suspect"


class Filters(ItemFilter):
    """Which answers to list and in which order; a form's empty field counts as not given.

    With a filter of items, those to questions with an item that passes it.
    """

    labeler: Id | None = Field(None, description="number of a person, as in .../labelers")
    answer: str | None = Field(None, max_length=3, description="yes, no, dnk; of outlier questions 1, 2, 3, dnk")
    state: AnswerState | None = Field(
        None, description="without it: used and set aside; unseen: from the page, without a response time"
    )
    commented: bool = Field(False, description="only those that their labelers commented on")
    order: Order = Field(Order.NEWEST, description="suspect: what the last run doubts most comes first")
    after: str | None = Field(None, max_length=40, description="`next` of the page before")

    @field_validator("*", mode="before")
    @classmethod
    def _drop_empty(cls, value: Any, info: Any) -> Any:
        return cls.model_fields[info.field_name].default if value == "" else value


class SetAsideIn(BaseModel):
    """Why answers are set aside; may be left empty."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"reason": "answered without listening"}]}
    )

    reason: Text = Field("", max_length=LONGEST_REASON)


SET_ASIDE: dict[str, Any] = {
    "at": "2026-05-02T09:31:00Z",
    "by": "Ann",
    "reason": "answered without listening",
}
ANSWER_EXAMPLE: dict[str, Any] = {
    "id": "0d5f5c0e-6a53-4e57-9b1e-7a3cb6f1a001",
    "number": 1204,
    "triplet": ["song-17", "song-3", "song-41"],
    "answer": "yes",
    "labeler": 7,
    "labeler_name": "Ada",
    "response_ms": 640,
    "comment": "two birds at once",
    "created_at": "2026-05-02T09:30:00Z",
    "withdrawn_at": None,
    "known_at": None,
    "set_aside": SET_ASIDE,
    "probability": 0.12,
    "foreseen": 0.09,
    "suspect": 1,
    "others": 2,
    "others_agree": 0,
}


class SetAside(BaseModel):
    """When, by whom and why an answer was set aside."""

    at: datetime
    by: str
    reason: str


class AnswerOut(BaseModel):
    """One answer; `probability` and `suspect` are what the run named beside the list says of it."""

    model_config = ConfigDict(json_schema_extra={"examples": [ANSWER_EXAMPLE]})

    id: UUID
    number: int
    triplet: list[str] = Field(description="keys of the items: anchor, left, right, in the order of exports")
    answer: str
    labeler: int
    labeler_name: str
    response_ms: int | None
    comment: str = Field(description="what its labeler noted")
    created_at: datetime
    withdrawn_at: datetime | None
    known_at: datetime | None = Field(None, description="when an analyst said that it is right")
    set_aside: SetAside | None
    probability: float | None = Field(
        description="of this answer by all that the run knows but the answer itself; null if the run did not use it"
    )
    foreseen: float | None = Field(None, description="of this answer under the last run that had not used it")
    suspect: int | None = Field(description="1: the answer that the run doubts most; null: it does not doubt it")
    others: int = Field(description="people besides the labeler whose answer to the same question runs use")
    others_agree: int = Field(description="those of them who answered the same")


class AnswerList(BaseModel):
    """A page of answers; `next` is the `after` of the next page, `run` the run that tells how likely they are."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"run": 41, "answers": [ANSWER_EXAMPLE], "next": "1204"}]}
    )

    run: int | None
    answers: list[AnswerOut]
    next: str | None


class DecidedOut(BaseModel):
    """What was decided, about how many answers, by whom and why."""

    model_config = ConfigDict(
        from_attributes=True,
        json_schema_extra={
            "examples": [
                {
                    "verdict": "set aside",
                    "answers": 1,
                    "reason": "answered without listening",
                    "created_at": "2026-05-02T09:31:00Z",
                }
            ]
        },
    )

    verdict: str
    answers: int
    reason: str
    created_at: datetime


class LinkDecidedOut(BaseModel):
    """What was decided about those who came by a labeling link: about how many labelers, and how many answers."""

    model_config = ConfigDict(
        from_attributes=True, json_schema_extra={"examples": [{"verdict": "set aside", "labelers": 4, "answers": 310}]}
    )

    verdict: str
    labelers: int
    answers: int


class UnseenOut(BaseModel):
    """How many answers without a response time runs use now, and how many are set aside for having none."""

    model_config = ConfigDict(from_attributes=True, json_schema_extra={"examples": [{"used": 0, "set_aside": 14}]})

    used: int
    set_aside: int


LABELER_EXAMPLE: dict[str, Any] = {
    "labeler": 7,
    "name": "Ada",
    "answers": 412,
    "set_aside": 3,
    "set_aside_at_once": 0,
    "withdrawn": 2,
    "held": None,
    "an_hour": 380.0,
    "median_ms": 2140,
    "shares": {"yes": 0.45, "no": 0.43, "dnk": 0.12},
    "compared": 61,
    "agreement": 0.84,
    "foreseen": 380,
    "expected": 0.79,
    "doubt": 0.02,
    "quality": 0.71,
    "accuracy": 0.93,
    "known": 20,
    "known_right": 17,
    "unsure": 0.24,
    "mixed_up": 0.03,
    "invented": 0.05,
}


class LabelerOut(BaseModel):
    """One person's answers. Null is what cannot be told: nobody shared a question, no run used an answer."""

    model_config = ConfigDict(from_attributes=True, json_schema_extra={"examples": [LABELER_EXAMPLE]})

    labeler: int
    name: str
    answers: int = Field(description="all that they did not withdraw; those set aside are among them")
    set_aside: int
    set_aside_at_once: int = Field(description="those of them that were set aside all at once")
    withdrawn: int = Field(description="answers that they withdrew, besides")
    held: str | None = Field(description="why runs leave them out until an analyst has looked; null: they do not")
    an_hour: float | None = Field(description="answers in an hour of work; pauses of five minutes do not count")
    median_ms: int | None
    shares: dict[str, float] = Field(description="how often each answer was given, in the words on their screen")
    compared: int = Field(description="of their newest answers, those to questions that others answered too")
    agreement: float | None = Field(description="share of those others who said the same, on average")
    foreseen: int = Field(description="answers that a run had an expectation of before any run used them")
    expected: float | None = Field(description="share of these that were the most probable answer then")
    doubt: float | None = Field(
        None, description="probability that the answers have nothing to do with the items; they count so much less"
    )
    quality: float | None = Field(
        None,
        description="how much the answers tell about the right ones, 0 to 1, by what runs that had not used them "
        "foresaw and by what others answered; of few answers it is nearly everybody's",
    )
    accuracy: float | None = Field(None, description="likewise: the probability of the right answer")
    known: int = Field(
        0, description="answers to questions whose right one an analyst said, or that two others or more answered alike"
    )
    known_right: int = Field(0, description="those of them that are right")
    unsure: float | None = Field(None, description="likewise: share of “don't know” where an item is right")
    mixed_up: float | None = Field(None, description="likewise: share of a wrong item there")
    invented: float | None = Field(None, description="likewise: share of an item where none is right")


class LabelerList(BaseModel):
    """Everybody who answered, the busiest first; `next` is the `after` of the next page."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"run": 41, "labelers": [LABELER_EXAMPLE], "next": None}]}
    )

    run: int | None
    labelers: list[LabelerOut]
    next: int | None
