"""REST: list answers and labelers, set answers aside, put them back; decide about items that labelers flagged."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.answers import flagged, listing, quality, service
from tercet.answers.schemas import (
    AnswerList,
    DecidedOut,
    Filters,
    LabelerList,
    LinkDecidedOut,
    SetAsideIn,
    UnseenOut,
)
from tercet.labeling.schemas import FlaggedList, FlaggedState, Judgement
from tercet.models import Verdict
from tercet.web.dependencies import Blobs, Db
from tercet.web.json_bodies import JsonRoute
from tercet.web.numbers import Count, Id, Position
from tercet.web.problems import problems

router = APIRouter(
    prefix="/api/v1/projects", tags=["answers"], responses=problems(401, 403, 404), route_class=JsonRoute
)


class Asked(Filters):
    """Filters, and how many answers to give at once."""

    limit: Annotated[Count, Query(ge=1, le=1_000)] = 50


@router.get("/{project}/answers", responses=problems(422))
def get_answers(project: str, asked: Annotated[Asked, Query()], me: Me, db: Db, blobs: Blobs) -> AnswerList:
    """List answers, newest first or what the last run doubts most first.

    Each with the probability that the last run gives it, and with how many others answered the same question and
    agree. Give `next` of one page as `after` of the next. Exports of all answers are under constraints.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return listing.as_json(listing.page(session, blobs, access.project, asked, asked.limit))


@router.post("/{project}/answers/{answer}/set-aside", status_code=201, responses=problems(409, 422))
def set_aside(project: str, answer: UUID, body: SetAsideIn, me: Me, db: Db) -> DecidedOut:
    """Set an answer aside.

    It is kept, but runs no longer use it and its question may be asked of others again; a run that
    leaves it out is queued by the project's rule. 409: it is set aside already, or its labeler withdrew it.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        return DecidedOut.model_validate(service.set_aside(session, access, answer, body.reason))


@router.delete("/{project}/answers/{answer}/set-aside", responses=problems(409))
def put_back(project: str, answer: UUID, me: Me, db: Db) -> DecidedOut:
    """Put an answer back that was set aside, or withdrawn: runs use it again.

    409: it is used already, or its labeler has answered the question again since they withdrew it.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        return DecidedOut.model_validate(service.put_back(session, access, answer))


@router.post("/{project}/unseen-answers/set-aside", status_code=201, responses=problems(409))
def set_unseen_aside(project: str, me: Me, db: Db) -> UnseenOut:
    """Set aside all answers of the labeling page that have no response time.

    Earlier versions took answers while pictures were still loading, and stored no time with them. List them with
    `state=unseen`. Imported answers are not among them. 409: there are none.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.WRITE)
    return UnseenOut.model_validate(service.set_unseen_aside(db, access))


@router.delete("/{project}/unseen-answers/set-aside", responses=problems(409))
def put_unseen_back(project: str, me: Me, db: Db) -> UnseenOut:
    """Put back the answers that were set aside for having no response time. 409: there are none."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.WRITE)
    return UnseenOut.model_validate(service.put_unseen_back(db, access))


@router.put("/{project}/answers/{answer}/right", status_code=204, responses=problems(409))
def mark_right(project: str, answer: UUID, me: Me, db: Db) -> None:
    """Say that an answer is right.

    Its question is asked of other labelers, as often as the project's `known_share` says and without a sign, to see how
    they answer. 409: the answer is not used, or another one to the same question is marked as right.
    """
    with db.transaction() as session:
        service.mark_right(session, authorize(session, me, project, Action.WRITE), answer)


@router.delete("/{project}/answers/{answer}/right", status_code=204, responses=problems(409))
def unmark_right(project: str, answer: UUID, me: Me, db: Db) -> None:
    """Take back that an answer is right. 409: nobody said so."""
    with db.transaction() as session:
        service.unmark_right(session, authorize(session, me, project, Action.WRITE), answer)


