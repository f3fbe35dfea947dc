"""JSON of projects, their members and their links."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from tercet.accounts.queries import HeldToken, LinkInUse
from tercet.catalogue.parameters.common import MOST_CLUSTERS
from tercet.models import Invitation, Membership, Project, QuestionKind, Role, Scope, User
from tercet.web.numbers import Count
from tercet.web.texts import Name, Text

KEY_PATTERN = r"^[a-z0-9]+(-[a-z0-9]+)*$"
SETTINGS_EXAMPLE: dict[str, Any] = {
    "name": "Songs of the H. J. Andrews forest",
    "question_text": "Is 1 more similar to 2 than to 3?",
    "n_clusters": 13,
    "redundancy": 1,
    "rerun_answers": 10,
}
PROJECT_EXAMPLE: dict[str, Any] = {
    "key": "forest-songs",
    **SETTINGS_EXAMPLE,
    "question_kind": "relative",
    "guidelines": "",
    "algorithm": "dcrc",
    "parameters": {},
    "informative_share": 0.95,
    "repeats_in_doubt": 2,
    "known_share": 0.0,
    "practice": True,
    "hear_first": False,
    "feedback": False,
    "labeler_goal": 200,
    "project_goal": 0,
    "retention_days": 0,
    "rerun_idle_seconds": 20.0,
    "rerun_max_seconds": 120.0,
    "answers": 1204,
    "created_at": "2026-05-02T09:30:00Z",
    "archived_at": None,
}
MEMBER_EXAMPLE: dict[str, Any] = {
    "id": 7,
    "name": "Ada",
    "email": "ada@example.org",
    "role": "analyst",
    "participant": None,
}
INVITATION_EXAMPLE: dict[str, Any] = {
    "id": 3,
    "email": "ada@example.org",
    "role": "analyst",
    "created_at": "2026-05-02T09:30:00Z",
    "expires_at": "2026-05-09T09:30:00Z",
}

Key = Annotated[str, Field(pattern=KEY_PATTERN, max_length=80, description="a-z, 0-9 and single hyphens")]
Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]


class ProjectSettings(BaseModel):
    """The settings that can be changed at any time; what is left out stays as it is."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    question_text: Annotated[Text, Field(max_length=1_000)] | None = None
    guidelines: Annotated[Text, Field(max_length=20_000)] | None = Field(
        None, description="Markdown; `![words](item)` is the picture of an item"
    )
    n_clusters: Annotated[Count, Field(ge=1, le=MOST_CLUSTERS)] | None = None
    algorithm: Annotated[Name, Field(max_length=40)] | None = None
    parameters: dict[str, Any] | None = None
    informative_share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    redundancy: Annotated[Count, Field(ge=1, le=MOST_CLUSTERS)] | None = None
    repeats_in_doubt: Annotated[Count, Field(ge=0, le=10)] | None = Field(
        None, description="the most further answers to a question where labelers disagree or a run doubts the answer"
    )
    known_share: Annotated[float, Field(ge=0, le=0.5, allow_inf_nan=False)] | None = Field(
        None, description="of each labeler's questions: those whose right answer is known, which labelers are not told"
    )
    practice: bool | None = Field(
        None, description="new labelers practise with questions whose answers are known, once there are such"
    )
    hear_first: bool | None = Field(
        None, description="the labeling page takes an answer only once each sound was heard to its end"
    )
    feedback: bool | None = Field(
        None, description="labelers are told what is right after they answered what an analyst said is right"
    )
    labeler_goal: Annotated[Count, Field(ge=0, le=1_000_000)] | None = Field(
        None, description="answers that each labeler is asked for; 0: their page shows no goal"
    )
    project_goal: Annotated[Count, Field(ge=0, le=10_000_000)] | None = Field(
        None, description="answers that all labelers together are asked for; 0: their page shows no goal"
    )
    retention_days: Annotated[Count, Field(ge=0, le=36_500)] | None = Field(
        None,
        description="days after their last answer until labelers without an account are erased, answers kept; 0: never",
    )
    rerun_answers: Annotated[Count, Field(ge=1, le=1_000_000)] | None = None
    rerun_idle_seconds: Seconds | None = None
    rerun_max_seconds: Seconds | None = None

    @model_validator(mode="after")
    def _nothing_is_null(self) -> "ProjectSettings":
        nulls = sorted(name for name in self.model_fields_set if getattr(self, name) is None)
        if nulls:
            raise ValueError(f"{', '.join(nulls)}: null is not a value; leave the field out to keep what it is")
        return self

    def fields_sent(self) -> dict[str, Any]:
        """Return the fields that were sent."""
        return self.model_dump(exclude_unset=True)


