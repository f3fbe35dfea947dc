"""JSON of what is stored about a labeler."""

import enum
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict

EXAMPLE: dict[str, Any] = {
    "labeler": 7,
    "name": "Ada",
    "email": None,
    "role": "labeler",
    "joined_at": "2026-05-02T09:30:00Z",
    "link": 2,
    "sign_ins": [
        {
            "browser": "Firefox on Linux",
            "address": "192.0.2.7",
            "since": "2026-05-02T09:30:00Z",
            "last_used_at": "2026-05-02T10:00:00Z",
        }
    ],
    "answers": [
        {
            "id": "0d5f5c0e-6a53-4e57-9b1e-7a3cb6f1a001",
            "number": 12,
            "triplet": ["song-17", "song-3", "song-21"],
            "answer": "yes",
            "response_ms": 1840,
            "comment": "",
            "created_at": "2026-05-02T09:31:00Z",
            "withdrawn_at": None,
        }
    ],
    "skips": [{"triplet": ["song-4", "song-8", "song-9"], "created_at": "2026-05-02T09:32:00Z"}],
    "flags": [{"item": "song-5", "reason": "cut", "note": "", "created_at": "2026-05-02T09:33:00Z"}],
    "decisions": [
        {"verdict": "set aside", "answers": 1, "reason": "a slip", "created_at": "2026-05-02T11:00:00Z"},
    ],
    "audit": [{"number": 7, "at": "2026-05-02T09:30:00Z", "address": "192.0.2.7", "what": "came by a labeling link"}],
}


class AnswersOfErased(enum.StrEnum):
    """What becomes of the answers of a labeler who is erased."""

    KEEP = "keep"
    REMOVE = "remove"


class SignInData(BaseModel):
    """A browser in which the labeler is signed in."""

    browser: str
    address: str
    since: datetime
    last_used_at: datetime


class AnswerData(BaseModel):
    """An answer that the labeler gave."""

    id: UUID
    number: int
    triplet: list[str]
    answer: str
    response_ms: int | None
    comment: str
    created_at: datetime
    withdrawn_at: datetime | None


class SkipData(BaseModel):
    """A question that the labeler skipped."""

    triplet: list[str]
    created_at: datetime


class FlagData(BaseModel):
    """An item that the labeler flagged as broken."""

    item: str
    reason: str
    note: str
    created_at: datetime


class DecisionData(BaseModel):
    """What was decided about answers of the labeler."""

    verdict: str
    answers: int
    reason: str
    created_at: datetime


class AuditData(BaseModel):
    """What the audit log of the project says that the labeler did."""

    number: int
    at: datetime
    address: str
    what: str


class LabelerData(BaseModel):
    """Everything that is stored about a labeler in a project; sign-ins only of those without an account."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    labeler: int
    name: str
    email: str | None
    role: str | None
    joined_at: datetime | None
    link: int | None
    sign_ins: list[SignInData]
    answers: list[AnswerData]
    skips: list[SkipData]
    flags: list[FlagData]
    decisions: list[DecisionData]
    audit: list[AuditData]


class ErasedOut(BaseModel):
    """Who was erased: `answers` are kept under the `pseudonym`, or were removed if there is none."""

    model_config = ConfigDict(
        from_attributes=True,
        json_schema_extra={"examples": [{"labeler": 7, "answers": 240, "pseudonym": "Erased labeler 31"}]},
    )

    labeler: int
    answers: int
    pseudonym: str | None
