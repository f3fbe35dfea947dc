"""The answers page: answers with their probability under the last run, labelers, and the log of decisions."""

from typing import Annotated
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.answers import flagged, overview, service
from tercet.answers.schemas import LONGEST_REASON, Filters
from tercet.edits import service as edits
from tercet.labeling.schemas import FlaggedState
from tercet.models import Verdict
from tercet.web.dependencies import Blobs, Db
from tercet.web.numbers import Id
from tercet.web.rendering import render
from tercet.web.texts import Text

router = APIRouter(include_in_schema=False)

Reason = Annotated[Text, Form(max_length=LONGEST_REASON)]
Back = Annotated[Text, Form(max_length=1_000)]


@router.get("/projects/{project}/answers")
def answers_page(
    request: Request, project: str, filters: Annotated[Filters, Query()], me: Me, db: Db, blobs: Blobs
) -> HTMLResponse:
    """Show a page of answers."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        page = overview.gather(session, blobs, access, filters)
    return render(request, "answers/answers.html", **vars(page))


@router.post("/projects/{project}/answers/{answer}/set-aside")
def set_aside(project: str, answer: UUID, me: Me, db: Db, reason: Reason = "", back: Back = "") -> RedirectResponse:
    """Set one answer aside."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        decision = service.set_aside(session, access, answer, reason)
    return _back(project, back, f"answer-{decision.answer_number}")


@router.post("/projects/{project}/answers/{answer}/put-back")
def put_back(project: str, answer: UUID, me: Me, db: Db, back: Back = "") -> RedirectResponse:
    """Put one answer back."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        decision = service.put_back(session, access, answer)
    return _back(project, back, f"answer-{decision.answer_number}")


@router.post("/projects/{project}/unseen-answers/set-aside")
def set_unseen_aside(project: str, me: Me, db: Db, back: Back = "") -> RedirectResponse:
    """Set aside what may have been answered unseen."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.WRITE)
    service.set_unseen_aside(db, access)
    return _back(project, back, "unseen")


@router.post("/projects/{project}/unseen-answers/put-back")
def put_unseen_back(project: str, me: Me, db: Db, back: Back = "") -> RedirectResponse:
    """Put back what was set aside because it may have been answered unseen."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.WRITE)
    service.put_unseen_back(db, access)
    return _back(project, back, "unseen")


@router.post("/projects/{project}/flagged-items")
def judge_flagged(
    project: str,
    me: Me,
    db: Db,
    item: Annotated[Text, Form()],
    state: Annotated[FlaggedState, Form()],
    back: Back = "",
) -> RedirectResponse:
    """Decide about an item that labelers flagged."""
    with db.transaction() as session:
        flagged.judge(session, authorize(session, me, project, Action.WRITE), item, state)
    return _back(project, back, "flagged")


@router.post("/projects/{project}/edits/{edit}/take-back")
def take_back(project: str, edit: Id, me: Me, db: Db, blobs: Blobs) -> RedirectResponse:
    """Take an edit of clusters back."""
    with db.transaction() as session:
        edits.take_back(session, blobs, authorize(session, me, project, Action.WRITE), edit)
    return _back(project, "", "edits")


@router.post("/projects/{project}/answers/{answer}/right")
def mark_right(project: str, answer: UUID, me: Me, db: Db, back: Back = "") -> RedirectResponse:
    """Say that an answer is right."""
    with db.transaction() as session:
        marked = service.mark_right(session, authorize(session, me, project, Action.WRITE), answer)
        return _back(project, back, f"answer-{marked.number}")


@router.post("/projects/{project}/answers/{answer}/not-known")
def unmark_right(project: str, answer: UUID, me: Me, db: Db, back: Back = "") -> RedirectResponse:
    """Take back that an answer is right."""
    with db.transaction() as session:
        marked = service.unmark_right(session, authorize(session, me, project, Action.WRITE), answer)
        return _back(project, back, f"answer-{marked.number}")


@router.post("/projects/{project}/labelers/{labeler}/set-aside")
def set_labeler_aside(
    project: str, labeler: Id, me: Me, db: Db, reason: Reason = "", back: Back = ""
) -> RedirectResponse:
    """Set all answers of a labeler aside."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.WRITE)
    service.set_labeler_aside(db, access, labeler, reason)
    return _back(project, back, "labelers")


@router.post("/projects/{project}/labelers/{labeler}/put-back")
def put_labeler_back(project: str, labeler: Id, me: Me, db: Db, back: Back = "") -> RedirectResponse:
    """Put back the answers that were set aside all at once."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.WRITE)
    service.put_labeler_back(db, access, labeler)
    return _back(project, back, "labelers")


@router.post("/projects/{project}/labelers/{labeler}/put-withdrawn-back")
def put_withdrawn_back(project: str, labeler: Id, me: Me, db: Db, back: Back = "") -> RedirectResponse:
    """Put back what a labeler has withdrawn."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.WRITE)
    service.put_withdrawn_back(db, access, labeler)
    return _back(project, back, "labelers")


@router.post("/projects/{project}/share-links/{link}/set-aside")
def set_link_aside(project: str, link: Id, me: Me, db: Db, reason: Reason = "") -> RedirectResponse:
    """Set all answers aside of everybody who came by a labeling link."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.WRITE)
    service.decide_link(db, access, link, Verdict.SET_ASIDE, reason)
    return _back(project, "", "labelers")


@router.post("/projects/{project}/share-links/{link}/put-back")
def put_link_back(project: str, link: Id, me: Me, db: Db) -> RedirectResponse:
    """Put the answers back of everybody who came by a labeling link."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.WRITE)
    service.decide_link(db, access, link, Verdict.PUT_BACK, "")
    return _back(project, "", "labelers")


def _back(project: str, query: str, part: str) -> RedirectResponse:
    """Go back to the list as it was; what the form names is written anew, so that it stays a query of this page."""
    place = f"/projects/{project}/answers"
    filters = [(name, value) for name, value in parse_qsl(query) if name in Filters.model_fields]
    return RedirectResponse(f"{place}?{urlencode(filters)}#{part}" if filters else f"{place}#{part}", 303)
