"""Leases questions to labelers; checks, stores and withdraws answers; stores skips."""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from sqlalchemy.orm import Session

from tercet.accounts.access import Access, Action, Caller, LabelerAccess, authorize, authorize_labeler, in_browsers
from tercet.errors import Conflict, FieldError, Invalid, NotFound, Problem
from tercet.items.queries import count_in_use, ids_by_key
from tercet.labeling import canonical, flags, presentation, queries, queue, triplets
from tercet.labeling.descriptions import described
from tercet.labeling.queue_heads import QueueHeads
from tercet.labeling.queue_together import Wanted, lease_together
from tercet.labeling.schemas import (
    AheadOut,
    AnswerIn,
    AnswersOut,
    CommentOut,
    NextOut,
    ProgressOut,
    QuestionOut,
    RecentOut,
    RightOut,
    TripletOut,
    WithdrawnOut,
)
from tercet.labeling.skips import skip
from tercet.labeling.sql import answers
from tercet.labeling.sql.answers import Content, NewAnswer, Overtaken
from tercet.labeling.sql.drivers import Query, run
from tercet.models import Answer, Project, ProjectView, QuestionKind, Triplet, now
from tercet.runs.queries import lock_project
from tercet.runs.schedule import STANDING, Standing, answers_arrived
from tercet.storage import Storage
from tercet.translatable import to_translate
from tercet.web.languages import Words

# How often the storing of answers is tried again after another transaction has stored or deleted rows that it needs.
ATTEMPTS = 5
T = TypeVar("T")


class ConstraintRow(NamedTuple):
    """A checked row of an upload: items in the order of the question, labeler, and the number of the row for errors."""

    row: int
    id: UUID
    triplet: canonical.Ids
    value: str
    labeler_id: int
    response_ms: int | None


class SentAnswers(NamedTuple):
    """The answers of one request, and who sent them."""

    caller: Caller
    answers: Sequence[AnswerIn]


class CheckedAnswers(NamedTuple):
    """The answers of one request after all checks: the new ones, and the number of those stored before."""

    access: LabelerAccess
    new: list[NewAnswer]
    repeated: int


class StoredAnswers(NamedTuple):
    """The response to a request whose answers are stored, and the access with which it stored them."""

    response: AnswersOut
    access: LabelerAccess


def admit(session: Session, caller: Caller, project_key: str) -> LabelerAccess:
    """Return the caller's access if they may label, or raise."""
    rows = queries.caller_rows(session, project_key, in_browsers([caller]))
    return authorize_labeler(session, caller, project_key, rows)


def check_answers(
    session: Session, project_key: str, requests: Sequence[SentAnswers]
) -> list[CheckedAnswers | Problem]:
    """Check the answers of requests about one project; return the checked answers of each request, or its fault."""
    sent = [answer for request in requests for answer in request.answers]
    stored = queries.look_up(
        session,
        project_key,
        in_browsers(request.caller for request in requests),
        {key for answer in sent for key in answer.triplet},
        [answer.id for answer in sent],
    )
    outcomes: list[CheckedAnswers | Problem] = []
    for request in requests:
        try:
            access = authorize_labeler(session, request.caller, project_key, stored.callers)
            rows = _check(access, request.answers, stored.item_ids)
            new = new_answers(access.project, rows, stored.contents)
            if request.caller.session is not None:
                new = [answer._replace(is_of_page=answer.response_ms is not None) for answer in new]
            outcomes.append(CheckedAnswers(access, new, len(rows) - len(new)))
        except Problem as problem:
            outcomes.append(problem)
    return outcomes


def _check(access: LabelerAccess, answers: Sequence[AnswerIn], item_ids: dict[str, int]) -> list[ConstraintRow]:
    asked = check_keys([answer.triplet for answer in answers], item_ids)
    check_values(access.project.question_kind, [answer.answer for answer in answers])
    return [
        ConstraintRow(i, answer.id, triplet, answer.answer, access.user_id, answer.response_ms)
        for i, (answer, triplet) in enumerate(zip(answers, asked, strict=True), 1)
    ]


