"""How a stored triplet is shown to a labeler: the order of its items on screen, and links to their media."""

import random
from typing import TypedDict

from tercet.items.schemas import shown
from tercet.labeling.canonical import Ids, as_shown
from tercet.labeling.queries import Look
from tercet.labeling.schemas import ItemShown
from tercet.models import ProjectView, QuestionKind


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


def question(project: ProjectView, user_id: int, triplet_id: int, triplet: Ids, looks: dict[int, Look]) -> Question:
    """Return a question as a labeler sees it."""
    ordered = [looks[item_id] for item_id in shown_order(project.question_kind, user_id, triplet_id, triplet)]
    items = {look.key: ItemShown(**shown(project.key, look), seconds=look.seconds) for look in ordered}
    return {"triplet": list(items), "items": items}


def answer(question_kind: str, user_id: int, triplet_id: int, triplet: Ids, value: str) -> str:
    """Return a stored answer as it was given to the question on the labeler's screen."""
    return as_shown(question_kind, shown_order(question_kind, user_id, triplet_id, triplet), value)
