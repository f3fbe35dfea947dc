"""Errors with a status and a sentence: raise one of these anywhere. `web/errors.py` answers requests with them."""

import errno
from dataclasses import dataclass

from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from tercet.translatable import to_translate

DATABASE_AWAY = (OperationalError, NoConnectionFree)


@dataclass(frozen=True)
class FieldError:
    """One error: where (`field`, and `row` and `file` where there are any) and why."""

    field: str
    detail: str
    row: int | None = None
    file: str | None = None


class Problem(Exception):
    """Base class; subclasses set the status, and the message says what happened and what to do."""

    status = 400

    def __init__(self, detail: str, errors: list[FieldError] | None = None) -> None:
        """Store the sentence and the fields that it concerns."""
        super().__init__(detail)
        self.detail = detail
        self.errors = errors or []


class NotSignedIn(Problem):
    """Nobody is signed in, or the token is not valid."""

    status = 401


class Forbidden(Problem):
    """Signed in, but the role or the token's scope does not allow it."""

    status = 403


class NotFound(Problem):
    """It does not exist, or the caller may not know that it does."""

    status = 404


class Conflict(Problem):
    """It contradicts what is stored."""

    status = 409


class ChangedSince(Problem):
    """Somebody else has changed it since the caller read it."""

    status = 412


class TooLarge(Problem):
    """The body is larger than the limit."""

    status = 413


class WrongType(Problem):
    """The body is of a type that is not understood here."""

    status = 415


class TooOften(Problem):
    """Who asks has asked too often; they may again after some seconds."""

    status = 429

    def __init__(self, detail: str, retry_after: int = 5) -> None:
        """Store the sentence and the seconds."""
        super().__init__(detail)
        self.retry_after = retry_after


class Overloaded(Problem):
    """There is more to do than can be done soon; who asks may again after some seconds."""

    status = 503

    def __init__(self, retry_after: int) -> None:
        """Say so, and store the seconds."""
        super().__init__(to_translate("The server has more to do than it can soon. Try again in a moment."))
        self.retry_after = retry_after


class Invalid(Problem):
    """The content is wrong: see the errors, each with its file, row and field."""

    status = 422


def is_disk_full(error: BaseException) -> bool:
    """Return whether an error says that no more can be written: the disk is full, or a quota is used up."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
