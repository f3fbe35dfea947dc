"""Answers that come while others are being written are written together, in one transaction.

All answers of a project are numbered one transaction after the other. With fifty labelers most of an answer's time
would be waiting for the transactions of others; whoever's turn it is therefore takes along everybody who waits.
What can be read is read before, while others write. Each request still gets its own outcome, and none before the
commit.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.accounts.access import Action, Caller, authorize
from app.database import Database
from app.labeling.schemas import AnswerIn, AnswersOut
from app.labeling.service import CheckedAnswers, check_answers, store_answers


@dataclass
class _Post:
    """The answers of one request, and what became of them."""

    answers: CheckedAnswers
    outcome: AnswersOut | Exception | None = None


@dataclass
class _Turn:
    """A project's turn to write, and the requests that wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: list[_Post] = field(default_factory=list)
    requests: int = 0


class Together:
    """Stores the answers of concurrent requests; threads of one process share it."""

    def __init__(self, database: Database) -> None:
        """Begin with nobody waiting."""
        self.database = database
        self._turns: dict[str, _Turn] = {}
        self._guard = threading.Lock()

    def store(self, caller: Caller, project: str, answers: Sequence[AnswerIn]) -> AnswersOut:
        """Store the answers, all or none, and return once they are committed."""
        with self.database.reading() as session:
            access = authorize(session, caller, project, Action.LABEL)
            post = _Post(check_answers(session, access, answers))
        with self._guard:
            turn = self._turns.setdefault(project, _Turn())
            turn.waiting.append(post)
            turn.requests += 1
        with turn.lock:
            if post.outcome is None:  # else somebody took these along
                with self._guard:
                    posts, turn.waiting = turn.waiting, []
                self._write(posts)
        with self._guard:
            turn.requests -= 1
            if not turn.requests:
                del self._turns[project]
        if not isinstance(post.outcome, AnswersOut):
            assert post.outcome is not None, "whoever took these along wrote what became of them"
            raise post.outcome
        return post.outcome

    def _write(self, posts: list[_Post]) -> None:
        try:
            with self.database.transaction() as session:
                outcomes = store_answers(session, [post.answers for post in posts])
        except Exception as error:  # noqa: BLE001 - raised again by the request that it belongs to
            if len(posts) == 1:
                posts[0].outcome = error
                return
            # What is wrong with one must not cost the others anything.
            for post in posts:
                self._write([post])
            return
        for post, outcome in zip(posts, outcomes, strict=True):
            post.outcome = outcome
