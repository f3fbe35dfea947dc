"""Recognises an answer that a second tab gives to a question that its labeler has answered in another one just before.

Tabs tell one another what was answered, but that takes some milliseconds, in which both show the same question. Later
answers to the same question are another matter: it was asked again on purpose, or undone. Only what pages send is
looked at; programs may answer as often as they like. Two tabs may be served by two processes, so the database knows:
it refuses such an answer (`tercet.labeling.sql.answers.add` raises Overtaken), and the next attempt leaves it out.
"""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from tercet.labeling.service import CheckedAnswers
from tercet.labeling.sql import answers
from tercet.labeling.sql.answers import NewAnswer

Question = tuple[int, int, int, int]  # labeler, anchor, left, right


def leave_out(session: Session, requests: Sequence[CheckedAnswers], *, is_overtaken: bool) -> list[CheckedAnswers]:
    """Return the requests about one project without the answers of second tabs, which count as stored before.

    What is stored is looked at only after an attempt that another transaction has overtaken; it is rare.
    """
    repeated = _answered_just_before(session, requests) if is_overtaken else set()
    seen: set[Question] = set()
    passing = []
    for request in requests:
        new = []
        for answer in request.new:
            if answer.is_of_page and (answer in repeated or _question(answer) in seen):
                continue
            new.append(answer)
            if answer.response_ms is not None:
                seen.add(_question(answer))
        passing.append(request._replace(new=new, repeated=request.repeated + len(request.new) - len(new)))
    return passing


def _answered_just_before(session: Session, requests: Sequence[CheckedAnswers]) -> set[NewAnswer]:
    new = [answer for request in requests for answer in request.new]
    if not new:
        return set()
    ids = answers.answered_just_before(session.connection(), requests[0].access.project, new)
    return {answer for answer in new if answer.id in ids}


def _question(answer: NewAnswer) -> Question:
    return answer.labeler_id, answer.anchor_id, answer.left_id, answer.right_id
