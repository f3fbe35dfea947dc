"""Projects, who belongs to them, and the links that invite labelers."""

import enum
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, String, Text, UniqueConstraint, false, true
from sqlalchemy.orm import Mapped, mapped_column

from tercet.models.base import Base, now


class Role(enum.StrEnum):
    """What a member may do: label; also read and steer; also change members and delete."""

    LABELER = "labeler"
    ANALYST = "analyst"
    OWNER = "owner"


class QuestionKind(enum.StrEnum):
    """The two questions: is 1 more like 2 than like 3, and which of three is the odd one out."""

    RELATIVE = "relative"
    OUTLIER = "outlier"


class Project(Base):
    """Items, one question about them, and the rules by which answers become clusters."""

    __tablename__ = "project"
    __table_args__ = (
        CheckConstraint("question_kind IN ('relative', 'outlier')", name="question_kind"),
        CheckConstraint("n_clusters >= 1", name="n_clusters"),
        CheckConstraint("redundancy >= 1", name="redundancy"),
        CheckConstraint("repeats_in_doubt >= 0", name="repeats_in_doubt"),
        CheckConstraint("known_share >= 0 AND known_share <= 0.5", name="known_share"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(80), unique=True)
    name: Mapped[str] = mapped_column(String(200))
    question_kind: Mapped[str] = mapped_column(String(10), default=QuestionKind.RELATIVE)
    question_text: Mapped[str] = mapped_column(Text, default="")
    guidelines: Mapped[str] = mapped_column(Text, default="")
    n_clusters: Mapped[int] = mapped_column(default=8)
    algorithm: Mapped[str] = mapped_column(String(40), default="dcrc")
    parameters: Mapped[dict[str, Any]] = mapped_column(default=dict)
    # Of the questions; the others are drawn at random, for figures that chosen questions would make worse.
    informative_share: Mapped[float] = mapped_column(default=0.95)
    redundancy: Mapped[int] = mapped_column(default=1)
    # The most further answers to a question whose answers a run doubts.
    repeats_in_doubt: Mapped[int] = mapped_column(default=2)
    # Of the questions of each labeler: those whose right answer is known, to see how labelers answer.
    known_share: Mapped[float] = mapped_column(default=0.0)
    # Whether new labelers are offered questions whose answers are known, once there are such.
    practice: Mapped[bool] = mapped_column(default=True, server_default=true())
    # Whether a question can be answered only once each of its sounds was heard, and whether labelers are told what is
    # right where an analyst has said so.
    hear_first: Mapped[bool] = mapped_column(default=False, server_default=false())
    feedback: Mapped[bool] = mapped_column(default=False, server_default=false())
    # Answers that each labeler, and all together, are asked for; 0: no goal is shown.
    labeler_goal: Mapped[int] = mapped_column(default=0, server_default="0")
    project_goal: Mapped[int] = mapped_column(default=0, server_default="0")
    # After so many days without an answer labelers without an account are erased, but not what they answered; 0: never.
    retention_days: Mapped[int] = mapped_column(default=0, server_default="0")
    # How many labelers were erased: what was counted of each before that does not hold any more.
    erased_labelers: Mapped[int] = mapped_column(default=0, server_default="0")
    # The rerun rule: after every n answers, or t seconds after the last one, never later than T seconds.
    rerun_answers: Mapped[int] = mapped_column(default=10)
    rerun_idle_seconds: Mapped[float] = mapped_column(default=20.0)
    rerun_max_seconds: Mapped[float] = mapped_column(default=120.0)
    # Counters raised in the transaction that adds the row they number: the row lock makes the order of
    # numbers the order of commits, which readers of events rely on.
    answer_number: Mapped[int] = mapped_column(default=0)
    event_number: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime] = mapped_column(default=now)
    archived_at: Mapped[datetime | None]
    # Deleted projects are hidden, and can be restored for a while: see `projects/deleting.py`.
    deleted_at: Mapped[datetime | None]
    # How features are made and sounds drawn; null: chosen by what the items are.
    feature_recipe: Mapped[dict[str, Any] | None]
    picture_settings: Mapped[dict[str, Any] | None]
    # What questions are about; null: everything.
    focus: Mapped[dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class ProjectView:
    """The columns of a project that labeling needs, read without the ORM.

    Frozen, because it belongs to no session: changes would never be stored.
    """

    id: int
    key: str
    question_kind: str
    redundancy: int
    algorithm: str
    rerun_answers: int
    rerun_idle_seconds: float
    rerun_max_seconds: float

    @classmethod
    def of(cls, project: Project) -> "ProjectView":
        """Return the view of a project that a session holds."""
        return cls(*(getattr(project, field.name) for field in fields(cls)))


class Membership(Base):
    """One user's role in one project.

    `participant` is the name by which a share link or an import calls them, unique in the project. `browser_hash` is
    of the secret in the cookie of the browser in which a labeler came by a share link: what they come back by. It is
    null of those who have an account, and of labelers whom only an import names. `link_id` is the link they came by.
    """

    __tablename__ = "membership"
    __table_args__ = (
        UniqueConstraint("project_id", "user_id"),
        UniqueConstraint("project_id", "participant"),
        CheckConstraint("role IN ('labeler', 'analyst', 'owner')", name="role"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    role: Mapped[str] = mapped_column(String(10))
    participant: Mapped[str | None] = mapped_column(String(200))
    browser_hash: Mapped[str | None] = mapped_column(String(64))
    link_id: Mapped[int | None] = mapped_column(ForeignKey("share_link.id", ondelete="SET NULL"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Invitation(Base):
    """A role in a project that somebody was invited to: whoever accepts it by its link has the role from then on.

    `email` is the address that the link was made for, and that a new account made by it has. An invitation that was
    accepted or revoked is deleted.
    """

    __tablename__ = "invitation"
    __table_args__ = (
        UniqueConstraint("project_id", "email"),
        CheckConstraint("role IN ('labeler', 'analyst', 'owner')", name="role"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    email: Mapped[str] = mapped_column(String(254))
    role: Mapped[str] = mapped_column(String(10))
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]


class ShareLink(Base):
    """A labeling link to one project, until it is revoked or expires.

    An open one makes each browser that comes a new labeler, `most` of them at most; a personal one is one labeler's,
    `user_id`.
    """

    __tablename__ = "share_link"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"), index=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    most: Mapped[int | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
