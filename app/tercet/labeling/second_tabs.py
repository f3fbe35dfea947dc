"""Recognises an answer that a second tab gives to a question that its labeler has answered in another one just before.

Tabs tell one another what was answered, but that takes some milliseconds, in which both show the same question. Later
answers to the same question are another matter: it was asked again on purpose, or undone. Only what pages send is
looked at; programs may answer as often as they like. Each process remembers what it has stored itself.
"""

import threading
import time
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.labeling.service import CheckedAnswers
from tercet.labeling.sql.answers import NewAnswer
from tercet.models import Answer

SECONDS = 1.0  # nobody looks at three items again, and answers once more, in less
Question = tuple[int, int, int, int]  # labeler, anchor, left, right


class _Answered(NamedTuple):
    id: UUID
    at: float  # seconds of the monotonic clock


class SecondTabs:
    """The answers that pages have sent within the last second, by labeler and question."""

    def __init__(self) -> None:
        """Begin with none."""
        self._newest: dict[Question, _Answered] = {}
        self._lock = threading.Lock()

    def leave_out(self, session: Session, requests: Sequence[tuple[CheckedAnswers, bool]]) -> list[CheckedAnswers]:
        """Return the answers of requests without those of second tabs, which count as stored before.

        With each request goes whether a browser has sent it: programs have no tabs.
        """
        moment = time.monotonic()
        with self._lock:
            newest = {question: last for question, last in self._newest.items() if moment - last.at < SECONDS}
            self._newest = dict(newest)
        passing = []
        for request, is_in_browser in requests:
            again = {answer.id for answer in request.new if is_in_browser and _is_answered(session, newest, answer)}
            new = [answer for answer in request.new if answer.id not in again]
            passing.append(request._replace(new=new, repeated=request.repeated + len(again)))
            newest |= _of_pages(new, moment)
        return passing

    def note(self, requests: Sequence[CheckedAnswers]) -> None:
        """Remember the answers of requests that are stored now."""
        moment = time.monotonic()
        with self._lock:
            for request in requests:
                self._newest |= _of_pages(request.new, moment)


def _of_pages(answers: Sequence[NewAnswer], moment: float) -> dict[Question, _Answered]:
    return {_question(answer): _Answered(answer.id, moment) for answer in answers if answer.response_ms is not None}


def _question(answer: NewAnswer) -> Question:
    return answer.labeler_id, answer.anchor_id, answer.left_id, answer.right_id


def _is_answered(session: Session, newest: dict[Question, _Answered], answer: NewAnswer) -> bool:
    """Return whether another answer to the question stands; it may have been undone since."""
    before = newest.get(_question(answer))
    if before is None or answer.response_ms is None:
        return False
    undone = session.scalar(select(Answer.id).where(Answer.id == before.id, Answer.withdrawn_at.is_not(None)))
    return undone is None
