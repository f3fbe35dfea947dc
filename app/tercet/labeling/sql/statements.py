"""The statements that lease and show questions, and the parts that the statements of answers share with them.

They run for each answer, and SQLAlchemy takes longer to build one than SQLite to run it; so they are constants with
parameters, on tables rather than classes.
"""

from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import (
    JSON,
    Boolean,
    ColumnElement,
    Executable,
    Float,
    Integer,
    ScalarSelect,
    Select,
    SQLColumnExpression,
    String,
    Table,
    any_,
    bindparam,
    case,
    exists,
    func,
    literal_column,
    select,
    true,
    tuple_,
    update,
)
from sqlalchemy import cast as cast_as
from sqlalchemy.dialects import postgresql, sqlite

from tercet.accounts.access import session_rows
from tercet.models import Answer, BrowserSession, Flag, Item, Lease, Project, Skip, Triplet, User

ANSWERS = cast(Table, Answer.__table__)
FLAGS = cast(Table, Flag.__table__)
ITEMS = cast(Table, Item.__table__)
LEASES = cast(Table, Lease.__table__)
PROJECTS = cast(Table, Project.__table__)
SESSIONS = cast(Table, BrowserSession.__table__)
SKIPS = cast(Table, Skip.__table__)
TRIPLETS = cast(Table, Triplet.__table__)
USERS = cast(Table, User.__table__)

answer, flag, item, lease, project, skip, triplet, user = (
    table.c for table in (ANSWERS, FLAGS, ITEMS, LEASES, PROJECTS, SKIPS, TRIPLETS, USERS)
)
IDS = (triplet.anchor_id, triplet.left_id, triplet.right_id)
DIALECTS = ("postgresql", "sqlite")