@router.get("/{project}/flagged-items", responses=problems(422))
def get_flagged_items(
    project: str,
    me: Me,
    db: Db,
    state: Annotated[FlaggedState, Query(description="what became of them")] = FlaggedState.OPEN,
    after: Annotated[Position, Query(description="position of the last item of the page before")] = -1,
    limit: Annotated[Count, Query(ge=1, le=1_000)] = 100,
) -> FlaggedList:
    """List the items that labelers flagged as broken, each with who says so and why.

    Give `next` of one page as `after` of the next.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return flagged.page(session, access.project, state, after, limit)


@router.put("/{project}/flagged-items/{item:path}", status_code=204, responses=problems(422))
def put_flagged_item(project: str, item: str, body: Judgement, me: Me, db: Db) -> None:
    """Decide about a flagged item.

    `set-aside` takes it out of questions, fits and counts, with its answers; `dismissed` says that it is fine; `open`
    takes either back. Who flagged it is asked nothing about it, whatever is decided. 404: nobody has flagged it.
    """
    with db.transaction() as session:
        flagged.judge(session, authorize(session, me, project, Action.WRITE), item, body.state)


@router.get("/{project}/labelers", responses=problems(422))
def get_labelers(
    project: str,
    me: Me,
    db: Db,
    blobs: Blobs,
    after: Count = 0,
    limit: Annotated[Count, Query(ge=1, le=100)] = 50,
) -> LabelerList:
    """List who answered, how much and how well, the busiest first.

    Speed, shares and agreement are of each person's 200 newest answers, the rest of all. Give `next` of one page as
    `after` of the next.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return quality.page(session, blobs, access.project, after, limit)


@router.post("/{project}/labelers/{labeler}/set-aside", status_code=201, responses=problems(409, 422))
def set_labeler_aside(project: str, labeler: Id, body: SetAsideIn, me: Me, db: Db) -> DecidedOut:
    """Set all answers of a labeler aside at once.

    Later answers count; remove the labeler from the project to prevent more. 409: none of their answers is
    used.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.WRITE)
    return DecidedOut.model_validate(service.set_labeler_aside(db, access, labeler, body.reason))


@router.delete("/{project}/labelers/{labeler}/set-aside", responses=problems(409))
def put_labeler_back(project: str, labeler: Id, me: Me, db: Db) -> DecidedOut:
    """Put a labeler's answers back that were set aside all at once.

    Those that were set aside one by one stay so. 409: there are none.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.WRITE)
    return DecidedOut.model_validate(service.put_labeler_back(db, access, labeler))


@router.delete("/{project}/labelers/{labeler}/withdrawn", responses=problems(409))
def put_withdrawn_back(project: str, labeler: Id, me: Me, db: Db) -> DecidedOut:
    """Put back what a labeler has withdrawn.

    Answers to questions that they have answered again stay withdrawn. 409: there are no others.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.WRITE)
    return DecidedOut.model_validate(service.put_withdrawn_back(db, access, labeler))


@router.post("/{project}/share-links/{link}/set-aside", status_code=201, responses=problems(409, 422))
def set_link_aside(project: str, link: Id, body: SetAsideIn, me: Me, db: Db) -> LinkDecidedOut:
    """Set all answers aside of everybody who came by a labeling link, also one that was revoked.

    What they answer later counts: revoke the link to prevent more. 409: none of their answers is used.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.WRITE)
    return LinkDecidedOut.model_validate(service.decide_link(db, access, link, Verdict.SET_ASIDE, body.reason))


@router.delete("/{project}/share-links/{link}/set-aside", responses=problems(409))
def put_link_back(project: str, link: Id, me: Me, db: Db) -> LinkDecidedOut:
    """Put the answers back of everybody who came by a labeling link, where they were set aside all at once.

    409: there are none.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.WRITE)
    return LinkDecidedOut.model_validate(service.decide_link(db, access, link, Verdict.PUT_BACK, ""))
