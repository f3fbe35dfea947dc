"""Checks one row of constraints: three items of the project, an answer to its question, and its labeler."""

from typing import Any, NamedTuple
from uuid import UUID, uuid5

from tercet.exchange.reading import EXPORTED_ONLY
from tercet.exchange.rows import Fault, Raw
from tercet.labeling.canonical import VALUES, Ids
from tercet.models import QuestionKind
from tercet.web.texts import fault_of_name

# Rows without an id get one made from their place, content and labeler: the same file sent again is the same answers.
ROWS = UUID("4f0f3f0e-6a54-4c0c-9d0e-1d2f7a1b9c33")
FIELDS = {"triplet", "answer", "labeler", "response_ms", "id", *EXPORTED_ONLY}
LONGEST_MS = 2**31 - 1


class CheckedRow(NamedTuple):
    """A row that may be stored; without a labeler it is the sender's, without an id the id is a hash of the row."""

    row: int
    id: UUID | None
    triplet: Ids
    answer: str
    labeler: str | None
    response_ms: int | None


class Rules(NamedTuple):
    """What rows are checked against."""

    project_id: int
    sender_id: int
    question_kind: str
    ids: dict[str, int]


def check(number: int, raw: Raw, rules: Rules) -> CheckedRow | Fault:
    """Check one row; return it with its items' ids, or its first fault."""
    if isinstance(raw, Fault):
        return raw
    keys, answer, labeler = raw.get("triplet"), raw.get("answer"), raw.get("labeler")
    fault = (
        _fault_of_fields(raw)
        or _fault_of_triplet(keys, rules.ids)
        or _fault_of_answer(answer, rules.question_kind)
        or _fault_of_labeler(labeler)
        or _fault_of_time(raw.get("response_ms"))
    )
    if fault:
        return fault
    anchor, left, right = keys  # type: ignore[misc]
    given_id = raw.get("id")
    row_id = None if given_id is None else _uuid(given_id)
    if given_id is not None and row_id is None:
        return Fault("id", f"{str(given_id)[:60]!r} is no UUID")
    triplet = (rules.ids[anchor], rules.ids[left], rules.ids[right])
    return CheckedRow(number, row_id, triplet, str(answer), labeler, raw.get("response_ms"))


def id_of(row: CheckedRow, rules: Rules) -> UUID:
    """Return the row's id, or a hash of the row where it has none."""
    if row.id is not None:
        return row.id
    # No name of a labeler can hold a control character.
    labeler = f"\0{rules.sender_id}" if row.labeler is None else row.labeler
    return uuid5(ROWS, f"{rules.project_id} {row.row} {row.triplet} {row.answer} {labeler}")


def _fault_of_fields(raw: dict[str, Any]) -> Fault | None:
    if not FIELDS.issuperset(raw):
        unknown = next(name for name in raw if name not in FIELDS)
        return Fault(unknown[:60], f"there is no such field; there are: {', '.join(sorted(FIELDS))}")
    if raw.get("withdrawn_at") is not None:
        return Fault("withdrawn_at", "this answer was withdrawn: leave it out (export with withdrawn=false)")
    if raw.get("set_aside_at") is not None:
        return Fault("set_aside_at", "this answer was set aside: leave it out (export with withdrawn=false)")
    return None


def _fault_of_triplet(keys: Any, ids: dict[str, int]) -> Fault | None:
    if not isinstance(keys, list) or len(keys) != 3 or not all(isinstance(key, str) for key in keys):
        return Fault("triplet", "must be three item keys: [anchor, left, right]")
    unknown = next((key for key in keys if key not in ids), None)
    if unknown is not None:
        return Fault("triplet", f"there is no item '{unknown[:200]}' in this project")
    return (
        None if len(set(keys)) == 3 else Fault("triplet", "an item is named twice; three different ones are expected")
    )


def _fault_of_answer(answer: Any, kind: str) -> Fault | None:
    allowed = VALUES[QuestionKind(kind)]
    if isinstance(answer, str) and answer in allowed:
        return None
    return Fault("answer", f"{str(answer)[:60]!r} is no answer to this question; expected one of {', '.join(allowed)}")


def _fault_of_labeler(labeler: Any) -> Fault | None:
    if labeler is None:
        return None
    fault = fault_of_name(labeler) if isinstance(labeler, str) else "must be a text"
    return Fault("labeler", f"the name {fault}") if fault else None


def _fault_of_time(milliseconds: Any) -> Fault | None:
    if milliseconds is None or (type(milliseconds) is int and 0 <= milliseconds <= LONGEST_MS):
        return None
    return Fault("response_ms", f"{str(milliseconds)[:60]!r} is no whole number of milliseconds from 0 to {LONGEST_MS}")


def _uuid(text: Any) -> UUID | None:
    try:
        return UUID(text) if isinstance(text, str) else None
    except ValueError:
        return None
