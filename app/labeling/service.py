"""What happens when people label: questions are leased, answers stored once, undone, skipped."""

from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import delete, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from app.accounts.access import Access, Action, Caller, authorize, authorize_each, in_browsers
from app.clustering.schedule import answers_arrived
from app.errors import Conflict, FieldError, Invalid, NotFound, Problem
from app.items.queries import ids_by_key, item_count
from app.labeling import canonical, queries, queue, showing, statements, storing, triplets
from app.labeling.schemas import AnswerIn, AnswersOut, NextOut, ProgressOut, RecentOut, TripletOut, WithdrawnOut
from app.models import Answer, Lease, Project, QuestionKind, Skip, Triplet, now

CHUNK = 500


class ConstraintRow(NamedTuple):
    """One checked row of an upload: the items as asked, whoever answered, and the row's number for messages."""

    row: int
    id: UUID
    triplet: canonical.Ids
    value: str
    labeler_id: int
    response_ms: int | None


class Sent(NamedTuple):
    """The answers of one request, and who sent them."""

    caller: Caller
    answers: Sequence[AnswerIn]


class Checked(NamedTuple):
    """The answers of one request, found right."""

    project: Project
    rows: list[ConstraintRow]


class Content(NamedTuple):
    """What an id stands for: sent again with the same content it is the same answer."""

    project_id: int
    triplet_id: int
    labeler_id: int
    value: str


def admit(session: Session, caller: Caller, project_key: str) -> Access:
    """Find out whether the caller may label, as `authorize` does but past the ORM, whose objects nobody changes."""
    people = queries.people(session, project_key, in_browsers([caller]))
    return authorize(session, caller, project_key, Action.LABEL, people)


def check_answers(session: Session, project_key: str, sent: Sequence[Sent]) -> list[Checked | Problem]:
    """Look up at once what the answers of requests about one project need; say what is wrong with which request."""
    accesses, ids = _look_up(session, project_key, sent)
    outcomes: list[Checked | Problem] = []
    for access, one in zip(accesses, sent, strict=True):
        try:
            outcomes.append(access if isinstance(access, Problem) else _check(access, one.answers, ids))
        except Problem as problem:
            outcomes.append(problem)
    return outcomes


def _look_up(
    session: Session, project_key: str, sent: Sequence[Sent]
) -> tuple[list[Access | Problem], dict[str, int]]:
    """Give who may label of those who sent answers, and the ids of the items with the keys they named."""
    callers = [one.caller for one in sent]
    keys = {key for one in sent for answer in one.answers for key in answer.triplet}
    people, ids = queries.people_and_items(session, project_key, in_browsers(callers), keys)
    return authorize_each(session, callers, project_key, Action.LABEL, people), ids


def _check(access: Access, answers: Sequence[AnswerIn], ids: dict[str, int]) -> Checked:
    asked = check_keys([answer.triplet for answer in answers], ids)
    check_values(access.project.question_kind, [answer.answer for answer in answers])
    rows = [
        ConstraintRow(i, answer.id, triplet, answer.answer, access.user.id, answer.response_ms)
        for i, (answer, triplet) in enumerate(zip(answers, asked, strict=True), 1)
    ]
    return Checked(access.project, rows)


def store_answers(session: Session, checked: Sequence[Checked]) -> list[AnswersOut]:
    """Store the answers of requests about one project, all or none; those that are here already are only counted."""
    project = checked[0].project
    rows = [row for one in checked for row in one.rows]
    labelers = {row.labeler_id for row in rows}
    swift = _store_new(session, project, rows, labelers)
    fresh = swift.ids if swift else store_constraints(session, project, rows)
    if fresh:
        answers_arrived(session, project, swift.standing if swift else None)
    progress = _told(swift.progress) if swift else get_progress(session, project, labelers)
    outcomes = []
    for one in checked:
        mine = fresh & {row.id for row in one.rows}
        fresh -= mine  # the same answer, sent twice at once, is new only once
        stored, repeated = len(mine), len(one.rows) - len(mine)
        outcomes.append(AnswersOut(stored=stored, repeated=repeated, progress=progress[one.rows[0].labeler_id]))
    return outcomes


def _store_new(
    session: Session, project: Project, rows: Sequence[ConstraintRow], labelers: Collection[int]
) -> storing.Stored | None:
    """Store answers as almost all of them are, new ones to known questions; None if some are not."""
    given = []
    for row in rows:
        triplet, value = canonical.canonical(project.question_kind, row.triplet, row.value)
        given.append(storing.Row(row.id, *triplet, row.labeler_id, value, row.response_ms))
    return storing.store(session.connection(), project.id, project.redundancy, given, labelers)