class ProjectIn(ProjectSettings):
    """A new project; without a key, one is made from the name."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"key": "forest-songs", **SETTINGS_EXAMPLE}]}
    )

    name: Name
    key: Key | None = None
    question_kind: QuestionKind = QuestionKind.RELATIVE
    settings_of: Annotated[Name, Field(max_length=80)] | None = Field(
        None, description="key of a project whose settings the new one begins with"
    )


class ProjectPatch(ProjectSettings):
    """Changed settings; `archived` puts a project away or takes it out again."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"n_clusters": 14, "rerun_answers": 20}]})

    archived: bool | None = None


class ProjectOut(BaseModel):
    """A project as its members see it."""

    model_config = ConfigDict(
        from_attributes=True, populate_by_name=True, json_schema_extra={"examples": [PROJECT_EXAMPLE]}
    )

    key: str
    name: str
    question_kind: str
    question_text: str
    guidelines: str
    n_clusters: int
    algorithm: str
    parameters: dict[str, Any]
    informative_share: float
    redundancy: int
    repeats_in_doubt: int
    known_share: float
    practice: bool
    hear_first: bool
    feedback: bool
    labeler_goal: int
    project_goal: int
    retention_days: int
    rerun_answers: int
    rerun_idle_seconds: float
    rerun_max_seconds: float
    answers: int = Field(validation_alias="answer_number", description="given so far, withdrawn ones included")
    created_at: datetime
    archived_at: datetime | None

    @classmethod
    def of(cls, project: Project) -> "ProjectOut":
        """Show a project."""
        return cls.model_validate(project)


class ProjectList(BaseModel):
    """A page of projects; `next` is the `after` of the next page."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"projects": [PROJECT_EXAMPLE], "next": None}]})

    projects: list[ProjectOut]
    next: str | None


SHARE_LINK_EXAMPLE: dict[str, Any] = {
    "id": 3,
    "labeler": None,
    "most": 30,
    "arrived": 4,
    "created_at": "2026-05-02T09:31:00Z",
    "expires_at": "2026-05-16T09:31:00Z",
    "revoked_at": None,
}


class RoleIn(BaseModel):
    """Another role of a member."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"role": "analyst"}]})

    role: Role


class InvitationIn(BaseModel):
    """Someone to invite."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"email": "ada@example.org", "role": "analyst", "days": 7}]}
    )

    email: Annotated[Name, Field(pattern=r"^[^@\s]+@[^@\s]+$", max_length=254)]
    role: Role
    days: Annotated[Count, Field(ge=1, le=365, description="it ends after so many")] = 7


class InvitationOut(BaseModel):
    """An invitation that was not accepted yet."""

    model_config = ConfigDict(json_schema_extra={"examples": [INVITATION_EXAMPLE]})

    id: int
    email: str
    role: Role
    created_at: datetime
    expires_at: datetime

    @classmethod
    def of(cls, invitation: Invitation, **values: Any) -> Self:
        """Show an invitation; `values` are those of further fields."""
        shown = {name: getattr(invitation, name) for name in ("id", "email", "role", "created_at", "expires_at")}
        return cls(**shown, **values)


class NewInvitationOut(InvitationOut):
    """An invitation just made: whoever opens `url` can accept it, once. The address is not shown again."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{**INVITATION_EXAMPLE, "url": "https://tercet.example.org/invitation/..."}]}
    )

    url: str