def new_answers(project: ProjectView, rows: Sequence[ConstraintRow], contents: dict[UUID, Content]) -> list[NewAnswer]:
    """Return the rows that are not stored yet as answers in canonical order, and add their contents to `contents`.

    `contents` maps ids in use to the answers they are for. A row with such an id and the same content is left out. With
    other content it raises Conflict, and nothing is added.
    """
    new: dict[UUID, NewAnswer] = {}
    for row in rows:
        triplet, value = canonical.canonical(project.question_kind, row.triplet, row.value)
        answer = NewAnswer(row.id, *triplet, row.labeler_id, value, row.response_ms)
        taken = new[row.id].content(project.id) if row.id in new else contents.get(row.id)
        if taken is None:
            new[row.id] = answer
        elif taken != answer.content(project.id):
            raise Conflict(
                to_translate("The id %(id)s is taken by another answer; nothing was stored.", id=row.id),
                [FieldError("id", to_translate("this id was used with another triplet, labeler or answer"), row.row)],
            )
    contents.update((answer.id, answer.content(project.id)) for answer in new.values())
    return list(new.values())


def store_answers(session: Session, checked: Sequence[CheckedAnswers]) -> list[StoredAnswers]:
    """Store the answers of requests about one project, all or none, and queue a run if they make one due."""
    project = checked[0].access.project
    new = [answer for request in checked for answer in request.new]
    user_ids = {request.access.user_id for request in checked}
    if new:
        rows = answers.add(
            session.connection(),
            project,
            new,
            standing=(STANDING, {"of_project": project.id}),
            progress=queries.progress_query(session.connection(), project.id, user_ids),
        )
        [standing] = rows["standing"]
        answers_arrived(session, project, Standing(*standing))
        progress = _progress_out(rows["progress"])
    else:
        progress = get_progress(session, project.id, user_ids)
    return [
        StoredAnswers(AnswersOut(stored=len(new), repeated=repeated, progress=progress[access.user_id]), access)
        for access, new, repeated in checked
    ]


def store_constraints(session: Session, project: ProjectView, rows: Sequence[ConstraintRow]) -> set[UUID]:
    """Store checked rows, all or none, and return the new ids; the caller then queues a run if one is due."""
    new = new_answers(project, rows, queries.stored_contents(session, [row.id for row in rows]))
    if new:
        answers.add(session.connection(), project, new)
    return {answer.id for answer in new}


def until_stored(attempt: Callable[[], T]) -> T:
    """Run a transaction that stores answers, again if another transaction overtakes it, and return its result."""
    for _ in range(ATTEMPTS - 1):
        with suppress(Overtaken):
            return attempt()
    return attempt()


def check_triplets(session: Session, project: Project, asked: Sequence[Sequence[str]]) -> list[canonical.Ids]:
    """Return the ids of the items named by keys; raise Invalid unless each row names three different items."""
    return check_keys(asked, ids_by_key(session, project.id, {key for keys in asked for key in keys}))


def check_keys(asked: Sequence[Sequence[str]], ids: dict[str, int]) -> list[canonical.Ids]:
    """Return the ids that `ids` has for the keys; raise Invalid unless each row names three different items."""
    errors = [
        FieldError("triplet", detail, row) for row, keys in enumerate(asked, 1) if (detail := _wrong_keys(ids, keys))
    ]
    if errors:
        raise Invalid(
            to_translate("A triplet names three different items of this project; nothing was stored."), errors[:100]
        )
    return [(ids[anchor], ids[left], ids[right]) for anchor, left, right in asked]


def _wrong_keys(ids: dict[str, int], keys: Sequence[str]) -> str:
    unknown = [key for key in keys if key not in ids]
    if unknown:
        return to_translate("there is no item '%(key)s' in this project", key=unknown[0])
    if len(set(keys)) < 3:
        return to_translate("an item is named twice; a triplet has three different items")
    return ""


def check_values(kind: str, values: Sequence[str]) -> None:
    """Raise Invalid with the rows whose answers do not fit the project's question."""
    allowed = canonical.VALUES[QuestionKind(kind)]
    errors = [
        FieldError("answer", _no_answer(value, allowed), row)
        for row, value in enumerate(values, 1)
        if value not in allowed
    ]
    if errors:
        raise Invalid(to_translate("An answer does not fit the project's question; nothing was stored."), errors[:100])


