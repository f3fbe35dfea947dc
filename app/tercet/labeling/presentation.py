"""Shows stored triplets to labelers: the order of the items on the screen, and links to their media."""

import random
from typing import TypedDict

from tercet.items.schemas import shown
from tercet.labeling.canonical import Ids, as_shown
from tercet.labeling.queries import DisplayedItem
from tercet.labeling.schemas import ItemShown
from tercet.models import ProjectView, QuestionKind


class Question(TypedDict):
    """A question on the screen: the keys in order, and what to show of each item."""

    triplet: list[str]
    items: dict[str, ItemShown]


def shown_order(kind: str, user_id: int, triplet_id: int, triplet: Ids) -> Ids:
    """Return the order on the screen: random, so that no side is favoured, but always the same for one labeler."""
    chance = random.Random(f"{triplet_id}/{user_id}")
    anchor, left, right = triplet
    if kind == QuestionKind.OUTLIER:
        first, second, third = chance.sample(triplet, 3)
        return first, second, third
    return (anchor, left, right) if chance.random() < 0.5 else (anchor, right, left)


def question(
    project: ProjectView, user_id: int, triplet_id: int, triplet: Ids, rows: dict[int, DisplayedItem]
) -> Question:
    """Return a question as a labeler sees it."""
    ordered = [rows[item_id] for item_id in shown_order(project.question_kind, user_id, triplet_id, triplet)]
    items = {
        row.key: ItemShown(**shown(project.key, row), seconds=row.seconds, measures=row.measures) for row in ordered
    }
    return {"triplet": list(items), "items": items}


def answer(question_kind: str, user_id: int, triplet_id: int, triplet: Ids, value: str) -> str:
    """Return a stored answer as the labeler gave it, to the order of the items on their screen."""
    return as_shown(question_kind, shown_order(question_kind, user_id, triplet_id, triplet), value)
