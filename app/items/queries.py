"""What is read about items: counts, pages of them, look-ups from the users' keys to our numbers and back."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from sqlalchemy import bindparam, func, select
from sqlalchemy.orm import Session

from app.models import Bag, FeatureSet, Item

# SQLite and PostgreSQL both bound how many values one statement may carry.
CHUNK = 5_000
T = TypeVar("T")
# Every answer asks this, and building it takes longer than running it.
IDS_BY_KEY = select(Item.key, Item.id).where(
    Item.project_id == bindparam("project"), Item.key.in_(bindparam("keys", expanding=True))
)


def item_count(session: Session, project_id: int) -> int:
    """Count the project's items; positions run from 0 without gaps, so the largest one tells."""
    last = session.scalar(select(func.max(Item.position)).where(Item.project_id == project_id))
    return 0 if last is None else last + 1


def ids_by_key(session: Session, project_id: int, keys: Iterable[str]) -> dict[str, int]:
    """Give the ids of those items, of the ones asked for, that exist."""
    found: dict[str, int] = {}
    for chunk in _chunks([key for key in set(keys) if "\0" not in key]):  # PostgreSQL cannot even be asked
        rows = session.connection().execute(IDS_BY_KEY, {"project": project_id, "keys": chunk})
        found.update((key, number) for key, number in rows)
    return found


def every_id_by_key(session: Session, project_id: int) -> dict[str, int]:
    """Give the ids of all items: for imports that name most of them."""
    rows = session.execute(select(Item.key, Item.id).where(Item.project_id == project_id))
    return {row.key: row.id for row in rows}


def keys_in_order(session: Session, project_id: int) -> list[str]:
    """Give all keys, by position."""
    statement = select(Item.key).where(Item.project_id == project_id).order_by(Item.position)
    return list(session.scalars(statement))


def positions_by_id(session: Session, project_id: int) -> dict[int, int]:
    """Give each item's row in the feature arrays."""
    rows = session.execute(select(Item.id, Item.position).where(Item.project_id == project_id))
    return {row.id: row.position for row in rows}


def items_by_position(session: Session, project_id: int, positions: Iterable[int]) -> list[Item]:
    """Give the items at the positions, in the order asked for."""
    asked = [int(position) for position in positions]
    found: dict[int, Item] = {}
    for chunk in _chunks(sorted(set(asked))):
        rows = session.scalars(select(Item).where(Item.project_id == project_id, Item.position.in_(chunk)))
        found.update((item.position, item) for item in rows)
    return [found[position] for position in asked]


def item_by_key(session: Session, project_id: int, key: str) -> Item | None:
    """Give one item."""
    return session.scalar(select(Item).where(Item.project_id == project_id, Item.key == key))


def page_of_items(session: Session, project_id: int, after: int, limit: int) -> list[tuple[Item, str | None]]:
    """Give up to `limit` items behind a position, each with the key of its bag."""
    statement = (
        select(Item, Bag.key)
        .outerjoin(Bag, Bag.id == Item.bag_id)
        .where(Item.project_id == project_id, Item.position > after)
        .order_by(Item.position)
        .limit(limit)
    )
    return [(item, bag) for item, bag in session.execute(statement)]


def bags_by_key(session: Session, project_id: int) -> dict[str, Bag]:
    """Give all bags."""
    return {bag.key: bag for bag in session.scalars(select(Bag).where(Bag.project_id == project_id))}


def latest_features(session: Session, project_id: int) -> FeatureSet | None:
    """Give the newest version of the features; the one that runs use."""
    statement = select(FeatureSet).where(FeatureSet.project_id == project_id)
    return session.scalar(statement.order_by(FeatureSet.version.desc()).limit(1))


def _chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    return (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))
