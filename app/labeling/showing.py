"""How a stored triplet is put before a labeler: the order of its items on screen, and links to their media."""

import random
from typing import TypedDict

from app.items.schemas import shown
from app.labeling.canonical import Ids, as_shown
from app.labeling.queries import Look
from app.labeling.schemas import ItemShown
from app.models import Project, QuestionKind


class Question(TypedDict):
    """A question on screen: the keys in order, and what to show for each."""

    triplet: list[str]
    items: dict[str, ItemShown]


def shown_order(kind: str, user_id: int, triplet_id: int, triplet: Ids) -> Ids:
    """Order the items by chance, so that no side is favoured, but for one labeler always the same."""
    chance = random.Random(f"{triplet_id}/{user_id}")
    anchor, left, right = triplet
    if kind == QuestionKind.OUTLIER:
        first, second, third = chance.sample(triplet, 3)
        return first, second, third
    return (anchor, left, right) if chance.random() < 0.5 else (anchor, right, left)


def question(project: Project, user_id: int, triplet_id: int, triplet: Ids, items: dict[int, Look]) -> Question:
    """Say what to show."""
    ordered = [items[number] for number in shown_order(project.question_kind, user_id, triplet_id, triplet)]
    looks = {item.key: ItemShown(**shown(project.key, item)) for item in ordered}
    return {"triplet": list(looks), "items": looks}


def answer(project: Project, user_id: int, triplet_id: int, triplet: Ids, value: str) -> str:
    """Give a stored answer in the words of the question on screen."""
    return as_shown(project.question_kind, shown_order(project.question_kind, user_id, triplet_id, triplet), value)