def store_constraints(session: Session, project: Project, rows: Sequence[ConstraintRow]) -> set[UUID]:
    """Store checked rows and give the ids that are new; the caller tells the schedule when it has sent them all.

    A row whose id is here with the same content is left out; with other content it is a Conflict. What can be
    looked up is looked up before the project's row is taken, for which all other answers of the project wait;
    what must be written to other rows that they may want to write too comes after.
    """
    turned = [canonical.canonical(project.question_kind, row.triplet, row.value) for row in rows]
    numbers = triplets.find(session, project.id, [triplet for triplet, _ in turned])
    last = _raise_number(session, project, len(rows))
    numbers |= triplets.make(session, project.id, {triplet for triplet, _ in turned} - numbers.keys())
    given: dict[UUID, tuple[ConstraintRow, Content]] = {}
    for row, (triplet, value) in zip(rows, turned, strict=True):
        content = Content(project.id, numbers[triplet], row.labeler_id, value)
        if given.setdefault(row.id, (row, content))[1] != content:
            raise _taken(row)
    fresh = _add_fresh(session, project, last - len(rows), given)
    if len(fresh) < len(rows):
        _raise_number(session, project, len(fresh) - len(rows))
    if fresh:
        pairs = [(content.triplet_id, content.labeler_id) for row, content in given.values() if row.id in fresh]
        _settle(session, project, pairs)
    return fresh


def _add_fresh(
    session: Session, project: Project, number: int, given: dict[UUID, tuple[ConstraintRow, Content]]
) -> set[UUID]:
    """Add the answers that are not here yet, numbered without gaps from the one after `number`, and give their ids.

    Almost always all are new, so that nobody asks first which are.
    """
    fresh = _insert_answers(session, number + 1, list(given.values()))
    repeated = given.keys() - fresh
    if repeated:
        stored = _contents_of_stored(session, sorted(repeated))
        for row, content in (given[one] for one in given if one in repeated):
            if stored[row.id] != content:
                raise _taken(row)
    if repeated and fresh:
        session.connection().execute(statements.REMOVE_ANSWERS, {"ids": list(fresh)})
        _insert_answers(session, number + 1, [one for key, one in given.items() if key in fresh])
    return fresh


def _taken(row: ConstraintRow) -> Conflict:
    return Conflict(
        f"The id {row.id} is taken by another answer; nothing was stored.",
        [FieldError("id", "this id was used with another triplet, labeler or answer", row.row)],
    )


def _raise_number(session: Session, project: Project, count: int) -> int:
    """Raise the project's answer number and give it; other answers of the project wait until this commits."""
    parameters = {"project": project.id, "count": count}
    number: int = session.connection().execute(statements.RAISE_ANSWER_NUMBER, parameters).scalar_one()
    return number


def _contents_of_stored(session: Session, ids: Sequence[UUID]) -> dict[UUID, Content]:
    stored: dict[UUID, Content] = {}
    for start in range(0, len(ids), CHUNK):
        found = session.connection().execute(statements.STORED_CONTENTS, {"ids": ids[start : start + CHUNK]})
        stored.update({row[0]: Content(*row[1:]) for row in found})
    return stored


def _insert_answers(session: Session, first: int, rows: list[tuple[ConstraintRow, Content]]) -> set[UUID]:
    """Add answers, numbered from `first`, and give the ids that were not here before."""
    at = now()
    values = [
        {
            **content._asdict(),
            "id": row.id,
            "number": number,
            "response_ms": row.response_ms,
            "created_at": at,
        }
        for number, (row, content) in enumerate(rows, start=first)
    ]
    connection = session.connection()
    return set(connection.execute(statements.ADD_NEW_ANSWERS[connection.dialect.name], values).scalars())


def _settle(session: Session, project: Project, pairs: list[tuple[int, int]]) -> None:
    """End the leases that were answered, and take triplets with enough answers out of the queue."""
    connection = session.connection()
    for start in range(0, len(pairs), CHUNK):
        chunk = pairs[start : start + CHUNK]
        ids = sorted({triplet for triplet, _ in chunk})
        parameters = {"pairs": chunk, "ids": ids, "redundancy": project.redundancy}
        for statement in statements.SETTLE[connection.dialect.name]:
            connection.execute(statement, parameters)


def check_triplets(session: Session, project: Project, asked: Sequence[Sequence[str]]) -> list[canonical.Ids]:
    """Turn keys into ids; three different items of this project each, or say which row is wrong."""
    return check_keys(asked, ids_by_key(session, project.id, {key for keys in asked for key in keys}))


def check_keys(asked: Sequence[Sequence[str]], ids: dict[str, int]) -> list[canonical.Ids]:
    """Turn keys into the ids that were found for them, three different ones each, or say which row is wrong."""
    errors = [
        FieldError("triplet", detail, row) for row, keys in enumerate(asked, 1) if (detail := _wrong_keys(ids, keys))
    ]
    if errors:
        raise Invalid("A triplet names three different items of this project; nothing was stored.", errors[:100])
    return [(ids[anchor], ids[left], ids[right]) for anchor, left, right in asked]


