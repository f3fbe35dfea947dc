"""Converts a triplet and its answer to the canonical order in which they are stored: one question is one row.

"Is a more like b than c? yes" and "Is a more like c than b? no" say the same; so do the six orders of the
outlier question. With one order stored, the database can count the answers to a question, however it was asked.
"""

from tercet.models import QuestionKind

Ids = tuple[int, int, int]

VALUES = {
    QuestionKind.RELATIVE: ("yes", "no", "dnk"),
    QuestionKind.OUTLIER: ("1", "2", "3", "dnk"),
}
MIRRORED = {"yes": "no", "no": "yes", "dnk": "dnk"}


def order(kind: str, triplet: Ids) -> Ids:
    """Return the triplet in canonical order: left < right, and for the outlier question all three sorted."""
    if kind == QuestionKind.OUTLIER:
        first, second, third = sorted(triplet)
        return first, second, third
    anchor, left, right = triplet
    return (anchor, left, right) if left < right else (anchor, right, left)


def canonical(kind: str, triplet: Ids, value: str) -> tuple[Ids, str]:
    """Return the triplet in canonical order, and the answer mirrored to match."""
    stored = order(kind, triplet)
    if stored == triplet or value == "dnk":
        return stored, value
    if kind == QuestionKind.OUTLIER:
        return stored, str(stored.index(triplet[int(value) - 1]) + 1)
    return stored, MIRRORED[value]


def as_shown(kind: str, shown: Ids, stored: str) -> str:
    """Return a stored answer as an answer to the question in the order on the screen: the inverse of `canonical`."""
    if stored == "dnk" or order(kind, shown) == shown:
        return stored
    if kind == QuestionKind.OUTLIER:
        return str(shown.index(order(kind, shown)[int(stored) - 1]) + 1)
    return MIRRORED[stored]
