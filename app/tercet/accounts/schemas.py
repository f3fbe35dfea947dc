"""JSON of people with an account, for administrators."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from tercet.models import User
from tercet.web.texts import Name

USER_EXAMPLE: dict[str, Any] = {
    "id": 7,
    "email": "ada@example.org",
    "name": "Ada",
    "administrator": False,
    "disabled_at": None,
    "sessions": 1,
    "seen_at": "2026-05-03T07:12:00Z",
}


class UserIn(BaseModel):
    """Somebody who may come in."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"email": "ada@example.org", "name": "Ada"}]}
    )

    email: Annotated[Name, Field(pattern=r"^[^@\s]+@[^@\s]+$", max_length=254)]
    name: Name | None = Field(None, description="shown to others; without it the address")


class UserPatch(BaseModel):
    """Whether somebody is kept out."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"disabled": True}]})

    disabled: bool


class UserOut(BaseModel):
    """Somebody with an account, in how many browsers they are signed in, and when they were last seen in one."""

    model_config = ConfigDict(json_schema_extra={"examples": [USER_EXAMPLE]})

    id: int
    email: str | None
    name: str
    administrator: bool
    disabled_at: datetime | None
    sessions: int
    seen_at: datetime | None

    @classmethod
    def of(cls, user: User, sessions: int = 0, seen_at: datetime | None = None, **values: Any) -> Self:
        """Show a user; `values` are those of further fields."""
        about = {"id": user.id, "email": user.email, "name": user.name, "administrator": user.is_admin}
        return cls(**about, disabled_at=user.disabled_at, sessions=sessions, seen_at=seen_at, **values)


class NewUserOut(UserOut):
    """Somebody new; `sign_in_url` signs them in once, within a day, and is not shown again."""

    sign_in_url: str


class UserList(BaseModel):
    """All people with an account."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"users": [USER_EXAMPLE]}]})

    users: list[UserOut]