def _no_answer(value: str, allowed: Sequence[str]) -> str:
    expected = ", ".join(allowed)
    return to_translate(
        "'%(value)s' is no answer to this question: expected one of %(expected)s", value=value, expected=expected
    )


def withdraw(session: Session, caller: Caller, access: Access, answer_id: UUID, lease_seconds: float) -> WithdrawnOut:
    """Mark an answer as withdrawn, and queue its question again, leased to its labeler.

    Labelers may withdraw their own answers; callers who may write in the project may withdraw any.
    """
    lock_project(session, access.project.id)
    answer = queries.answer_of_project(session, access.project.id, answer_id)
    if answer is None:
        raise NotFound(to_translate("There is no answer %(id)s in this project.", id=answer_id))
    if answer.labeler_id != access.user.id:
        authorize(session, caller, access.project.key, Action.WRITE)
    if answer.withdrawn_at is not None:
        raise Conflict(
            to_translate(
                "The answer %(id)s was withdrawn already, at %(moment)s UTC.",
                id=answer_id,
                moment=f"{answer.withdrawn_at:%Y-%m-%d %H:%M}",
            )
        )
    answer.withdrawn_at = now()
    session.flush()
    queue.reopen(session, access.project, [answer.triplet_id], queue.UNDONE)
    queue.hand_back(session, answer.triplet_id, answer.labeler_id, lease_seconds)
    return WithdrawnOut(id=answer.id, withdrawn_at=answer.withdrawn_at)


def comment(session: Session, access: Access, answer_id: UUID, text: str) -> CommentOut:
    """Store what a labeler notes about an answer of theirs; an empty text removes the note."""
    answer = _own_answer(session, access, answer_id)
    answer.comment = text.strip()
    return CommentOut(id=answer.id, comment=answer.comment)


def right_answer(session: Session, access: Access, answer_id: UUID) -> RightOut:
    """Return what an analyst said is right in place of an answer, as its labeler saw the question."""
    project, answer = access.project, _own_answer(session, access, answer_id)
    asked = session.get_one(Triplet, answer.triplet_id)
    triplet = (asked.anchor_id, asked.left_id, asked.right_id)
    rows = queries.displayed_items(session, set(triplet))
    question = presentation.question(access.labeler.project, access.user.id, asked.id, triplet, rows)
    value = queries.right_value(session, project.id, asked.id) if project.feedback else None
    if value is not None:
        value = presentation.answer(project.question_kind, access.user.id, asked.id, triplet, value)
    return RightOut(triplet=question["triplet"], answer=value)


def _own_answer(session: Session, access: Access, answer_id: UUID) -> Answer:
    answer = queries.answer_of_project(session, access.project.id, answer_id)
    if answer is None or answer.labeler_id != access.user.id:
        raise NotFound(to_translate("You gave no answer %(id)s in this project.", id=answer_id))
    return answer


def store_skip(session: Session, access: Access, keys: Sequence[str]) -> None:
    """Store that this labeler does not want to see this question again; others may get it."""
    [ids] = check_triplets(session, access.project, [keys])
    triplet = canonical.order(access.project.question_kind, ids)
    triplet_id = triplets.make(session, access.project.id, [triplet])[triplet]
    skip(session, triplet_id, access.user.id)


def get_progress(session: Session, project_id: int, user_ids: Collection[int]) -> dict[int, ProgressOut]:
    """Return how many answers each of these labelers gave, and everybody together."""
    connection = session.connection()
    return _progress_out(run(connection, progress=queries.progress_query(connection, project_id, user_ids))["progress"])


def _progress_out(rows: Iterable[Any]) -> dict[int, ProgressOut]:
    return {
        user_id: ProgressOut(mine=count, mine_today=today, project_answers=everybody)
        for user_id, count, today, everybody in rows
    }


class Taken(NamedTuple):
    """The questions that a labeler got of a project, and whether there were too few and its queue can be topped up."""

    questions: NextOut
    project_id: int
    is_short: bool


