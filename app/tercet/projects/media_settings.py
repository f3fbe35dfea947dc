"""What the settings page shows of pictures and features: clips to try settings on, and groups to choose from."""

from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tercet.features.plugins import plugin_names
from tercet.features.recipes import DEFAULTS, PLUGIN, GroupSettings, Recipe, describe, usual_group
from tercet.models import FeatureSet, Item, Project

KIND_OF_MEDIA = ("audio", "image")


class Clip(NamedTuple):
    """A sound of the project; `which` says why this one is shown."""

    which: str
    key: str
    seconds: float


@dataclass(frozen=True)
class GroupChoice:
    """A group of features that the items could get; `numbers` is what it is brought to, 0 for as many as it has."""

    kind: str
    words: str
    is_chosen: bool
    numbers: int
    weight: float


def clips_to_try(session: Session, project_id: int) -> list[Clip]:
    """Return the shortest, the typical and the longest sound; fewer where there are fewer sounds."""
    measured = (
        (Item.project_id == project_id)
        & Item.set_aside_at.is_(None)
        & Item.media_seconds.is_not(None)
        & Item.media_type.startswith("audio/")
    )
    count = session.scalar(select(func.count()).select_from(Item).where(measured)) or 0
    places = {0: "shortest", count // 2: "typical", count - 1: "longest"} if count else {}
    by_length = select(Item.key, Item.media_seconds).where(measured).order_by(Item.media_seconds, Item.id)
    rows = [(which, session.execute(by_length.offset(place).limit(1)).one()) for place, which in places.items()]
    return [Clip(which, key, seconds or 0.0) for which, (key, seconds) in rows]


def groups_to_choose(session: Session, project: Project, features: FeatureSet | None) -> list[GroupChoice]:
    """Return the groups of features that are possible for the project's items, with those in use."""
    sources = _sources(session, project.id)
    stored = project.feature_recipe or (features.recipe if features else None)
    usual = [kind for source in sources[:1] for kind in DEFAULTS[source]]
    now = Recipe.from_dict(stored).groups if stored else tuple(map(usual_group, usual))
    chosen = {group.kind: group for group in now}
    offered = [kind for source in sources for kind in DEFAULTS[source]] + [PLUGIN + name for name in plugin_names()]
    return [
        _choice(chosen.get(kind) or usual_group(kind), kind in chosen) for kind in dict.fromkeys([*offered, *chosen])
    ]


def _choice(group: GroupSettings, is_chosen: bool) -> GroupChoice:
    words = describe(Recipe((GroupSettings(group.kind, group.numbers),)))
    return GroupChoice(group.kind, words[:1].upper() + words[1:], is_chosen, group.numbers, group.weight)


def _sources(session: Session, project_id: int) -> list[str]:
    """Return what features can be made from, the most telling first: media, else texts, else columns of the table."""
    in_use = (Item.project_id == project_id) & Item.set_aside_at.is_(None)
    first = session.scalar(select(Item).where(in_use).order_by(Item.position).limit(1))
    if first is None:
        return []
    holds = {kind: Item.media_type.startswith(kind) for kind in KIND_OF_MEDIA} | {"text": Item.text != ""}
    sources = [
        kind for kind, holds_it in holds.items() if session.scalar(select(Item.id).where(in_use & holds_it).limit(1))
    ]
    return sources + (["table"] if first.details or not sources else [])