def _wrong_keys(ids: dict[str, int], keys: Sequence[str]) -> str:
    unknown = [key for key in keys if key not in ids]
    if unknown:
        return f"there is no item '{unknown[0]}' in this project"
    return "" if len(set(keys)) == 3 else "an item is named twice; a triplet has three different items"


def check_values(kind: str, values: Sequence[str]) -> None:
    """Refuse answers that do not fit the project's question."""
    allowed = canonical.VALUES[QuestionKind(kind)]
    detail = f"expected one of {', '.join(allowed)}"
    errors = [
        FieldError("answer", f"'{value}' is no answer to this question: {detail}", row)
        for row, value in enumerate(values, 1)
        if value not in allowed
    ]
    if errors:
        raise Invalid("An answer does not fit the project's question; nothing was stored.", errors[:100])


def withdraw(session: Session, caller: Caller, access: Access, answer_id: UUID, lease_seconds: float) -> WithdrawnOut:
    """Mark an answer as withdrawn, open its question again and hand it back to its labeler.

    Labelers withdraw their own answers; others' only who may write in the project.
    """
    _raise_number(session, access.project, 0)
    answer = queries.answer_of_project(session, access.project.id, answer_id)
    if answer is None:
        raise NotFound(f"There is no answer {answer_id} in this project.")
    if answer.labeler_id != access.user.id:
        authorize(session, caller, access.project.key, Action.WRITE)
    if answer.withdrawn_at is not None:
        raise Conflict(f"The answer {answer_id} was withdrawn already, at {answer.withdrawn_at:%Y-%m-%d %H:%M} UTC.")
    answer.withdrawn_at = now()
    session.flush()
    _reopen(session, access.project, answer, lease_seconds)
    return WithdrawnOut(id=answer.id, withdrawn_at=answer.withdrawn_at)


def _reopen(session: Session, project: Project, answer: Answer, lease_seconds: float) -> None:
    session.execute(
        update(Triplet)
        .where(Triplet.id == answer.triplet_id, project.redundancy > statements.COUNTED_ANSWERS)
        .values(priority=queue.UNDONE)
        .execution_options(synchronize_session=False)
    )
    queue.hand_back(session, answer.triplet_id, answer.labeler_id, lease_seconds)


def store_skip(session: Session, access: Access, keys: Sequence[str]) -> None:
    """Never show this question to this labeler again; others may get it."""
    [ids] = check_triplets(session, access.project, [keys])
    wanted = canonical.order(access.project.question_kind, ids)
    found = triplets.find(session, access.project.id, [wanted])
    number = (found or triplets.make(session, access.project.id, [wanted]))[wanted]
    upsert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    values = {"triplet_id": number, "labeler_id": access.user.id, "created_at": now()}
    session.execute(upsert(Skip).values(values).on_conflict_do_nothing())
    session.execute(delete(Lease).where(Lease.triplet_id == number, Lease.labeler_id == access.user.id))


def get_progress(session: Session, project: Project, user_ids: Collection[int]) -> dict[int, ProgressOut]:
    """Count what each of these labelers and everybody answered."""
    return _told(queries.progress(session, project.id, user_ids))


def _told(progress: Sequence[queries.Progress]) -> dict[int, ProgressOut]:
    return {
        one.labeler_id: ProgressOut(mine=one.mine, mine_today=one.today, project_answers=one.everybody)
        for one in progress
    }


def next_triplets(session: Session, access: Access, wanted: int, lease_seconds: float) -> NextOut:
    """Lease the next questions for this labeler and say what their items look like."""
    project, user = access.project, access.user
    held = queue.lease_next(session, project, user.id, wanted, lease_seconds)
    shown = {number for one in held for number in one.triplet}
    items, progress = queries.looks_and_progress(session, shown, project.id, user.id)
    return NextOut(
        triplets=[
            TripletOut(**showing.question(project, user.id, one.id, one.triplet, items), expires_at=one.expires_at)
            for one in held
        ],
        left=None if len(held) == wanted else len(held),
        reason=None if held else _why_nothing(session, access),
        progress=_told(progress)[user.id],
    )


def _why_nothing(session: Session, access: Access) -> str:
    count = item_count(session, access.project.id)
    return queries.why_nothing(session, access.project, access.user.id, count)


def last_answers(session: Session, access: Access, limit: int) -> list[RecentOut]:
    """Give the labeler's last answers with their questions as they were shown, newest first: they can be undone."""
    project, user = access.project, access.user
    rows = queries.recent_answers(session, project.id, user.id, limit)
    triplet_ids = [(triplet.anchor_id, triplet.left_id, triplet.right_id) for _, triplet in rows]
    items = queries.looks(session, {number for triplet in triplet_ids for number in triplet})
    return [
        RecentOut(
            **showing.question(project, user.id, answer.triplet_id, triplet, items),
            id=answer.id,
            answer=showing.answer(project, user.id, answer.triplet_id, triplet, answer.value),
        )
        for (answer, _), triplet in zip(rows, triplet_ids, strict=True)
    ]
