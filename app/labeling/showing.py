"""How a stored triplet is put before a labeler: the order of its items on screen, and links to their media."""

import random
from typing import TypedDict
from urllib.parse import quote

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
    shown = [items[number] for number in shown_order(project.question_kind, user_id, triplet_id, triplet)]
    return {"triplet": [item.key for item in shown], "items": {item.key: _look(project, item) for item in shown}}


def answer(project: Project, user_id: int, triplet_id: int, triplet: Ids, value: str) -> str:
    """Give a stored answer in the words of the question on screen."""
    return as_shown(project.question_kind, shown_order(project.question_kind, user_id, triplet_id, triplet), value)


def _look(project: Project, item: Look) -> ItemShown:
    def link(kind: str, stored: str | None) -> str | None:
        return f"/api/v1/projects/{project.key}/media/{kind}/{quote(item.key, safe='')}" if stored else None

    return ItemShown(
        text=item.text,
        media_type=item.media_type,
        media_url=link("media", item.media),
        picture_url=link("picture", item.picture),
        thumbnail_url=link("thumbnail", item.thumbnail),
    )