class InvitationList(BaseModel):
    """The invitations that can still be accepted, oldest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"invitations": [INVITATION_EXAMPLE]}]})

    invitations: list[InvitationOut]


class MemberOut(BaseModel):
    """A member; `participant` is the name that a share link or an import gave."""

    model_config = ConfigDict(json_schema_extra={"examples": [MEMBER_EXAMPLE]})

    id: int
    name: str
    email: str | None
    role: Role
    participant: str | None

    @classmethod
    def of(cls, user: User, member: Membership) -> Self:
        """Show a member."""
        shown = {"id": user.id, "name": user.name, "email": user.email}
        return cls(**shown, role=Role(member.role), participant=member.participant)


class MemberList(BaseModel):
    """All members."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"members": [MEMBER_EXAMPLE]}]})

    members: list[MemberOut]


class Done(BaseModel):
    """What was removed."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"deleted": "forest-songs"}]})

    deleted: str


class ShareLinkIn(BaseModel):
    """A new labeling link; empty fields mean no limit, and an open link."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"days": 14, "most": 30}]})

    days: Annotated[Count, Field(ge=1, le=3650, description="it ends after so many")] | None = None
    most: Annotated[Count, Field(ge=1, le=100_000, description="how many people may come by it")] | None = None
    labeler: Annotated[str, Field(max_length=200, description="the name of its only labeler, who is new")] = ""

    @field_validator("days", "most", mode="before")
    @classmethod
    def read_empty(cls, value: object) -> object:
        """Take an empty field for none."""
        return None if value == "" else value


class ShareLinkOut(BaseModel):
    """A labeling link; `labeler` is null where anybody who has it becomes a new labeler."""

    model_config = ConfigDict(json_schema_extra={"examples": [SHARE_LINK_EXAMPLE]})

    id: int
    labeler: str | None
    most: int | None
    arrived: int = Field(description="people who came by it")
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None

    @classmethod
    def of(cls, row: LinkInUse, **values: Any) -> Self:
        """Show a link; `values` are those of further fields."""
        link = row.link
        moments = {"created_at": link.created_at, "expires_at": link.expires_at, "revoked_at": link.revoked_at}
        return cls(id=link.id, labeler=row.name, most=link.most, arrived=row.arrived, **moments, **values)


class NewShareLinkOut(ShareLinkOut):
    """A labeling link with its address, which is not shown again."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [SHARE_LINK_EXAMPLE | {"url": "https://songs.example.org/join/Vq3zT0"}]}
    )

    url: str


class ShareLinkList(BaseModel):
    """The labeling links; of revoked ones those that somebody came by."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"links": [SHARE_LINK_EXAMPLE]}]})

    links: list[ShareLinkOut]


TOKEN_EXAMPLE: dict[str, Any] = {
    "id": 5,
    "name": "field recorder",
    "user": "Ada",
    "scope": "label",
    "created_at": "2026-05-02T09:31:00Z",
    "expires_at": None,
    "last_used_at": "2026-05-03T07:12:00Z",
}


class ProjectTokenIn(BaseModel):
    """A new API token for one project; without `days` it works until it is revoked."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "field recorder", "scope": "label", "days": 90}]}
    )

    name: Name
    scope: Scope
    days: Annotated[Count, Field(ge=1, le=3650)] | None = None


class ProjectToken(BaseModel):
    """An API token for one project; `user` is the name of who has it."""

    model_config = ConfigDict(json_schema_extra={"examples": [TOKEN_EXAMPLE]})

    id: int
    name: str
    user: str
    scope: Scope
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None

    @classmethod
    def of(cls, row: HeldToken, **values: Any) -> Self:
        """Show a token, without its secret, which is not stored; `values` are those of further fields."""
        token = row.token
        moments = {name: getattr(token, name) for name in ("created_at", "expires_at", "last_used_at")}
        return cls(id=token.id, name=token.name, user=row.user, scope=Scope(token.scope), **moments, **values)


class NewProjectToken(ProjectToken):
    """An API token for one project with its secret, which is not shown again."""

    model_config = ConfigDict(json_schema_extra={"examples": [TOKEN_EXAMPLE | {"token": "tercet_Vq3zT0"}]})

    token: str


class ProjectTokens(BaseModel):
    """All API tokens for one project."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"tokens": [TOKEN_EXAMPLE]}]})

    tokens: list[ProjectToken]