def next_triplets(
    session: Session,
    storage: Storage,
    access: LabelerAccess,
    count: int,
    lease_seconds: float,
    words: Words,
    heads: QueueHeads,
    progress: ProgressOut | None = None,
) -> Taken:
    """Lease the next questions to this labeler and return them with what to show of their items.

    The labeler's progress is counted unless it is known.
    """
    project, user_id = access.project, access.user_id
    connection = session.connection()

    def shown(asked: Collection[canonical.Ids]) -> dict[str, Query]:
        item_ids = {item_id for triplet in asked for item_id in triplet}
        items = queries.displayed_items_query(connection, item_ids)
        if progress is not None:
            return {"items": items}
        return {"items": items, "progress": queries.progress_query(connection, project.id, [user_id])}

    leased, read = queue.lease_next(session, project, user_id, count, lease_seconds, heads, shown)
    is_full = len(leased) == count
    is_short = not is_full and not queue.is_used_up(session, project)
    rows = described(session, storage, project.id, queries.displayed_by_id(read["items"]))
    questions = NextOut(
        triplets=_shown(project, user_id, leased, rows),
        left=None if is_full or (leased and is_short) else len(leased),
        reason=None if leased else _why_nothing(session, access, words),
        progress=progress or _progress_out(read["progress"])[user_id],
    )
    return Taken(questions, project.id, is_short)


def next_triplets_together(
    session: Session,
    storage: Storage,
    asked: Sequence[tuple[LabelerAccess, int, ProgressOut]],
    lease_seconds: float,
    heads: QueueHeads,
) -> list[Taken | None]:
    """Lease the next questions to labelers of one project at once: to each so many, and their progress is known.

    Return None for each who has to ask alone.
    """
    project = asked[0][0].project
    wanted = [Wanted(access.user_id, count) for access, count, _ in asked]
    leased = lease_together(session, project, wanted, lease_seconds, heads)
    rows = described(session, storage, project.id, queries.displayed_by_id(leased.items))
    return [
        Taken(
            NextOut(triplets=_shown(project, access.user_id, own, rows), left=None, reason=None, progress=progress),
            project.id,
            is_short=False,
        )
        if own is not None
        else None
        for (access, _, progress), own in zip(asked, leased.triplets, strict=True)
    ]


def _shown(
    project: ProjectView, user_id: int, leased: Sequence[queue.LeasedTriplet], rows: dict[int, queries.DisplayedItem]
) -> list[TripletOut]:
    return [
        TripletOut(
            **presentation.question(project, user_id, question.id, question.triplet, rows),
            expires_at=question.expires_at,
        )
        for question in leased
    ]


def questions_ahead(session: Session, storage: Storage, access: LabelerAccess, count: int) -> AheadOut:
    """Return random questions for this labeler to answer without a network."""
    project, user_id = access.project, access.user_id
    questions = queue.set_ahead(session, project, count, flags.flagged_by(session, project.id, user_id))
    rows = queries.displayed_items(session, {item_id for triplet in questions.values() for item_id in triplet})
    rows = described(session, storage, project.id, rows)
    return AheadOut(
        triplets=[
            QuestionOut(**presentation.question(project, user_id, key, triplet, rows))
            for key, triplet in questions.items()
        ]
    )


def _why_nothing(session: Session, access: LabelerAccess, words: Words) -> str:
    count = count_in_use(session, access.project.id)
    return queries.why_nothing(session, access.project.id, access.user_id, count, words)


def last_answers(session: Session, storage: Storage, access: Access, limit: int) -> list[RecentOut]:
    """Return the labeler's last answers with their questions as they were shown, newest first: they can be undone."""
    project, user_id = access.labeler.project, access.user.id
    recent = queries.recent_answers(session, project.id, user_id, limit)
    questions = [(triplet.anchor_id, triplet.left_id, triplet.right_id) for _, triplet in recent]
    rows = queries.displayed_items(session, {item_id for triplet in questions for item_id in triplet})
    rows = described(session, storage, project.id, rows)
    return [
        RecentOut(
            **presentation.question(project, user_id, answer.triplet_id, triplet, rows),
            id=answer.id,
            comment=answer.comment,
            answer=presentation.answer(project.question_kind, user_id, answer.triplet_id, triplet, answer.value),
        )
        for (answer, _), triplet in zip(recent, questions, strict=True)
    ]
