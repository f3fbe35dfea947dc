"""Labeling over REST: lease the next questions, answer, withdraw an answer, comment on it, skip, flag items.

The two requests that labelers wait for are coroutines that use a thread once: FastAPI would run a plain function in
one thread and check its result in another, which slows the slowest answers. Answers are written together with those
of other requests (`answer_writer`), and questions are leased together, too (`leasing`).
"""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.labeling import flags, focus, practice, service
from tercet.labeling.answers_route import AnswersRoute
from tercet.labeling.dependencies import Counted, Questions, Writer
from tercet.labeling.schemas import (
    AheadOut,
    AnswersBody,
    AnswersIn,
    AnswersOut,
    CommentIn,
    CommentOut,
    FlagIn,
    FlagOut,
    FocusIn,
    NextOut,
    PracticeOut,
    RightOut,
    SkipIn,
    SkipOut,
    WithdrawnOut,
)
from tercet.web.dependencies import Blobs, Config, Db, InWords
from tercet.web.json_bodies import JsonRoute
from tercet.web.numbers import Count
from tercet.web.problems import problems
from tercet.web.rates import PER_LABELER

MOST_AHEAD = 200
Asked = Annotated[Count, Query(le=100, description="how many questions to lease next come with the response")]
router = APIRouter(prefix="/api/v1/projects", tags=["labeling"], responses=problems(401, 403), route_class=JsonRoute)
answers_router = APIRouter(
    prefix="/api/v1/projects", tags=["labeling"], responses=problems(401, 403), route_class=AnswersRoute
)


@router.get("/{project}/triplets/next", responses=problems(404))
async def get_next(project: str, me: Me, questions: Questions, n: Annotated[Count, Query(ge=1, le=100)] = 5) -> NextOut:
    """Lease the next questions.

    Questions that are leased to you already come first, with their leases renewed, so that repeating the request
    returns the same ones. They may be fewer than `n` while more are being drawn; `left` says whether these are the
    last. When there are none, `reason` says why and until when.
    """
    return await questions.lease(me, project, n)


@router.post("/{project}/triplets/ahead", status_code=201, responses=problems(404, 429))
def post_ahead(
    project: str, me: Me, db: Db, blobs: Blobs, rates: Counted, n: Annotated[Count, Query(ge=1, le=MOST_AHEAD)] = 50
) -> AheadOut:
    """Draw random questions to answer without a network, fewer where few are left.

    They are yours alone: others are never asked them, no lease ends, and answers may come days later. So what runs
    choose stays for those who are connected. 429: more than 3,000 such questions within a minute.
    """
    rates.count(PER_LABELER, f"ahead {me.key}", n)
    with db.transaction() as session:
        return service.questions_ahead(session, blobs, service.admit(session, me, project), n)


@router.post("/{project}/practice", status_code=201, responses=problems(404))
def post_practice(project: str, me: Me, db: Db, blobs: Blobs, words: InWords) -> PracticeOut:
    """Draw up to five questions to practise with, each with its right answer and the reason.

    First those of which an analyst said what is right, which you are never asked again; then such about settled items:
    two of one cluster and one of another, each with a probability of 0.95 or more, by a run that learned from 50
    answers or more.
    Nothing that is answered in practice is sent or stored. None where the project's `practice` is off.
    """
    with db.transaction() as session:
        return PracticeOut(triplets=practice.draw(session, blobs, authorize(session, me, project, Action.LABEL), words))


@answers_router.post("/{project}/answers", status_code=201, responses=problems(404, 409, 422, 429))
async def post_answers(
    project: str, body: AnswersBody, me: Me, writer: Writer, rates: Counted, questions: Questions, ask: Asked = 0
) -> AnswersOut:
    """Store one answer or several, all or none.

    The client makes each `id`: the same answer sent again is stored once and counted as `repeated`. 409: an id is
    used for another answer. 422: an unknown item, an item twice in a triplet, or an answer that does not fit the
    question; the error names the row. An answer that comes after its lease has ended is stored too.
    With `ask`, `next` has what triplets/next would return once they are stored. 429: more than 3,000 answers within a
    minute.
    """
    answers = body.answers if isinstance(body, AnswersIn) else [body]
    rates.count(PER_LABELER, f"answers {me.key}", len(answers))
    stored, access = await writer.store(me, project, answers)
    if ask:
        stored.next = await questions.lease_to(access, ask, stored.progress)
    return stored


@router.delete("/{project}/answers/{answer}", responses=problems(404, 409))
def delete_answer(project: str, answer: UUID, me: Me, db: Db, config: Config) -> WithdrawnOut:
    """Withdraw an answer.

    It stays stored, but runs no longer use it; its question is leased to its labeler again. Labelers may withdraw
    their own answers. 409: the answer was withdrawn before.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.LABEL)
        return service.withdraw(session, me, access, answer, config.triplet_lease_seconds)


@router.get("/{project}/answers/{answer}/right", responses=problems(404))
def get_right(project: str, answer: UUID, me: Me, db: Db) -> RightOut:
    """Return what is right in place of an answer of yours, where an analyst said so and the project tells labelers."""
    with db.reading() as session:
        return service.right_answer(session, authorize(session, me, project, Action.LABEL), answer)


@router.post("/{project}/skips", status_code=201, responses=problems(404, 422))
def post_skip(project: str, body: SkipIn, me: Me, db: Db) -> SkipOut:
    """Skip a question: it is never shown to you again, but may be shown to others; no answer is stored."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.LABEL)
        service.store_skip(session, access, body.triplet)
        return SkipOut(triplet=body.triplet)


@router.put("/{project}/answers/{answer}/comment", responses=problems(404, 422))
def put_comment(project: str, answer: UUID, body: CommentIn, me: Me, db: Db) -> CommentOut:
    """Note something about an answer of yours, for the analysts.

    An empty text removes the note. 404: there is no such answer, or it is another labeler's.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.LABEL)
        return service.comment(session, access, answer, body.comment)


@router.post("/{project}/flags", status_code=201, responses=problems(404, 422))
def post_flag(project: str, body: FlagIn, me: Me, db: Db) -> FlagOut:
    """Flag an item as broken.

    You are asked nothing about it any more; others are, until an analyst sets it aside. Flagged again, it has the
    newest reason and note. Analysts find it under flagged-items.
    """
    with db.transaction() as session:
        return flags.flag(session, authorize(session, me, project, Action.LABEL), body)


@router.delete("/{project}/flags/{item:path}", responses=problems(404))
def delete_flag(project: str, item: str, me: Me, db: Db) -> FlagOut:
    """Take your flag of an item back: you are asked about it again. 404: you have not flagged it."""
    with db.transaction() as session:
        return flags.take_back(session, authorize(session, me, project, Action.LABEL), item)


@router.get("/{project}/focus", responses=problems(404))
def get_focus(project: str, me: Me, db: Db) -> FocusIn:
    """Read what questions are about."""
    with db.reading() as session:
        return focus.get(authorize(session, me, project, Action.READ).project)


@router.put("/{project}/focus", responses=problems(404, 422))
def put_focus(project: str, body: FocusIn, me: Me, db: Db) -> FocusIn:
    """Restrict what questions are about, or let them be about everything again.

    The run that chooses such questions is queued. The two other items of a question may be any, and random questions
    stay about everything. 422: there is no such cluster or item.
    """
    with db.transaction() as session:
        changed = authorize(session, me, project, Action.WRITE).project
        focus.change(session, changed, body)
        return focus.get(changed)
