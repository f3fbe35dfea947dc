"""Labeling over REST: lease the next questions, answer, take an answer back, skip.

The two requests that labelers wait for are coroutines that use a thread once. FastAPI would run a plain function in a
thread and check its result in another, which shows in the slowest answers. Answers are written together with those
of other requests, and few requests lease questions at a time: more of them would take turns for the interpreter, open
connections that are slow at first, and delay the answers.
"""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.concurrency import run_in_threadpool

from tercet.accounts.access import Action, Me, authorize
from tercet.labeling import focus, service
from tercet.labeling.dependencies import Leasing, Writer
from tercet.labeling.schemas import (
    AnswersBody,
    AnswersIn,
    AnswersOut,
    FocusIn,
    NextOut,
    SkipIn,
    SkipOut,
    WithdrawnOut,
)
from tercet.web.dependencies import Config, Db
from tercet.web.numbers import Count
from tercet.web.problems import problems

LEASING_AT_ONCE = 2
router = APIRouter(prefix="/api/v1/projects", tags=["labeling"], responses=problems(401, 403))


@router.get("/{project}/triplets/next", responses=problems(404))
async def get_next(
    project: str, me: Me, db: Db, config: Config, leasing: Leasing, n: Annotated[Count, Query(ge=1, le=100)] = 5
) -> NextOut:
    """Lease the next questions.

    Questions that you hold already come first, their leases renewed in time, so that asking again gives the same
    ones. When there are none, `reason` says why and until when.
    """

    def lease() -> NextOut:
        with db.transaction() as session:
            access = service.admit(session, me, project)
            return service.next_triplets(session, access, n, config.triplet_lease_seconds)

    async with leasing:
        return await run_in_threadpool(lease)


@router.post("/{project}/answers", status_code=201, responses=problems(404, 409, 422))
async def post_answers(project: str, body: AnswersBody, me: Me, writer: Writer) -> AnswersOut:
    """Store one answer or several, all or none.

    The client makes each `id`: the same answer sent again is stored once and counted as `repeated`. An id
    reused with another answer is a 409; an unknown item, a repeated item or an answer that does not fit the
    question is a 422 that names the row. An answer that comes after its lease has ended is kept.
    """
    answers = body.answers if isinstance(body, AnswersIn) else [body]
    return await writer.store(me, project, answers)


@router.delete("/{project}/answers/{answer}", responses=problems(404, 409))
def delete_answer(project: str, answer: UUID, me: Me, db: Db, config: Config) -> WithdrawnOut:
    """Withdraw an answer.

    It stays, marked, and the next run no longer uses it; its question is handed back to its labeler.
    Labelers withdraw their own answers. An answer that is withdrawn already is a 409.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.LABEL)
        return service.withdraw(session, me, access, answer, config.triplet_lease_seconds)


@router.post("/{project}/skips", status_code=201, responses=problems(404, 422))
def post_skip(project: str, body: SkipIn, me: Me, db: Db) -> SkipOut:
    """Skip a question: it is never shown to you again, others may get it, and no answer is stored."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.LABEL)
        service.store_skip(session, access, body.triplet)
        return SkipOut(triplet=body.triplet)


@router.get("/{project}/focus", responses=problems(404))
def get_focus(project: str, me: Me, db: Db) -> FocusIn:
    """Read what questions are about."""
    with db.reading() as session:
        return focus.get(authorize(session, me, project, Action.READ).project)


@router.put("/{project}/focus", responses=problems(404, 422))
def put_focus(project: str, body: FocusIn, me: Me, db: Db) -> FocusIn:
    """Narrow what questions are about, or let them be about everything again.

    A run is queued whose questions are about it; the items that they compare with may be any, and the share that is
    drawn at random stays about everything. 422: there is no such cluster or item.
    """
    with db.transaction() as session:
        changed = authorize(session, me, project, Action.WRITE).project
        focus.change(session, changed, body)
        return focus.get(changed)
