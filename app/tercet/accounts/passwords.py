"""Passwords of people with an account: set by who is signed in, checked at sign-in, stored as argon2 hashes only."""

import threading
from functools import cache

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from sqlalchemy import delete
from sqlalchemy.orm import Session

from tercet.accounts import queries
from tercet.audit import chain
from tercet.errors import FieldError, Invalid, NotFound
from tercet.models import BrowserSession, User
from tercet.translatable import to_translate

LEAST, MOST = 12, 200
WRONG = to_translate(
    "The address or the password is wrong, or the account has no password. A sign-in link works as well."
)
# 19 MiB and two passes, what OWASP asks for at least: a hash takes some 20 ms.
_HASHES = PasswordHash([Argon2Hasher(time_cost=2, memory_cost=19_456, parallelism=1)])
# One at a time: strangers who try passwords use up one processor and the memory of one hash at most.
_one_at_a_time = threading.Lock()


@cache
def _nobodys_hash() -> str:
    return _HASHES.hash("nobody has this password")


def set_password(session: Session, user: User, *, password: str, current: str = "", keep: str | None = None) -> None:
    """Give the user a password, or none for an empty one, and end all sessions but the one with the token hash `keep`.

    Raise Invalid if it is short or the user's address, or if the current one is not right.
    """
    if user.password_hash is not None and not _is_right(current, user.password_hash):
        raise Invalid("The password was not changed.", [FieldError("current", "is not your password")])
    if password and not LEAST <= len(password) <= MOST:
        detail = f"expected {LEAST} to {MOST} characters: four words that have nothing to do with each other are good"
        raise Invalid("The password was not changed.", [FieldError("password", detail)])
    if password and user.email and user.email in password.lower():
        raise Invalid("The password was not changed.", [FieldError("password", "must not hold your address")])
    user.password_hash = _HASHES.hash(password) if password else None
    session.execute(
        delete(BrowserSession).where(BrowserSession.user_id == user.id, BrowserSession.token_hash != (keep or ""))
    )
    chain.record(session, "password set" if password else "password removed")


def user_with_password(session: Session, email: str, password: str) -> User:
    """Return who has this address and password; raise NotFound, after the same time, whatever is wrong."""
    user = queries.user_by_email(session, email)
    stored = user.password_hash if user is not None else None
    is_right = _is_right(password, stored or _nobodys_hash())
    if user is None or stored is None or not is_right or user.disabled_at is not None:
        raise NotFound(WRONG)
    return user


def _is_right(password: str, stored: str) -> bool:
    with _one_at_a_time:
        return _HASHES.verify(password, stored)
