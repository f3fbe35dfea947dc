"""Users, their one-time sign-in links, sessions and API tokens."""

import enum
from datetime import datetime

from sqlalchemy import ForeignKey, String, false
from sqlalchemy.orm import Mapped, mapped_column

from tercet.models.base import Base, now


class Scope(enum.StrEnum):
    """What an API token may do at most."""

    READ = "read"
    LABEL = "label"
    WRITE = "write"
    OWN = "own"


class User(Base):
    """A person with an address, or a labeler of a share link or an import."""

    __tablename__ = "user"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str | None] = mapped_column(String(254), unique=True)
    name: Mapped[str] = mapped_column(String(200))
    is_admin: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = mapped_column(default=now)
    disabled_at: Mapped[datetime | None]
    password_hash: Mapped[str | None] = mapped_column(String(200))
    # Stands for a labeler who was erased, whose answers stay.
    is_pseudonym: Mapped[bool] = mapped_column(default=False, server_default=false())

    @property
    def has_account(self) -> bool:
        """Whether the user has an address or is an administrator. All others are labelers of one project."""
        return self.email is not None or self.is_admin


class SignInLink(Base):
    """A link that signs one user in, once, before it expires."""

    __tablename__ = "sign_in_link"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class BrowserSession(Base):
    """A browser that a user is signed in with; its cookie holds the token, of which only the hash is stored.

    Ended sessions are deleted. `expires_at` moves on with use, up to the longest life and to `until`, where the
    labeling link that began it expires.
    """

    __tablename__ = "session"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    browser: Mapped[str] = mapped_column(String(200))
    address: Mapped[str] = mapped_column(String(45))
    created_at: Mapped[datetime] = mapped_column(default=now)
    seen_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]
    until: Mapped[datetime | None]


class ApiToken(Base):
    """A program's token, for one project or for all of its user's; only its hash is stored, and it is shown once."""

    __tablename__ = "api_token"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    project_id: Mapped[int | None] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"), index=True)
    scope: Mapped[str] = mapped_column(String(10))
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