def _unseen(value: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a parameter whose value PostgreSQL does not look at when it plans a statement.

    A plan for a known value seems cheaper to it than the one it keeps, so it would plan the statement anew each time.
    """
    return select(value).scalar_subquery()


AT = _unseen(bindparam("at", type_=LEASES.c.expires_at.type))


def _elements(dialect: str, name: str) -> ColumnElement[Any]:
    """Return the elements of a parameter that is a JSON list, to select from."""
    if dialect == "sqlite":
        return func.json_each(bindparam(name)).table_valued("value", name="listed").c.value
    return func.json_array_elements(cast_as(bindparam(name, type_=String), JSON)).column_valued("listed")


def among(dialect: str, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    """Return the condition that a column is in a parameter that is a JSON list.

    With a parameter for each value there would be another statement for each length. For an array PostgreSQL would make
    a new plan each time, by its length, which takes longer than running the statement.
    """
    element = _elements(dialect, name)
    if dialect == "sqlite":
        return column.in_(select(element))
    as_text = element.op("#>>")(literal_column("'{}'"))
    return among_rows(dialect, column, select(cast_as(as_text, column.type)))


def among_rows(dialect: str, column: ColumnElement[Any], rows: Select[Any]) -> ColumnElement[bool]:
    """Return the condition that a column is in the few rows of a statement.

    In PostgreSQL the rows become an array first: to join them it may read the whole table of the column, since it does
    not know how few they are.
    """
    return column.in_(rows) if dialect == "sqlite" else column == any_(func.array(rows.scalar_subquery()))


def rows_of(dialect: str, name: str, columns: Sequence[ColumnElement[Any]]) -> list[ColumnElement[Any]]:
    """Return the values of each row of a parameter that is a JSON list of lists, in the types of those columns."""
    row = _elements(dialect, name)
    places = range(len(columns))
    if dialect == "sqlite":
        return [func.json_extract(row, literal_column(f"'$[{place}]'")) for place in places]
    texts = [row.op("->>")(literal_column(str(place))) for place in places]
    return [cast_as(text, column.type) for text, column in zip(texts, columns, strict=True)]


def stored_triplet(*ids: ColumnElement[int]) -> ScalarSelect[int]:
    """Return the id of the triplet of three items, or null; no refill can delete it until the transaction ends.

    This is one lookup in the index for each triplet; to join them PostgreSQL may read all triplets.
    """
    of_items = (column == number for column, number in zip(IDS, ids, strict=True))
    statement = select(triplet.id).where(triplet.project_id == bindparam("project"), *of_items)
    return statement.with_for_update(read=True, key_share=True).scalar_subquery()


def _count(*conditions: SQLColumnExpression[bool]) -> ColumnElement[int]:
    return select(func.count()).where(*conditions).correlate(TRIPLETS).scalar_subquery()


COUNTED_ANSWERS = _count(answer.triplet_id == triplet.id, Answer.counts)
LABELER: ColumnElement[int] = bindparam("user")
REDUNDANCY: ColumnElement[int] = bindparam("redundancy", type_=Integer)
# How many answers a triplet needs: the redundancy, and its extra answers.
NEEDED: ColumnElement[int] = REDUNDANCY + triplet.extra_answers


def _taken(table: Table, weight: ColumnElement[int], *conditions: ColumnElement[bool]) -> ColumnElement[int]:
    """Return the sum of the weights of a table's rows for a triplet: how many of the needed answers these stand for."""
    total = func.coalesce(func.sum(weight), 0)
    return select(total).select_from(table).where(*conditions).correlate(TRIPLETS).scalar_subquery()


# The rules by which a triplet is open to a labeler. An answer or a lease counts as one of the answers that the triplet
# needs, and one by the labeler as all of them. So each rule reads only the few rows of the triplet: with a separate
# condition that none is the labeler's, PostgreSQL may read everything that the labeler ever answered.
_held_by_labeler = (lease.labeler_id == LABELER) & (lease.expires_at > AT)
_LEASED = _taken(
    LEASES,
    case((lease.labeler_id == LABELER, NEEDED), else_=1),
    lease.triplet_id == triplet.id,
    lease.expires_at > AT,
)
_ANSWERED = _taken(
    ANSWERS,
    case((answer.labeler_id == LABELER, NEEDED), (Answer.counts, 1), else_=0),
    answer.triplet_id == triplet.id,
    answer.withdrawn_at.is_(None),
)
# Read once for all triplets: a labeler flags few items.
_FLAGGED = select(flag.item_id).where(flag.labeler_id == LABELER)
OPEN = (
    ~exists().where(skip.triplet_id == triplet.id, skip.labeler_id == LABELER).correlate(TRIPLETS),
    NEEDED > _ANSWERED + _LEASED,
    triplet.asked_of.is_(None) | (triplet.asked_of == LABELER),
    *(column.not_in(_FLAGGED) for column in IDS),
)
# The rule about leases for all triplets at once: most of the head of the queue is on other screens, and checking those
# triplets one by one took longer than everything else. A triplet that needs extra answers has the others already.
_leased_triplet = lease.triplet_id + literal_column("0")  # without + 0 SQLite would read old leases too, in index order
_ON_SCREENS = (
    select(_leased_triplet)
    .where(lease.expires_at > AT)
    .group_by(_leased_triplet)
    .having(func.sum(case((lease.labeler_id == LABELER, REDUNDANCY), else_=1)) >= REDUNDANCY)
)

_HELD_ROWS = (
    select(literal_column("1"))
    .join_from(TRIPLETS, LEASES, lease.triplet_id == triplet.id)
    .where(_held_by_labeler, triplet.project_id == bindparam("project"))
    .limit(_unseen(bindparam("wanted", type_=Integer)))
    .subquery("held")
)
_STILL_WANTED = bindparam("wanted", type_=Integer) - select(func.count()).select_from(_HELD_ROWS).scalar_subquery()

HELD = (
    select(triplet.id, *IDS, lease.expires_at)
    .join_from(TRIPLETS, LEASES, lease.triplet_id == triplet.id)
    .where(_held_by_labeler, triplet.project_id == bindparam("project"))
    .order_by((func.coalesce(triplet.priority, 0.0) == bindparam("undone")).desc(), lease.id)
    .limit(_unseen(bindparam("wanted", type_=Integer)))
)
# No priority is as high.
ABOVE_ALL = 1e9
_FROM_TOP: ColumnElement[bool] = _unseen(bindparam("from_top", True, type_=Boolean))
_BEHIND = tuple_(triplet.priority, triplet.id) < tuple_(
    _unseen(bindparam("behind_priority", ABOVE_ALL, type_=Float)), _unseen(bindparam("behind_id", 0, type_=Integer))
)
# In the order of the queue's index: in any other order all questions of a long queue would be read for a few. Few of
# those behind its head are on screens: to check them one by one is faster than to read all leases.
_CANDIDATES = (
    select(triplet.id, *IDS, triplet.priority)
    .where(
        triplet.project_id == bindparam("project"),
        triplet.priority.is_not(None),
        _BEHIND,
        case((_FROM_TOP, triplet.id.not_in(_ON_SCREENS)), else_=true()),
        *OPEN,
    )
    .order_by(triplet.priority.desc(), triplet.id.desc())
    .limit(_STILL_WANTED)
)
TAKE = _CANDIDATES.with_for_update(key_share=True, skip_locked=True)
TAKE_AFTER_WAITING = _CANDIDATES.with_for_update(key_share=True)
# How many questions of a queue are behind a place, up to "most".
COUNT_BEHIND = select(func.count()).select_from(
    select(triplet.id)
    .where(triplet.project_id == bindparam("project"), triplet.priority.is_not(None), _BEHIND)
    .limit(_unseen(bindparam("most", type_=Integer)))
    .subquery()
)
# PostgreSQL names an advisory lock by two numbers: this one for all lines, and that of the project. Whoever holds it is
# the first in the line, until their transaction ends.
_LINES = 1
WAIT_IN_LINE = select(func.pg_advisory_xact_lock(literal_column(f"{_LINES}"), bindparam("project", type_=Integer)))
RENEW_LEASES = {
    dialect: update(LEASES)
    .where(lease.labeler_id == LABELER, among(dialect, lease.triplet_id, "ids"))
    .values(expires_at=bindparam("until"))
    for dialect in DIALECTS
}


def _add_leases(dialect: str) -> Executable:
    """Build the statement that leases to a labeler those of some triplets that are still open, in the queue's order.

    It checks again that they are open: another labeler may have leased one after the queue was read and before this
    transaction locked it.
    """
    rows = (
        select(triplet.id, bindparam("user", type_=Integer), bindparam("until", type_=lease.expires_at.type))
        .where(among(dialect, triplet.id, "ids"), *OPEN)
        .order_by(triplet.priority.desc(), triplet.id.desc())
    )
    statement = (postgresql.insert if dialect == "postgresql" else sqlite.insert)(LEASES).from_select(
        ["triplet_id", "labeler_id", "expires_at"], rows
    )
    until = statement.excluded.expires_at
    return statement.on_conflict_do_update(
        index_elements=["triplet_id", "labeler_id"], set_={"expires_at": until}
    ).returning(lease.triplet_id)


ADD_LEASES = {dialect: _add_leases(dialect) for dialect in DIALECTS}


def _add_new_triplets(dialect: str) -> Executable:
    """Build the statement that adds (anchor, left, right, priority, source) rows, except triplets that are stored."""
    columns = (*IDS, triplet.priority, triplet.source)
    values = rows_of(dialect, "triplets", columns)
    project_id, at = bindparam("project", type_=Integer), bindparam("at", type_=triplet.created_at.type)
    names = [column.name for column in (*columns, triplet.project_id, triplet.created_at)]
    rows = select(*values, project_id, at).where(stored_triplet(*values[:3]).is_(None))
    insert = (postgresql.insert if dialect == "postgresql" else sqlite.insert)(TRIPLETS).from_select(names, rows)
    return insert.on_conflict_do_nothing()


ADD_NEW_TRIPLETS = {dialect: _add_new_triplets(dialect) for dialect in DIALECTS}


def _find_triplets(dialect: str) -> Select[Any]:
    """Build the statement that returns the items of each row of "triplets", with the id of their triplet or null."""
    ids = rows_of(dialect, "triplets", IDS)
    return select(*ids, stored_triplet(*ids))


FIND_TRIPLETS = {dialect: _find_triplets(dialect) for dialect in DIALECTS}
SHOWN = (
    item.id,
    item.key,
    item.text,
    item.media_type,
    item.media,
    item.picture,
    item.thumbnail,
    item.media_seconds,
)


ITEMS_SHOWN = {dialect: select(*SHOWN).where(among(dialect, item.id, "ids")) for dialect in DIALECTS}
ITEMS_AT = {
    dialect: select(item.id, item.position).where(
        item.project_id == bindparam("project"), among(dialect, item.position, "positions")
    )
    for dialect in DIALECTS
}
ITEMS_NAMED = {
    dialect: select(item.key, item.id)
    .join_from(ITEMS, PROJECTS)
    .where(project.key == bindparam("key"), among(dialect, item.key, "keys"))
    for dialect in DIALECTS
}


def _callers(dialect: str) -> Select[Any]:
    """Build the statement that reads the users of sessions.

    These are the few users that are looked at. A PostgreSQL that has not counted them yet would look their project and
    membership up for all users first.
    """
    of_those = among(dialect, SESSIONS.c.token_hash, "sessions")
    users = select(SESSIONS.c.user_id).where(of_those).correlate(None)
    return session_rows(of_those).where(among_rows(dialect, user.id, users))


CALLERS = {dialect: _callers(dialect) for dialect in DIALECTS}

_of_project = answer.project_id == bindparam("project")
_of_labeler = _of_project & (answer.labeler_id == user.id)
_withdrawn = answer.withdrawn_at.is_not(None)
_first_today = (
    select(answer.number)
    .where(_of_project, answer.created_at >= _unseen(bindparam("midnight", type_=answer.created_at.type)))
    .order_by(answer.created_at)
    .limit(literal_column("1"))
    .scalar_subquery()
)


def _length(*conditions: ColumnElement[bool]) -> ColumnElement[int]:
    return select(func.count()).select_from(ANSWERS).where(*conditions).correlate(USERS).scalar_subquery()


def _progress(of_those: ColumnElement[bool]) -> Select[Any]:
    """Count answers of some users and of the project.

    The wide rows of answers are not read: each figure is the length of a range of an index, less the few withdrawn
    ones, which have an index of their own. On a day without answers the first number is null, and no answer compares as
    larger.
    """
    since_midnight = answer.number >= _first_today
    return (
        select(
            user.id,
            (_length(_of_labeler) - _length(_of_labeler, _withdrawn)).label("mine"),
            (_length(_of_labeler, since_midnight) - _length(_of_labeler, _withdrawn, since_midnight)).label("today"),
            (project.answer_number - _length(_of_project, _withdrawn)).label("everybody"),
        )
        .join_from(USERS, PROJECTS, project.id == bindparam("project"))
        .where(of_those)
    )


PROGRESS = {dialect: _progress(among(dialect, user.id, "users")) for dialect in DIALECTS}
