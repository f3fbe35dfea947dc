"""The labeling page, and the plain forms that make it work without JavaScript."""

import uuid
from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from tercet.accounts.access import Access, Action, authorize
from tercet.accounts.dependencies import Me
from tercet.items.schemas import media_address
from tercet.labeling import offline, practice, service
from tercet.labeling.dependencies import Questions, Writer
from tercet.labeling.schemas import AnswerIn, NextOut, RecentOut
from tercet.sounds.colour_maps import palette
from tercet.sounds.picture_settings import PictureSettings, read_stored
from tercet.web.dependencies import Blobs, Config, Db, InWords
from tercet.web.languages import LANGUAGES, Words
from tercet.web.markdown import to_html
from tercet.web.rendering import render

router = APIRouter(include_in_schema=False)

# The question on the screen and the next five, whose media the page fetches ahead.
AHEAD = 6
UNDOABLE = 20

Keys = Annotated[list[str], Form(min_length=3, max_length=3)]


@router.get("/projects/{project}/label")
async def get_label(
    project: str,
    request: Request,
    me: Me,
    db: Db,
    blobs: Blobs,
    words: InWords,
    questions: Questions,
    without_questions: bool = False,
) -> HTMLResponse:
    """Show the next question; without questions it is the page that a browser keeps for when there is no network."""
    next_questions = await questions.lease(me, project, 0 if without_questions else AHEAD)

    def show() -> HTMLResponse:
        with db.reading() as session:
            access = authorize(session, me, project, Action.LABEL)
            recent = service.last_answers(session, blobs, access, 0 if without_questions else UNDOABLE)
            is_new = not without_questions and next_questions.progress.mine == 0
            has_practice = is_new and practice.is_possible(session, blobs, access.project)
        return render_label(request, access, next_questions, recent, has_practice, words)

    return await run_in_threadpool(show)


def render_label(
    request: Request,
    access: Access,
    next_questions: NextOut,
    recent: list[RecentOut],
    has_practice: bool,
    words: Words,
) -> HTMLResponse:
    """Return the labeling page."""
    return render(
        request,
        "labeling/label.html",
        project=access.project,
        access=access,
        ahead=next_questions,
        recent=recent,
        data={
            "next": next_questions.model_dump(mode="json"),
            "recent": [answer.model_dump(mode="json") for answer in recent],
            "pictures": scales(access),
            "practice": has_practice,
            "hear_first": access.project.hear_first,
            "feedback": access.project.feedback,
        },
        fresh_id=uuid.uuid4(),
        question=question_of(access, words),
        words=words,
        languages=LANGUAGES,
        guidelines=to_html(access.project.guidelines, partial(media_address, access.project.key, "picture")),
    )


@router.get("/projects/{project}/label/manifest")
def get_manifest(project: str, me: Me, db: Db) -> JSONResponse:
    """Describe the labeling page to a browser that installs it."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.LABEL)
        return JSONResponse(offline.manifest(access.project), media_type="application/manifest+json")


@router.get("/label-worker.js")
def get_worker() -> Response:
    """Send the service worker of labeling pages, from the top: it may only work below its own address."""
    return Response(offline.worker_script(), media_type="text/javascript")


def question_of(access: Access, words: Words) -> str:
    """Return the text of the project's question, or the usual one of its kind."""
    usual = {
        "relative": words.say("Is 1 more similar to 2 than to 3?"),
        "outlier": words.say("Which one is least like the other two?"),
    }
    return access.project.question_text.strip() or usual[access.project.question_kind]


def scales(access: Access) -> dict[str, float | str]:
    """Return the ranges that the spectrograms of the project show, and their background colour."""
    settings = read_stored(access.project.picture_settings) or PictureSettings()
    ground = "#{:02x}{:02x}{:02x}".format(*palette(settings.colour_map)[0])
    return {"low": settings.low_hz, "high": settings.high_hz, "seconds": settings.seconds, "ground": ground}


def back_to(project: str) -> RedirectResponse:
    """Redirect to the page after a form, so that reloading it does not send the form again."""
    return RedirectResponse(f"/projects/{project}/label", 303)


@router.post("/projects/{project}/label")
async def post_label(
    project: str,
    me: Me,
    writer: Writer,
    answer_id: Annotated[UUID, Form(alias="id")],
    triplet: Keys,
    answer: Annotated[str, Form()],
) -> RedirectResponse:
    """Store the answer of the plain form; its id came with the page, so a double click is one answer."""
    await writer.store(me, project, [AnswerIn(id=answer_id, triplet=triplet, answer=answer, response_ms=None)])
    return back_to(project)


@router.post("/projects/{project}/label/skip")
def post_label_skip(project: str, me: Me, db: Db, triplet: Keys) -> RedirectResponse:
    """Skip the question of the plain form."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.LABEL)
        service.store_skip(session, access, triplet)
    return back_to(project)


@router.post("/projects/{project}/label/undo")
def post_label_undo(
    project: str, me: Me, db: Db, config: Config, answer_id: Annotated[UUID, Form(alias="id")]
) -> RedirectResponse:
    """Withdraw the answer that the plain form names; its question comes first again."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.LABEL)
        service.withdraw(session, me, access, answer_id, config.triplet_lease_seconds)
    return back_to(project)
